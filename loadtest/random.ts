/**
 * Pseudo-random numbers from a seed: the same seed yields the same numbers on every machine
 * (mulberry32).
 */
export class Random {
  #state: number;

  /** @param seed a whole number; only its lowest 32 bits count */
  constructor(seed: number) {
    this.#state = seed >>> 0;
  }

  /** From 0, inclusive, to 1, exclusive. */
  next(): number {
    this.#state = (this.#state + 0x6d2b79f5) >>> 0;
    let mixed = this.#state;
    mixed = Math.imul(mixed ^ (mixed >>> 15), mixed | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  }

  /** From `min`, inclusive, to `max`, exclusive. */
  between(min: number, max: number): number {
    return min + this.next() * (max - min);
  }

  /** @param from at least one */
  pick<T>(from: readonly T[]): T {
    return from[Math.floor(this.next() * from.length)]!;
  }

  /** Exponentially distributed, with this mean. */
  exponential(mean: number): number {
    return -Math.log(1 - this.next()) * mean;
  }

  /** Standard normal (Box-Muller). */
  normal(): number {
    return Math.sqrt(-2 * Math.log(1 - this.next())) * Math.cos(2 * Math.PI * this.next());
  }
}
