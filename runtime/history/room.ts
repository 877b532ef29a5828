/**
 * HistoryRoom: removes the oldest history of a shard, when there is too much of it or when it is
 * too old. It looks at a few segments each time that one is stored.
 */
import { parseAddress } from '../../protocols/address.ts';
import { fullHistorySubject } from '../../protocols/subjects.ts';
import type { Log, Position } from '../log/log.ts';
import { removeFullTurns } from './full-turns.ts';
import type { HistoryRules } from './policy.ts';
import { decodeSegment, type Segment } from './segment.ts';

export type HistoryRoomOptions = {
  readonly log: Log;
  readonly env: string;
  readonly subject: string;
  readonly rules: HistoryRules;
  /** a trim failed; the next one removes what this one left */
  readonly onFailed: (error: unknown) => void;
};

export const DAY_MS = 86_400_000;
/** Segments that are looked at each time. */
const STEPS_MAX = 8;

/** Walks over the segments of a shard from the oldest on. */
class Cursor {
  readonly #o: HistoryRoomOptions;
  #next: Position = 1;
  #segment: Segment | undefined;

  constructor(options: HistoryRoomOptions) {
    this.#o = options;
  }

  async peek(): Promise<Segment | undefined> {
    if (this.#segment) return this.#segment;
    const [entry] = await this.#o.log.read(this.#o.subject, this.#next, { limit: 1 });
    return (this.#segment = entry && decodeSegment(entry));
  }

  pass({ position }: Segment): void {
    this.#segment = undefined;
    this.#next = position + 1;
  }
}

export class HistoryRoom {
  readonly #o: HistoryRoomOptions;
  readonly #oldest: Cursor;
  /** the first segment whose turns with bodies may still be there */
  readonly #oldestFull: Cursor;

  constructor(options: HistoryRoomOptions) {
    this.#o = options;
    this.#oldest = new Cursor(options);
    this.#oldestFull = new Cursor(options);
  }

  /** @param total bytes that were ever stored; @param lastAt shard time of the newest turn */
  async keep({ total, lastAt }: Pick<Segment, 'total' | 'lastAt'>): Promise<void> {
    const { log, subject, rules, onFailed } = this.#o;
    for (let step = 0; step < STEPS_MAX; step++) {
      const segment = await this.#oldestFull.peek();
      if (!segment || !this.#isOver(segment, total, this.#fullDays(segment), lastAt)) break;
      for (const [actor, position] of segment.full) {
        const of = fullHistorySubject(this.#o.env, actor);
        await removeFullTurns(log, of, { upTo: position, onFailed });
      }
      this.#oldestFull.pass(segment);
    }
    let upTo = 0;
    for (let step = 0; step < STEPS_MAX; step++) {
      const segment = await this.#oldest.peek();
      if (!segment || !this.#isOver(segment, total, rules.daysMax, lastAt)) break;
      upTo = segment.position;
      this.#oldest.pass(segment);
    }
    if (upTo > 0) log.trim(subject, upTo).catch(onFailed);
  }

  #isOver(segment: Segment, total: number, days: number, now: number): boolean {
    return total - segment.total > this.#o.rules.bytesMax || segment.lastAt < now - days * DAY_MS;
  }

  /** The longest of its actors; 0 without any. */
  #fullDays({ full }: Segment): number {
    const { rules } = this.#o;
    return full.reduce(
      (days, [actor]) => Math.max(days, rules.policyOf(parseAddress(actor).type).days),
      0,
    );
  }
}
