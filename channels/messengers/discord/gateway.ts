/**
 * The connection to Discord's gateway, by @discordjs/ws. The SDK identifies, resumes and sends
 * heartbeats. This file bounds it:
 *
 *  1. The SDK reconnects every 0.5 s without end. After `CLOSES_MAX` closes, or `readyMs`, without
 *     a usable connection this one ends, and the runtime backs off.
 *  2. The SDK drops a session after every failure of the network. Only Discord ends a session: by
 *     "invalid session" or by a close code of `ENDS_SESSION`.
 *  3. The SDK cannot be stopped while it waits to reconnect, and stopping it while it connects
 *     leaves a socket without listeners, whose failure would end the process. After the end it
 *     receives no session, which holds every later attempt; a socket that opens is closed then.
 *  4. The time limit for hello includes the handshake of the socket, and the SDK does the same as
 *     in 3 when it ends first. Therefore the limit of the handshake is shorter.
 *  5. A connection is closed with a code that keeps the session, so that the next one resumes.
 */
import type { REST } from '@discordjs/rest';
import type { SessionInfo, WebSocketManager } from '@discordjs/ws';
import type { GatewayDispatchPayload, GatewayIntentBits } from 'discord-api-types/v10';
import { TroupeError } from '../../../protocols/errors.ts';
import type { Clock } from '../../../runtime/index.ts';
import { finalClose } from './failures.ts';

/** What resumes a session: every event after `sequence` is sent again. */
export type Session = { readonly id: string; readonly url: string; readonly sequence: number };

export type GatewayOptions = {
  readonly rest: REST;
  readonly token: string;
  readonly intents: GatewayIntentBits;
  readonly session: Session | undefined;
  readonly clock: Clock;
  readonly signal: AbortSignal;
  /** limit for the first frame of the gateway; half of it for the handshake of the socket */
  readonly helloMs: number;
  /** limit from a lost connection to a usable one */
  readonly readyMs: number;
  /** `isNew`: the events between the earlier session and this one are lost */
  onReady(isNew: boolean, session: Session): void;
  onDispatch(payload: GatewayDispatchPayload): void;
  onClosed(): void;
  onPong(): void;
};

const CLOSES_MAX = 3;
const SHARDS = 1;
/** Keeps the session, unlike 1000 and 1001. */
const CLOSE_CODE = 4_200;
/** Close codes after which Discord does not resume. */
const ENDS_SESSION = new Set([1_000, 1_001, 4_003, 4_005, 4_007, 4_008]);

type Sdk = typeof import('@discordjs/ws');

/** Receives until it throws: the signal's reason, a TroupeError, or an error of the SDK. */
export async function receive(options: GatewayOptions): Promise<never> {
  const sdk = await import('@discordjs/ws');
  options.signal.throwIfAborted();
  return new Promise<never>((_, reject) => new Gateway(options, reject).connect(sdk));
}

class Gateway {
  readonly #options: GatewayOptions;
  readonly #reject: (reason: unknown) => void;
  #manager: WebSocketManager | undefined;
  #session: SessionInfo | null;
  #socket: 'none' | 'connecting' | 'open' = 'none';
  /** when the SDK drops the session now, Discord has ended it */
  #mayEndSession = false;
  #isEnded = false;
  #closes = 0;
  #cancelLimit = () => {};

  constructor(options: GatewayOptions, reject: (reason: unknown) => void) {
    this.#options = options;
    this.#reject = reject;
    this.#session = options.session ? infoOf(options.session) : null;
  }

  connect(sdk: Sdk): void {
    const { token, intents, rest, helloMs, signal } = this.#options;
    const manager = new sdk.WebSocketManager({
      token,
      intents,
      rest,
      shardCount: SHARDS,
      handshakeTimeout: helloMs / 2,
      helloTimeout: helloMs,
      retrieveSessionInfo: () => this.#retrieve(),
      updateSessionInfo: (_, session) => this.#update(session),
    });
    this.#manager = manager;
    this.#listen(manager, sdk.WebSocketShardEvents);
    this.#startLimit();
    signal.addEventListener('abort', () => this.#end(signal.reason), { once: true });
    manager.connect().catch((error: unknown) => this.#end(error));
  }

  #listen(manager: WebSocketManager, events: Sdk['WebSocketShardEvents']): void {
    manager.on(events.Hello, () => this.#opened());
    manager.on(events.Ready, () => this.#ready(true));
    manager.on(events.Resumed, () => this.#ready(false));
    manager.on(events.Closed, (code) => this.#closed(code));
    manager.on(events.SocketError, () => void (this.#mayEndSession = false));
    manager.on(events.Error, (error) => this.#end(error));
    manager.on(events.HeartbeatComplete, () => this.#options.onPong());
    manager.on(events.Dispatch, (payload) => {
      if (!this.#isEnded) this.#options.onDispatch(payload);
    });
  }

  /** Called before each attempt to connect, and while the socket is open. */
  #retrieve(): SessionInfo | null | Promise<never> {
    if (this.#isEnded) return new Promise(() => {});
    if (this.#socket !== 'open') this.#socket = 'connecting';
    return this.#session;
  }

  #update(session: SessionInfo | null): void | Promise<void> {
    if (this.#isEnded) return;
    if (session || this.#mayEndSession) this.#session = session;
    else if (this.#session) return this.#leaveResumeUrl(this.#session);
  }

  /** The server of a session may be gone; the session is resumed at another one. */
  async #leaveResumeUrl(session: SessionInfo): Promise<void> {
    const { url } = await this.#manager!.fetchGatewayInformation();
    this.#session = { ...session, resumeURL: url };
  }

  #opened(): void {
    this.#socket = 'open';
    this.#mayEndSession = true;
    if (this.#isEnded) this.#close();
  }

  #ready(isNew: boolean): void {
    if (this.#isEnded || !this.#session) return;
    this.#cancelLimit();
    this.#closes = 0;
    const { sessionId: id, resumeURL: url, sequence } = this.#session;
    this.#options.onReady(isNew, { id, url, sequence });
  }

  #closed(code: number): void {
    this.#socket = 'none';
    this.#mayEndSession &&= ENDS_SESSION.has(code);
    if (this.#isEnded) return;
    this.#options.onClosed();
    this.#closes += 1;
    const final = finalClose(code);
    if (final) this.#end(final);
    else if (this.#closes > CLOSES_MAX) this.#end(unusable(code));
    else this.#startLimit();
  }

  #startLimit(): void {
    this.#cancelLimit();
    const { clock, readyMs } = this.#options;
    this.#cancelLimit = clock.after(readyMs, () => this.#end(unusable()));
  }

  #end(reason: unknown): void {
    if (this.#isEnded) return;
    this.#isEnded = true;
    this.#cancelLimit();
    if (this.#socket === 'open') this.#close();
    this.#reject(reason);
  }

  /** In the background: without an answer of the other side it takes 30 s. */
  #close(): void {
    const manager = this.#manager!;
    // a connection that fails now has ended for another reason, which was reported
    void (async () => manager.destroy({ code: CLOSE_CODE }))().catch(() => {});
  }
}

const infoOf = ({ id, url, sequence }: Session): SessionInfo => ({
  sessionId: id,
  resumeURL: url,
  sequence,
  shardId: 0,
  shardCount: SHARDS,
});

const unusable = (code?: number): TroupeError =>
  new TroupeError(
    'UNAVAILABLE',
    code === undefined
      ? 'the gateway of Discord accepted no session in time'
      : `the gateway of Discord closes each connection (close code ${code})`,
  );
