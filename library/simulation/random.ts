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
  #state: number;

  constructor(seed: number) {
    this.#state = Math.imul(seed ^ 0x9e3779b9, 0x85ebca6b) >>> 0;
  }

  /** An independent sequence, identified by its name. */
  fork(name: string): Random {
    let hash = 0x811c9dc5;
    for (const character of name) hash = Math.imul(hash ^ character.charCodeAt(0), 0x01000193);
    return new Random((this.#state ^ hash) >>> 0);
  }

  /** 0 <= x < 1 (mulberry32). */
  next(): number {
    this.#state = (this.#state + 0x6d2b79f5) >>> 0;
    let z = this.#state;
    z = Math.imul(z ^ (z >>> 15), z | 1);
    z ^= z + Math.imul(z ^ (z >>> 7), z | 61);
    return ((z ^ (z >>> 14)) >>> 0) / 2 ** 32;
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
