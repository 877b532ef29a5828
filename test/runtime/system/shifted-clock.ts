/**
 * A real clock that a test can set forward: timers that are due by then fire at once. Set it
 * forward only while no record is being stored. Otherwise the time of that record's shard is behind
 * by the same amount until its next record.
 */
import type { Clock } from '../../../runtime/index.ts';

type Call = { readonly at: number; readonly call: () => void; cancel: () => void };

export class ShiftedClock implements Clock {
  #shift = 0;
  #wallShift = 0;
  readonly #calls = new Set<Call>();

  wallMs(): number {
    return Date.now() + this.#shift + this.#wallShift;
  }

  monotonicMs(): number {
    return performance.now() + this.#shift;
  }

  after(delayMs: number, call: () => void): () => void {
    const waiting: Call = { at: this.monotonicMs() + Math.max(delayMs, 0), call, cancel: () => {} };
    this.#calls.add(waiting);
    this.#arm(waiting);
    return () => {
      waiting.cancel();
      this.#calls.delete(waiting);
    };
  }

  shift(ms: number): void {
    this.#shift += ms;
    for (const waiting of this.#calls) {
      waiting.cancel();
      this.#arm(waiting);
    }
  }

  /** Sets only the wall clock, as a suspend or a user does. */
  jump(ms: number): void {
    this.#wallShift += ms;
  }

  #arm(waiting: Call): void {
    const timer = setTimeout(
      () => {
        this.#calls.delete(waiting);
        waiting.call();
      },
      Math.max(waiting.at - this.monotonicMs(), 0),
    );
    waiting.cancel = () => clearTimeout(timer);
  }
}
