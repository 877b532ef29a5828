/** Erasing: the port of what an erasure does below the actors. */
import type { Address } from '../protocols/address.ts';

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
  /** false in a cluster: nothing can be erased */
  readonly canScrub: boolean;
  /** Every row of a tenant, in no order. */
  rows(tenant: string): AsyncIterable<StoredRow>;
  /** Every actor of a tenant that ever had a transcript. */
  transcripts(tenant: string): Iterable<Address>;
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
   * store into new files.
   * @throws TroupeError UNAVAILABLE in a cluster, or when the store cannot be written
   */
  scrub(tenant: string): Promise<void>;
}
