/** Random numbers of a load test, from a seed. */
import { Mulberry32 } from '../protocols/mulberry32.ts';

export class Random extends Mulberry32 {
  /** Exponentially distributed, with this mean. */
  exponential(mean: number): number {
    return -Math.log(1 - this.next()) * mean;
  }

  /** Standard normal (Box-Muller). */
  normal(): number {
    return Math.sqrt(-2 * Math.log(1 - this.next())) * Math.cos(2 * Math.PI * this.next());
  }
}
