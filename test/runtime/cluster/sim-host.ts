/**
 * SimHost: the shards of one simulated process over a journal with the behaviour that placement
 * relies on: the last process that took a shard owns it, with a rising epoch, and earlier owners
 * detect that at their next read.
 */
import type { ShardHost } from '../../../runtime/cluster/placement.ts';
import type { ShardStatus } from '../../../runtime/system.ts';
import type { Random } from '../../../library/simulation/random.ts';
import type { Link } from './sim-network.ts';

/** Epochs of all shards, as they are stored. */
export class SimJournals {
  readonly #epochs: number[] = [];
  #position = 0;
  /** number of take-overs */
  takes = 0;
  /** shards that cannot be read */
  readonly corrupt = new Set<number>();
  /** shards whose records need a program that knows this format */
  readonly formats = new Map<number, number>();

  epochOf(shard: number): number {
    return this.#epochs[shard] ?? 0;
  }

  take(shard: number): number {
    this.takes++;
    this.#epochs[shard] = ++this.#position;
    return this.#position;
  }
}

const LOOK_MS = 1_000;

export class SimHost implements ShardHost {
  readonly shards: number;
  /** the newest format of records that it knows */
  format = 1;
  /** loading time of a shard */
  loadMs = { from: 10, to: 60 };
  takesAtOnceMax = 0;
  readonly prepared: number[] = [];
  readonly #link: Link;
  readonly #random: Random;
  readonly #journals: SimJournals;
  readonly #statuses = new Map<number, ShardStatus>();
  readonly #onLost: () => void;
  #loading = 0;

  constructor(
    shards: number,
    journals: SimJournals,
    link: Link,
    random: Random,
    onLost: () => void,
  ) {
    this.shards = shards;
    this.#journals = journals;
    this.#link = link;
    this.#random = random;
    this.#onLost = onLost;
    this.#look();
  }

  status(): readonly ShardStatus[] {
    return [...this.#statuses.values()];
  }

  statusOf(shard: number): ShardStatus | undefined {
    return this.#statuses.get(shard);
  }

  owns(shard: number): boolean {
    return this.#statuses.get(shard)?.state === 'owned';
  }

  async take(shard: number): Promise<void> {
    if (this.owns(shard)) return;
    this.takesAtOnceMax = Math.max(this.takesAtOnceMax, ++this.#loading);
    // Simulates a worker that first closes its replica: other nodes do not see yet that it takes
    // over.
    await this.#store(this.#random.whole(1, 50));
    this.#set(shard, 'loading', 0);
    const readFrom = this.#journals.epochOf(shard);
    await this.#store(this.#random.whole(this.loadMs.from, this.loadMs.to));
    this.#loading--;
    const { corrupt, formats } = this.#journals;
    const formatNeeded = formats.get(shard) ?? 1;
    if (corrupt.has(shard)) this.#set(shard, 'quarantined', 0);
    else if (formatNeeded > this.format) this.#set(shard, 'quarantined', 0, { formatNeeded });
    else if (this.#journals.epochOf(shard) !== readFrom) this.#set(shard, 'lost', 0);
    else this.#set(shard, 'owned', this.#journals.take(shard));
  }

  async handOff(shard: number): Promise<void> {
    await this.#store(this.#random.whole(2, 10));
    this.#set(shard, this.#isFenced(shard) ? 'lost' : 'stopped', 0);
  }

  async prepare(shard: number): Promise<void> {
    this.prepared.push(shard);
    await this.#store(this.#random.whole(10, 80));
  }

  /** An idle owner checks periodically whether it still owns the shard. */
  #look(): void {
    this.#link.process.clock.after(LOOK_MS, () => {
      if (this.#link.reaches)
        for (const { shard } of this.status())
          if (this.owns(shard) && this.#isFenced(shard)) {
            this.#set(shard, 'lost', 0);
            this.#onLost();
          }
      this.#look();
    });
  }

  #isFenced(shard: number): boolean {
    return this.#journals.epochOf(shard) !== this.#statuses.get(shard)?.epoch;
  }

  /** The store is behind the same network as the bus: a process that is cut off waits. */
  async #store(delayMs: number): Promise<void> {
    const { clock } = this.#link.process;
    do await new Promise<void>((resolve) => void clock.after(delayMs, resolve));
    while (!this.#link.reaches);
  }

  #set(
    shard: number,
    state: ShardStatus['state'],
    epoch: number,
    more: Partial<ShardStatus> = {},
  ): void {
    const zero = {
      position: 0,
      turnNo: 0,
      mailFloor: 0,
      ctlFloor: 0,
      lag: 0,
      now: 0,
      residents: 0,
    };
    this.#statuses.set(shard, { shard, state, epoch, ...zero, ...more });
  }
}
