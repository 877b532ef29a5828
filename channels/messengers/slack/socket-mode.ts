/**
 * Socket Mode: events of Slack over a WebSocket that this process opens.
 *
 * Invariants:
 *  1. An envelope is acknowledged only after `onEvent` resolved, on the socket that it came from.
 *  2. There are at most two sockets: on a refresh the new one is ready before the old one is
 *     closed, and the old one is closed before the next refresh. A forgotten socket would receive
 *     events that no one reads.
 *  3. A socket that is silent is closed. Silence is counted in unanswered pings, not in time, so
 *     that a process that was busy or stopped does not drop a live connection.
 */
import { type RawData, WebSocket } from 'ws';
import type { ConnectOutput } from '../../../protocols/channel.ts';
import type { Clock } from '../../../runtime/index.ts';
import type { AccountContext } from '../adapter.ts';
import { STOPPED } from '../webhook-requests.ts';

export type SocketModeOptions = {
  readonly clock: Clock;
  readonly log: AccountContext<unknown>['log'];
  readonly signal: AbortSignal;
  /** A URL for one connection. Its errors end the connection. */
  openUrl(): Promise<string>;
  /** Called when the first connection is ready. */
  onReady(): Promise<void>;
  /** Resolves when the payload of an event is stored. */
  onEvent(payload: unknown): Promise<void>;
  onSignOfLife(): void;
};

const HELLO_MS = 10_000;
const PING_MS = 10_000;
const UNANSWERED_MAX = 3;
const PENDING_MS = 5_000;
const CLOSE_MS = 2_000;
const FRAME_BYTES_MAX = 4 * 1024 * 1024;
const TOO_MANY_WAIT_MS = 30_000;

const lost = (message: string): ConnectOutput => ({
  error: { code: 'UNAVAILABLE', message },
  isFinal: false,
});

/** Receives until the connection ends or the signal is aborted. @throws what `openUrl` throws */
export async function runSocketMode(options: SocketModeOptions): Promise<ConnectOutput> {
  let link = new Link(await options.openUrl(), options);
  const refused = await link.ready;
  if (refused !== undefined) return refused;
  await options.onReady();
  for (;;) {
    const ended = await link.refreshOrEnd;
    if (ended !== undefined) return ended;
    const next = await replacement(options);
    // Without a replacement the old connection is used until Slack closes it.
    if (next === undefined) return await link.end;
    await link.close();
    link = next;
  }
}

async function replacement(options: SocketModeOptions): Promise<Link | undefined> {
  try {
    const link = new Link(await options.openUrl(), options);
    const refused = await link.ready;
    if (refused === undefined) return link;
    options.log.warn({ error: refused.error }, 'no new connection to Slack');
  } catch (error) {
    options.log.warn({ error }, 'no new connection to Slack');
  }
  return undefined;
}

type Envelope = {
  readonly type?: unknown;
  readonly reason?: unknown;
  readonly envelope_id?: unknown;
  readonly payload?: unknown;
};

/** One socket. */
class Link {
  /** resolves with undefined at `hello`, otherwise with the end */
  readonly ready: Promise<ConnectOutput | undefined>;
  /** resolves with undefined when Slack asks for a new connection, otherwise with the end */
  readonly refreshOrEnd: Promise<ConnectOutput | undefined>;
  readonly end: Promise<ConnectOutput>;
  readonly #options: SocketModeOptions;
  readonly #socket: WebSocket;
  readonly #closed: Promise<void>;
  /** events that are being stored */
  readonly #pending = new Set<Promise<void>>();
  #onReady = () => {};
  #onRefresh = () => {};
  #onEnd: (end: ConnectOutput) => void = () => {};
  #failure = '';
  #hasLife = true;
  #unanswered = 0;
  #cancelTimer: () => void;

  constructor(url: string, options: SocketModeOptions) {
    this.#options = options;
    this.end = new Promise((resolve) => (this.#onEnd = resolve));
    this.ready = Promise.race([this.end, new Promise<undefined>(this.#readyWith)]);
    this.refreshOrEnd = Promise.race([this.end, new Promise<undefined>(this.#refreshWith)]);
    this.#socket = new WebSocket(url, { maxPayload: FRAME_BYTES_MAX, handshakeTimeout: HELLO_MS });
    this.#closed = new Promise((resolve) => this.#socket.once('close', () => resolve()));
    this.#socket.on('message', (text, isBinary) => this.#receive(text, isBinary));
    for (const sign of ['ping', 'pong'] as const) this.#socket.on(sign, () => this.#note());
    this.#socket.on('error', ({ message }) => (this.#failure = `: ${message}`));
    this.#socket.once('close', (code) =>
      this.#finish(lost(`the connection to Slack was closed (${code})${this.#failure}`)),
    );
    this.#cancelTimer = options.clock.after(HELLO_MS, () =>
      this.#finish(lost(`Slack did not accept the connection within ${HELLO_MS} ms`)),
    );
    options.signal.addEventListener('abort', this.#abort, { once: true });
    if (options.signal.aborted) this.#abort();
  }

  readonly #readyWith = (resolve: (none: undefined) => void) => {
    this.#onReady = () => resolve(undefined);
  };

  readonly #refreshWith = (resolve: (none: undefined) => void) => {
    this.#onRefresh = () => resolve(undefined);
  };

  readonly #abort = () => void this.close();

  /** Closes after the events that are being stored are acknowledged, within a limit. */
  async close(): Promise<void> {
    await this.#within(PENDING_MS, Promise.allSettled(this.#pending));
    this.#socket.close(1000);
    await this.#within(CLOSE_MS, this.#closed);
    this.#finish(STOPPED);
    await this.#closed;
  }

  #within(limitMs: number, done: Promise<unknown>): Promise<unknown> {
    let cancel = () => {};
    const limit = new Promise<void>((resolve) => {
      cancel = this.#options.clock.after(limitMs, resolve);
    });
    return Promise.race([done, limit]).finally(cancel);
  }

  #finish(end: ConnectOutput): void {
    this.#onEnd(this.#options.signal.aborted ? STOPPED : end);
    this.#cancelTimer();
    this.#options.signal.removeEventListener('abort', this.#abort);
    this.#socket.terminate();
  }

  #note(): void {
    this.#hasLife = true;
    this.#options.onSignOfLife();
  }

  #receive(text: RawData, isBinary: boolean): void {
    this.#note();
    const envelope = isBinary ? undefined : parsed(text);
    if (envelope === undefined)
      return this.#options.log.warn({}, 'Slack sent a frame that is not JSON; it is ignored');
    if (envelope.type === 'hello') return this.#start();
    if (envelope.type === 'disconnect') return this.#disconnect(envelope.reason);
    if (typeof envelope.envelope_id === 'string') this.#accept(envelope, envelope.envelope_id);
  }

  #start(): void {
    this.#cancelTimer();
    this.#onReady();
    this.#watch();
  }

  #watch(): void {
    this.#unanswered = this.#hasLife ? 0 : this.#unanswered + 1;
    this.#hasLife = false;
    if (this.#unanswered >= UNANSWERED_MAX)
      return this.#finish(lost(`Slack answered none of ${UNANSWERED_MAX} pings`));
    if (this.#socket.readyState === WebSocket.OPEN) this.#socket.ping();
    this.#cancelTimer = this.#options.clock.after(PING_MS, () => this.#watch());
  }

  #disconnect(reason: unknown): void {
    const end = typeof reason === 'string' ? DISCONNECTS[reason] : undefined;
    if (end === undefined) this.#onRefresh();
    else this.#finish(end);
  }

  #accept({ type, payload }: Envelope, id: string): void {
    // Commands and buttons are not supported, and would be repeated without an acknowledgement.
    const stored = type === 'events_api' ? this.#options.onEvent(payload) : Promise.resolve();
    const done = stored.then(
      () => this.#socket.send(JSON.stringify({ envelope_id: id }), () => {}),
      (error: unknown) => this.#options.log.warn({ error }, 'event not stored; Slack repeats it'),
    );
    this.#pending.add(done);
    void done.finally(() => this.#pending.delete(done));
  }
}

/** Reasons that end the connection; after all others Slack expects a new one. */
const DISCONNECTS: Readonly<Record<string, ConnectOutput>> = {
  link_disabled: {
    error: {
      code: 'FORBIDDEN',
      message:
        'Socket Mode of the Slack app is switched off; enable it in “Socket Mode” of the app',
    },
    isFinal: true,
  },
  too_many_websockets: {
    error: {
      code: 'RATE_LIMIT_EXCEEDED',
      message: 'the Slack app has 10 connections; stop other programs that use its appToken',
      retryAfterMs: TOO_MANY_WAIT_MS,
    },
    isFinal: false,
  },
};

function parsed(text: RawData): Envelope | undefined {
  try {
    const value: unknown = JSON.parse((text as Buffer).toString());
    return typeof value === 'object' && value !== null ? value : undefined;
  } catch {
    return undefined;
  }
}
