/**
 * RecentFrames: the last events of one connection, by number, so that a client that comes back on
 * another connection can be told again what it missed.
 *
 * What is held of an event is shared by all connections and may be forgotten at any time: then it
 * cannot be told again, and whoever asks for it hears of the hole.
 */
import type { EventHead, StoredEvent } from './event-head.ts';
import { REPLAY_FRAMES_MAX } from '../limits.ts';

export class RecentFrames {
  readonly #keep: (head: EventHead) => StoredEvent;
  readonly #ring: StoredEvent[] = [];

  /** `keep` remembers an event for all connections, within bounds of their own. */
  constructor(keep: (head: EventHead) => StoredEvent) {
    this.#keep = keep;
  }

  /** `seq` rises by one with each call. */
  add(seq: number, head: EventHead): void {
    this.#ring[seq % REPLAY_FRAMES_MAX] = head.kept ?? this.#keep(head);
  }

  /** Events with numbers from `from` to `to`; undefined: not all of them are remembered. */
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
