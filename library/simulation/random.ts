/** The randomness of the simulation. */
import { Mulberry32 } from '../../protocols/mulberry32.ts';

/**
 * Random: the only source of randomness in the simulation. One seed gives one sequence of choices;
 * `fork` gives a part of the simulation its own sequence, so that a change in one part does not
 * shift the choices of all others.
 *
 * @example
 * ```ts
 * import { Random } from 'troupe/test';
 *
 * const [one, other] = [new Random(7), new Random(7)];
 * assert.equal(one.whole(1, 6), other.whole(1, 6));
 * ```
 */
export class Random {
  readonly #numbers: Mulberry32;

  constructor(seed: number) {
    this.#numbers = new Mulberry32(Math.imul(seed ^ 0x9e3779b9, 0x85ebca6b));
  }

  /** An independent sequence, identified by its name. */
  fork(name: string): Random {
    let hash = 0x811c9dc5;
    for (const character of name) hash = Math.imul(hash ^ character.charCodeAt(0), 0x01000193);
    return new Random((this.#numbers.state ^ hash) >>> 0);
  }

  /** 0 <= x < 1 (mulberry32). */
  next(): number {
    return this.#numbers.next();
  }

  /** A whole number, both bounds inclusive. */
  whole(from: number, to: number): number {
    return from + Math.floor(this.next() * (to - from + 1));
  }

  chance(probability: number): boolean {
    return this.next() < probability;
  }

  pick<T>(from: readonly T[]): T {
    return from[Math.floor(this.next() * from.length)]!;
  }
}
