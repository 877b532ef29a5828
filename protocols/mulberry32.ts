/**
 * Mulberry32 (Tommy Ettinger): pseudo-random numbers from a seed. The same seed yields the same
 * numbers on every machine, so a load, a simulation or a test can be repeated.
 */
export class Mulberry32 {
  /** 32 bits, without a sign: numbers with the same state have the same successors */
  state: number;

  /** @param seed a whole number; only its lowest 32 bits count */
  constructor(seed: number) {
    this.state = seed >>> 0;
  }

  /** From 0, inclusive, to 1, exclusive. */
  next(): number {
    this.state = (this.state + 0x6d2b79f5) >>> 0;
    let mixed = this.state;
    mixed = Math.imul(mixed ^ (mixed >>> 15), mixed | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  }
}
