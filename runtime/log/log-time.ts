/**
 * LogTime: the log's own clock (P5, H1). It follows the wall clock forward, never falls and never
 * stands still: where the wall clock was set back, also while nobody ran, it goes on from the
 * newest time it has stored at the pace of the monotonic clock. So no deadline passes and no timer
 * waits because of a clock (I6).
 */
import type { Clock } from '../clock/clock.ts';

export class LogTime {
  readonly #clock: Clock;
  /** highest time given or found stored, and when that was */
  #last = 0;
  #at: number;

  constructor(clock: Clock) {
    this.#clock = clock;
    this.#at = clock.monotonicMs();
  }

  /** Whole milliseconds since the epoch. */
  now(): number {
    const at = this.#clock.monotonicMs();
    this.#last = Math.max(this.#clock.wallMs(), this.#last + (at - this.#at));
    this.#at = at;
    return Math.floor(this.#last);
  }

  /** A time that an entry carries: what is stored later is not earlier. */
  found(logTimeMs: number): void {
    if (logTimeMs > this.now()) this.#last = logTimeMs;
  }
}
