/**
 * GatewayClient: one WebSocket connection to a gateway, for commands, tests and benches. It
 * performs the handshake, matches responses to requests, dispatches events, and reconnects after a
 * loss.
 *
 * It reads no configuration and uses no terminal. It validates no schema: the tests validate the
 * frames of our gateway.
 *
 * Invariants:
 *  1. Every request ends: with its response, its time-out, its signal, or the loss of the
 *     connection.
 *  2. The client never sends a request twice. A caller repeats a request with the same idempotency
 *     key.
 *  3. A refused handshake closes the client, unless the gateway says that a retry may succeed.
 */
import { randomUUID } from 'node:crypto';
import { WebSocket } from 'ws';
import { defined } from '../../protocols/defined.ts';
import type {
  ConnectChallenge,
  ConnectParams,
  EventFrame,
  EventsResumeResult,
  GatewayEventName,
  GatewayEventPayload,
  GatewayMethodName,
  GatewayParams,
  GatewayResult,
  HelloOk,
  ResponseFrame,
} from '../../protocols/gateway/index.ts';
import { errorData, TroupeError } from '../../protocols/errors.ts';
import { connectParams, type Introduction } from './connect-params.ts';
import type { Identity } from './device-identity.ts';
import { EventResume } from './event-resume.ts';
import { given, isAccepted, late, parse } from './gateway-frames.ts';
import { connectionError, errorOf, mayRetry } from './gateway-errors.ts';

export type GatewayClientOptions = Introduction & {
  /** `ws://host:port` */
  readonly url: string;
  /** the device identity that the client proves; default none */
  readonly identity?: Pick<Identity, 'proof'>;
  /** reconnect after a loss; default true */
  readonly reconnect?: boolean;
  /** retry also before the first handshake; default false: the first failure rejects `connect` */
  readonly persistent?: boolean;
  /**
   * delay between retries, milliseconds, doubled from the first to the maximum; default 1 s to 30 s
   */
  readonly backoffMs?: { readonly first: number; readonly most: number };
  /**
   * all `connect` parameters except the device, instead of an operator's; called at every connect
   */
  readonly hello?: () => ConnectParams;
  /** from the start of the connection to the end of the handshake, milliseconds; default 15,000 */
  readonly helloTimeoutMs?: number;
};

export type RequestOptions<M extends GatewayMethodName> = {
  /** until the final response; default 30,000, with `expectFinal` none; 0 = none */
  readonly timeoutMs?: number;
  /** `agent` responds twice: wait for the second response */
  readonly expectFinal?: boolean;
  /** called with the first of two responses */
  readonly onAccepted?: (payload: GatewayResult<M>) => void;
  /** stops waiting; the gateway continues with the request */
  readonly signal?: AbortSignal;
};

/**
 * `open`: the handshake is complete; `lost`: reconnecting; `closed`: final, with `why` unless
 * `close` was called.
 */
export type ClientState =
  | { readonly kind: 'connecting' | 'lost' }
  | { readonly kind: 'open'; readonly hello: HelloOk }
  | { readonly kind: 'closed'; readonly why?: TroupeError };

type Waiting = {
  readonly settle: (frame: ResponseFrame) => boolean;
  readonly fail: (error: TroupeError) => void;
};
type Listener = (payload: never, frame: EventFrame) => void;

const requestTimeoutMs = 30_000;
const helloTimeoutMs = 15_000;
/** A gateway that is silent for this number of its tick intervals is considered dead. */
const silentTicks = 2;

export class GatewayClient {
  readonly #options: GatewayClientOptions;
  readonly #waiting = new Map<string, Waiting>();
  readonly #listeners = new Map<string, Set<Listener>>();
  readonly #resume = new EventResume();
  readonly #watchers = new Set<(state: ClientState) => void>();
  #state: ClientState = { kind: 'connecting' };
  #socket: WebSocket | undefined;
  #retry: NodeJS.Timeout | undefined;
  #liveness: NodeJS.Timeout | undefined;
  #tries = 0;
  #greeted = false;

  private constructor(options: GatewayClientOptions) {
    this.#options = options;
  }

  /**
   * Resolves after the first handshake.
   * @throws TroupeError UNAVAILABLE (`details.connection`) when no gateway responds, UNAUTHORIZED
   *   when the gateway refuses, or another error of the gateway
   */
  static async connect(options: GatewayClientOptions): Promise<GatewayClient> {
    const client = GatewayClient.start(options);
    await client.ready();
    return client;
  }

  /** The same without waiting: callers can subscribe to events before the first handshake. */
  static start(options: GatewayClientOptions): GatewayClient {
    const client = new GatewayClient(options);
    client.#open();
    return client;
  }

  get state(): ClientState {
    return this.#state;
  }

  /**
   * Waits for the handshake, also after a loss. @throws TroupeError why the client was closed
   * instead
   */
  ready(signal?: AbortSignal): Promise<HelloOk> {
    return new Promise((resolve, reject) => {
      const settle = (state: ClientState) => {
        if (state.kind === 'open') done(() => resolve(state.hello));
        if (state.kind === 'closed')
          done(() => reject(state.why ?? connectionError('closed', this.#options.url)));
      };
      const abort = () => done(() => reject(given(signal)));
      const unwatch = this.watch(settle);
      const done = (finish: () => void) => {
        unwatch();
        signal?.removeEventListener('abort', abort);
        finish();
      };
      if (signal?.aborted) return abort();
      signal?.addEventListener('abort', abort);
      settle(this.#state);
    });
  }

  /**
   * Calls the watcher at every change from now on. Returns a function that stops it. A watcher that
   * throws closes the client with its error.
   */
  watch(watcher: (state: ClientState) => void): () => void {
    this.#watchers.add(watcher);
    return () => void this.#watchers.delete(watcher);
  }

  /**
   * Subscribes to an event. Returns a function that unsubscribes. After a reconnect, missed events
   * are delivered late if the gateway is the same process and still has them; otherwise they are
   * lost.
   */
  on<E extends GatewayEventName>(
    event: E,
    listener: (payload: GatewayEventPayload<E>, frame: EventFrame) => void,
  ): () => void {
    const listeners = this.#listeners.get(event) ?? new Set<Listener>();
    this.#listeners.set(event, listeners.add(listener));
    return () => void listeners.delete(listener);
  }

  /**
   * Sends a request.
   * @throws TroupeError the gateway's error, with its payload as `details.payload`;
   *   DEADLINE_EXCEEDED after `timeoutMs`; CANCELLED by `signal`; UNAVAILABLE with
   *   `details.connection` `lost` when the connection was lost before the response, `closed` when
   *   there is none
   */
  request<M extends GatewayMethodName>(
    method: M,
    params: GatewayParams<M>,
    options: RequestOptions<M> = {},
  ): Promise<GatewayResult<M>> {
    const { expectFinal = false, signal, onAccepted } = options;
    const timeoutMs = options.timeoutMs ?? (expectFinal ? 0 : requestTimeoutMs);
    return new Promise((resolve, reject) => {
      if (signal?.aborted) return reject(given(signal));
      if (this.#state.kind !== 'open') return reject(connectionError('closed', this.#options.url));
      const id = randomUUID();
      const timer =
        timeoutMs > 0 ? setTimeout(() => fail(late(method, timeoutMs)), timeoutMs) : undefined;
      const end = () => {
        clearTimeout(timer);
        signal?.removeEventListener('abort', abort);
        this.#waiting.delete(id);
      };
      const fail = (error: TroupeError) => {
        end();
        reject(error);
      };
      const abort = () => fail(given(signal));
      signal?.addEventListener('abort', abort);
      const settle = (frame: ResponseFrame): boolean => {
        if (!frame.ok) {
          fail(errorOf(frame));
        } else if (expectFinal && isAccepted(frame.payload)) {
          onAccepted?.(frame.payload as GatewayResult<M>);
          return false;
        } else {
          end();
          resolve(frame.payload as GatewayResult<M>);
        }
        return true;
      };
      this.#waiting.set(id, { settle, fail });
      this.#send({ type: 'req', id, method, params });
    });
  }

  /** Closes the connection and rejects every pending request. May be called more than once. */
  close(): void {
    this.#end();
  }

  #open(): void {
    const socket = new WebSocket(this.#options.url, {
      maxPayload: 64 * 1024 * 1024,
      perMessageDeflate: false,
    });
    this.#socket = socket;
    let cause: Error | undefined;
    let refusal: TroupeError | undefined;
    const hello = setTimeout(
      () => socket.terminate(),
      this.#options.helloTimeoutMs ?? helloTimeoutMs,
    );
    socket.on('error', (error) => {
      cause = error;
    });
    socket.on('close', () => {
      clearTimeout(hello);
      if (this.#socket === socket) this.#lost(refusal, cause);
    });
    socket.on('message', (data: Buffer) => {
      if (this.#socket !== socket) return;
      const frame = parse(data);
      if (!frame) {
        cause = new Error('the server at this address is not a gateway');
        socket.terminate();
        return;
      }
      if (frame.type === 'event' && frame.event === 'connect.challenge') {
        void this.#hello(socket, frame.payload as ConnectChallenge).then(
          () => clearTimeout(hello),
          (error: TroupeError) => {
            refusal = error;
            socket.close();
          },
        );
      } else this.#take(frame);
      // After the frame is processed: the handshake frame sets how long a silence may last.
      this.#resetSilenceTimer();
    });
    socket.on('ping', () => this.#resetSilenceTimer());
  }

  /** Answers the challenge. @throws TroupeError the gateway's reason for a refusal */
  #hello(socket: WebSocket, challenge: ConnectChallenge): Promise<void> {
    const id = randomUUID();
    return new Promise((resolve, reject) => {
      const fail = (error: TroupeError) => {
        this.#waiting.delete(id);
        reject(error);
      };
      const settle = (frame: ResponseFrame) => {
        if (!frame.ok) fail(errorOf(frame));
        else {
          this.#tries = 0;
          this.#greeted = true;
          this.#enter({ kind: 'open', hello: frame.payload as HelloOk });
          this.#askMissed(frame.payload as HelloOk);
          resolve();
        }
        return true;
      };
      this.#waiting.set(id, { settle, fail });
      const { hello, identity } = this.#options;
      const said = hello?.() ?? connectParams(this.#options);
      const params = identity ? { ...said, device: identity.proof(said, challenge) } : said;
      socket.send(JSON.stringify({ type: 'req', id, method: 'connect', params }));
    });
  }

  #take(frame: ResponseFrame | EventFrame): void {
    if (frame.type === 'res') {
      const waiting = this.#waiting.get(frame.id);
      if (waiting?.settle(frame)) this.#waiting.delete(frame.id);
      return;
    }
    this.#dispatch(this.#resume.onEvent(frame));
  }

  #dispatch(events: readonly EventFrame[]): void {
    for (const frame of events) {
      for (const listener of this.#listeners.get(frame.event) ?? []) {
        listener(frame.payload as never, frame);
      }
    }
  }

  /** The response is processed synchronously: the missed events follow right after it. */
  #askMissed(hello: HelloOk): void {
    const params = this.#resume.onOpen(hello);
    if (params === undefined) return;
    const id = randomUUID();
    const settle = ({ ok, payload }: ResponseFrame) => {
      this.#dispatch(this.#resume.onResponse(ok ? (payload as EventsResumeResult) : undefined));
      return true;
    };
    this.#waiting.set(id, { settle, fail: () => void this.#waiting.delete(id) });
    this.#send({ type: 'req', id, method: 'events.resume', params });
  }

  #send(frame: object): void {
    this.#socket?.send(JSON.stringify(frame));
  }

  #lost(refusal: TroupeError | undefined, cause: Error | undefined): void {
    clearTimeout(this.#liveness);
    this.#socket = undefined;
    const kind = this.#greeted ? 'lost' : 'unreachable';
    const why = refusal ?? connectionError(kind, this.#options.url, cause);
    this.#failAll(why);
    const { reconnect = true, persistent = false } = this.#options;
    const again = this.#greeted ? reconnect : persistent;
    if (this.#state.kind === 'closed') return;
    if (!again || (refusal && !mayRetry(refusal))) return this.#end(why);
    if (this.#state.kind === 'open') this.#enter({ kind: 'lost' });
    this.#retry = setTimeout(() => this.#open(), this.#backoff(refusal?.retryAfterMs));
  }

  /**
   * Doubles with every retry, minus up to half at random, so that clients do not reconnect at once.
   */
  #backoff(atLeastMs = 0): number {
    const { first, most } = this.#options.backoffMs ?? { first: 1_000, most: 30_000 };
    const waitMs = Math.min(most, first * 2 ** this.#tries);
    this.#tries += 1;
    return Math.max(atLeastMs, waitMs * (1 - Math.random() / 2));
  }

  #resetSilenceTimer(): void {
    clearTimeout(this.#liveness);
    if (this.#state.kind !== 'open') return;
    const { tickIntervalMs } = this.#state.hello.policy;
    this.#liveness = setTimeout(() => this.#socket?.terminate(), silentTicks * tickIntervalMs);
    this.#liveness.unref();
  }

  #end(why?: TroupeError): void {
    if (this.#state.kind === 'closed') return;
    clearTimeout(this.#retry);
    clearTimeout(this.#liveness);
    this.#enter({ kind: 'closed', ...defined({ why }) });
    this.#failAll(why ?? connectionError('closed', this.#options.url));
    const socket = this.#socket;
    this.#socket = undefined;
    if (socket?.readyState === WebSocket.CONNECTING) socket.terminate();
    else socket?.close(1000);
  }

  #failAll(error: TroupeError): void {
    for (const { fail } of this.#waiting.values()) fail(error);
  }

  #enter(state: ClientState): void {
    this.#state = state;
    for (const watcher of this.#watchers) {
      if (this.#state !== state) return;
      try {
        watcher(state);
      } catch (cause) {
        const { message } = errorData(cause);
        this.#end(
          cause instanceof TroupeError ? cause : new TroupeError('INTERNAL', message, { cause }),
        );
      }
    }
  }
}
