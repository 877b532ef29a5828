/**
 * One client's WebSocket. Owns the sequence of its events, the order and batching of writes, and
 * the policy for slow consumers.
 *
 * Invariants:
 *  1. Events of one connection are numbered 1, 2, 3, … without a gap; the challenge has no number.
 *  2. All frames of one turn of the event loop are sent in one write.
 *  3. A client whose unread frames exceed the bound is closed with a reason; it never blocks
 *     others.
 *  4. When the connection ends, all its leases are released.
 *  5. An ended connection continues to number its events, for a client that resumes them
 *     (replay.ts); nothing is written any more.
 *
 * A gateway has up to ten thousand connections, so timers, closures and sets are created lazily.
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

/** The identity of a connection that completed the handshake. */
export type Client = {
  readonly params: ConnectParams;
  readonly role: DeviceRole;
  /** of an operator; empty for a node */
  readonly scopes: readonly Scope[];
  readonly tenant: string;
  /** the principal of its requests */
  readonly principal: Principal;
  /** the device whose identity it proved */
  readonly deviceId?: string;
  /** hex SHA-256 of the device's token for this role */
  readonly tokenHash?: string;
  /** the credential that was accepted */
  readonly method: AuthMethod;
  /** it is on this machine, with no proxy in between */
  readonly isLocal: boolean;
  /** a node's commands need no approval of an operator */
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
  /** stores its events for a resume; undefined if it cannot be resumed */
  recent: RecentFrames | undefined;
  /** false when nothing was received since the last ping */
  alive = true;
  /** requests without an answer */
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

  /** number of the last event */
  get seq(): number {
    return this.#seq;
  }

  /**
   * Whether it is an operator with read access. Nodes receive only events that are sent to them.
   */
  get mayRead(): boolean {
    return this.client?.role === 'operator' && this.client.scopes.some((scope) => READS.has(scope));
  }

  /** True while the client lags too far behind for deltas. */
  get lagging(): boolean {
    return !this.#ended && this.#socket.writableLength > LAGGING_BYTES;
  }

  /** Records that the client missed deltas of this run. */
  miss(runId: string): void {
    (this.#missed ??= new Set()).add(runId);
  }

  /** Runs of which the client missed deltas. */
  get missed(): Iterable<string> {
    return this.#missed ?? [];
  }

  /** Returns whether the client missed deltas of this run, and clears the record. */
  caughtUp(runId: string): boolean {
    return this.#missed !== undefined && this.#missed.delete(runId);
  }

  respond(id: string, payload: unknown): void {
    this.send(JSON.stringify({ type: 'res', id, ok: true, payload }));
  }

  /** @param payload JSON that was encoded once for many connections */
  respondEncoded(id: string, payload: string): void {
    this.send(`{"type":"res","id":${JSON.stringify(id)},"ok":true,"payload":${payload}}`);
  }

  /** @param payload for `agent`, whose failed runs also have a result */
  refuse(id: string, error: GatewayErrorShape, payload?: unknown): void {
    this.send(JSON.stringify({ type: 'res', id, ok: false, payload, error }));
  }

  /** Sends an event made by `eventHead`: the text is shared, and only the number is its own. */
  event(head: EventHead): void {
    const seq = ++this.#seq;
    this.recent?.add(seq, head);
    if (!this.#mayWrite()) return;
    const [first, second] = eventFrame(seq, head.rest);
    this.#socket.write(first);
    if (second !== undefined) this.#socket.write(second);
  }

  /** Sends a frame without a number. */
  send(frame: string): void {
    if (this.#mayWrite()) this.#socket.write(textFrame(frame));
  }

  /** Corks the socket until the end of this turn of the event loop; closes a slow consumer. */
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

  /** Only for `uncorkLater`. */
  uncork(): void {
    this.#corked = false;
    this.#socket.uncork();
  }

  ping(): void {
    this.alive = false;
    if (this.open) this.#ws.ping();
  }

  /**
   * Starts the closing handshake; the socket is destroyed if the client does not answer in time.
   */
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

  /** Calls `call` once the socket is closed; immediately if it already is. */
  onClosed(call: () => void): void {
    if (this.#ws.readyState === this.#ws.CLOSED) call();
    else this.#ws.once('close', call);
  }

  /** Calls `giveUp` when the connection ends, unless the returned function was called before. */
  lease(giveUp: () => void): () => void {
    if (this.#ended) giveUp();
    else (this.#leases ??= new Set()).add(giveUp);
    return () => this.#leases?.delete(giveUp);
  }

  /** Releases all leases. May be repeated. */
  ended(): void {
    if (this.#ended) return;
    this.#ended = true;
    for (const giveUp of this.#leases ?? []) giveUp();
    this.#leases = undefined;
  }
}

/** The limit of RFC 6455; `ws` throws on a longer reason. */
const CLOSE_REASON_BYTES_MAX = 123;

/** Truncates between characters: a reason may contain text of the client. */
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
