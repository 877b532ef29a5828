/**
 * SimBlobs: the Blobs port with latency and with faults of disks: failed writes, writes that a
 * crash interrupts, and damaged bytes.
 */
import { TroupeError } from '../../protocols/errors.ts';
import type { Blobs } from '../../runtime/blobs/blobs.ts';
import type { Random } from '../../library/simulation/random.ts';
import type { VirtualClock } from '../../library/simulation/virtual-clock.ts';

export type BlobFaults = {
  /** a write that fails and leaves half of the bytes under its name */
  readonly half: number;
};

export class SimBlobs implements Blobs {
  faults: BlobFaults = { half: 0 };
  readonly #clock: VirtualClock;
  readonly #random: Random;
  readonly #stored = new Map<string, Uint8Array>();

  constructor(clock: VirtualClock, random: Random) {
    this.#clock = clock;
    this.#random = random;
  }

  async put(name: string, bytes: Uint8Array): Promise<void> {
    const half = this.#random.chance(this.faults.half);
    await this.#clock.sleep(this.#random.whole(1, 20));
    const known = this.#stored.get(name);
    if (known && Buffer.compare(known, bytes) !== 0)
      throw new TroupeError('CONFLICT', `the blob ${name} exists with different bytes`);
    this.#stored.set(name, Uint8Array.from(half ? bytes.subarray(0, bytes.length >> 1) : bytes));
    await this.#clock.sleep(this.#random.whole(1, 20));
    if (half) throw new TroupeError('UNAVAILABLE', `the blob ${name} was written half`);
  }

  async get(name: string): Promise<Uint8Array | undefined> {
    await this.#clock.sleep(this.#random.whole(0, 5));
    return this.#stored.get(name);
  }

  async delete(name: string): Promise<void> {
    this.#stored.delete(name);
  }

  async list(prefix: string): Promise<readonly string[]> {
    return [...this.#stored.keys()].filter((name) => name.startsWith(prefix)).sort();
  }

  /** Changes one byte of a stored blob. */
  rot(name: string): void {
    const bytes = this.#stored.get(name);
    if (!bytes || bytes.length === 0) return;
    const rotten = Uint8Array.from(bytes);
    rotten[this.#random.whole(0, rotten.length - 1)]! ^= 0x40;
    this.#stored.set(name, rotten);
  }
}
