/**
 * Edge: the one way in for envelopes, whatever carried them. A transport hands over
 * bytes and credentials and gets an answer that it only has to spell: the same envelope gets the
 * same answer on HTTP and on NATS.
 *
 * Order of the checks: size, schema, identity, tenant, payload, idempotency, ttl, quota; then the
 * append, where the actors decide about idempotency once more and about seq.
 */
import type { ErrorData } from '../../protocols/errors.ts';
import type { TaskEvent, TaskView } from '../../protocols/task.ts';
import type { Transport } from '../../protocols/action.ts';

/** Metadata of an envelope: HTTP headers or NATS headers, by lower-case name. */
export type Credentials = {
  /** `Bearer {JWT}` */
  readonly authorization?: string | undefined;
  /** detached JWS over the canonical envelope (A2A-External); header `x-jws-signature` */
  readonly signature?: string | undefined;
  /** what carried them; only HTTP can show that a sender is on this machine */
  readonly transport?: Transport;
};

export type Profile = 'A2A-Basic' | 'A2A-External';

/** Who is there, as the token says. */
export type Caller = {
  readonly sub: string;
  readonly roles: readonly string[];
  readonly tenant: string;
  readonly profile: Profile;
};

export type EdgeRequest = Credentials & {
  readonly transport: Transport;
  readonly bytes: Uint8Array;
  /** W3C trace context */
  readonly traceparent?: string | undefined;
  readonly tracestate?: string | undefined;
  /** domain and tenant of the subject that it came by; both must be those of the envelope */
  readonly subject?: { readonly domain: string; readonly tenant: string };
  /** how long a synchronous answer is waited for; default SYNC_ANSWER_MS, 0 to SYNC_ANSWER_MS */
  readonly waitMs?: number;
};

/** Of the quota that the caller is nearest to. */
export type Rate = { readonly limit: number; readonly remaining: number };

export type EdgeAnswer =
  /** accepted: durable; final when the state is */
  | { readonly kind: 'task'; readonly view: TaskView; readonly rate?: Rate }
  /** nothing was accepted */
  | {
      readonly kind: 'refused';
      readonly error: ErrorData;
      readonly rate?: Rate;
      readonly requestId?: string;
      readonly traceId?: string;
    };

export interface Edge {
  submit(request: EdgeRequest): Promise<EdgeAnswer>;
  /**
   * One task of the caller's tenant, for its requester, principals that may request its action, and
   * operators; counted against the quota of reads.
   * @throws TroupeError UNAUTHORIZED, FORBIDDEN, NOT_FOUND, RATE_LIMIT_EXCEEDED
   */
  task(taskId: string, credentials: Credentials): Promise<TaskView>;
  /**
   * The events of the task from `after` + 1 on, each once and in order, until it has ended or
   * `signal` aborts. A client requests the task before it opens a stream, so the stream is not
   * counted against the quota. @throws as `task`
   */
  events(
    taskId: string,
    credentials: Credentials,
    options: { after: number; signal: AbortSignal },
  ): AsyncIterable<TaskEvent>;
  /**
   * Not for A2A-External, which sends a signed envelope instead, as of `input`; both are taken from
   * the quota of envelopes.
   * @throws as `task`; CONFLICT when it has ended otherwise
   */
  cancel(taskId: string, credentials: Credentials, reason?: string): Promise<TaskView>;
  /** @throws as `task`; CONFLICT when it waits for nothing */
  input(taskId: string, credentials: Credentials, input: unknown): Promise<TaskView>;
  close(): void;
}

/** Tells who comes. */
export interface Identity {
  /** @throws TroupeError UNAUTHORIZED that says what is wrong, never what would be right */
  authenticate(credentials: Credentials): Promise<Caller>;
  /**
   * Verifies that the envelope is the caller's: principal and tenant are the token's; under
   * A2A-External its signature is valid, with a key of the caller, and not too old
   * (identity/vouching.ts explains replays).
   * @throws TroupeError UNAUTHORIZED, FORBIDDEN; EXPIRED when the signature is too old
   */
  vouch(caller: Caller, envelope: unknown, credentials: Credentials): Promise<void>;
}

export type QuotaAnswer = Rate & {
  readonly allowed: boolean;
  readonly retryAfterMs: number;
};
/** Requests per principal and tenant. */
export interface Quota {
  take(caller: Caller, bytes: number): QuotaAnswer;
}
