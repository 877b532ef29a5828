/**
 * DrainRate: how many waiting items are admitted per second while any item waits. The retry delay
 * of refused callers is derived from it. Time in which nothing waits does not count; older
 * observations weigh less.
 */
import type { Clock } from '../clock/clock.ts';

/** Half-life of observations. */
const HALF_LIFE_MS = 2_000;
const RETRY_MS = { min: 100, unknown: 1_000, max: 30_000 };

export class DrainRate {
  readonly #clock: Clock;
  #left = 0;
  #ms = 0;
  /** the time since which any item waits */
  #since: number | undefined;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  begin(): void {
    this.#since ??= this.#clock.monotonicMs();
  }

  left(): void {
    this.#left++;
  }

  end(): void {
    this.#observe();
    this.#since = undefined;
  }

  /**
   * Milliseconds, 100 to 30,000, until this number of items is admitted at a `share` of the rate.
   */
  retryAfterMs(waiting: number, share = 1): number {
    this.#observe();
    if (this.#ms === 0) return RETRY_MS.unknown;
    const perMs = (this.#left / this.#ms) * share;
    return Math.ceil(Math.min(Math.max(Math.max(waiting, 1) / perMs, RETRY_MS.min), RETRY_MS.max));
  }

  #observe(): void {
    if (this.#since === undefined) return;
    const now = this.#clock.monotonicMs();
    this.#ms += now - this.#since;
    this.#since = now;
    while (this.#ms > 2 * HALF_LIFE_MS) {
      this.#ms /= 2;
      this.#left /= 2;
    }
  }
}
