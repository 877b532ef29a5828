/**
 * The last events of one connection, by number, so that a client can receive missed events on a new
 * connection.
 *
 * A stored event is shared by all connections and may be dropped at any time. A range that contains
 * it then cannot be replayed.
 */
import type { EventHead, StoredEvent } from './event-head.ts';
import { REPLAY_FRAMES_MAX } from '../limits.ts';

export class RecentFrames {
  readonly #keep: (head: EventHead) => StoredEvent;
  readonly #ring: StoredEvent[] = [];

  /** @param keep stores an event for all connections, within separate bounds */
  constructor(keep: (head: EventHead) => StoredEvent) {
    this.#keep = keep;
  }

  /** `seq` increases by one with each call. */
  add(seq: number, head: EventHead): void {
    this.#ring[seq % REPLAY_FRAMES_MAX] = head.kept ?? this.#keep(head);
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
}
