/**
 * `cron.*`: jobs that send messages at scheduled times, and `wake`. The names are OpenClaw's;
 * docs/cron.md lists which parameters are supported.
 */
import { type Static, Type } from '@sinclair/typebox';
import { AnyKey } from '../any-key.ts';
import {
  AddedCronJob,
  At,
  Cron,
  CronEvent,
  CronJob,
  CronRunLogEntry,
  DELIVERY_STATUSES,
  Every,
  Label,
  Preview,
  RUN_STATUSES,
} from './cron-job.ts';
import type { EventArea, MethodArea } from './method.ts';
import {
  AnyObject,
  closed,
  Count,
  NoEffect,
  NonEmpty,
  Nullable,
  oneOf,
  Optional,
  Text,
} from './shapes.ts';

/** Default and maximum number of entries per page of `cron.list` and `cron.runs`. */
export const CRON_PAGE = 50;
export const CRON_PAGE_MAX = 200;

const PageSize = Type.Integer({ minimum: 1, maximum: CRON_PAGE_MAX });

// ---- requests: the schemas contain every published field; methods/cron/ refuses unsupported
// ones

/** Of unsupported kinds: their fields are not validated. */
const Foreign = <const K extends readonly string[]>(kinds: K) =>
  Type.Object({ kind: oneOf(kinds) });
const GivenSchedule = Type.Union([At, Every, Cron, Foreign(['on-exit', 'stream'])]);

const Tools = {
  toolsAllow: Optional(Nullable(Type.Array(Text))),
  toolsAllowIsDefault: Optional(Type.Boolean()),
};
const TurnFields = {
  model: Optional(Nullable(Text)),
  fallbacks: Optional(Nullable(Type.Array(Text))),
  thinking: Optional(Nullable(Text)),
  timeoutSeconds: Optional(Type.Number({ minimum: 0 })),
  allowUnsafeExternalContent: Optional(Type.Boolean()),
  lightContext: Optional(Type.Boolean()),
  ...Tools,
};
const GivenPayload = Type.Union([
  Type.Object({ kind: Type.Literal('systemEvent'), text: Optional(NonEmpty), ...Tools }, closed),
  Type.Object(
    { kind: Type.Literal('agentTurn'), message: Optional(NonEmpty), ...TurnFields },
    closed,
  ),
  Foreign(['command', 'script']),
]);
const GivenDelivery = Type.Object(
  {
    mode: Optional(oneOf(['none', 'announce', 'webhook'])),
    channel: Optional(Nullable(Text)),
    to: Optional(Nullable(Text)),
    threadId: Optional(Nullable(Type.Union([Text, Type.Number()]))),
    accountId: Optional(Nullable(NonEmpty)),
    bestEffort: Optional(Type.Boolean()),
    failureDestination: Optional(Nullable(AnyObject)),
    completionDestination: Optional(Nullable(AnyObject)),
  },
  closed,
);

const IdempotencyKey = Type.String({ minLength: 1, maxLength: 200 });

const JobFields = {
  name: Optional(NonEmpty),
  displayName: Optional(Nullable(Label)),
  agentId: Optional(Nullable(NonEmpty)),
  sessionKey: Optional(Nullable(NonEmpty)),
  description: Optional(Text),
  enabled: Optional(Type.Boolean()),
  deleteAfterRun: Optional(Type.Boolean()),
  schedule: Optional(GivenSchedule),
  pacing: Optional(Nullable(AnyObject)),
  trigger: Optional(Nullable(AnyObject)),
  sessionTarget: Optional(Type.String({ pattern: '^(main|isolated|current|session:.+)$' })),
  wakeMode: Optional(oneOf(['next-heartbeat', 'now'])),
  payload: Optional(GivenPayload),
  delivery: Optional(GivenDelivery),
  failureAlert: Optional(Nullable(Type.Union([Type.Literal(false), AnyObject]))),
  /** extension: what happens with times that passed during downtime */
  missed: Optional(oneOf(['once', 'fire-late', 'skip'])),
};
export const CronAddParams = Type.Object(
  {
    ...JobFields,
    name: NonEmpty,
    schedule: GivenSchedule,
    payload: GivenPayload,
    sessionTarget: Type.String({ pattern: '^(main|isolated|current|session:.+)$' }),
    wakeMode: oneOf(['next-heartbeat', 'now']),
    /** adding a job with the key of an existing one replaces that job */
    declarationKey: Optional(Label),
    /** extension: a repeat within 24 hours adds no second job and returns the first response */
    idempotencyKey: Optional(IdempotencyKey),
    owner: Optional(AnyObject),
  },
  closed,
);
export type CronAddParams = Static<typeof CronAddParams>;
/** Clients may send `state` back as they received it; it is read-only and ignored. */
export const CronPatch = Type.Object({ ...JobFields, state: Optional(AnyObject) }, closed);
export type CronPatch = Static<typeof CronPatch>;

/** Exactly one of the two. */
const OneJob = { id: Optional(NonEmpty), jobId: Optional(NonEmpty) };
export const CronJobParams = Type.Object(OneJob, closed);
export type CronJobParams = Static<typeof CronJobParams>;
export const CronUpdateParams = Type.Object(
  {
    ...OneJob,
    patch: CronPatch,
    expectedConfigRevision: Optional(Type.String({ minLength: 1, maxLength: 128 })),
  },
  closed,
);
export type CronUpdateParams = Static<typeof CronUpdateParams>;
export const CronRunParams = Type.Object(
  {
    ...OneJob,
    mode: Optional(oneOf(['due', 'force', 'if-enabled'])),
    expectedProcessInstanceId: Optional(NonEmpty),
    /** extension: a repeat within 24 hours starts no second run and returns the first response */
    idempotencyKey: Optional(IdempotencyKey),
  },
  closed,
);
export type CronRunParams = Static<typeof CronRunParams>;

export const CronListParams = Type.Object(
  {
    includeDisabled: Optional(Type.Boolean()),
    limit: Optional(PageSize),
    offset: Optional(Count),
    query: Optional(Text),
    enabled: Optional(oneOf(['all', 'enabled', 'disabled'])),
    scheduleKind: Optional(oneOf(['all', 'at', 'every', 'cron', 'on-exit', 'stream'])),
    lastRunStatus: Optional(oneOf(['all', ...RUN_STATUSES, 'unknown'])),
    trigger: Optional(oneOf(['all', 'conditional', 'unconditional'])),
    sortBy: Optional(oneOf(['nextRunAtMs', 'updatedAtMs', 'name'])),
    sortDir: Optional(oneOf(['asc', 'desc'])),
    agentId: Optional(NonEmpty),
    /** of one session; not in the published schema */
    sessionKey: Optional(NonEmpty),
    sessionAgentId: NoEffect(NonEmpty, 'the session key names its agent'),
    compact: Optional(Type.Boolean()),
    includeDeliveryPreviews: Optional(Type.Boolean()),
  },
  closed,
);
export type CronListParams = Static<typeof CronListParams>;

const JobName = Type.String({ minLength: 1, pattern: '^[^/\\\\]+$' });
export const CronRunsParams = Type.Object(
  {
    agentId: Optional(NonEmpty),
    scope: Optional(oneOf(['job', 'all'])),
    id: Optional(JobName),
    jobId: Optional(JobName),
    runId: Optional(NonEmpty),
    limit: Optional(PageSize),
    offset: Optional(Count),
    statuses: Optional(Type.Array(oneOf(RUN_STATUSES), { minItems: 1, maxItems: 3 })),
    status: Optional(oneOf(['all', ...RUN_STATUSES])),
    deliveryStatuses: Optional(Type.Array(oneOf(DELIVERY_STATUSES), { minItems: 1, maxItems: 4 })),
    deliveryStatus: Optional(oneOf(DELIVERY_STATUSES)),
    query: Optional(Text),
    sortDir: Optional(oneOf(['asc', 'desc'])),
  },
  closed,
);
export type CronRunsParams = Static<typeof CronRunsParams>;

/**
 * Extra fields are allowed, as in the published schema. A repeat with the same `idempotencyKey` is
 * the same run.
 */
export const WakeParams = Type.Object({
  mode: oneOf(['now', 'next-heartbeat']),
  text: NonEmpty,
  sessionKey: Optional(NonEmpty),
  agentId: Optional(NonEmpty),
  idempotencyKey: Optional(NonEmpty),
});
export type WakeParams = Static<typeof WakeParams>;

// ---- responses

const Page = {
  total: Count,
  offset: Count,
  limit: Count,
  hasMore: Type.Boolean(),
  nextOffset: Nullable(Count),
};
/** `jobs` are CronJob objects, or with `compact` their short form. */
const CronListResult = Type.Object(
  {
    jobs: Type.Array(AnyObject),
    /** changes whenever one of the matching jobs changes */
    snapshotRevision: Text,
    ...Page,
    deliveryPreviews: Optional(Type.Record(AnyKey, Preview)),
  },
  closed,
);
export type CronListResult = Static<typeof CronListResult>;

const CronStatus = Type.Object(
  {
    enabled: Type.Boolean(),
    triggersEnabled: Type.Boolean(),
    storePath: Text,
    storage: Text,
    jobs: Count,
    nextWakeAtMs: Nullable(Count),
  },
  closed,
);
const CronRan = Type.Union([
  Type.Object(
    {
      ok: Type.Literal(true),
      enqueued: Type.Literal(true),
      runId: NonEmpty,
      sessionKey: NonEmpty,
      processInstanceId: NonEmpty,
    },
    closed,
  ),
  Type.Object(
    {
      ok: Type.Literal(true),
      ran: Type.Literal(false),
      reason: oneOf(['not-due', 'already-running', 'disabled']),
      processInstanceId: NonEmpty,
    },
    closed,
  ),
]);

export const cronMethods = {
  'cron.list': { params: CronListParams, result: CronListResult, scope: 'operator.read' },
  'cron.status': { params: Type.Object({}, closed), result: CronStatus, scope: 'operator.read' },
  'cron.get': { params: CronJobParams, result: CronJob, scope: 'operator.read' },
  'cron.add': {
    params: CronAddParams,
    result: Type.Union([
      AddedCronJob,
      Type.Object(
        {
          created: Type.Boolean(),
          updated: Optional(Type.Boolean()),
          job: CronJob,
          deliveryPreview: Preview,
        },
        closed,
      ),
    ]),
    scope: 'operator.admin',
  },
  'cron.update': { params: CronUpdateParams, result: CronJob, scope: 'operator.admin' },
  'cron.remove': {
    params: CronJobParams,
    result: Type.Object({ ok: Type.Literal(true), removed: Type.Literal(true) }, closed),
    scope: 'operator.admin',
  },
  'cron.run': { params: CronRunParams, result: CronRan, scope: 'operator.admin' },
  'cron.runs': {
    params: CronRunsParams,
    result: Type.Object({ entries: Type.Array(CronRunLogEntry), ...Page }, closed),
    scope: 'operator.read',
  },
  wake: {
    params: WakeParams,
    result: Type.Object(
      { ok: Type.Literal(true), runId: Optional(NonEmpty), sessionKey: NonEmpty },
      closed,
    ),
    scope: 'operator.write',
  },
} as const satisfies MethodArea;

export const cronEvents = { cron: CronEvent } as const satisfies EventArea;
