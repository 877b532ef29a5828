/**
 * A real clock that a test can set forward: what is due by then is called at once. Set it forward
 * when nothing is being stored: a shard whose record was stamped before and answered after runs
 * behind by as much, until its next record.
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

  /** Sets the wall clock alone, as a suspend does, or a person who sets the clock. */
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
