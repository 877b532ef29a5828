/**
 * Task: what becomes of one envelope (EN7, EN8). The vocabulary between doors, task actors, sagas
 * and readers: states, the view that everybody outside sees, events, addresses, messages, rows.
 *
 * A task's id is made of what its idempotency key is scoped to (EN3), so that the same request
 * finds the same task for as long as the task is remembered, and nothing else has to remember keys.
 */
import { createHash } from 'node:crypto';
import { type Static, Type } from '@sinclair/typebox';
import { type Address, address } from './address.ts';
import { defined } from './defined.ts';
import type { Envelope, EventSuffix } from './envelope.ts';
import { ERRORS, type ErrorCode, type ErrorData } from './errors.ts';
import type { ReplyRef } from './statechart.ts';

/**
 * Outward states. SUCCEEDED, FAILED, CANCELLED, COMPENSATED and EXPIRED are final and never change:
 * while a compensation runs the task is still RUNNING. UNKNOWN: nobody knows whether the work was
 * done; a person decides, and it goes on or ends.
 */
export const TASK_STATES = [
  'ACKED',
  'RUNNING',
  'UNKNOWN',
  'SUCCEEDED',
  'FAILED',
  'CANCELLED',
  'COMPENSATED',
  'EXPIRED',
] as const;
export type TaskState = (typeof TASK_STATES)[number];

const OPEN: ReadonlySet<TaskState> = new Set(['ACKED', 'RUNNING', 'UNKNOWN']);
export const isFinal = (state: TaskState): boolean => !OPEN.has(state);

/** A synchronous answer is waited for so long (EN7). */
export const SYNC_ANSWER_MS = 2_000;
/** A task may run so long unless its action says otherwise (EN7). */
export const ETA_SEC_DEFAULT = 300;
export const ETA_SEC_MAX = 86_400;
/** Attempts of the work: the first and six more (EN11). */
export const ATTEMPTS_MAX = 7;
/** Finished tasks are remembered so long: longer than any envelope may live. */
export const TASK_RETENTION_MS = 28 * 3_600_000;
/** Larger results go as artifacts (EN10). */
export const TASK_RESULT_BYTES_MAX = 262_144;

const closed = { additionalProperties: false } as const;
const Time = Type.String({ format: 'date-time' });
const Id = Type.String({ minLength: 1, maxLength: 128 });
const State = Type.Unsafe<TaskState>({ type: 'string', enum: [...TASK_STATES] });
const Code = Type.Unsafe<ErrorCode>({ type: 'string', enum: Object.keys(ERRORS) });

/** An error as it stands in every answer and event outside. */
export const WireErrorSchema = Type.Object(
  {
    code: Code,
    message: Type.String({ description: 'what happened, where, and what to do' }),
    details: Type.Optional(Type.Record(Type.String(), Type.Unknown())),
    retry_after_sec: Type.Optional(Type.Number({ minimum: 0 })),
  },
  { ...closed, title: 'Error' },
);
export type WireError = Static<typeof WireErrorSchema>;

export const wireError = ({ code, message, details, retryAfterMs }: ErrorData): WireError => ({
  code,
  message,
  ...defined({ details }),
  ...(retryAfterMs === undefined ? {} : { retry_after_sec: Math.ceil(retryAfterMs / 1_000) }),
});

/** What a task waits for: a person's or the caller's word. */
export const WaitingSchema = Type.Object(
  {
    for: Type.Unsafe<'input' | 'approval' | 'decision'>({
      type: 'string',
      enum: ['input', 'approval', 'decision'],
      description:
        'input: of the caller; approval: a yes or no; decision: of an operator, who says what became of lost work or what to do about a compensation that failed',
    }),
    prompt: Type.String({ maxLength: 4_096 }),
    /** JSON Schema of the input */
    schema: Type.Optional(Type.Record(Type.String(), Type.Unknown())),
    since: Time,
  },
  closed,
);
export type Waiting = Static<typeof WaitingSchema>;

/** The newest of a task that are shown; older ones stand in its journal only. */
export const DECISIONS_SHOWN_MAX = 20;
const DecisionSchema = Type.Object(
  {
    decision: Type.Unsafe<'again' | 'done' | 'failed' | 'accept'>({
      type: 'string',
      enum: ['again', 'done', 'failed', 'accept'],
    }),
    who: Type.String({ description: 'sub of the operator' }),
    why: Type.String(),
    at: Time,
  },
  closed,
);
export type Decision = Static<typeof DecisionSchema>;

const EventEntry = Type.Object(
  {
    n: Type.Integer({ minimum: 1, description: 'from 1, without gaps' }),
    event: Type.String({ description: '{action}.{accepted|running|done|cancelled|compensated}' }),
    at: Time,
    state: State,
  },
  closed,
);
export type TaskEventEntry = Static<typeof EventEntry>;

/** A task as everybody outside sees it: the answer of both transports. */
export const TaskViewSchema = Type.Object(
  {
    task_id: Id,
    tenant_id: Id,
    action: Type.String(),
    action_version: Type.String(),
    state: State,
    request_id: Id,
    correlation_id: Id,
    trace_id: Type.String(),
    context_id: Type.Optional(Type.String()),
    subject: Type.String({ description: 'payload.subject, else context_id, else empty' }),
    principal: Type.String({ description: 'sub of who asked' }),
    accepted_at: Time,
    started_at: Type.Optional(Time),
    finished_at: Type.Optional(Time),
    eta_sec: Type.Integer({ minimum: 1, description: 'the task ends within so long' }),
    attempt: Type.Integer({ minimum: 0, description: 'attempts of the work begun' }),
    waiting: Type.Optional(WaitingSchema),
    decisions: Type.Optional(
      Type.Array(DecisionSchema, {
        maxItems: DECISIONS_SHOWN_MAX,
        description: 'what operators decided about it, oldest first',
      }),
    ),
    compensating: Type.Optional(Type.Boolean({ description: 'the work is being undone' })),
    result: Type.Optional(Type.Unknown()),
    resource_links: Type.Optional(Type.Array(Type.Record(Type.String(), Type.Unknown()))),
    error: Type.Optional(WireErrorSchema),
    outcome: Type.Optional(
      Type.Unsafe<'FAILED' | 'CANCELLED'>({
        type: 'string',
        enum: ['FAILED', 'CANCELLED'],
        description: 'of a COMPENSATED task: what made it be undone',
      }),
    ),
    events: Type.Array(EventEntry, { description: 'what the task has told so far' }),
  },
  { ...closed, $id: 'urn:troupe:task:1.0', title: 'Task' },
);
export type TaskView = Static<typeof TaskViewSchema>;

/** One event as it travels: on a task's event stream and on `a2a.{domain}.{env}.out.{tenant}`. */
export const TaskEventSchema = Type.Object(
  {
    event: Type.String(),
    event_id: Type.String({ description: '{task_id}.{n}: the same when it is sent again' }),
    n: Type.Integer({ minimum: 1 }),
    at: Time,
    task: TaskViewSchema,
  },
  { ...closed, $id: 'urn:troupe:task-event:1.0', title: 'TaskEvent' },
);
export type TaskEvent = Static<typeof TaskEventSchema>;

/** An answer that is no task: both transports, every refusal. */
export const RefusalSchema = Type.Object(
  {
    error: WireErrorSchema,
    request_id: Type.Optional(Type.String()),
    trace_id: Type.Optional(Type.String()),
  },
  { ...closed, $id: 'urn:troupe:refusal:1.0', title: 'Refusal' },
);
export type WireRefusal = Static<typeof RefusalSchema>;

// ---- names

/** `payload.subject`, else `context_id`, else empty (EN3). */
export const subjectOf = ({ payload, context_id }: Envelope): string => {
  const subject = payload['subject'];
  if (typeof subject === 'string' && subject !== '') return subject;
  return context_id ?? '';
};

/** A digest in the form of a UUID (RFC 9562, version 8). */
const uuidOf = (parts: readonly string[]): string => {
  const hash = createHash('sha256').update(JSON.stringify(parts)).digest();
  hash[6] = (hash[6]! & 0x0f) | 0x80;
  hash[8] = (hash[8]! & 0x3f) | 0x80;
  const hex = hash.toString('hex', 0, 16);
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-${hex.slice(12, 16)}-${hex.slice(16, 20)}-${hex.slice(20)}`;
};

/** What an idempotency key is scoped to. */
export type TaskScope = {
  readonly tenant: string;
  readonly action: string;
  readonly subject: string;
  readonly key: string;
  /** `sub` of the caller; left out where all callers of a tenant share their keys */
  readonly principal?: string;
};
/** Frozen: a task is found by it for as long as it is remembered. */
export const taskIdOf = ({ tenant, action, subject, key, principal }: TaskScope): string =>
  uuidOf(['task', tenant, action, subject, key, ...(principal === undefined ? [] : [principal])]);

export const taskAddress = (tenant: string, taskId: string): Address =>
  address(tenant, 'task', taskId);

/** The actor that keeps one sender's last number in one subject and MAJOR version (EN4). */
export const sequenceAddress = (
  tenant: string,
  scope: { readonly sender: string; readonly subject: string; readonly major: number },
): Address =>
  address(
    tenant,
    'sequence',
    uuidOf(['sequence', scope.sender, scope.subject, String(scope.major)]),
  );

/** Digest of a payload, whatever the order of its fields: equal payloads have equal digests. */
export const payloadHashOf = (canonicalPayload: string): string =>
  createHash('sha256').update(canonicalPayload).digest('base64url');

// ---- rows and topics

/** Index `tasks`, key task id: the view. Leaves with the task. */
export const TASKS_INDEX = 'tasks';
/** Beside the view: what a door compares and readers never see. */
export type TaskRow = { readonly view: TaskView; readonly payloadHash: string };
/** Index `evidence`, key `evidencePrefix(job_id)` and the task's id: a verifier's record (EN16). */
export const EVIDENCE_INDEX = 'evidence';
/** Of the records of one job and no other, whatever its id holds. */
export const evidencePrefix = (jobId: string): string =>
  `${jobId.replaceAll('%', '%25').replaceAll('|', '%7C')}|`;

/**
 * Bus topic of a task's events (TaskEvent, ephemeral, after the commit): the newest of each turn;
 * those before it stand in its view. `*` stands for all.
 */
export const taskTopic = (tenant: string, taskId: string): string => `task.${tenant}.${taskId}`;
/** Before the tenant and the domain in the topic of what doors tell outside. */
export const DOOR_EVENTS_TOPIC = 'a2a.out';
/** Bus topic of what a domain says of no task, for the doors to tell outside (EN15, EN19). */
export const doorEventsTopic = (tenant: string, domain: string): string =>
  `${DOOR_EVENTS_TOPIC}.${tenant}.${domain}`;

/** What a verifier returns, and what `GET /evidence/{job_id}` lists. */
export const EvidenceSchema = Type.Object(
  {
    job_id: Id,
    verified: Type.Boolean(),
    artifact_uri: Type.String(),
    artifact_hash: Type.String({ description: 'SHA-256, hex' }),
    content_type: Type.String(),
    evidence_ts: Time,
    source_kind: Type.String({ description: 'what was looked at, as `document` or `http`' }),
    verifier: Type.Optional(Type.String()),
    detail: Type.Optional(Type.String()),
  },
  { title: 'Evidence' },
);
export type Evidence = Static<typeof EvidenceSchema>;

/** What decides who reaches a task. */
export type TaskOwner = Pick<TaskView, 'principal' | 'action' | 'action_version'>;
/** As it is kept: with the task whose result it is, which rows of earlier versions lack. */
export type EvidenceRow = Evidence & { readonly task?: TaskOwner };

// ---- messages

/** Who carries the work of a task out, as the catalog of actions says. */
export type Performer =
  /** a function of this code, on whatever worker holds the task */
  | { readonly kind: 'function'; readonly class: 'keyed' | 'once' }
  /**
   * an actor: it is asked with `{ type: action, ...payload, task_id, action_version }` and its
   * reply is the result
   */
  | {
      readonly kind: 'actor';
      readonly to: Address;
      /**
       * it is told `{ type: 'task.cancel', task_id, reason }` when the task is cancelled or its
       * time is up, and then still answers: a result when it was done before, else an error, whose
       * `details.compensated: true` says that it undid everything. Without it nobody waits for its
       * answer any more.
       */
      readonly withdraws?: boolean;
    }
  /** an agent outside, by its own door; chosen among those that live */
  | { readonly kind: 'remote' };

/** How a task is carried out, fixed when it is accepted. */
export type TaskTerms = {
  readonly performer: Performer;
  /** the agent that owns the action */
  readonly agent: string;
  readonly etaSec: number;
  readonly attemptsMax: number;
  /** first pause between attempts, doubled each time up to the second; full jitter */
  readonly backoffMs: { readonly first: number; readonly max: number };
  readonly compensable: boolean;
  /** the payload is sealed (EN22): it is opened for the work only */
  readonly sensitive: boolean;
  /** its result is an Evidence, kept for its job */
  readonly evidence: boolean;
};

/** To a task, by way of its sender's sequence: creates it, or finds it. Answer: TaskView. */
export type TaskSubmit = {
  readonly type: 'task.submit';
  readonly envelope: Envelope;
  readonly payloadHash: string;
  readonly terms: TaskTerms;
  readonly transport: 'http' | 'nats' | 'actor';
  /** when the asker is answered: as soon as it is accepted, or when it has ended */
  readonly answer: 'ack' | 'done';
  /** the last number seen, when the envelope's is not above it (EN4): no new task is made */
  readonly stale?: number;
  /** where the answer goes, when another than the sender of this message asked */
  readonly replyTo?: ReplyRef;
  /** the task of which this one is another try, by an operator's hand */
  readonly redriveOf?: string;
};

/** To a sequence: let the number pass, or mark the submit as stale; forwarded either way. */
export type SequencePass = {
  readonly type: 'sequence.pass';
  readonly seq: number;
  readonly to: Address;
  readonly submit: TaskSubmit;
};

/**
 * To a task (EN8). Answer: the view, when it has ended; CONFLICT when it had ended otherwise
 * before; NOT_FOUND.
 */
export type TaskCancel = { readonly type: 'task.cancel'; readonly reason?: string };
/** To a task that waits for input or approval. Answer: the view; CONFLICT when it does not wait. */
export type TaskInput = { readonly type: 'task.input'; readonly input: unknown };
/**
 * To a task in state UNKNOWN or whose compensation failed, by an operator. `again` tries once more,
 * `done` and `failed` say what happened, `accept` leaves it as it is. Answer: the view.
 */
export type TaskDecide = {
  readonly type: 'task.decide';
  readonly decision: 'again' | 'done' | 'failed' | 'accept';
  readonly result?: unknown;
  readonly why: string;
};

/** Name of a task's event. */
export const taskEvent = (action: string, suffix: EventSuffix): string => `${action}.${suffix}`;
