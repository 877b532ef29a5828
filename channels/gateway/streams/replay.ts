/**
 * Replay: what clients are told again that lost their connection and came back to the same gateway.
 * An operator's connection that ended lingers: it is told events as before, they are only numbered
 * and remembered. Its client asks with its id and the number of the last event it has, on a new
 * connection, and gets what it missed there.
 *
 * Invariants:
 *  1. Every event is told once and in order, or the client hears that it has a gap and why.
 *  2. Only the same principal, on the same device where it has one, gets the events of a
 *     connection, and only where it still may read all that the old one might.
 *  3. What is held is bounded: events by number and bytes, of each connection by number, and
 *     connections that ended by number and time.
 */
import type { EventsResumeParams, EventsResumeResult } from '../../../protocols/gateway/index.ts';
import type { Clock } from '../../../runtime/index.ts';
import { CLOSE, type Client, type Connection } from '../transport/connection.ts';
import type { EventHead, StoredEvent } from '../transport/event-head.ts';
import { REPLAY_BYTES_MAX, REPLAY_EVENTS_MAX, RESUMABLE_MAX, RESUME_WITHIN_MS } from '../limits.ts';
import { RecentFrames } from '../transport/recent-frames.ts';

type Refused = Extract<EventsResumeResult, { resumed: false }>;
/** `missed` are the events to tell, in order. */
export type Resumed =
  | { readonly from: number; readonly to: number; readonly missed: readonly EventHead[] }
  | Refused;

export class Replay {
  readonly #clock: Clock;
  readonly #bootId: string;
  readonly #connections: ReadonlySet<Connection>;
  /** the oldest first */
  readonly #kept = new Set<StoredEvent & { head: EventHead }>();
  #bytes = 0;
  /** ended, the longest ago first, with when (monotonic) */
  readonly #lingering = new Map<Connection, number>();
  #cancel: (() => void) | undefined;

  /** `bootId` as told at hello; `connections`: those that are open. */
  constructor(connections: ReadonlySet<Connection>, clock: Clock, bootId: string) {
    this.#connections = connections;
    this.#clock = clock;
    this.#bootId = bootId;
  }

  /** Ended connections whose clients may come back. */
  get lingering(): Iterable<Connection> {
    return this.#lingering.keys();
  }

  /** A connection has said hello: from now on its events are remembered. A node's are not. */
  joined(connection: Connection): void {
    if (connection.mayRead) connection.recent = new RecentFrames(this.#keep);
  }

  /** It has ended. */
  left(connection: Connection): void {
    if (connection.recent === undefined) return;
    this.#lingering.set(connection, this.#clock.monotonicMs());
    const oldest = this.#lingering.keys().next();
    if (this.#lingering.size > RESUMABLE_MAX && !oldest.done) this.#forget(oldest.value);
    this.#arm();
  }

  /**
   * What `connection` has to be told because it goes on from another one, which is forgotten then,
   * and closed if it is still open: its client says that it is not there any more.
   */
  resume(connection: Connection, { connId, seq, bootId }: EventsResumeParams): Resumed {
    if (bootId !== undefined && bootId !== this.#bootId) return refused('another-gateway');
    const old = this.#find(connId, connection);
    if (old?.recent === undefined) return refused('too-old');
    if (seq > old.seq) return refused('gap');
    const [from, to] = [seq + 1, old.seq];
    const all = old.recent.range(from, to);
    // What it was told since its hello must not come twice.
    const told = connection.recent?.range(1, connection.seq);
    if (all === undefined || told === undefined) return refused('too-old');
    const known = new Set(told);
    const missed = all.flatMap((kept) => (known.has(kept) ? [] : (kept.head ?? [])));
    for (const runId of old.missed) connection.miss(runId);
    old.close(CLOSE.policy, 'this client goes on with another connection');
    this.#forget(old);
    return { from, to, missed };
  }

  close(): void {
    this.#cancel?.();
    for (const connection of this.#lingering.keys()) this.#forget(connection);
    this.#kept.clear();
  }

  #find(connId: string, asking: Connection): Connection | undefined {
    for (const among of [this.#lingering.keys(), this.#connections]) {
      for (const each of among) {
        if (each.id !== connId || each === asking) continue;
        return maySee(asking.client, each.client) ? each : undefined;
      }
    }
    return undefined;
  }

  #forget(connection: Connection): void {
    connection.recent = undefined;
    this.#lingering.delete(connection);
  }

  readonly #keep = (head: EventHead): StoredEvent => {
    const kept = { head };
    head.kept = kept;
    this.#kept.add(kept);
    this.#bytes += head.rest.length;
    for (const oldest of this.#kept) {
      if (this.#kept.size <= REPLAY_EVENTS_MAX && this.#bytes <= REPLAY_BYTES_MAX) break;
      this.#kept.delete(oldest);
      this.#bytes -= oldest.head.rest.length;
      (oldest as StoredEvent).head = undefined;
    }
    return kept;
  };

  /** One timer for all: at the end of the one that ended first. */
  #arm(): void {
    const first = this.#lingering.values().next();
    if (first.done) return;
    const waitMs = first.value + RESUME_WITHIN_MS - this.#clock.monotonicMs();
    this.#cancel ??= this.#clock.after(Math.max(0, waitMs), () => {
      this.#cancel = undefined;
      const before = this.#clock.monotonicMs() - RESUME_WITHIN_MS;
      for (const [connection, endedAt] of this.#lingering) {
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
