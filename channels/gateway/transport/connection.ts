/**
 * Connection: one client's WebSocket. Owns the sequence of its events, the order and batching of
 * what is written, and what happens to a client that reads too slowly.
 *
 * Invariants:
 *  1. Events of one connection are numbered 1, 2, 3, … without a gap; the challenge has no number.
 *  2. All frames of one turn of the event loop leave in one write.
 *  3. A client whose unread frames pass the bound is closed with a reason; it never stops the
 *     others.
 *  4. When the connection ends, every wait that was begun for it is given up.
 *  5. A connection that ended goes on numbering the events it is told, for the client that comes
 *     back and asks for them (replay.ts); nothing is written any more.
 *
 * There are ten thousand of them: no timers, closures or sets before they are needed.
 */
import type { Socket } from 'node:net';
import type { WebSocket } from 'ws';
import {
  BUFFERED_BYTES_MAX,
  type ConnectParams,
  type GatewayErrorShape,
  type Scope,
} from '../../../protocols/gateway/index.ts';
import type { DeviceRole } from '../../../protocols/device.ts';
import type { Clock, Principal } from '../../../runtime/index.ts';
import { CLOSE_GRACE_MS, LAGGING_BYTES } from '../limits.ts';
import { type EventHead, eventHead } from './event-head.ts';
import type { RecentFrames } from './recent-frames.ts';
import { eventFrame, textFrame } from './text-frame.ts';

export { type EventHead, eventHead };

/** Close codes of RFC 6455 that the gateway uses. */
export const CLOSE = { policy: 1008, tooBig: 1009, restart: 1012 } as const;

/** Who a connection is, once it has said a good hello. */
export type Client = {
  readonly params: ConnectParams;
  readonly role: DeviceRole;
  /** of an operator; a node has none */
  readonly scopes: readonly Scope[];
  readonly tenant: string;
  /** in whose name its requests are */
  readonly principal: Principal;
  /** it has proved to be this device */
  readonly deviceId?: string;
  /** hex SHA-256 of the token that the device has for this role */
  readonly tokenHash?: string;
  /** what let it in */
  readonly method: AuthMethod;
  /** it is on this machine, as far as the socket and no proxy's header says */
  readonly isLocal: boolean;
  /** no person is asked about what it offers as a node */
  readonly isApprovedAutomatically: boolean;
  readonly caps: ReadonlySet<string>;
  /** epoch milliseconds */
  readonly since: number;
};

export type AuthMethod =
  | 'none'
  | 'token'
  | 'password'
  | 'device-token'
  | 'tailscale'
  | 'trusted-proxy';

export class Connection {
  readonly id: string;
  readonly remoteAddress: string;
  client: Client | undefined;
  /** remembers its events for who comes back; nobody else's are remembered */
  recent: RecentFrames | undefined;
  /** false when nothing came from the client since the last ping */
  alive = true;
  /** requests that wait for their answer */
  openRequests = 0;
  #seq = 0;
  #corked = false;
  #ended = false;
  readonly #ws: WebSocket;
  readonly #socket: Socket;
  readonly #clock: Clock;
  #leases: Set<() => void> | undefined;
  #missed: Set<string> | undefined;

  constructor(id: string, ws: WebSocket, socket: Socket, remoteAddress: string, clock: Clock) {
    this.id = id;
    this.#ws = ws;
    this.#socket = socket;
    this.remoteAddress = remoteAddress;
    this.#clock = clock;
  }

  get open(): boolean {
    return !this.#ended && this.#ws.readyState === this.#ws.OPEN;
  }

  /** of the last event */
  get seq(): number {
    return this.#seq;
  }

  /** It is an operator's that may see what runs do; a node is told what is meant for it. */
  get mayRead(): boolean {
    return this.client?.role === 'operator' && this.client.scopes.some((scope) => READS.has(scope));
  }

  /** True while the client is too far behind for deltas. */
  get lagging(): boolean {
    return !this.#ended && this.#socket.writableLength > LAGGING_BYTES;
  }

  /** The client reads too slowly to be told the last deltas of this run. */
  miss(runId: string): void {
    (this.#missed ??= new Set()).add(runId);
  }

  /** Runs with deltas that the client was not told. */
  get missed(): Iterable<string> {
    return this.#missed ?? [];
  }

  /** True when it had missed deltas of this run; then it has not any more. */
  caughtUp(runId: string): boolean {
    return this.#missed !== undefined && this.#missed.delete(runId);
  }

  respond(id: string, payload: unknown): void {
    this.send(JSON.stringify({ type: 'res', id, ok: true, payload }));
  }

  /** `payload` is JSON already: what many are given is encoded once. */
  respondEncoded(id: string, payload: string): void {
    this.send(`{"type":"res","id":${JSON.stringify(id)},"ok":true,"payload":${payload}}`);
  }

  /** `payload` beside the error is for `agent`, whose failed runs have a result too. */
  refuse(id: string, error: GatewayErrorShape, payload?: unknown): void {
    this.send(JSON.stringify({ type: 'res', id, ok: false, payload, error }));
  }

  /** An event made by `eventHead`: one text for all connections, only the number is its own. */
  event(head: EventHead): void {
    const seq = ++this.#seq;
    this.recent?.add(seq, head);
    if (!this.#mayWrite()) return;
    const [first, second] = eventFrame(seq, head.rest);
    this.#socket.write(first);
    if (second !== undefined) this.#socket.write(second);
  }

  /** A frame that has no number. */
  send(frame: string): void {
    if (this.#mayWrite()) this.#socket.write(textFrame(frame));
  }

  /** Begins the one write of this turn of the event loop; a client that reads nothing is closed. */
  #mayWrite(): boolean {
    if (!this.open) return false;
    if (this.#socket.writableLength > BUFFERED_BYTES_MAX) {
      this.close(CLOSE.policy, `slow consumer: more than ${BUFFERED_BYTES_MAX} bytes unread`);
      return false;
    }
    if (!this.#corked) {
      this.#corked = true;
      this.#socket.cork();
      uncorkLater(this);
    }
    return true;
  }

  /** For `uncorkLater` alone. */
  uncork(): void {
    this.#corked = false;
    this.#socket.uncork();
  }

  ping(): void {
    this.alive = false;
    if (this.open) this.#ws.ping();
  }

  /** Begins the closing handshake; a client that does not answer it loses its socket. */
  close(code: number, reason: string): void {
    if (!this.open) return;
    this.#ws.close(code, closeReason(reason));
    this.ended();
    const cancel = this.#clock.after(CLOSE_GRACE_MS, () => this.#ws.terminate());
    this.#ws.once('close', cancel);
  }

  terminate(): void {
    this.#ws.terminate();
  }

  /** Calls once the socket is closed; at once if it is. */
  onClosed(call: () => void): void {
    if (this.#ws.readyState === this.#ws.CLOSED) call();
    else this.#ws.once('close', call);
  }

  /** Keeps `giveUp` until the returned function is called; a connection that ends calls it. */
  lease(giveUp: () => void): () => void {
    if (this.#ended) giveUp();
    else (this.#leases ??= new Set()).add(giveUp);
    return () => this.#leases?.delete(giveUp);
  }

  /** Gives up every wait. May be repeated. */
  ended(): void {
    if (this.#ended) return;
    this.#ended = true;
    for (const giveUp of this.#leases ?? []) giveUp();
    this.#leases = undefined;
  }
}

/** RFC 6455 allows so many; `ws` throws on more. */
const CLOSE_REASON_BYTES_MAX = 123;

/** Cut between characters: a reason may hold what a stranger wrote. */
const closeReason = (text: string): Buffer => {
  const bytes = Buffer.from(text);
  let end = Math.min(bytes.length, CLOSE_REASON_BYTES_MAX);
  while (((bytes[end] ?? 0) & 0xc0) === 0x80) end--;
  return bytes.subarray(0, end);
};

const READS: ReadonlySet<Scope> = new Set(['operator.read', 'operator.write', 'operator.admin']);

/** Connections that were written to in this turn of the event loop. */
let corked: Connection[] = [];

const uncorkLater = (connection: Connection): void => {
  if (corked.push(connection) === 1) setImmediate(uncorkAll);
};

const uncorkAll = (): void => {
  const written = corked;
  corked = [];
  for (const connection of written) connection.uncork();
};
