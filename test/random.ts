/** Random numbers for tests and benches. */
import { Mulberry32 } from '../protocols/mulberry32.ts';

/** A function that returns the next number from 0 below 1; the same sequence for the same seed. */
export function randomOf(seed: number): () => number {
  const numbers = new Mulberry32(seed);
  return () => numbers.next();
}
