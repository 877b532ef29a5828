/**
 * KeptShards: which shards of others this process replicates, and why: a gateway reads all; a
 * worker reads some, prepares a hand-over, or keeps a copy of a shard that it takes over when the
 * owner dies.
 *
 * Invariant: either an owner or a replica writes the rows of a shard, never both.
 */
import { TroupeError } from '../../protocols/errors.ts';
import type { Clock } from '../clock/clock.ts';
import { inTime } from '../clock/in-time.ts';
import type { Replicas } from './replicas.ts';

export type KeptShardsOptions = {
  readonly clock: Clock;
  readonly replicas: Replicas;
  /** whether this process owns the shard or loads it as an owner */
  readonly isHeld: (shard: number) => boolean;
};

/** How long a replica for a hand-over is kept if the hand-over does not happen. */
const PREPARED_MS = 30_000;
/** How long a reader waits for a take-over. */
const TAKEN_WITHIN_MS = 15_000;

export class KeptShards {
  readonly #o: KeptShardsOptions;
  #readsAll = false;
  readonly #read = new Set<number>();
  readonly #copied = new Set<number>();
  /** replicas for a hand-over, each with the function that keeps it */
  readonly #prepared = new Map<number, () => void>();
  /** shards of which this process becomes the owner, each with the end of that */
  readonly #taking = new Map<number, Promise<void>>();

  constructor(options: KeptShardsOptions) {
    this.#o = options;
  }

  get readsAll(): boolean {
    return this.#readsAll;
  }

  readAll(shards: number): void {
    this.#readsAll = true;
    for (let shard = 0; shard < shards; shard++) this.#keep(shard);
  }

  read(shard: number): void {
    this.#read.add(shard);
    this.#keep(shard);
  }

  /** Keeps the shard for a hand-over. False if this process owns it or takes it over. */
  prepare(shard: number): boolean {
    if (!this.#keep(shard)) return false;
    this.#forgetPrepared(shard);
    const giveUp = () => {
      this.#prepared.delete(shard);
      this.#drop(shard);
    };
    this.#prepared.set(shard, this.#o.clock.after(PREPARED_MS, giveUp));
    return true;
  }

  /** Keeps a copy, which is loaded without haste. */
  copy(shard: number): void {
    this.#copied.add(shard);
    this.#keep(shard, true);
  }

  dropCopy(shard: number): void {
    if (this.#copied.delete(shard)) this.#drop(shard);
  }

  /**
   * Resolves when this process does not become the owner at present.
   * @throws TroupeError UNAVAILABLE after 15 seconds
   */
  async taken(shard: number): Promise<void> {
    const { clock } = this.#o;
    const untilMs = clock.monotonicMs() + TAKEN_WITHIN_MS;
    for (let ended; (ended = this.#taking.get(shard)); )
      await inTime(clock, ended, Math.max(0, untilMs - clock.monotonicMs()), () => {
        throw isBeingTaken(shard);
      });
  }

  /** Shards of which this process becomes the owner at present. */
  get beingTaken(): Iterable<number> {
    return this.#taking.keys();
  }

  /** Runs `take`, which makes this process the owner, while no replica writes the rows. */
  async taking(shard: number, take: () => Promise<void>): Promise<void> {
    let end = () => {};
    this.#taking.set(shard, new Promise((resolve) => (end = resolve)));
    this.#forgetPrepared(shard);
    try {
      // What is loaded already need not be loaded again.
      await this.#o.replicas.loaded(shard);
      await this.#o.replicas.release(shard);
      await take();
    } finally {
      this.#taking.delete(shard);
      end();
      this.resume(shard);
    }
  }

  /** Another process may own the shard from now on. */
  resume(shard: number): void {
    if (this.#isWanted(shard)) this.#keep(shard, !this.#readsAll && !this.#read.has(shard));
  }

  close(): void {
    for (const cancel of this.#prepared.values()) cancel();
    this.#prepared.clear();
  }

  #isWanted(shard: number): boolean {
    return this.#readsAll || this.#read.has(shard) || this.#copied.has(shard);
  }

  #keep(shard: number, isPaced = false): boolean {
    if (this.#taking.has(shard) || this.#o.isHeld(shard)) return false;
    this.#o.replicas.keep(shard, isPaced);
    return true;
  }

  #drop(shard: number): void {
    if (!this.#isWanted(shard) && !this.#prepared.has(shard)) void this.#o.replicas.release(shard);
  }

  #forgetPrepared(shard: number): void {
    this.#prepared.get(shard)?.();
    this.#prepared.delete(shard);
  }
}

export const isBeingTaken = (shard: number): TroupeError =>
  new TroupeError('UNAVAILABLE', `shard ${shard} is owned here, or is being taken over`);
