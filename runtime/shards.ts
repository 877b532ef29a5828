/**
 * Shards: the shards of this process. It creates an owner for each shard that it is asked to take,
 * and keeps the status of the last one.
 *
 * Boundary: other code decides which shards to take and how to react to a lost one: embedded all of
 * them, always (`holdAll`); in a cluster placement decides.
 */
import type { Address } from '../protocols/address.ts';
import { defined } from '../protocols/defined.ts';
import { TroupeError } from '../protocols/errors.ts';
import type { Registry } from './actor/registry.ts';
import type { Blobs } from './blobs/blobs.ts';
import type { Clock } from './clock/clock.ts';
import type { Log } from './log/log.ts';
import type { Outside } from './shard/commit/after-commit.ts';
import type { OutcomeReport } from './shard/input/outcome-queue.ts';
import { ShardOwner } from './shard/owner.ts';
import type { OwnerOptions } from './shard/owner-options.ts';
import { DEFAULT_LIMITS, type Limits } from './shard/limits.ts';
import type { State } from './state/state.ts';
import type { ShardStatus } from './system.ts';

export type ShardsOptions = {
  readonly log: Log;
  readonly state: State;
  readonly blobs: Blobs;
  readonly clock: Clock;
  readonly env: string;
  readonly cell: string;
  readonly shards: number;
  /** name of this process, for EPOCH records and statuses */
  readonly node: string;
  readonly registry: Registry;
  readonly limits?: Partial<Limits>;
  readonly supervisor?: Address;
  readonly holdsTimersOf?: (actor: Address) => boolean;
  readonly outside: Outside;
  /** a shard was lost or quarantined */
  readonly onEnd?: (shard: number, status: 'lost' | 'quarantined', why: string) => void;
  /** a record of the shard was committed */
  readonly onCommitted?: (shard: number) => void;
} & Pick<
  OwnerOptions,
  'format' | 'transcripts' | 'history' | 'journalTail' | 'snapshotEvery' | 'snapshotBytes'
>;

const REOPEN_MS = { first: 100, max: 5_000 };

export class Shards {
  readonly #o: ShardsOptions;
  readonly #owners = new Map<number, ShardOwner>();
  #closed = false;

  constructor(options: ShardsOptions) {
    this.#o = options;
  }

  /** Takes every shard, and takes a lost one again. For a process without a cluster. */
  async holdAll(): Promise<void> {
    const all = Array.from({ length: this.#o.shards }, (_, shard) => shard);
    await Promise.all(all.map((shard) => this.#hold(shard, REOPEN_MS.first)));
  }

  /** Resolves when the shard is owned, lost or quarantined. */
  take(shard: number): Promise<void> {
    return this.#take(shard);
  }

  /** Commits open turns and hands the shard over to `node`. */
  async handOff(shard: number, node = ''): Promise<void> {
    await this.#owners.get(shard)?.handOff(node);
  }

  /** Hands over all shards in order, and accepts none any more. */
  async close(): Promise<void> {
    this.#closed = true;
    await Promise.all([...this.#owners.values()].map((owner) => owner.handOff()));
  }

  /** A reader found a row of the shard damaged. */
  damaged(shard: number, error: TroupeError): void {
    this.#owners.get(shard)?.fail(error);
  }

  /** As `OwnedShard.report`. */
  report(shard: number, report: OutcomeReport): Promise<void> | undefined {
    return this.#owners.get(shard)?.report(report);
  }

  /** As `Retention.trimmedAll`. @throws TroupeError UNAVAILABLE when the shard is not owned here */
  async trimmedAll(shard: number): Promise<void> {
    const owner = this.#owners.get(shard);
    if (!owner) throw new TroupeError('UNAVAILABLE', `shard ${shard} is not owned here`);
    await owner.trimmedAll();
  }

  /** A quarantined shard has an owner elsewhere, so this process no longer reports its status. */
  forget(shard: number): void {
    if (this.statusOf(shard)?.state === 'quarantined') this.#owners.delete(shard);
  }

  statusOf(shard: number): ShardStatus | undefined {
    return this.#owners.get(shard)?.status();
  }

  /** Status of every shard that this process has ever taken. */
  status(): readonly ShardStatus[] {
    return [...this.#owners.values()].map((owner) => owner.status()).sort(byShard);
  }

  async #hold(shard: number, reopenMs: number): Promise<void> {
    await this.#take(shard, (status) => {
      if (status === 'quarantined') return;
      this.#o.clock.after(reopenMs, () => {
        if (!this.#closed) void this.#hold(shard, Math.min(reopenMs * 2, REOPEN_MS.max));
      });
    });
  }

  async #take(shard: number, onEnd?: (status: 'lost' | 'quarantined') => void): Promise<void> {
    if (this.#closed || isHeld(this.#owners.get(shard))) return;
    const { limits, supervisor, holdsTimersOf, node, onCommitted, ...ports } = this.#o;
    const { cell, shards, registry, outside } = ports;
    const world = {
      cell,
      shard,
      shards,
      registry,
      limits: { ...DEFAULT_LIMITS, ...limits },
      ...defined({ supervisor, holdsTimersOf }),
    };
    const owner = new ShardOwner({
      ...ports,
      world,
      worker: node,
      onEnd: (status, why) => {
        outside.alarm(`shard ${shard} is ${status}: ${why}`);
        this.#o.onEnd?.(shard, status, why);
        if (!this.#closed) onEnd?.(status);
      },
      ...(onCommitted ? { onCommitted: () => onCommitted(shard) } : {}),
    });
    this.#owners.set(shard, owner);
    await owner.start();
  }
}

const isHeld = (owner: ShardOwner | undefined): boolean => {
  const state = owner?.status().state;
  return state === 'loading' || state === 'owned';
};

const byShard = (a: ShardStatus, b: ShardStatus): number => a.shard - b.shard;
