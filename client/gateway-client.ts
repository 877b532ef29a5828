/**
 * GatewayClient: a lasting connection to a gateway, for programs and browsers. It performs the
 * handshake, sends requests, dispatches events, and reconnects after a loss. `operator-client.ts`
 * has what a program in Node adds.
 *
 * It reads no configuration and stores nothing. It validates no schema: the tests validate the
 * frames of our gateway.
 *
 * Invariants:
 *  1. Every request ends: with its response, its time-out, its signal, or the loss of the
 *     connection.
 *  2. The client never sends a request twice. A caller repeats a request with the same idempotency
 *     key.
 *  3. A refused handshake ends the retries, unless the gateway says that a retry may succeed: more
 *     attempts with a wrong secret would lock the address out.
 *  4. Events are passed on in order. After a reconnect, missed events come before the state `open`
 *     if the gateway still has them; otherwise callers read the state again.
 */
import { defined } from '../protocols/defined.ts';
import { errorData, TroupeError } from '../protocols/errors.ts';
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
} from '../protocols/gateway/index.ts';
import { EventResume } from './event-resume.ts';
import { type ClientSocket, GatewayConnection } from './gateway-connection.ts';
import { cancelled, connectionError, errorOf, mayRetry } from './gateway-errors.ts';
import { requestOver, type RequestOptions } from './gateway-request.ts';

export type GatewayClientOptions = {
  /** `ws://host:port` */
  readonly url: string;
  /**
   * The parameters of `connect`; called at every connect. A TroupeError that it throws counts as a
   * refusal, another error as a loss of the connection.
   */
  readonly introduce: (challenge: ConnectChallenge) => ConnectParams | Promise<ConnectParams>;
  /** default: the WebSocket of the platform; in Node, `troupe/client` uses the package `ws` */
  readonly openSocket?: (url: string) => ClientSocket;
  /** reconnect after a loss; default true */
  readonly reconnect?: boolean;
  /** retry also before the first handshake; default false: the first failure closes the client */
  readonly persistent?: boolean;
  readonly backoffMs?: Backoff;
  /** from the start of the connection to the end of the handshake, milliseconds; default 15,000 */
  readonly helloTimeoutMs?: number;
  /** default of `RequestOptions.timeoutMs`; default 30,000 */
  readonly requestTimeoutMs?: number;
};

/** Delays between retries, milliseconds. */
export type Backoff = {
  /** doubled with every retry; default 1,000 */
  readonly first: number;
  /** default 30,000 */
  readonly most: number;
  /** while a gateway restarts that announced it, for some retries; default: as after a loss */
  readonly restart?: number;
};

export type ClientState =
  | { readonly kind: 'connecting' }
  /** the handshake is complete */
  | { readonly kind: 'open'; readonly hello: HelloOk }
  | {
      /** for the next retry */
      readonly kind: 'waiting';
      /** a time of Date.now() */
      readonly retryAt: number;
      /** the gateway announced a restart */
      readonly restarting: boolean;
      /** the connection was open until now; false after a retry that failed */
      readonly lost: boolean;
    }
  /** `why`: undefined after `close`, which is final; otherwise `connect` connects again */
  | { readonly kind: 'closed'; readonly why?: TroupeError };

type Listener = (payload: never, frame: EventFrame) => void;

const REQUEST_TIMEOUT_MS = 30_000;
const HELLO_TIMEOUT_MS = 15_000;
/** A gateway that is silent for this number of its tick intervals is considered dead. */
const SILENT_TICKS = 2;
/** Retries after an announced restart that use the delay `restart`. */
const RESTART_RETRIES_MAX = 20;
const BACKOFF_MS: Backoff = { first: 1_000, most: 30_000 };

export class GatewayClient {
  readonly #options: GatewayClientOptions;
  readonly #listeners = new Map<string, Set<Listener>>();
  readonly #all = new Set<(frame: EventFrame) => void>();
  readonly #gaps = new Set<() => void>();
  readonly #watchers = new Set<(state: ClientState) => void>();
  readonly #resume = new EventResume();
  #state: ClientState = { kind: 'connecting' };
  #connection: GatewayConnection | undefined;
  /** of the present connection, after its handshake */
  #hello: HelloOk | undefined;
  #refusal: TroupeError | undefined;
  #helloTimer: ReturnType<typeof setTimeout> | undefined;
  #retry: ReturnType<typeof setTimeout> | undefined;
  #silence: ReturnType<typeof setTimeout> | undefined;
  #tries = 0;
  /** a handshake succeeded before */
  #greeted = false;
  #restarting = false;
  /** connect at once when the present connection has ended */
  #again = false;

  constructor(options: GatewayClientOptions) {
    this.#options = options;
  }

  get state(): ClientState {
    return this.#state;
  }

  /**
   * Connects now: the first time, before the next retry is due, or after a refusal. Does nothing
   * while there is a connection, and after `close`.
   */
  connect(): void {
    if (this.#isFinal() || this.#connection !== undefined) return;
    clearTimeout(this.#retry);
    this.#open();
  }

  /** Ends the present connection and connects again, for changed parameters of the handshake. */
  reconnect(): void {
    this.#tries = 0;
    this.#again = this.#connection !== undefined;
    if (this.#again) this.#connection?.close();
    else this.connect();
  }

  /**
   * Waits for the handshake, also after a loss. @throws TroupeError why the client was closed
   * instead
   */
  ready(signal?: AbortSignal): Promise<HelloOk> {
    return new Promise((resolve, reject) => {
      const settle = (state: ClientState) => {
        if (state.kind === 'open') done(() => resolve(state.hello));
        if (state.kind === 'closed') done(() => reject(state.why ?? this.#error('closed')));
      };
      const abort = () => done(() => reject(cancelled(signal)));
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
    return added(this.#watchers, watcher);
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
    this.#listeners.set(event, listeners);
    return added(listeners, listener);
  }

  /** Subscribes to all events. Returns a function that unsubscribes. */
  onEvent(listener: (frame: EventFrame) => void): () => void {
    return added(this.#all, listener);
  }

  /** Subscribes to the loss of events of an open connection: read the state again. */
  onGap(listener: () => void): () => void {
    return added(this.#gaps, listener);
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
    const { expectFinal = false, signal } = options;
    const { requestTimeoutMs = REQUEST_TIMEOUT_MS } = this.#options;
    const connection = this.#hello && this.#connection;
    if (signal?.aborted) return Promise.reject(cancelled(signal));
    if (!connection) return Promise.reject(this.#error('closed'));
    const timeoutMs = options.timeoutMs ?? (expectFinal ? 0 : requestTimeoutMs);
    return requestOver(connection, method, params, { ...options, timeoutMs });
  }

  /** Closes the connection and rejects every pending request. May be called more than once. */
  close(): void {
    this.#end();
  }

  #open(): void {
    this.#hello = undefined;
    this.#refusal = undefined;
    const { openSocket = platformSocket, helloTimeoutMs = HELLO_TIMEOUT_MS } = this.#options;
    const ifPresent = (then: () => void) => {
      if (this.#connection === connection) then();
    };
    const connection: GatewayConnection = new GatewayConnection(openSocket(this.#options.url), {
      onEvent: (frame) => ifPresent(() => this.#onEvent(connection, frame)),
      // After the frame is processed: the handshake frame sets how long a silence may last.
      onFrame: () => ifPresent(() => this.#resetSilenceTimer()),
      onClose: (cause) => ifPresent(() => this.#lost(connection, cause)),
    });
    this.#connection = connection;
    this.#helloTimer = setTimeout(() => connection.terminate(), helloTimeoutMs);
    this.#enter({ kind: 'connecting' });
  }

  #onEvent(connection: GatewayConnection, frame: EventFrame): void {
    if (frame.event === 'connect.challenge') {
      void this.#introduce(connection, frame.payload as ConnectChallenge);
      return;
    }
    if (frame.event === 'shutdown') this.#restarting = true;
    if (this.#resume.isGap(frame)) for (const listener of this.#gaps) listener();
    this.#dispatch(this.#resume.onEvent(frame));
  }

  /** Answers the challenge. Never rejects. */
  async #introduce(connection: GatewayConnection, challenge: ConnectChallenge): Promise<void> {
    const refused = (error: TroupeError) => {
      clearTimeout(this.#helloTimer);
      this.#refusal = error;
      connection.close();
    };
    const settle = (frame: ResponseFrame) => {
      if (frame.ok) this.#greet(connection, frame.payload as HelloOk);
      else refused(errorOf(frame));
      return true;
    };
    try {
      const params = await this.#options.introduce(challenge);
      if (this.#connection === connection)
        connection.request('connect', params, { settle, fail: () => {} });
    } catch (error) {
      if (this.#connection !== connection) return;
      if (error instanceof TroupeError) refused(error);
      else connection.close();
    }
  }

  /** The missed events follow right after the response to `events.resume`. */
  #greet(connection: GatewayConnection, hello: HelloOk): void {
    clearTimeout(this.#helloTimer);
    this.#tries = 0;
    this.#greeted = true;
    this.#restarting = false;
    this.#hello = hello;
    const missed = this.#resume.onOpen(hello);
    if (missed === undefined) return this.#enter({ kind: 'open', hello });
    const settle = ({ ok, payload }: ResponseFrame) => {
      this.#dispatch(this.#resume.onResponse(ok ? (payload as EventsResumeResult) : undefined));
      return true;
    };
    connection.request('events.resume', missed, { settle, fail: () => {} });
  }

  #dispatch(events: readonly EventFrame[]): void {
    for (const frame of events) {
      for (const listener of this.#all) listener(frame);
      for (const listener of this.#listeners.get(frame.event) ?? [])
        listener(frame.payload as never, frame);
    }
    if (this.#hello && this.#state.kind === 'connecting' && !this.#resume.isPending)
      this.#enter({ kind: 'open', hello: this.#hello });
  }

  #lost(connection: GatewayConnection, cause: Error | undefined): void {
    const refusal = this.#refusal;
    const why = refusal ?? this.#error(this.#greeted ? 'lost' : 'unreachable', cause);
    this.#forgetConnection();
    connection.failAll(why);
    const again = this.#again;
    this.#again = false;
    if (again) return this.#open();
    const { reconnect = true, persistent = false } = this.#options;
    const retries = this.#greeted ? reconnect : persistent;
    if (!retries || (refusal && !mayRetry(refusal))) return this.#end(why);
    const waitMs = this.#backoff(refusal?.retryAfterMs);
    this.#retry = setTimeout(() => this.#open(), waitMs);
    const [retryAt, lost] = [Date.now() + waitMs, this.#state.kind === 'open'];
    this.#enter({ kind: 'waiting', retryAt, restarting: this.#restarting, lost });
  }

  /**
   * Doubles with every retry, minus up to half at random, so that clients do not reconnect at once.
   */
  #backoff(atLeastMs = 0): number {
    const { first, most, restart } = this.#options.backoffMs ?? BACKOFF_MS;
    const tries = this.#tries++;
    if (this.#restarting && restart !== undefined && tries < RESTART_RETRIES_MAX)
      return Math.max(atLeastMs, restart);
    const waitMs = Math.min(most, first * 2 ** tries);
    return Math.max(atLeastMs, waitMs * (1 - Math.random() / 2));
  }

  #resetSilenceTimer(): void {
    clearTimeout(this.#silence);
    if (!this.#hello) return;
    const { tickIntervalMs } = this.#hello.policy;
    const timer = setTimeout(() => this.#connection?.terminate(), SILENT_TICKS * tickIntervalMs);
    this.#silence = timer;
    // In Node a timer is an object: it does not keep the process alive.
    (timer as { unref?(): void }).unref?.();
  }

  #forgetConnection(): GatewayConnection | undefined {
    clearTimeout(this.#helloTimer);
    clearTimeout(this.#silence);
    const connection = this.#connection;
    this.#connection = undefined;
    this.#hello = undefined;
    return connection;
  }

  #isFinal(): boolean {
    return this.#state.kind === 'closed' && this.#state.why === undefined;
  }

  #end(why?: TroupeError): void {
    if (this.#isFinal() || (this.#state.kind === 'closed' && why !== undefined)) return;
    clearTimeout(this.#retry);
    const connection = this.#forgetConnection();
    this.#enter({ kind: 'closed', ...defined({ why }) });
    connection?.failAll(why ?? this.#error('closed'));
    connection?.close(1000);
  }

  #error(kind: Parameters<typeof connectionError>[0], cause?: Error): TroupeError {
    return connectionError(kind, this.#options.url, cause);
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

const platformSocket = (url: string): ClientSocket => new WebSocket(url);

/** Returns a function that removes it again. */
const added = <T>(set: Set<T>, member: T): (() => void) => {
  set.add(member);
  return () => void set.delete(member);
};
