/**
 * LoadFactor: by how much a worker lowers its own weight because it is busier than the others.
 *
 * It must not oscillate: a step moves shards, and moved shards change the loads that the step was
 * based on. So loads are smoothed, a band around the mean changes nothing, steps are small and
 * rare, and every change of direction doubles the time until the next step.
 */
import type { Clock } from '../clock/clock.ts';

const SMOOTHING_MS = 30_000;
const TENTHS = { least: 5, most: 10 };
const STEP_MS = { first: 30_000, max: 32 * 60_000 };
/** Half the width of the band around the mean: this much, or this share of the mean if larger. */
const BAND = { least: 0.1, share: 0.25 };

export class LoadFactor {
  readonly #clock: Clock;
  #tenths = TENTHS.most;
  #own: number | undefined;
  #mean = 0;
  #readAtMs = 0;
  #steppedAtMs: number;
  #stepMs = STEP_MS.first;
  #direction = 0;

  constructor(clock: Clock) {
    this.#clock = clock;
    this.#steppedAtMs = clock.monotonicMs();
  }

  /**
   * Adds the present loads and returns the factor: 0.5 to 1 in steps of 0.1, at most one step per
   * 30 s.
   *
   * @param own share of time that this worker's event loop is busy, 0 to 1
   * @param others the same of the other workers
   */
  next(own: number, others: readonly number[]): number {
    this.#smooth(own, others);
    if (others.length > 0 && this.#clock.monotonicMs() - this.#steppedAtMs >= this.#stepMs)
      this.#step();
    return this.#tenths / 10;
  }

  #smooth(own: number, others: readonly number[]): void {
    const mean = (own + others.reduce((sum, one) => sum + one, 0)) / (others.length + 1);
    const nowMs = this.#clock.monotonicMs();
    const old = this.#own === undefined ? 0 : Math.exp((this.#readAtMs - nowMs) / SMOOTHING_MS);
    this.#own = (this.#own ?? 0) * old + own * (1 - old);
    this.#mean = this.#mean * old + mean * (1 - old);
    this.#readAtMs = nowMs;
  }

  #step(): void {
    const above = (this.#own ?? 0) - this.#mean;
    const band = Math.max(BAND.least, BAND.share * this.#mean);
    if (Math.abs(above) <= band) return;
    const direction = above > 0 ? -1 : 1;
    const tenths = this.#tenths + direction;
    if (tenths < TENTHS.least || tenths > TENTHS.most) return;
    if (direction === -this.#direction) this.#stepMs = Math.min(this.#stepMs * 2, STEP_MS.max);
    this.#tenths = tenths;
    this.#direction = direction;
    this.#steppedAtMs = this.#clock.monotonicMs();
  }
}
