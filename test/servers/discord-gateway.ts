/**
 * The gateway of a local Discord server: hello, identify, heartbeats, dispatches with sequences,
 * resume, invalid sessions and close codes, with faults by command. Events are kept per session, so
 * that a resumed one receives what it missed.
 */
import type { IncomingMessage } from 'node:http';
import type { Duplex } from 'node:stream';
import { type WebSocket, WebSocketServer } from 'ws';

export type Dispatch = { readonly t: string; readonly d: object };
type Event = Dispatch & { readonly op: 0; readonly s: number };
type Session = { readonly id: string; readonly events: Event[]; socket: WebSocket | undefined };
type Frame = {
  readonly op: number;
  readonly d?: {
    readonly token?: string;
    readonly intents?: number;
    readonly session_id?: string;
    readonly seq?: number;
  };
};

export type GatewayOptions = {
  readonly isToken: (token: string | undefined) => boolean;
  /** fields of READY, and the events that follow it */
  readonly ready: () => object;
  readonly after: () => readonly Dispatch[];
};

const MESSAGE_CONTENT = 1 << 15;

export class DiscordGateway {
  /** sockets open, and no frame follows */
  noHello = false;
  /** frames of clients are ignored, and none are sent: a half-open connection */
  isHalfOpen = false;
  /** every resume is answered with "invalid session" */
  refusesResume = false;
  /** the privileged intents are not enabled */
  refusesIntents = false;
  /** each socket is closed with this code after it identified */
  closesWith: number | undefined;
  heartbeatMs = 41_250;
  /** `identify` and `resume` of clients, in order */
  readonly opened: string[] = [];
  url = '';
  /** for `resume_gateway_url`; default `url` */
  resumeUrl: string | undefined;
  readonly #options: GatewayOptions;
  readonly #sessions = new Map<string, Session>();
  readonly #sockets = new Set<WebSocket>();
  readonly #server = new WebSocketServer({ noServer: true });

  constructor(options: GatewayOptions) {
    this.#options = options;
  }

  upgrade(request: IncomingMessage, socket: Duplex, head: Buffer): void {
    this.#server.handleUpgrade(request, socket, head, (client) => this.#accept(client));
  }

  get sockets(): number {
    return this.#sockets.size;
  }

  #accept(socket: WebSocket): void {
    this.#sockets.add(socket);
    socket.once('close', () => {
      this.#sockets.delete(socket);
      for (const session of this.#sessions.values())
        if (session.socket === socket) session.socket = undefined;
    });
    socket.on('message', (data: Buffer) => {
      if (!this.isHalfOpen) this.#receive(socket, JSON.parse(data.toString()) as Frame);
    });
    if (!this.noHello) send(socket, { op: 10, d: { heartbeat_interval: this.heartbeatMs } });
  }

  #receive(socket: WebSocket, { op, d = {} }: Frame): void {
    if (op === 1) send(socket, { op: 11 });
    if (op !== 2 && op !== 6) return;
    this.opened.push(op === 2 ? 'identify' : 'resume');
    if (!this.#options.isToken(d.token)) return socket.close(4004, 'Authentication failed.');
    if (this.closesWith !== undefined) return socket.close(this.closesWith);
    if (op === 6) return this.#resume(socket, d.session_id ?? '', d.seq ?? 0);
    const isContentAsked = ((d.intents ?? 0) & MESSAGE_CONTENT) !== 0;
    if (this.refusesIntents && isContentAsked) return socket.close(4014, 'Disallowed intent(s).');
    this.#identify(socket);
  }

  #identify(socket: WebSocket): void {
    const session: Session = { id: `session-${this.#sessions.size + 1}`, events: [], socket };
    this.#sessions.set(session.id, session);
    const resume_gateway_url = this.resumeUrl ?? this.url;
    const d = { v: 10, session_id: session.id, resume_gateway_url, ...this.#options.ready() };
    this.#add(session, { t: 'READY', d });
    for (const event of this.#options.after()) this.#add(session, event);
  }

  #resume(socket: WebSocket, id: string, seq: number): void {
    const session = this.#sessions.get(id);
    if (!session || this.refusesResume) return send(socket, { op: 9, d: false });
    session.socket = socket;
    for (const event of session.events) if (event.s > seq) send(socket, event);
    this.#add(session, { t: 'RESUMED', d: {} });
  }

  #add(session: Session, { t, d }: Dispatch): void {
    const event: Event = { op: 0, t, d, s: session.events.length + 1 };
    session.events.push(event);
    if (session.socket && !this.isHalfOpen) send(session.socket, event);
  }

  /** To every session, connected or not. */
  dispatch(event: Dispatch): void {
    for (const session of this.#sessions.values()) this.#add(session, event);
  }

  /** A frame without a sequence, such as op 7 (reconnect) or op 9 (invalid session). */
  broadcast(frame: Frame | { readonly op: number; readonly d: boolean }): void {
    for (const socket of this.#sockets) send(socket, frame);
  }

  /** Sessions end, so that none can be resumed. */
  forgetSessions(): void {
    this.#sessions.clear();
  }

  close(code: number): void {
    for (const socket of this.#sockets) socket.close(code);
  }

  cut(): void {
    for (const socket of this.#sockets) socket.terminate();
  }
}

const send = (socket: WebSocket, frame: object): void => socket.send(JSON.stringify(frame));
