/**
 * Replicas: the shards whose rows this process copies. A gateway copies all shards; a worker copies
 * a shard that it is about to take over.
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
  /** copies that are being rebuilt: none of their rows may be read */
  readonly #rebuilding = new Set<number>();
  #closed = false;

  constructor(options: ReplicasOptions) {
    this.#o = options;
  }

  /** Keeps a copy of the shard from now on. */
  keep(shard: number): void {
    if (this.#closed || this.#replicas.has(shard)) return;
    this.#replicas.set(shard, new Replica({ ...this.#o, shard }));
  }

  /** Resolves when the copy, if there is one, holds what the journal held when it was begun. */
  async prepared(shard: number): Promise<void> {
    await this.#replicas.get(shard)?.reached(0);
  }

  /** Ends the copy and resolves when nothing writes its rows any more: the shard is taken here. */
  async release(shard: number): Promise<void> {
    const replica = this.#replicas.get(shard);
    this.#replicas.delete(shard);
    await replica?.close();
  }

  /** Makes the copy of a shard again from the journal, because a row of it is damaged. */
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

  /** Resolves when a reader here sees the record, or after a second. */
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

  /** How far the copy of a shard has come; -1 where there is none, or nothing in it. */
  position(shard: number): Position {
    return this.#replicas.get(shard)?.position ?? -1;
  }

  /**
   * Resolves when every copy can be read. @throws TroupeError UNAVAILABLE when that takes longer
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
