/**
 * Remote calls: a call of an agent's tool to a program outside, such as a tool of an MCP server or
 * a message to an A2A agent. An address is `{tenant}/remote-call/{id}`; the id is derived from the
 * key of the tool's call.
 *
 *   tool ─ remote-call.start ──▶ remote-call   (reply: RemoteResult, when the call has ended)
 *   tool ─ remote-call.cancel ─▶ remote-call
 *
 * A program that answers with a task gets the call followed: the handle of the task is stored
 * before it is asked about the first time. So a worker that takes over asks about the task, and
 * never calls again.
 */
import { type Address, address } from './address.ts';
import type { ImagePart } from './content.ts';
import type { ErrorData } from './errors.ts';

export const REMOTE_CALL_KINDS = ['mcp', 'a2a'] as const;
export type RemoteCallKind = (typeof REMOTE_CALL_KINDS)[number];

export const REMOTE_CALL_MS_MAX = 12 * 3_600_000;

export type RemoteCall = {
  readonly kind: RemoteCallKind;
  /** name of the MCP server or A2A agent, as the configuration has it */
  readonly server: string;
  /** what is called there: a tool of the server, or an operation of the agent */
  readonly name: string;
  readonly input: Readonly<Record<string, unknown>>;
  /** what a repeat would do, as for tools: of class `once`, a lost outcome stays unknown */
  readonly class: 'repeatable' | 'keyed' | 'once';
  /** time limit of the whole call, milliseconds, 1 to REMOTE_CALL_MS_MAX */
  readonly timeoutMs: number;
  readonly caller: {
    readonly agentId: string;
    readonly sessionKey: string;
    readonly runId: string;
    readonly callId: string;
  };
};

/**
 * From the tool, under the key of its call. Reply: RemoteResult, or an error when the call failed
 * or was not made. A repeat gets the same reply.
 */
export type RemoteCallStart = { readonly type: 'remote-call.start'; readonly call: RemoteCall };
/** From the tool, which no longer waits. Reply: null. */
export type RemoteCallCancel = { readonly type: 'remote-call.cancel' };

/** What a call returned, for the model. */
export type RemoteResult = {
  readonly text: string;
  /** the program reported a failure */
  readonly isError?: boolean;
  readonly images?: readonly ImagePart[];
  /** of class `once`: whether it was done is not known */
  readonly unknown?: boolean;
};

/** A call that continues outside. */
export type RemoteTask = {
  /** what a caller of this kind needs to follow it; JSON */
  readonly handle: unknown;
  /** pause before it is asked about again, milliseconds */
  readonly pollMs: number;
  /** what it is doing, for operators; at most 200 characters are kept */
  readonly status?: string;
};

export type RemoteStep =
  | { readonly kind: 'done'; readonly result: RemoteResult }
  | ({ readonly kind: 'running' } & RemoteTask);

type Request = {
  readonly tenant: string;
  readonly signal: AbortSignal;
  /** of the run that calls */
  readonly traceId?: string | undefined;
};

/**
 * Makes the calls of one kind.
 *
 * @throws TroupeError when the call was not made, or was refused; UNAVAILABLE and
 *   RATE_LIMIT_EXCEEDED are tried again. Anything else that is thrown leaves it open whether a call
 *   of class `once` was done.
 */
export interface RemoteCaller {
  /** @param request `idempotencyKey`: the same for all attempts of this call */
  start(
    call: RemoteCall,
    request: Request & { readonly idempotencyKey: string },
  ): Promise<RemoteStep>;
  /**
   * Asks about a call that continues outside; may be repeated.
   * @throws TroupeError NOT_FOUND when the program no longer has it
   */
  follow(call: RemoteCall, handle: unknown, request: Request): Promise<RemoteStep>;
  /** Requests its end; may be repeated. */
  cancel(call: RemoteCall, handle: unknown, request: Request): Promise<void>;
}
export type RemoteCallers = Readonly<Partial<Record<RemoteCallKind, RemoteCaller>>>;

export const remoteCallAddress = (tenant: string, id: string): Address =>
  address(tenant, 'remote-call', id);

/** Index `remote-calls`, key: the id. Kept for a day after its end. */
export const REMOTE_CALLS_INDEX = 'remote-calls';
export type RemoteCallRow = Pick<RemoteCall, 'kind' | 'server' | 'name' | 'class' | 'caller'> & {
  readonly id: string;
  /** `starting`: the request is sent; `running`: it continues outside */
  readonly state:
    | 'starting'
    | 'running'
    | 'cancelling'
    | 'done'
    | 'failed'
    | 'cancelled'
    | 'unknown';
  readonly startedAt: number;
  readonly updatedAt: number;
  readonly endedAt?: number;
  /** what the program said last that it is doing */
  readonly status?: string;
  /** why it failed, or why its latest request is repeated */
  readonly error?: ErrorData;
};
