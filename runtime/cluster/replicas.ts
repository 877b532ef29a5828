/**
 * Replicas: the shards whose rows this process replicates. A gateway replicates all shards; a
 * worker replicates a shard that it is about to take over.
 */
import { errorData, TroupeError } from '../../protocols/errors.ts';
import type { Position } from '../log/log.ts';
import { Replica, type ReplicaOptions } from './replica.ts';

export type ReplicasOptions = Omit<ReplicaOptions, 'shard'>;

/** After this time a reader gets the rows without its own write. */
const SEEN_WITHIN_MS = 1_000;

export class Replicas {
  readonly #o: ReplicasOptions;
  readonly #replicas = new Map<number, Replica>();
  /** replicas that are being rebuilt, whose rows must not be read */
  readonly #rebuilding = new Set<number>();
  #closed = false;

  constructor(options: ReplicasOptions) {
    this.#o = options;
  }

  /** Replicates the shard from now on. */
  keep(shard: number): void {
    if (this.#closed || this.#replicas.has(shard)) return;
    this.#replicas.set(shard, new Replica({ ...this.#o, shard }));
  }

  /**
   * Resolves when the replica, if there is one, contains all records that the journal had at its
   * start.
   */
  async prepared(shard: number): Promise<void> {
    await this.#replicas.get(shard)?.reached(0);
  }

  /**
   * Ends the replica, because this process takes the shard over; resolves when the replica has
   * stopped writing.
   */
  async release(shard: number): Promise<void> {
    const replica = this.#replicas.get(shard);
    this.#replicas.delete(shard);
    await replica?.close();
  }

  /** Whether this process replicates the shard. */
  has(shard: number): boolean {
    return this.#replicas.has(shard);
  }

  /** Rebuilds the replica of a shard from the journal, because one of its rows is damaged. */
  rebuild(shard: number): void {
    if (this.#closed || this.#rebuilding.has(shard) || !this.#replicas.has(shard)) return;
    this.#rebuilding.add(shard);
    void this.#rebuild(shard).finally(() => this.#rebuilding.delete(shard));
  }

  isRebuilding(shard: number): boolean {
    return this.#rebuilding.has(shard);
  }

  async #rebuild(shard: number): Promise<void> {
    const { state, onAlarm } = this.#o;
    await this.release(shard);
    try {
      await state.clear(shard);
    } catch (error) {
      onAlarm(`shard ${shard}: ${errorData(error).message}`);
    }
    this.keep(shard);
    await this.prepared(shard);
  }

  /** Resolves when a reader of this process sees the record, or after a second. */
  async seen(shard: number, position: Position): Promise<void> {
    const replica = this.#replicas.get(shard);
    if (!replica) return;
    let cancel: (() => void) | undefined;
    const late = new Promise<void>((resolve) => {
      cancel = this.#o.clock.after(SEEN_WITHIN_MS, resolve);
    });
    await Promise.race([replica.reached(position), late]);
    cancel?.();
  }

  /** The position of the replica of a shard; -1 if there is none or it is empty. */
  position(shard: number): Position {
    return this.#replicas.get(shard)?.position ?? -1;
  }

  /**
   * Resolves when every replica can be read. @throws TroupeError UNAVAILABLE when that takes longer
   */
  async ready(timeoutMs: number): Promise<void> {
    let cancel: (() => void) | undefined;
    const late = new Promise<never>((_, reject) => {
      cancel = this.#o.clock.after(timeoutMs, () =>
        reject(new TroupeError('UNAVAILABLE', this.#lateness())),
      );
    });
    try {
      await Promise.race([
        Promise.all([...this.#replicas.values()].map((replica) => replica.reached(0))),
        late,
      ]);
    } finally {
      cancel?.();
    }
  }

  #lateness(): string {
    const troubles = [...this.#replicas.values()].flatMap(({ trouble }) => trouble ?? []);
    return ['the journals could not be read in time', ...troubles.slice(0, 1)].join(': ');
  }

  async close(): Promise<void> {
    this.#closed = true;
    await Promise.all([...this.#replicas.values()].map((replica) => replica.close()));
    this.#replicas.clear();
  }
}
