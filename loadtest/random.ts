/** Random numbers of a load test, from a seed. */
import { Mulberry32 } from '../protocols/mulberry32.ts';

export class Random extends Mulberry32 {
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
