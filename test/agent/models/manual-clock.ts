/** A clock that a test moves by hand, so that no test waits for real time to pass. */
import type { Clock } from '../../../runtime/clock/clock.ts';

export class ManualClock implements Clock {
  #now = Date.UTC(2026, 2, 3, 12);
  #timers = new Set<{ due: number; call: () => void }>();
  /** the number of timers that were set since the start */
  armed = 0;

  wallMs(): number {
    return this.#now;
  }

  monotonicMs(): number {
    return this.#now;
  }

  get pending(): number {
    return this.#timers.size;
  }

  after(delayMs: number, call: () => void): () => void {
    const timer = { due: this.#now + delayMs, call };
    this.#timers.add(timer);
    this.armed++;
    return () => void this.#timers.delete(timer);
  }

  advance(ms: number): void {
    this.#now += ms;
    for (const timer of [...this.#timers].sort((a, b) => a.due - b.due)) {
      if (timer.due <= this.#now && this.#timers.delete(timer)) timer.call();
    }
  }
}

/** Waits for a condition, at most five seconds. */
export const until = async (condition: () => boolean, what: string): Promise<void> => {
  const deadline = Date.now() + 5_000;
  while (!condition()) {
    if (Date.now() > deadline) throw new Error(`timeout while waiting for ${what}`);
    await new Promise((resolve) => setImmediate(resolve));
  }
};
