/**
 * Resumes clients that lost their connection and reconnect to the same gateway. Events for an
 * operator's ended connection are numbered and stored for some time. Its client sends the old
 * connection's id and its last event number on a new connection, and receives the missed events
 * there.
 *
 * Invariants:
 *  1. Every event is delivered once and in order, or the client receives the reason for a gap.
 *  2. A client must have the same principal, and the same device if it has one. It must have all
 *     scopes and caps of the old connection.
 *  3. Storage is bounded: events by number and bytes, each connection by number of events, and
 *     ended connections by number and time. An event that no connection could replay is dropped.
 */
import type { EventsResumeParams, EventsResumeResult } from '../../../protocols/gateway/index.ts';
import type { Clock } from '../../../runtime/index.ts';
import { CLOSE, type Client, type Connection } from '../transport/connection.ts';
import type { EventHead, StoredEvent } from '../transport/event-head.ts';
import { REPLAY_BYTES_MAX, REPLAY_EVENTS_MAX, RESUMABLE_MAX, RESUME_WITHIN_MS } from '../limits.ts';
import { RecentFrames } from '../transport/recent-frames.ts';

type Refused = Extract<EventsResumeResult, { resumed: false }>;
/** `missed` are the events to send, in order. */
export type Resumed =
  | { readonly from: number; readonly to: number; readonly missed: readonly EventHead[] }
  | Refused;

export class Replay {
  readonly #clock: Clock;
  readonly #bootId: string;
  readonly #connections: ReadonlySet<Connection>;
  /** oldest first */
  readonly #kept = new Set<StoredEvent>();
  #bytes = 0;
  /** ended connections with the time of their end (monotonic), earliest first */
  readonly #resumable = new Map<Connection, number>();
  #cancel: (() => void) | undefined;

  /**
   * @param bootId as sent in `hello-ok`
   * @param connections the open connections
   */
  constructor(connections: ReadonlySet<Connection>, clock: Clock, bootId: string) {
    this.#connections = connections;
    this.#clock = clock;
    this.#bootId = bootId;
  }

  /** Ended connections that a client may resume. */
  get resumable(): Iterable<Connection> {
    return this.#resumable.keys();
  }

  /** Number of stored events. */
  get stored(): number {
    return this.#kept.size;
  }

  /** Stores the connection's events from now on, unless it has no read access. */
  joined(connection: Connection): void {
    if (connection.mayRead) connection.recent = new RecentFrames(this);
  }

  /** The connection has ended. */
  left(connection: Connection): void {
    if (connection.recent === undefined) return;
    this.#resumable.set(connection, this.#clock.monotonicMs());
    const oldest = this.#resumable.keys().next();
    if (this.#resumable.size > RESUMABLE_MAX && !oldest.done) this.#forget(oldest.value);
    this.#arm();
  }

  /**
   * The events that `connection` missed on an earlier one. The earlier one is dropped, and closed
   * if it is still open, because its client has replaced it.
   */
  resume(connection: Connection, { connId, seq, bootId }: EventsResumeParams): Resumed {
    if (bootId !== undefined && bootId !== this.#bootId) return refused('another-gateway');
    const old = this.#find(connId, connection);
    if (old?.recent === undefined) return refused('too-old');
    if (seq > old.seq) return refused('gap');
    const [from, to] = [seq + 1, old.seq];
    const all = old.recent.range(from, to);
    // Events that `connection` has received since its handshake are not sent again.
    const received = connection.recent?.range(1, connection.seq);
    if (all === undefined || received === undefined) return refused('too-old');
    const known = new Set(received);
    const missed = all.flatMap((kept) => (known.has(kept) ? [] : (kept.head ?? [])));
    for (const runId of old.missed) connection.miss(runId);
    old.close(CLOSE.policy, 'this client continues with another connection');
    this.#forget(old);
    return { from, to, missed };
  }

  close(): void {
    this.#cancel?.();
    for (const connection of this.#resumable.keys()) this.#forget(connection);
    this.#kept.clear();
  }

  #find(connId: string, asking: Connection): Connection | undefined {
    for (const among of [this.#resumable.keys(), this.#connections]) {
      for (const each of among) {
        if (each.id !== connId || each === asking) continue;
        return maySee(asking.client, each.client) ? each : undefined;
      }
    }
    return undefined;
  }

  #forget(connection: Connection): void {
    connection.recent?.clear();
    connection.recent = undefined;
    this.#resumable.delete(connection);
  }

  /** @returns the event without a holder */
  keep(head: EventHead): StoredEvent {
    const kept = { head, holders: 0 };
    head.kept = kept;
    this.#kept.add(kept);
    this.#bytes += head.rest.length;
    for (const oldest of this.#kept) {
      if (this.#kept.size <= REPLAY_EVENTS_MAX && this.#bytes <= REPLAY_BYTES_MAX) break;
      this.drop(oldest);
    }
    return kept;
  }

  /** Also of an event that was dropped before. */
  drop(event: StoredEvent): void {
    if (event.head === undefined) return;
    this.#bytes -= event.head.rest.length;
    this.#kept.delete(event);
    event.head = undefined;
  }

  /** One timer for all ended connections, due when the earliest one expires. */
  #arm(): void {
    const first = this.#resumable.values().next();
    if (first.done) return;
    const waitMs = first.value + RESUME_WITHIN_MS - this.#clock.monotonicMs();
    this.#cancel ??= this.#clock.after(Math.max(0, waitMs), () => {
      this.#cancel = undefined;
      const before = this.#clock.monotonicMs() - RESUME_WITHIN_MS;
      for (const [connection, endedAt] of this.#resumable) {
        if (endedAt > before) break;
        this.#forget(connection);
      }
      this.#arm();
    });
  }
}

const refused = (reason: Refused['reason']): Refused => ({ resumed: false, reason });

const maySee = (now: Client | undefined, before: Client | undefined): boolean =>
  now !== undefined &&
  before !== undefined &&
  now.principal.sub === before.principal.sub &&
  now.deviceId === before.deviceId &&
  before.scopes.every((scope) => now.scopes.includes(scope)) &&
  [...before.caps].every((cap) => now.caps.has(cap));
