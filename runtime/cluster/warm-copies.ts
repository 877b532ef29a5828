/**
 * WarmCopies: a worker keeps the rows of the shards that it takes over when their owner dies. Each
 * copy follows the shard's journal, so a take-over reads only the records that the copy does not
 * have, however large the shard is.
 *
 * A copy is a cache like the rows of a former owner (T6): the load of a take-over uses it only if
 * the journal contains the record that it ends with, and folds all later records onto it. So a
 * copy that is behind, damaged or of another cell costs time, and can never cause a wrong state. A
 * copy never writes to a journal.
 *
 * Boundary: it decides which copies this worker keeps; `replica.ts` makes them. Copies are loaded
 * one at a time, slowly. A shard must be wanted for a while before it is copied and unwanted for a
 * while before its copy ends, so that a change of placement which is soon undone moves no rows.
 */
import type { Clock } from '../clock/clock.ts';
import type { ShardCopy } from '../system.ts';
import type { Directory } from './directory.ts';
import type { KeptShards } from './kept-shards.ts';
import type { Members } from './members.ts';
import type { Replicas } from './replicas.ts';
import { nextShards } from './shard-assignment.ts';

export type WarmCopiesOptions = {
  readonly clock: Clock;
  readonly members: Members;
  readonly directory: Directory;
  readonly kept: Pick<KeptShards, 'copy' | 'dropCopy'>;
  readonly replicas: Pick<Replicas, 'status' | 'isLoading' | 'prepared'>;
  /** workers that keep a copy of each shard, besides its owner; 0: none */
  readonly copies: number;
};

const LOOK_MS = 500;
const WANTED_MS = 2_000;
const UNWANTED_MS = 60_000;

export class WarmCopies {
  readonly #o: WarmCopiesOptions;
  /** shards that have a copy or wait for one: when they were last wanted, and since when */
  readonly #shards = new Map<number, { sinceMs: number; wantedAtMs: number; isCopied: boolean }>();
  #cancel = () => {};
  #isClosed = false;

  constructor(options: WarmCopiesOptions) {
    this.#o = options;
  }

  start(): void {
    if (this.#o.copies === 0) return;
    this.#look();
  }

  /** The copies that can be read. */
  status(): readonly ShardCopy[] {
    return [...this.#shards].flatMap(([shard, { isCopied }]) =>
      isCopied ? (this.#o.replicas.status(shard) ?? []) : [],
    );
  }

  close(): void {
    this.#isClosed = true;
    this.#cancel();
  }

  #look(): void {
    const { clock, members, directory, copies } = this.#o;
    this.#cancel = clock.after(LOOK_MS, () => this.#look());
    if (!members.settled) return;
    const nowMs = clock.monotonicMs();
    for (const shard of nextShards(members, directory.owners(), copies)) {
      const known = this.#shards.get(shard);
      if (known) known.wantedAtMs = nowMs;
      else this.#shards.set(shard, { sinceMs: nowMs, wantedAtMs: nowMs, isCopied: false });
    }
    this.#begin(nowMs);
    this.#end(nowMs);
  }

  #begin(nowMs: number): void {
    const { kept, replicas } = this.#o;
    if (this.#isClosed) return;
    for (const [shard, { isCopied }] of this.#shards)
      if (isCopied && replicas.isLoading(shard)) return;
    for (const [shard, copy] of this.#shards) {
      if (copy.isCopied || copy.wantedAtMs < nowMs || nowMs - copy.sinceMs < WANTED_MS) continue;
      copy.isCopied = true;
      kept.copy(shard);
      return void replicas.prepared(shard).then(() => this.#begin(nowMs));
    }
  }

  #end(nowMs: number): void {
    for (const [shard, { isCopied, wantedAtMs }] of this.#shards) {
      if (wantedAtMs === nowMs) continue;
      if (isCopied && nowMs - wantedAtMs < UNWANTED_MS) continue;
      this.#shards.delete(shard);
      this.#o.kept.dropCopy(shard);
    }
  }
}
