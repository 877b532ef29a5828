/**
 * The external systems: an airline and a hotel that store their bookings in one file, also while
 * troupe is down. A booking is identified by its reference, so a repeat books nothing.
 */
import { appendFileSync, existsSync, readFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { TroupeError } from 'troupe';

export type Entry = {
  readonly what: 'seat' | 'room';
  readonly reference: string;
  readonly city: string;
  readonly cancelled?: true;
};

export class World {
  readonly #file: string;
  /** milliseconds that a booking of a room takes */
  readonly #clerkMs: number;

  constructor(file: string, { clerkMs = 0 } = {}) {
    this.#file = file;
    this.#clerkMs = clerkMs;
  }

  bookSeat(reference: string, city: string): void {
    if (!this.has(reference)) this.#write({ what: 'seat', reference, city });
  }

  cancelSeat(reference: string): void {
    const seat = this.has(reference);
    if (seat) this.#write({ ...seat, cancelled: true });
  }

  /** @throws TroupeError NOT_FOUND for a city without a hotel */
  async bookRoom(reference: string, city: string): Promise<void> {
    await sleep(this.#clerkMs, undefined, { ref: false });
    if (city === 'Atlantis') throw new TroupeError('NOT_FOUND', 'there is no hotel in Atlantis');
    if (!this.has(reference)) this.#write({ what: 'room', reference, city });
  }

  /** The booking, unless it is cancelled. */
  has(reference: string): Entry | undefined {
    const last = this.entries().findLast((entry) => entry.reference === reference);
    return last?.cancelled ? undefined : last;
  }

  entries(): readonly Entry[] {
    if (!existsSync(this.#file)) return [];
    const lines = readFileSync(this.#file, 'utf8').split('\n');
    return lines.filter((line) => line !== '').map((line) => JSON.parse(line) as Entry);
  }

  #write(entry: Entry): void {
    appendFileSync(this.#file, `${JSON.stringify(entry)}\n`);
  }
}
