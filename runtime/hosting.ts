/**
 * Hosting: the shards that this process owns, and its view of the others. There are two
 * forms: a process that owns all of them (embedded), and a node of a cluster. Entry points, effects
 * and reads are independent of the form.
 */
import type { HandedOver } from './effects/dispatch.ts';
import type { Floors } from './fairness/admission.ts';
import type { Labels } from './labels.ts';
import type { Position } from './log/log.ts';
import type { OutcomeReport } from './shard/input/outcome-queue.ts';
import type { Intent } from './shard/turn/intents.ts';
import { Shards, type ShardsOptions } from './shards.ts';
import type { DamageReports } from './state/checked-reads.ts';
import type { TroupeError } from '../protocols/errors.ts';
import type { NodeStatus, ShardStatus } from './system.ts';

export interface Hosting extends DamageReports {
  /** Resolves when this process takes part: it owns its shards and its reads are current. */
  start(): Promise<void>;
  /** Status of a shard at its owner; undefined without an owner. */
  statusOf(shard: number): ShardStatus | undefined;
  status(): readonly ShardStatus[];
  /** The process that owns a shard; undefined without one, and where there are no others. */
  ownerOf(shard: number): string | undefined;
  nodes(): readonly NodeStatus[];
  /** Whether this process can tell at present which others live. */
  readonly isSettled: boolean;
  /** As `Outside.adopt`. */
  adopt(ids: readonly string[], orphaned: (id: string) => void): () => void;
  /**
   * The worker that has these labels and runs the effects of the shard that require them; undefined
   * when there is none.
   */
  workerWith(labels: Labels, shard: number): string | undefined;
  /** Hands an effect to that worker. */
  handTo(node: string, id: string, intent: Intent): Promise<HandedOver>;
  /** As `OwnedShard.report`. */
  report(shard: number, report: OutcomeReport): Promise<void> | undefined;
  /** The outcome of an effect that does not run here is no longer needed. */
  abortElsewhere(id: string): void;
  /** Resolves when readers here see a record; undefined where they always do. */
  seen(shard: number, position: Position): Promise<void> | undefined;
  /**
   * Resolves when this process can read the rows of every shard, now and from now on.
   * @throws TroupeError UNAVAILABLE when that takes too long
   */
  readsAll(): Promise<void>;
  /**
   * Resolves when reads of a shard in this process are as new as this call; from then on this
   * process can read the shard.
   * @throws TroupeError UNAVAILABLE when that takes too long
   */
  catchesUp(shard: number): Promise<void>;
  /**
   * Resolves when everything below the next record of the shard is trimmed.
   * @throws TroupeError UNAVAILABLE when this process does not own the shard
   */
  trimmedAll(shard: number): Promise<void>;
  /**
   * Resolves when the rows in this process are as new as this call, or removed, where neither an
   * owner nor a replica keeps them current. @throws TroupeError UNAVAILABLE
   */
  refreshed(): Promise<void>;
  /** Requests that a worker hands over its shards and takes none any more; it keeps running. */
  drain(node: string): void;
  /** Requests that a worker takes no more shards, or does again; it keeps those that it has. */
  cordon(node: string, isCordoned: boolean): void;
  /** Hands over every shard in order, and accepts none any more. */
  release(): Promise<void>;
  /** The last call: afterwards the process sends nothing more. */
  close(): Promise<void>;
}

/** A process that owns every shard of its store. */
export class EmbeddedHosting implements Hosting {
  readonly #shards: Shards;
  readonly isSettled = true;

  /** @param onFloors receives the progress of a shard after each of its records */
  constructor(
    options: Omit<ShardsOptions, 'onCommitted'>,
    onFloors: (shard: number, floors: Floors) => void,
  ) {
    const onCommitted = (shard: number) => {
      const status = this.#shards.statusOf(shard);
      if (status) onFloors(shard, status);
    };
    this.#shards = new Shards({ ...options, onCommitted });
  }

  start(): Promise<void> {
    return this.#shards.holdAll();
  }

  statusOf(shard: number): ShardStatus | undefined {
    return this.#shards.statusOf(shard);
  }

  status(): readonly ShardStatus[] {
    return this.#shards.status();
  }

  nodes(): readonly NodeStatus[] {
    return [];
  }

  ownerOf(): undefined {
    return undefined;
  }

  /** No other process runs anything; the runner knows what runs here. */
  adopt(ids: readonly string[], orphaned: (id: string) => void): () => void {
    ids.forEach(orphaned);
    return () => {};
  }

  workerWith(): undefined {
    return undefined;
  }

  async handTo(): Promise<HandedOver> {
    return 'refused';
  }

  report(shard: number, report: OutcomeReport): Promise<void> | undefined {
    return this.#shards.report(shard, report);
  }

  abortElsewhere(): void {}

  /** The rows are the only ones: the shard is quarantined. */
  damaged(shard: number, error: TroupeError): void {
    this.#shards.damaged(shard, error);
  }

  unreadable(): undefined {
    return undefined;
  }

  seen(): undefined {
    return undefined;
  }

  async readsAll(): Promise<void> {}

  async catchesUp(): Promise<void> {}

  trimmedAll(shard: number): Promise<void> {
    return this.#shards.trimmedAll(shard);
  }

  async refreshed(): Promise<void> {}

  /** No other process could own a shard. */
  drain(): void {}

  cordon(): void {}

  release(): Promise<void> {
    return this.#shards.close();
  }

  async close(): Promise<void> {}
}
