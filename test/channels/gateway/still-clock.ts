import type { Clock } from '../../../runtime/clock/clock.ts';

/** The time does not advance until the test moves it. */
export class StillClock implements Clock {
  #now = 1_000_000;
  #timers: { at: number; call: () => void }[] = [];
  wallMs = () => this.#now;
  monotonicMs = () => this.#now;

  after(delayMs: number, call: () => void): () => void {
    const timer = { at: this.#now + delayMs, call };
    this.#timers.push(timer);
    return () => {
      this.#timers = this.#timers.filter((each) => each !== timer);
    };
  }

  move(ms: number): void {
    this.#now += ms;
    const due = this.#timers.filter(({ at }) => at <= this.#now);
    this.#timers = this.#timers.filter(({ at }) => at > this.#now);
    for (const { call } of due) call();
  }
}
