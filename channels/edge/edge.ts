/**
 * The Edge accepts envelopes of all transports. A transport passes bytes and credentials, and
 * encodes the answer: the same envelope gets the same answer over HTTP and NATS.
 *
 * `create-edge.ts` has the checks in their order. After them the message is appended; the actors
 * check the idempotency key once more, and the sequence number.
 */
import type { ErrorData } from '../../protocols/errors.ts';
import type { TaskEvent, TaskProtocol, TaskView, Waiting } from '../../protocols/task.ts';
import type { TokenScope } from '../../operations/access.ts';
import type { Transport } from '../../protocols/action.ts';

/** Metadata of an envelope: HTTP headers or NATS headers, by lower-case name. */
export type Credentials = {
  /** `Bearer {JWT}` */
  readonly authorization?: string | undefined;
  /** detached JWS over the canonical envelope (A2A-External); header `x-jws-signature` */
  readonly signature?: string | undefined;
  /** needed because only HTTP shows whether the sender is on this machine */
  readonly transport?: Transport;
};

export type Profile = 'A2A-Basic' | 'A2A-External';

/** The authenticated caller, from its token. */
export type Caller = {
  readonly sub: string;
  readonly roles: readonly string[];
  readonly tenant: string;
  readonly profile: Profile;
  /** limits what the roles allow; absent: no limit (`operations/access.ts`) */
  readonly scopes?: readonly TokenScope[];
};

export type EdgeRequest = Credentials & {
  readonly transport: Transport;
  /** of the call that became this envelope */
  readonly protocol?: TaskProtocol;
  readonly bytes: Uint8Array;
  /** W3C trace context */
  readonly traceparent?: string | undefined;
  readonly tracestate?: string | undefined;
  /** domain and tenant of its NATS subject; both must equal the envelope's */
  readonly subject?: { readonly domain: string; readonly tenant: string };
  /** wait for a synchronous answer; 0 to SYNC_ANSWER_MS, default SYNC_ANSWER_MS */
  readonly waitMs?: number;
  /** waits as `settled` does, instead of `waitMs` */
  readonly until?: Until;
  /**
   * No other work of the sender has its subject. So there is no order to keep: `seq` is not
   * compared, and no sequence actor is needed.
   */
  readonly isUnordered?: true;
  /** Its key was made for this envelope, so no task has it, and none is looked for. */
  readonly isNewKey?: true;
  /** the agent whose A2A address received it; the task belongs to that agent then */
  readonly agentId?: string;
};

/** The quota that will be reached first. */
export type Rate = { readonly limit: number; readonly remaining: number };

export type EdgeAnswer =
  /** accepted and durable; final if the state of the view is final, otherwise follow `events` */
  | { readonly kind: 'task'; readonly view: TaskView; readonly rate?: Rate }
  /** not accepted */
  | {
      readonly kind: 'refused';
      readonly error: ErrorData;
      readonly rate?: Rate;
      readonly requestId?: string;
      readonly traceId?: string;
    };

/** The end of a wait for a task. */
export type Until = {
  readonly signal: AbortSignal;
  /** maximum time, milliseconds; default no limit */
  readonly limitMs?: number;
  /** whether a wait of the task does not end this one; default: each does */
  readonly ignores?: (waiting: Waiting) => boolean;
  /** called with the task at each event before the end */
  readonly onChange?: (view: TaskView) => void;
};

export interface Edge {
  submit(request: EdgeRequest): Promise<EdgeAnswer>;
  /**
   * One task of the caller's tenant. Its requester, operators, and principals that may request its
   * action can read it. Counted against the quota of reads.
   * @throws TroupeError UNAUTHORIZED, FORBIDDEN, NOT_FOUND, RATE_LIMIT_EXCEEDED
   */
  task(taskId: string, credentials: Credentials): Promise<TaskView>;
  /**
   * The events of the task with a number above `after`, each once and in order, until it has ended
   * or `signal` aborts. A client requests the task before it opens a stream, so the stream is not
   * counted against the quota. @throws as `task`
   */
  events(
    taskId: string,
    credentials: Credentials,
    options: { after: number; signal: AbortSignal },
  ): AsyncIterable<TaskEvent>;
  /**
   * The task when it has ended or waits for something, or as it is when the time is over or
   * `signal` aborts. Not counted against a quota, like `events`.
   * @throws as `task`
   */
  settled(taskId: string, credentials: Credentials, until: Until): Promise<TaskView>;
  /**
   * Counted against the quota of envelopes.
   * @throws as `task`; UNAUTHORIZED for A2A-External, whose clients send a signed envelope instead;
   * CONFLICT when the task has ended with another outcome
   */
  cancel(taskId: string, credentials: Credentials, reason?: string): Promise<TaskView>;
  /** Counted and refused like `cancel`. @throws CONFLICT when the task waits for no input */
  input(taskId: string, credentials: Credentials, input: unknown): Promise<TaskView>;
  close(): void;
}

/** Authenticates callers and their envelopes. */
export interface Identity {
  /** @throws TroupeError UNAUTHORIZED: names the fault, never a value that would be valid */
  authenticate(credentials: Credentials): Promise<Caller>;
  /**
   * Verifies that the envelope is the caller's: principal and tenant are the token's; under
   * A2A-External its signature is valid, with a key of the caller, and not too old
   * (identity/envelope-verification.ts explains replays).
   * @throws TroupeError UNAUTHORIZED, FORBIDDEN; EXPIRED when the signature is too old
   */
  verifyEnvelope(caller: Caller, envelope: unknown, credentials: Credentials): Promise<void>;
}

export type QuotaAnswer = Rate & {
  readonly allowed: boolean;
  readonly retryAfterMs: number;
};
/** Limits requests, and their bytes, per principal and tenant. */
export interface Quota {
  take(caller: Caller, bytes: number): QuotaAnswer;
}
