/**
 * The last events of one connection, by number, so that a client can receive missed events on a new
 * connection.
 *
 * A stored event is shared by all connections and may be dropped at any time. A range that contains
 * it then cannot be replayed. It is dropped at the latest when the last connection has forgotten
 * it.
 */
import type { EventHead, StoredEvent } from './event-head.ts';
import { REPLAY_FRAMES_MAX } from '../limits.ts';

/** Stores events for all connections, within bounds of its own. */
export type EventStore = {
  keep(head: EventHead): StoredEvent;
  /** no connection can replay the event any more */
  drop(event: StoredEvent): void;
};

export class RecentFrames {
  readonly #store: EventStore;
  readonly #ring: StoredEvent[] = [];

  constructor(store: EventStore) {
    this.#store = store;
  }

  /** `seq` increases by one with each call. */
  add(seq: number, head: EventHead): void {
    // Missed events are sent again after those of the client's earlier connection were dropped.
    const kept = head.kept?.head === undefined ? this.#store.keep(head) : head.kept;
    kept.holders++;
    const place = seq % REPLAY_FRAMES_MAX;
    const replaced = this.#ring[place];
    this.#ring[place] = kept;
    if (replaced !== undefined) this.#release(replaced);
  }

  /** The connection cannot be resumed any more. */
  clear(): void {
    for (const kept of this.#ring.splice(0)) if (kept !== undefined) this.#release(kept);
  }

  /** The events `from` to `to`; undefined if one of them is no longer stored. */
  range(from: number, to: number): readonly StoredEvent[] | undefined {
    if (to - from >= REPLAY_FRAMES_MAX) return undefined;
    const found: StoredEvent[] = [];
    for (let seq = from; seq <= to; seq++) {
      const kept = this.#ring[seq % REPLAY_FRAMES_MAX];
      if (kept?.head === undefined) return undefined;
      found.push(kept);
    }
    return found;
  }

  #release(kept: StoredEvent): void {
    if (--kept.holders === 0) this.#store.drop(kept);
  }
}
