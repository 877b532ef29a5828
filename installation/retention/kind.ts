/** Kind: what each kind of data does for retention. */
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
  #held = 0;

  constructor({ limit }: Pick<RetentionPickInput, 'limit'>) {
    this.#limit = limit;
  }

  get isFull(): boolean {
    return this.items.length >= this.#limit;
  }

  add(item: string, isHeld: boolean): void {
    if (isHeld) this.#held++;
    else this.items.push(item);
  }

  /** @param cursor behind the last item that was looked at; null: at the end */
  picked(cursor: string | null): RetentionPicked {
    return { items: this.items, held: this.#held, cursor };
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
