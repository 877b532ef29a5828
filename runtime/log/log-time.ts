/**
 * LogTime: a time that never decreases, derived from a clock that may be set (P5, H1). It follows
 * the clock forward. Where the clock was set back by more than `SLACK_MS`, also while no process
 * ran, it continues from the highest time at the pace of the monotonic clock, so no deadline passes
 * and no timer waits because of a clock (I6). Within the slack it waits for the clock, so that
 * rounding and drift never add up.
 */
import type { Clock } from '../clock/clock.ts';

/** A smaller difference between two clocks is an error of measurement, not a clock that was set. */
export const SLACK_MS = 1_000;

/** The clock went from `fromMs` to `toMs` while less than a second passed. */
export type ForwardJump = { readonly fromMs: number; readonly toMs: number };

export class LogTime {
  readonly #clock: Pick<Clock, 'wallMs' | 'monotonicMs'>;
  readonly #onJump: ((jump: ForwardJump) => void) | undefined;
  /** highest time returned or found stored, and when that was */
  #last = 0;
  #at: number;

  constructor(clock: Pick<Clock, 'wallMs' | 'monotonicMs'>, onJump?: (jump: ForwardJump) => void) {
    this.#clock = clock;
    this.#onJump = onJump;
    this.#at = clock.monotonicMs();
  }

  /** Whole milliseconds since the epoch. */
  now(): number {
    const at = this.#clock.monotonicMs();
    const wall = this.#clock.wallMs();
    const paced = this.#last + (at - this.#at);
    const isSetBack = paced - wall > SLACK_MS;
    if (wall - paced > SLACK_MS && this.#last > 0)
      this.#onJump?.({ fromMs: Math.floor(paced), toMs: Math.floor(wall) });
    this.#last = isSetBack ? paced : Math.max(this.#last, wall);
    this.#at = at;
    return Math.floor(this.#last);
  }

  /** How far this time is ahead of a clock that was set back, milliseconds; else 0. */
  aheadMs(): number {
    const ahead = this.now() - Math.floor(this.#clock.wallMs());
    return ahead > SLACK_MS ? ahead : 0;
  }

  /** A time that an entry carries: what is stored later is not earlier. */
  found(logTimeMs: number): void {
    if (logTimeMs > this.now()) this.#last = logTimeMs;
  }
}
