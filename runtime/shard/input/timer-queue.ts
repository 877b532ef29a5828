/**
 * TimerQueue: timers of a shard that are due soon, in memory as a binary heap. Other timers stay
 * rows until the horizon reaches them, so a million timers of idle actors use no memory. The heap
 * only determines when to look; the row decides in the turn whether a timer fires (H2).
 */
import type { Clock } from '../../clock/clock.ts';
import { popHeap, pushHeap } from '../../clock/heap.ts';
import { sortable } from '../turn/actor-row.ts';
import { type Fold, TABLE } from '../commit/fold.ts';

/** A timer that is due and cannot be taken yet is looked at again so soon. */
const SOONEST_MS = 1;
/**
 * After a sleep of this at most it looks at the time again: a suspend or a set clock skips time.
 */
const SLEEP_MS_MAX = 15_000;

type Entry = { readonly due: number; readonly id: string };

/** How far ahead rows are loaded. */
export const HORIZON_MS = 600_000;
/** Rows loaded at once; more of one horizon are loaded when these have fired. */
const LOADED_MAX = 10_000;
/** Cancelled timers are looked for when the heap has this size, and whenever it has doubled. */
const SWEEP_MIN = 512;

export class TimerQueue {
  readonly #fold: Fold;
  readonly #clock: Clock;
  readonly #now: () => number;
  readonly #onDue: () => void;
  #heap: Entry[] = [];
  #sweepAt = SWEEP_MIN;
  /** rows with a later due time are not in the heap */
  #horizon = 0;
  #cancel: (() => void) | undefined;
  #wakeAt = Number.POSITIVE_INFINITY;
  #closed = false;

  constructor(options: { fold: Fold; clock: Clock; now: () => number; onDue: () => void }) {
    this.#fold = options.fold;
    this.#clock = options.clock;
    this.#now = options.now;
    this.#onDue = options.onDue;
  }

  /**
   * Reads the rows up to the horizon. A second entry for a timer is harmless: its row is removed
   * when it fires.
   */
  load(): void {
    const horizon = this.#now() + HORIZON_MS;
    const rows = this.#fold.committed(TABLE.timer, {
      from: sortable(this.#horizon),
      to: sortable(horizon),
      limit: LOADED_MAX,
    });
    this.#horizon = rows.length < LOADED_MAX ? horizon : dueOf(rows.at(-1)!.key);
    for (const { key } of rows) pushHeap(this.#heap, { due: dueOf(key), id: key }, before);
    this.#schedule();
  }

  arm(due: number, id: string): void {
    if (due > this.#horizon) return;
    pushHeap(this.#heap, { due, id }, before);
    if (this.#heap.length >= this.#sweepAt) this.#sweep();
    this.#schedule();
  }

  /** Looks at a timer that is due again at this time, not before. */
  hold(id: string, until: number): void {
    pushHeap(this.#heap, { due: until, id }, before);
    this.#schedule();
  }

  /** Timers in memory, cancelled ones included. */
  get size(): number {
    return this.#heap.length;
  }

  /** Ids of timers that are due at `now`, the time of the group, oldest first, at most `max`. */
  takeDue(max: number, now: number): string[] {
    if (this.#horizon <= now) this.load();
    const due: string[] = [];
    while (due.length < max && this.#heap[0] && this.#heap[0].due <= now)
      due.push(popHeap(this.#heap, before).id);
    return due;
  }

  /** Sets the clock for the next one. */
  schedule(): void {
    this.#wakeAt = Number.POSITIVE_INFINITY;
    this.#schedule();
  }

  close(): void {
    this.#closed = true;
    this.#cancel?.();
    this.#heap = [];
  }

  #schedule(): void {
    if (this.#closed) return;
    const now = this.#now();
    const next = Math.min(this.#heap[0]?.due ?? Number.POSITIVE_INFINITY, this.#horizon);
    const sleepMsMax = this.#clock.isSteady ? Number.POSITIVE_INFINITY : SLEEP_MS_MAX;
    const at = Math.min(next, now + sleepMsMax);
    if (at >= this.#wakeAt) return;
    this.#cancel?.();
    this.#wakeAt = at;
    this.#cancel = this.#clock.after(Math.max(at - now, SOONEST_MS), () => {
      this.#wakeAt = Number.POSITIVE_INFINITY;
      if (this.#horizon <= this.#now()) this.load();
      this.#onDue();
      // Nothing may have been due (a cancelled one, a clock that is early), or not everything
      // taken.
      this.#schedule();
    });
  }

  /**
   * Removes timers without a row. Most timers of a busy shard are time limits that are cancelled
   * long before they are due.
   */
  #sweep(): void {
    const rest = this.#heap.filter(({ id }) => this.#fold.get(TABLE.timer, id) !== undefined);
    // A sorted list is a heap.
    this.#heap = rest.sort((a, b) => (before(a, b) ? -1 : 1));
    this.#sweepAt = Math.max(SWEEP_MIN, 2 * rest.length);
  }
}

const before = (a: Entry, b: Entry) => a.due < b.due || (a.due === b.due && a.id < b.id);
const dueOf = (key: string) => Number.parseInt(key.slice(0, key.indexOf('|')), 36);
