/**
 * VirtualClock: the time of a simulation. It stops while code runs and jumps to the next due timer,
 * so a simulated day takes only the time of its work. Timers that are due at the same moment run in
 * the order in which they were set.
 */
import type { Clock } from '../../runtime/clock/clock.ts';
import { popHeap, pushHeap } from '../../runtime/clock/heap.ts';

type Due = { readonly at: number; readonly order: number; call: (() => void) | undefined };

/** Virtual times begin here, so that a time is never mistaken for a duration. */
export const EPOCH_MS = 1_700_000_000_000;

export class VirtualClock implements Clock {
  #now = 0;
  #order = 0;
  readonly #heap: Due[] = [];
  /** number of calls until now */
  steps = 0;

  wallMs(): number {
    return EPOCH_MS + this.#now;
  }

  /** Milliseconds since the simulation began. */
  monotonicMs(): number {
    return this.#now;
  }

  after(delayMs: number, call: () => void): () => void {
    const due: Due = { at: this.#now + Math.max(delayMs, 0), order: this.#order++, call };
    pushHeap(this.#heap, due, before);
    return () => void (due.call = undefined);
  }

  /** When the next timer is due, milliseconds since the simulation began; undefined: no timer. */
  nextMs(): number | undefined {
    while (this.#heap[0] && !this.#heap[0].call) popHeap(this.#heap, before);
    return this.#heap[0]?.at;
  }

  /** Resolves after this number of virtual milliseconds. */
  sleep(delayMs: number): Promise<void> {
    return new Promise((resolve) => this.after(delayMs, resolve));
  }

  /**
   * Runs due timers, moment by moment, until `isOver` (checked after each moment), or until no
   * timer is left or the time limit is reached. Promises settle between two moments.
   */
  async run(untilMs: number, isOver: () => boolean = () => false): Promise<void> {
    while (!isOver()) {
      const next = this.#heap[0];
      if (!next || next.at > untilMs) break;
      this.#now = Math.max(this.#now, next.at);
      while (this.#heap[0] && this.#heap[0].at <= this.#now) {
        const { call } = popHeap(this.#heap, before);
        if (!call) continue;
        this.steps++;
        call();
      }
      await settled();
    }
    if (!isOver()) this.#now = Math.max(this.#now, untilMs);
  }
}

/** After every promise that can settle without time has settled. */
export const settled = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

const before = (a: Due, b: Due) => a.at < b.at || (a.at === b.at && a.order < b.order);
