/**
 * Task: the processing of one envelope. States, the public view, events, addresses, messages and
 * rows that entry points, task actors, sagas and readers share.
 *
 * A task's id is derived from the scope of its idempotency key. The same request therefore finds
 * the same task until the task is removed, and no separate store of keys is needed.
 */
import { hash } from 'node:crypto';
import { type Static, Type } from '@sinclair/typebox';
import { type Address, address } from './address.ts';
import { defined } from './defined.ts';
import type { Envelope, EventSuffix } from './envelope.ts';
import { ERRORS, type ErrorCode, type ErrorData } from './errors.ts';
import type { ReplyRef } from './statechart.ts';
import type { TaskAnswer } from './task-input.ts';

/**
 * Public states. SUCCEEDED, FAILED, CANCELLED, COMPENSATED and EXPIRED are final and never change;
 * during a compensation the task is still RUNNING. UNKNOWN: it is not known whether the work was
 * done; an operator decides, and the task continues or ends.
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

/** Time limit of a synchronous reply. */
export const SYNC_ANSWER_MS = 2_000;
/** Default time limit of a task; its action may set another. */
export const ETA_SEC_DEFAULT = 300;
export const ETA_SEC_MAX = 86_400;
/** Maximum number of attempts: the first and six more. */
export const ATTEMPTS_MAX = 7;
/** Retention of finished tasks: longer than the maximum lifetime of an envelope. */
export const TASK_RETENTION_MS = 28 * 3_600_000;
/** Larger results are artifacts. */
export const TASK_RESULT_BYTES_MAX = 262_144;

const closed = { additionalProperties: false } as const;
const Time = Type.String({ format: 'date-time' });
const Id = Type.String({ minLength: 1, maxLength: 128 });
const State = Type.Unsafe<TaskState>({ type: 'string', enum: [...TASK_STATES] });
const Code = Type.Unsafe<ErrorCode>({ type: 'string', enum: Object.keys(ERRORS) });

/** The public form of an error in replies and events. */
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

/** What a task waits for: a decision or input. */
export const WaitingSchema = Type.Object(
  {
    for: Type.Unsafe<'input' | 'approval' | 'decision'>({
      type: 'string',
      enum: ['input', 'approval', 'decision'],
      description:
        'input: from the caller; approval: yes or no; decision: from an operator, about work with an unknown outcome or a failed compensation',
    }),
    prompt: Type.String({ maxLength: 4_096 }),
    /** JSON Schema of the input */
    schema: Type.Optional(Type.Record(Type.String(), Type.Unknown())),
    since: Time,
  },
  closed,
);
export type Waiting = Static<typeof WaitingSchema>;

/** Maximum number of operator decisions in a view; older ones are in the journal only. */
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

/** Protocols whose calls become envelopes. */
const TASK_PROTOCOLS = ['mcp', 'a2a'] as const;
export type TaskProtocol = (typeof TASK_PROTOCOLS)[number];

/** The public view of a task, in replies of both transports. */
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
    principal: Type.String({ description: 'sub of the caller' }),
    protocol: Type.Optional(
      Type.Unsafe<TaskProtocol>({
        type: 'string',
        enum: [...TASK_PROTOCOLS],
        description: 'by which the caller requested it, unless it sent an envelope',
      }),
    ),
    agent_id: Type.Optional(
      Type.String({ description: 'the agent whose A2A address (`/a2a/{agent}`) received it' }),
    ),
    accepted_at: Time,
    started_at: Type.Optional(Time),
    resumed_at: Type.Optional(Time),
    finished_at: Type.Optional(Time),
    eta_sec: Type.Integer({ minimum: 1, description: 'time limit of the task' }),
    attempt: Type.Integer({ minimum: 0, description: 'attempts that were started' }),
    waiting: Type.Optional(WaitingSchema),
    decisions: Type.Optional(
      Type.Array(DecisionSchema, {
        maxItems: DECISIONS_SHOWN_MAX,
        description: 'decisions of operators, oldest first',
      }),
    ),
    compensating: Type.Optional(Type.Boolean({ description: 'the work is being compensated' })),
    result: Type.Optional(Type.Unknown()),
    resource_links: Type.Optional(Type.Array(Type.Record(Type.String(), Type.Unknown()))),
    error: Type.Optional(WireErrorSchema),
    outcome: Type.Optional(
      Type.Unsafe<'FAILED' | 'CANCELLED'>({
        type: 'string',
        enum: ['FAILED', 'CANCELLED'],
        description: 'of a COMPENSATED task: the reason',
      }),
    ),
    events: Type.Array(EventEntry, { description: 'the events of the task so far' }),
  },
  { ...closed, $id: 'urn:troupe:task:1.0', title: 'Task' },
);
export type TaskView = Static<typeof TaskViewSchema>;

/** A published event: on a task's event stream and on `a2a.{domain}.{env}.out.{tenant}`. */
export const TaskEventSchema = Type.Object(
  {
    event: Type.String(),
    event_id: Type.String({ description: '{task_id}.{n}: stays the same when it is sent again' }),
    n: Type.Integer({ minimum: 1 }),
    at: Time,
    task: TaskViewSchema,
  },
  { ...closed, $id: 'urn:troupe:task-event:1.0', title: 'TaskEvent' },
);
export type TaskEvent = Static<typeof TaskEventSchema>;

/** A reply without a task, for every refusal on both transports. */
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

/** `payload.subject`, else `context_id`, else empty. */
export const subjectOf = ({ payload, context_id }: Envelope): string => {
  const subject = payload['subject'];
  if (typeof subject === 'string' && subject !== '') return subject;
  return context_id ?? '';
};

/** A digest in the form of a UUID (RFC 9562, version 8). */
const uuidOf = (parts: readonly string[]): string => {
  const hex = hash('sha256', JSON.stringify(parts), 'hex');
  const variant = ((Number.parseInt(hex.charAt(16), 16) & 0x3) | 0x8).toString(16);
  const [low, high] = [`8${hex.slice(13, 16)}`, `${variant}${hex.slice(17, 20)}`];
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-${low}-${high}-${hex.slice(20, 32)}`;
};

/** The scope of an idempotency key. */
export type TaskScope = {
  readonly tenant: string;
  readonly action: string;
  readonly subject: string;
  readonly key: string;
  /** `sub` of the caller; omitted when all callers of a tenant share their keys */
  readonly principal?: string;
};
/** Must never change: it identifies a task for as long as the task is stored. */
export const taskIdOf = ({ tenant, action, subject, key, principal }: TaskScope): string =>
  uuidOf(['task', tenant, action, subject, key, ...(principal === undefined ? [] : [principal])]);

export const taskAddress = (tenant: string, taskId: string): Address =>
  address(tenant, 'task', taskId);

/** The actor that stores one sender's last number for one subject and MAJOR version. */
export const sequenceAddress = (
  tenant: string,
  scope: { readonly sender: string; readonly subject: string; readonly major: number },
): Address =>
  address(
    tenant,
    'sequence',
    uuidOf(['sequence', scope.sender, scope.subject, String(scope.major)]),
  );

/**
 * Digest of a payload, independent of the order of its fields: equal payloads have equal digests.
 */
export const payloadHashOf = (canonicalPayload: string): string =>
  hash('sha256', canonicalPayload, 'base64url');

// ---- rows and topics

/** Index `tasks`, key task id: the view. Removed with the task. */
export const TASKS_INDEX = 'tasks';
/** Fields next to the view that an entry point compares and readers never see. */
export type TaskRow = {
  readonly view: TaskView;
  readonly payloadHash: string;
  /** the accepted inputs that had a key, oldest first; absent: none */
  readonly answers?: readonly TaskAnswer[];
};
/** Index `evidence`, key `evidencePrefix(job_id)` and the task's id: a verifier's record. */
export const EVIDENCE_INDEX = 'evidence';
/** Matches the records of exactly one job, whatever characters its id contains. */
export const evidencePrefix = (jobId: string): string =>
  `${jobId.replaceAll('%', '%25').replaceAll('|', '%7C')}|`;

/**
 * Bus topic of a task's events (TaskEvent, ephemeral, after the commit): the newest of each turn;
 * earlier ones are in its view. `*` matches all.
 */
export const taskTopic = (tenant: string, taskId: string): string => `task.${tenant}.${taskId}`;
/** Prefix of topics whose messages entry points publish externally, before tenant and domain. */
export const ENTRY_POINT_EVENTS_TOPIC = 'a2a.out';
/** Bus topic of a domain's events without a task, which the entry points publish externally. */
export const entryPointEventsTopic = (tenant: string, domain: string): string =>
  `${ENTRY_POINT_EVENTS_TOPIC}.${tenant}.${domain}`;

/** A verifier's result, listed by `GET /evidence/{job_id}`. */
export const EvidenceSchema = Type.Object(
  {
    job_id: Id,
    verified: Type.Boolean(),
    artifact_uri: Type.String(),
    artifact_hash: Type.String({ description: 'SHA-256, hex' }),
    content_type: Type.String(),
    evidence_ts: Time,
    source_kind: Type.String({ description: 'what was verified, as `document` or `http`' }),
    verifier: Type.Optional(Type.String()),
    detail: Type.Optional(Type.String()),
  },
  { title: 'Evidence' },
);
export type Evidence = Static<typeof EvidenceSchema>;

/** The facts that decide who may access a task. */
export type TaskOwner = Pick<TaskView, 'principal' | 'action' | 'action_version'>;
/** The stored form, with the task whose result it is; rows of earlier versions lack it. */
export type EvidenceRow = Evidence & { readonly task?: TaskOwner };

// ---- messages

/** How the work of a task is executed, according to the catalog of actions. */
export type Performer =
  /** a function of this program, on the worker that has the task */
  | { readonly kind: 'function'; readonly class: 'keyed' | 'once' }
  /**
   * an actor: it receives `{ type: action, ...payload, task_id, action_version }`, with
   * `task_locality` and `task_context` if the envelope has a `data_locality` and a `context_id`,
   * and its reply is the result
   */
  | {
      readonly kind: 'actor';
      readonly to: Address;
      /**
       * it receives `{ type: 'task.cancel', task_id, reason }` when the task is cancelled or its
       * time is up, and must still reply: a result if it was already done, else an error. The error
       * has `details.compensated: true` if all work was undone. Without this field the task does
       * not wait for its reply.
       */
      readonly withdraws?: boolean;
    }
  /** an external agent, called through its URL; chosen among the live ones */
  | { readonly kind: 'remote' };

/** Execution settings of a task, fixed when it is accepted. */
export type TaskTerms = {
  readonly performer: Performer;
  /** the agent that owns the action */
  readonly agent: string;
  readonly etaSec: number;
  readonly attemptsMax: number;
  /** first delay between attempts; doubles up to the second value, with full jitter */
  readonly backoffMs: { readonly first: number; readonly max: number };
  readonly compensable: boolean;
  /** the payload is sealed and is decrypted only for the work */
  readonly sensitive: boolean;
  /** its result is an Evidence record, stored for its job */
  readonly evidence: boolean;
};

/** To a task, through its sender's sequence: creates or finds it. Reply: TaskView. */
export type TaskSubmit = {
  readonly type: 'task.submit';
  readonly envelope: Envelope;
  readonly payloadHash: string;
  readonly terms: TaskTerms;
  readonly transport: 'http' | 'nats' | 'actor';
  /** absent: the caller sent the envelope */
  readonly protocol?: TaskProtocol;
  /** when the caller receives the reply: on acceptance, or at the end */
  readonly answer: 'ack' | 'done';
  /** the last number, if the envelope's is not greater: no new task is created */
  readonly stale?: number;
  /** destination of the reply, if it is not the sender of this message */
  readonly replyTo?: ReplyRef;
  /** the task that an operator retries with this one */
  readonly redriveOf?: string;
  /** the agent whose A2A address received the message */
  readonly agentId?: string;
};

/** To a sequence: accept the number, or mark the submission as stale; forwards it in both cases. */
export type SequencePass = {
  readonly type: 'sequence.pass';
  readonly seq: number;
  readonly to: Address;
  readonly submit: TaskSubmit;
};

/** To a task. Reply: the view, after the end; CONFLICT when it had ended otherwise; NOT_FOUND. */
export type TaskCancel = { readonly type: 'task.cancel'; readonly reason?: string };
/** To a task that waits for input or approval. Reply: the view; CONFLICT when it does not wait. */
export type TaskInput = {
  readonly type: 'task.input';
  readonly input: unknown;
  /** id of the message that contains it; default: that of this message */
  readonly message_id?: string;
};
/**
 * To a task in state UNKNOWN or with a failed compensation, by an operator. `again` retries, `done`
 * and `failed` record the outcome, `accept` leaves it unchanged. Reply: the view.
 */
export type TaskDecide = {
  readonly type: 'task.decide';
  readonly decision: 'again' | 'done' | 'failed' | 'accept';
  readonly result?: unknown;
  readonly why: string;
};

/** Name of a task's event. */
export const taskEvent = (action: string, suffix: EventSuffix): string => `${action}.${suffix}`;
