/**
 * Replicas: the shards whose rows this process replicates. `kept-shards.ts` says which.
 */
import { defined } from '../../protocols/defined.ts';
import { errorData, TroupeError } from '../../protocols/errors.ts';
import { inTime } from '../clock/in-time.ts';
import type { Position } from '../log/log.ts';
import type { ShardCopy } from '../system.ts';
import { Replica, type ReplicaOptions } from './replica.ts';

export type ReplicasOptions = Omit<ReplicaOptions, 'shard' | 'isPaced' | 'after'>;

/** After this time a reader gets the rows without its own write. */
const SEEN_WITHIN_MS = 1_000;

export class Replicas {
  readonly #o: ReplicasOptions;
  readonly #replicas = new Map<number, Replica>();
  /** replicas that are being rebuilt, whose rows must not be read */
  readonly #rebuilding = new Set<number>();
  /** by shard, what still writes its rows: a released replica that stops, or their removal */
  readonly #ending = new Map<number, Promise<void>>();
  #closed = false;

  constructor(options: ReplicasOptions) {
    this.#o = options;
  }

  /** Replicates the shard from now on. @param isPaced no caller waits for it */
  keep(shard: number, isPaced = false): void {
    const replica = this.#replicas.get(shard);
    if (replica && !isPaced) replica.hurry();
    if (this.#closed || replica) return;
    const after = this.#ending.get(shard);
    this.#replicas.set(shard, new Replica({ ...this.#o, shard, isPaced, ...defined({ after }) }));
  }

  /**
   * Resolves when the replica, if there is one, contains all records that the journal had at its
   * start.
   */
  async prepared(shard: number): Promise<void> {
    await this.#replicas.get(shard)?.reached(0);
  }

  /** Resolves when the replica, if there is one, is not being loaded any more. */
  async loaded(shard: number): Promise<void> {
    await this.#replicas.get(shard)?.loaded();
  }

  /**
   * Ends the replica, because this process takes the shard over; resolves when nothing here writes
   * the shard's rows any more.
   */
  async release(shard: number): Promise<void> {
    const closed = this.#replicas.get(shard)?.close();
    this.#replicas.delete(shard);
    if (closed) void this.#inTurn(shard, () => closed);
    await this.#ending.get(shard);
  }

  /** Only one at a time writes the rows of a shard. */
  #inTurn(shard: number, write: () => Promise<void>): Promise<void> {
    const written = (this.#ending.get(shard) ?? Promise.resolve()).then(write);
    const ended = written
      .catch(() => {})
      .then(() => {
        if (this.#ending.get(shard) === ended) this.#ending.delete(shard);
      });
    this.#ending.set(shard, ended);
    return written;
  }

  /** Whether this process replicates the shard. */
  has(shard: number): boolean {
    return this.#replicas.has(shard);
  }

  /** Rebuilds the replica of a shard from the journal, because one of its rows is damaged. */
  rebuild(shard: number): void {
    if (this.#closed || this.#rebuilding.has(shard) || !this.#replicas.has(shard)) return;
    this.#rebuilding.add(shard);
    void this.rewrite(shard)
      .catch((error: unknown) => this.#o.onAlarm(`shard ${shard}: ${errorData(error).message}`))
      .then(() => this.prepared(shard))
      .finally(() => this.#rebuilding.delete(shard));
  }

  isRebuilding(shard: number): boolean {
    return this.#rebuilding.has(shard);
  }

  /**
   * Removes all rows that this process has of a shard of another one, for a damaged row and for an
   * erasure. If it replicates the shard, they are read again from snapshot and journal. An owner
   * that begins meanwhile waits for the end of the removal. Resolves when they are removed.
   */
  rewrite(shard: number): Promise<void> {
    const isKept = this.#replicas.has(shard);
    void this.release(shard);
    const cleared = this.#inTurn(shard, () => this.#o.state.clear(shard));
    if (isKept) this.keep(shard);
    return cleared;
  }

  /** Resolves when a reader of this process sees the record, or after a second. */
  async seen(shard: number, position: Position): Promise<void> {
    const replica = this.#replicas.get(shard);
    if (!replica) return;
    replica.hurry();
    await inTime(this.#o.clock, replica.reached(position), SEEN_WITHIN_MS, () => {});
  }

  /** Whether the replica of a shard is being loaded, so far without trouble. */
  isLoading(shard: number): boolean {
    const replica = this.#replicas.get(shard);
    return replica !== undefined && (replica.position ?? replica.trouble) === undefined;
  }

  /** How far the replica of a shard is; undefined while there is none that can be read. */
  status(shard: number): ShardCopy | undefined {
    const { position, lag = 0, trouble } = this.#replicas.get(shard) ?? {};
    return position === undefined || trouble !== undefined ? undefined : { shard, position, lag };
  }

  /** The position of the replica of a shard; -1 if there is none or it is empty. */
  position(shard: number): Position {
    return this.#replicas.get(shard)?.position ?? -1;
  }

  /**
   * Resolves when every replica can be read. @throws TroupeError UNAVAILABLE when that takes longer
   */
  async ready(timeoutMs: number): Promise<void> {
    const all = Promise.all([...this.#replicas.values()].map((replica) => replica.reached(0)));
    await inTime(this.#o.clock, all, timeoutMs, () => {
      throw new TroupeError('UNAVAILABLE', this.#lateness());
    });
  }

  #lateness(): string {
    const troubles = [...this.#replicas.values()].flatMap(({ trouble }) => trouble ?? []);
    return ['the journals could not be read in time', ...troubles.slice(0, 1)].join(': ');
  }

  async close(): Promise<void> {
    this.#closed = true;
    await Promise.all([...this.#replicas.values()].map((replica) => replica.close()));
    this.#replicas.clear();
    await Promise.all(this.#ending.values());
  }
}
