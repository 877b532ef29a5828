/** Kind: what each kind of data does for retention. */
import { errorData } from '../../protocols/errors.ts';
import type { RetentionPicked, RetentionPickInput } from '../../protocols/retention.ts';
import type { Config } from '../../runtime/config/index.ts';
import type { Blobs } from '../../runtime/blobs/blobs.ts';
import type { Artifacts, System } from '../../runtime/index.ts';
import type { Holds } from './holds.ts';

export type KindParts = {
  readonly system: System;
  /** the configuration in effect */
  readonly config: Config;
  readonly holds: Holds;
  bucket(this: void): Promise<Artifacts>;
  blobs(this: void): Promise<Blobs>;
  readonly signal: AbortSignal;
};
export type Place = Pick<RetentionPickInput, 'tenant' | 'before'>;

export type KindSweep = {
  /** Changes nothing. */
  pick(this: void, parts: KindParts, input: RetentionPickInput): Promise<RetentionPicked>;
  /**
   * Removes items of one pick. May be repeated: what is gone already is removed.
   * @returns how many stay, because they are used again or held
   */
  remove(this: void, parts: KindParts, place: Place, items: readonly string[]): Promise<number>;
};

/** What a pick collects, until it has enough. */
export class Picking {
  readonly items: string[] = [];
  readonly #limit: number;
  readonly #bytesLimit: number | undefined;
  #held = 0;
  #bytes = 0;

  constructor({ limit, bytesLimit }: Pick<RetentionPickInput, 'limit' | 'bytesLimit'>) {
    this.#limit = limit;
    this.#bytesLimit = bytesLimit;
  }

  get isFull(): boolean {
    const { length } = this.items;
    return length >= this.#limit || this.#bytes >= (this.#bytesLimit ?? Number.POSITIVE_INFINITY);
  }

  /**
   * @param bytesOf called only if sizes count; what is damaged (INTERNAL) counts as 0, because it
   *   is removed, too
   */
  async add(item: string, isHeld: boolean, bytesOf: () => number | Promise<number>): Promise<void> {
    if (isHeld) this.#held++;
    else {
      this.items.push(item);
      if (this.#bytesLimit !== undefined) this.#bytes += await readable(bytesOf);
    }
  }

  /** @param cursor behind the last item that was looked at; null: at the end */
  picked(cursor: string | null): RetentionPicked {
    return { items: this.items, held: this.#held, cursor, bytes: this.#bytes };
  }
}

/** Removes each item. @param remove false: it stays */
export async function removeEach(
  items: readonly string[],
  signal: AbortSignal,
  remove: (item: string) => Promise<boolean>,
): Promise<number> {
  let skipped = 0;
  for (const item of items) {
    signal.throwIfAborted();
    if (!(await remove(item))) skipped++;
  }
  return skipped;
}

async function readable(bytesOf: () => number | Promise<number>): Promise<number> {
  try {
    return await bytesOf();
  } catch (error) {
    if (errorData(error).code !== 'INTERNAL') throw error;
    return 0;
  }
}
