/** Erasing: the port of what an erasure does below the actors. */
import type { Address } from '../protocols/address.ts';
import type { ErasureReach, ErasureScrub } from '../protocols/erasure.ts';

/** A row of the state of a shard, for an erasure. */
export type StoredRow =
  | {
      readonly kind: 'actor';
      readonly actor: Address;
      readonly type: string;
      readonly context: unknown;
    }
  | {
      readonly kind: 'index';
      readonly shard: number;
      readonly index: string;
      readonly key: string;
      readonly value: unknown;
    }
  /** when a row expires: an index row of the tenant, or an idempotency key of an actor */
  | {
      readonly kind: 'expiry';
      readonly shard: number;
      readonly expiry: string;
      readonly of: { readonly index: string; readonly key: string } | { readonly actor: Address };
    }
  /** an idempotency key of an actor */
  | { readonly kind: 'key'; readonly actor: Address };

/** What decides about a dead letter. */
export type ErasableLetter = {
  readonly to: string;
  readonly from?: string;
  readonly event?: unknown;
};

/** What an erasure does below the actors (`erasing.ts`). Every call may be repeated. */
export interface Erasing {
  /** Every row of a tenant, in no order. */
  rows(tenant: string): AsyncIterable<StoredRow>;
  /** Every actor of a tenant that ever had a transcript. */
  transcripts(tenant: string): AsyncIterable<Address>;
  /**
   * Stops the actor and removes it, its mail, history and the index rows named, which are in its
   * shard.
   */
  eraseActor(
    actor: Address,
    rows?: readonly { readonly index: string; readonly key: string }[],
  ): Promise<void>;
  /** Removes index rows of a shard. */
  eraseRows(
    tenant: string,
    shard: number,
    rows: readonly { readonly index: string; readonly key: string }[],
    expiries: readonly string[],
  ): Promise<void>;
  /** Returns how many entries the transcript had. */
  eraseTranscript(actor: Address): Promise<number>;
  /** Returns how many letters match. */
  eraseLetters(matches: (letter: ErasableLetter) => boolean, isDryRun?: boolean): Promise<number>;
  /**
   * Removes from the disk what was removed before: trims every journal and mailbox, and writes the
   * store, or the local data of every process of a cluster, into new files. Returns after some
   * seconds with how far it came, and continues with that.
   * @throws TroupeError UNAVAILABLE when the store cannot be written, or a shard or a process of a
   * cluster does not answer
   */
  scrub(work: ErasureScrub, signal: AbortSignal): Promise<ErasureReach>;
}
