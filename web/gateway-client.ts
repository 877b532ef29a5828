/**
 * GatewayClient: one lasting connection to the gateway. It performs the handshake, matches
 * responses to requests, dispatches events, and reconnects when the connection breaks.
 *
 * It implements the wire protocol and has no code for conversations.
 *
 * Invariants:
 *  1. A refused secret ends the retries: more attempts would lock the address out.
 *  2. Every request settles: with its response, or as GatewayError DISCONNECTED when the connection
 *     breaks. The caller may then send it again with the same idempotency key.
 *  3. Events are passed on in order. Events that were missed during a disconnect come before
 *     `online` if the gateway still has them. Otherwise subscribers read the state again, as they
 *     do after every connect.
 */
import type { GatewayErrorShape, HelloOk } from '../protocols/gateway/index.ts';

export type ConnectionState =
  | { readonly kind: 'connecting' }
  | { readonly kind: 'online'; readonly hello: HelloOk }
  /** `retryAt` is a time of Date.now() */
  | { readonly kind: 'waiting'; readonly retryAt: number; readonly restarting: boolean }
  /** `code` is a ConnectErrorCode if the gateway sent one */
  | {
      readonly kind: 'refused';
      readonly code: string;
      readonly message: string;
      readonly details: unknown;
    };

export type GatewayEvents = {
  onState(state: ConnectionState): void;
  onEvent(event: string, payload: unknown): void;
  /** events were lost: read the state again */
  onGap(): void;
};

export class GatewayError extends Error {
  override readonly name = 'GatewayError';
  readonly code: string;
  /** `details.code`, which is more specific, or the code itself */
  readonly detail: string;
  /** the same request may succeed later */
  readonly retryable: boolean;
  readonly details: unknown;
  constructor(error: GatewayErrorShape) {
    super(error.message);
    this.code = error.code;
    this.details = error.details;
    this.detail = (error.details as { code?: string } | undefined)?.code ?? error.code;
    this.retryable = error.retryable ?? false;
  }
}

const disconnected = () =>
  new GatewayError({ code: 'DISCONNECTED', message: 'the connection broke', retryable: true });

const PROTOCOL = 4;
const RETRY_MS = { first: 500, most: 10_000, restart: 300 };
/** The gateway sends a tick every 30 s; after two missed ticks the connection counts as dead. */
const SILENCE_MS = 65_000;

/**
 * Events that wait until the missed ones have arrived, and how many missed ones are still to come.
 */
type Resuming = { readonly held: Frame[]; missing: number | undefined };

type Answer = { resolve(payload: unknown): void; reject(error: GatewayError): void };
type Frame = {
  readonly type: 'res' | 'event';
  readonly id?: string;
  readonly ok?: boolean;
  readonly event?: string;
  readonly seq?: number;
  readonly payload?: unknown;
  readonly error?: GatewayErrorShape;
};

/** The challenge that a device must sign. */
export type Challenge = { readonly nonce: string; readonly ts: number };

export type GatewayClientOptions = GatewayEvents & {
  readonly url: string;
  readonly token: string;
  readonly locale: string;
  /** parameters of the handshake: `client`, `role`, `scopes`, …; called at every connect */
  introduce(challenge: Challenge): object | Promise<object>;
  /** default: the browser's WebSocket */
  readonly openSocket?: (url: string) => WebSocket;
};

export class GatewayClient {
  readonly #options: GatewayClientOptions;
  readonly #answers = new Map<string, Answer>();
  #socket: WebSocket | undefined;
  #state: ConnectionState = { kind: 'connecting' };
  #attempts = 0;
  #ids = 0;
  #seq = 0;
  #restarting = false;
  /** of the present connection and of the previous one */
  #server: { readonly connId: string; readonly bootId?: string } | undefined;
  #lost: { readonly connId: string; readonly bootId?: string; readonly seq: number } | undefined;
  #resuming: Resuming | undefined;
  #retry: ReturnType<typeof setTimeout> | undefined;
  #silence: ReturnType<typeof setTimeout> | undefined;
  #stopped = false;
  #again = false;

  constructor(options: GatewayClientOptions) {
    this.#options = options;
  }

  get online(): boolean {
    return this.#state.kind === 'online';
  }

  /** Connects now, also while it waits for its next retry. */
  start(): void {
    clearTimeout(this.#retry);
    if (this.#stopped || this.#socket !== undefined) return;
    this.#enter({ kind: 'connecting' });
    const open = this.#options.openSocket ?? ((url) => new WebSocket(url));
    const socket = open(this.#options.url);
    this.#socket = socket;
    this.#lose();
    socket.addEventListener('message', ({ data }) => this.#take(JSON.parse(String(data)) as Frame));
    socket.addEventListener('close', () => this.#broken(socket));
    socket.addEventListener('error', () => {});
    this.#resetSilenceTimer();
  }

  /** Reconnects because the parameters of the handshake have changed. */
  renew(): void {
    this.#attempts = 0;
    this.#socket?.close();
  }

  /** Reconnects after a refusal, as soon as the refused connection is closed. */
  again(): void {
    this.#again = this.#socket !== undefined;
    if (this.#again) this.#socket?.close();
    else this.start();
  }

  stop(): void {
    this.#stopped = true;
    clearTimeout(this.#retry);
    clearTimeout(this.#silence);
    this.#socket?.close();
  }

  /** The first response to a request. @throws GatewayError */
  request<Result>(method: string, params: object): Promise<Result> {
    return new Promise<unknown>((resolve, reject) => {
      this.#ask(method, params, { resolve, reject });
    }) as Promise<Result>;
  }

  /** `answer` is called synchronously, before any later frame is processed. */
  #ask(method: string, params: object, answer: Answer): void {
    const socket = this.#socket;
    if (socket === undefined || socket.readyState !== socket.OPEN) {
      answer.reject(disconnected());
      return;
    }
    const id = String(++this.#ids);
    this.#answers.set(id, answer);
    socket.send(JSON.stringify({ type: 'req', id, method, params }));
  }

  #take(frame: Frame): void {
    this.#resetSilenceTimer();
    if (frame.type === 'res') {
      const answer = this.#answers.get(frame.id ?? '');
      this.#answers.delete(frame.id ?? '');
      if (frame.ok) answer?.resolve(frame.payload);
      else answer?.reject(new GatewayError(frame.error ?? { code: 'UNKNOWN', message: 'refused' }));
      return;
    }
    if (frame.event === 'connect.challenge') {
      this.#hello(frame.payload as Challenge).catch(() => this.#socket?.close());
      return;
    }
    if (frame.seq !== undefined) {
      if (frame.seq !== this.#seq + 1) this.#options.onGap();
      this.#seq = frame.seq;
    }
    if (this.#resuming === undefined) this.#pass(frame);
    else this.#resume(frame, this.#resuming);
  }

  #pass({ event, payload }: Frame): void {
    if (event === 'shutdown') this.#restarting = true;
    else if (event) this.#options.onEvent(event, payload);
  }

  /** Missed events come first, then those that arrived after the handshake. */
  #resume(frame: Frame, resuming: Resuming): void {
    if (resuming.missing === undefined) {
      resuming.held.push(frame);
      return;
    }
    this.#pass(frame);
    resuming.missing--;
    this.#resumed(resuming);
  }

  #resumed({ missing, held }: Resuming): void {
    if (missing !== 0) return;
    this.#resuming = undefined;
    for (const frame of held) this.#pass(frame);
  }

  /** Remembers the ended connection and its last event. */
  #lose(): void {
    this.#lost = this.#server && { ...this.#server, seq: this.#seq };
    this.#server = undefined;
    this.#resuming = undefined;
    this.#seq = 0;
  }

  /** Requests the missed events if the gateway supports it. */
  async #askMissed({ server, features }: HelloOk): Promise<void> {
    this.#server = { connId: server.connId, ...(server.bootId ? { bootId: server.bootId } : {}) };
    if (this.#lost === undefined || !features.methods.includes('events.resume')) return;
    const resuming: Resuming = { held: [], missing: undefined };
    this.#resuming = resuming;
    await new Promise<void>((resolve, reject) => {
      const go = (missing: number) => {
        resuming.missing = missing;
        this.#resumed(resuming);
        resolve();
      };
      this.#ask('events.resume', this.#lost!, {
        resolve: (answer) => go((answer as { frames?: number }).frames ?? 0),
        reject: (error) => (error.code === 'DISCONNECTED' ? reject(error) : go(0)),
      });
    });
  }

  async #hello(challenge: Challenge): Promise<void> {
    const { token, locale } = this.#options;
    const params = {
      minProtocol: PROTOCOL,
      maxProtocol: PROTOCOL,
      ...(token === '' ? {} : { auth: { token, password: token } }),
      locale,
      ...(await this.#options.introduce(challenge)),
    };
    try {
      const hello = await this.request<HelloOk>('connect', params);
      await this.#askMissed(hello);
      this.#attempts = 0;
      this.#restarting = false;
      this.#enter({ kind: 'online', hello });
    } catch (error) {
      if (!(error instanceof GatewayError) || error.retryable) throw error;
      this.#enter({
        kind: 'refused',
        code: error.detail,
        message: error.message,
        details: error.details,
      });
    }
  }

  #broken(socket: WebSocket): void {
    if (this.#socket !== socket) return;
    this.#socket = undefined;
    clearTimeout(this.#silence);
    for (const answer of this.#answers.values()) answer.reject(disconnected());
    this.#answers.clear();
    if (this.#again && !this.#stopped) {
      this.#again = false;
      return this.start();
    }
    if (this.#stopped || this.#state.kind === 'refused') return;
    const waitMs = this.#backoffMs();
    this.#enter({ kind: 'waiting', retryAt: Date.now() + waitMs, restarting: this.#restarting });
    this.#retry = setTimeout(() => this.start(), waitMs);
  }

  /**
   * Doubles up to its maximum, minus up to a third at random, so that pages do not reconnect at
   * once.
   */
  #backoffMs(): number {
    if (this.#restarting && this.#attempts++ < 20) return RETRY_MS.restart;
    const base = Math.min(RETRY_MS.most, RETRY_MS.first * 2 ** this.#attempts++);
    return base * (1 - Math.random() / 3);
  }

  #resetSilenceTimer(): void {
    clearTimeout(this.#silence);
    this.#silence = setTimeout(() => this.#socket?.close(), SILENCE_MS);
  }

  #enter(state: ConnectionState): void {
    this.#state = state;
    this.#options.onState(state);
  }
}
