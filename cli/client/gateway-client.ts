/**
 * GatewayClient: one WebSocket to a gateway, as the commands, the tests and the benches use it.
 * Says hello, matches answers to requests, passes events on, and comes back after a loss.
 *
 * Boundary: no configuration, no terminal, no commander; it checks no schema, since it talks to our
 * own gateway, whose frames the tests validate.
 * Invariants:
 *  1. Every request ends: by its answer, its time-out, its signal, or the loss of the connection.
 *  2. A request is never sent twice by the client. Whoever wants that asks again with the same
 *     idempotency key.
 *  3. A refused hello ends the client, unless the gateway says that trying again may help.
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
  /** the device that the client proves to be; default none */
  readonly identity?: Pick<Identity, 'proof'>;
  /** come back after a loss; default true */
  readonly reconnect?: boolean;
  /** keep trying also before the first hello; default false: the first failure rejects `connect` */
  readonly persistent?: boolean;
  /**
   * waits between two tries, milliseconds, doubled from the first to the most; default 1 s to 30 s
   */
  readonly backoffMs?: { readonly first: number; readonly most: number };
  /** the whole hello but for the device, instead of an operator's; asked for at every connect */
  readonly hello?: () => ConnectParams;
  /** from the start of the connection to hello, milliseconds; default 15,000 */
  readonly helloTimeoutMs?: number;
};

export type RequestOptions<M extends GatewayMethodName> = {
  /** until the answer that ends the request; default 30,000, with `expectFinal` none; 0 = none */
  readonly timeoutMs?: number;
  /** `agent` answers twice: wait for the second one */
  readonly expectFinal?: boolean;
  /** the first of two answers */
  readonly onAccepted?: (payload: GatewayResult<M>) => void;
  /** gives the wait up; what was asked for goes on */
  readonly signal?: AbortSignal;
};

/**
 * `open` has said hello; `lost` tries again; `closed` is the end, `why` when it was not asked for.
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
/** A gateway that was silent for so many of its tick intervals is taken for dead. */
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
   * Resolves at the first hello.
   * @throws TroupeError UNAVAILABLE (`details.connection`) when nobody answers, UNAUTHORIZED when
   * the
   *   gateway refuses, and what else it said
   */
  static async connect(options: GatewayClientOptions): Promise<GatewayClient> {
    const client = GatewayClient.start(options);
    await client.ready();
    return client;
  }

  /** The same without waiting: it can be listened to before its first hello. */
  static start(options: GatewayClientOptions): GatewayClient {
    const client = new GatewayClient(options);
    client.#open();
    return client;
  }

  get state(): ClientState {
    return this.#state;
  }

  /** Waits for hello, also after a loss. @throws TroupeError why the client was closed instead */
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
   * Calls the watcher at every change from now on. Returns how to stop. A watcher that throws ends
   * the client with its error.
   */
  watch(watcher: (state: ClientState) => void): () => void {
    this.#watchers.add(watcher);
    return () => void this.#watchers.delete(watcher);
  }

  /**
   * Listens to an event. Returns the end of listening. Events of a time without connection come
   * after it where the gateway is the same and still has them; else they are missed.
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
   * Asks the gateway.
   * @throws TroupeError the gateway's own, with the payload it sent beside as `details.payload`;
   *   DEADLINE_EXCEEDED after `timeoutMs`; CANCELLED by `signal`; UNAVAILABLE with
   *   `details.connection` `lost` when the connection went before the answer came, `closed` when
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

  /** Ends the connection and every wait. May be repeated. */
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
        cause = new Error('what answers there is no gateway');
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
      // After the frame: the one that says hello also says how long a silence may last.
      this.#heard();
    });
    socket.on('ping', () => this.#heard());
  }

  /** Answers the challenge. @throws TroupeError what the gateway says against it */
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
    this.#tell(this.#resume.heard(frame));
  }

  #tell(events: readonly EventFrame[]): void {
    for (const frame of events) {
      for (const listener of this.#listeners.get(frame.event) ?? []) {
        listener(frame.payload as never, frame);
      }
    }
  }

  /** Its answer is taken at once: the events that were missed come right behind it. */
  #askMissed(hello: HelloOk): void {
    const params = this.#resume.opened(hello);
    if (params === undefined) return;
    const id = randomUUID();
    const settle = ({ ok, payload }: ResponseFrame) => {
      this.#tell(this.#resume.answered(ok ? (payload as EventsResumeResult) : undefined));
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
   * Doubled with every try, with up to half of it taken off at random, so that clients do not come
   * at once.
   */
  #backoff(atLeastMs = 0): number {
    const { first, most } = this.#options.backoffMs ?? { first: 1_000, most: 30_000 };
    const waitMs = Math.min(most, first * 2 ** this.#tries);
    this.#tries += 1;
    return Math.max(atLeastMs, waitMs * (1 - Math.random() / 2));
  }

  #heard(): void {
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
