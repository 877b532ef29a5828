/** A cron job, its runs and its events in responses and events to clients. */
import { type Static, Type } from '@sinclair/typebox';
import { closed, Count, NonEmpty, oneOf, Optional, Text } from './shapes.ts';

export const RUN_STATUSES = ['ok', 'error', 'skipped'] as const;
export const DELIVERY_STATUSES = [
  'delivered',
  'not-delivered',
  'unknown',
  'not-requested',
] as const;

export const Label = Type.String({ minLength: 1, maxLength: 200, pattern: '\\S' });

export const At = Type.Object({ kind: Type.Literal('at'), at: NonEmpty }, closed);
export const Every = Type.Object(
  {
    kind: Type.Literal('every'),
    everyMs: Type.Integer({ minimum: 1 }),
    anchorMs: Optional(Count),
  },
  closed,
);
export const Cron = Type.Object(
  { kind: Type.Literal('cron'), expr: NonEmpty, tz: Optional(Text), staggerMs: Optional(Count) },
  closed,
);

const Usage = Type.Object(
  {
    input_tokens: Optional(Type.Number()),
    output_tokens: Optional(Type.Number()),
    total_tokens: Optional(Type.Number()),
  },
  closed,
);
const JobState = Type.Object(
  {
    nextRunAtMs: Optional(Count),
    runningAtMs: Optional(Count),
    lastRunAtMs: Optional(Count),
    lastRunStatus: Optional(oneOf(RUN_STATUSES)),
    lastStatus: Optional(oneOf(RUN_STATUSES)),
    lastError: Optional(Text),
    lastDurationMs: Optional(Count),
    consecutiveErrors: Optional(Count),
    lastDeliveryStatus: Optional(oneOf(DELIVERY_STATUSES)),
  },
  closed,
);
/** The field `missed` is an extension; `troupe cron list` shows it. */
export const CronJob = Type.Object(
  {
    id: NonEmpty,
    declarationKey: Optional(Label),
    displayName: Optional(Label),
    agentId: Optional(NonEmpty),
    sessionKey: Optional(NonEmpty),
    name: NonEmpty,
    description: Optional(Text),
    enabled: Type.Boolean(),
    deleteAfterRun: Optional(Type.Boolean()),
    createdAtMs: Count,
    updatedAtMs: Count,
    configRevision: Optional(Type.String({ minLength: 1, maxLength: 128 })),
    schedule: Type.Union([At, Every, Cron]),
    sessionTarget: Type.String({ pattern: '^(main|isolated|session:.+)$' }),
    wakeMode: Type.Literal('now'),
    payload: Type.Union([
      Type.Object({ kind: Type.Literal('systemEvent'), text: NonEmpty }, closed),
      Type.Object(
        {
          kind: Type.Literal('agentTurn'),
          message: NonEmpty,
          model: Optional(Text),
          thinking: Optional(Text),
          timeoutSeconds: Optional(Type.Number({ minimum: 0 })),
        },
        closed,
      ),
    ]),
    delivery: Type.Object(
      { mode: oneOf(['none', 'announce']), channel: Optional(Type.Literal('last')) },
      closed,
    ),
    state: JobState,
    nextRunAtMs: Optional(Count),
    lastRunAtMs: Optional(Count),
    lastRunStatus: Optional(oneOf(RUN_STATUSES)),
    lastRunError: Optional(Text),
    lastDeliveryStatus: Optional(oneOf(DELIVERY_STATUSES)),
  },
  closed,
);
export type CronJob = Static<typeof CronJob>;

export const Preview = Type.Object({ label: Text, detail: Text }, closed);
export const AddedCronJob = Type.Composite(
  [CronJob, Type.Object({ deliveryPreview: Optional(Preview) })],
  closed,
);

export const CronRunLogEntry = Type.Object(
  {
    ts: Count,
    jobId: NonEmpty,
    action: Type.Literal('finished'),
    status: oneOf(RUN_STATUSES),
    completionStatus: oneOf(['succeeded', 'failed', 'unknown']),
    error: Optional(Text),
    summary: Optional(Text),
    deliveryStatus: oneOf(DELIVERY_STATUSES),
    sessionKey: Optional(NonEmpty),
    runId: NonEmpty,
    runAtMs: Count,
    durationMs: Count,
    nextRunAtMs: Optional(Count),
    model: Optional(Text),
    provider: Optional(Text),
    usage: Optional(Usage),
    jobName: Optional(Text),
  },
  closed,
);
export type CronRunLogEntry = Static<typeof CronRunLogEntry>;

/** Payload of `cron`: a change of a job; `finished` also contains its last run. */
export const CronEvent = Type.Object(
  {
    jobId: NonEmpty,
    action: oneOf(['added', 'updated', 'removed', 'started', 'finished']),
    job: CronJob,
    nextRunAtMs: Optional(Count),
    runId: Optional(NonEmpty),
    runAtMs: Optional(Count),
    durationMs: Optional(Count),
    status: Optional(oneOf(RUN_STATUSES)),
    error: Optional(Text),
    summary: Optional(Text),
    sessionKey: Optional(NonEmpty),
  },
  closed,
);
export type CronEvent = Static<typeof CronEvent>;
