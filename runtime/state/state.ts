/**
 * State: the materialized fold of the shards' journals as sorted byte rows, so that a million idle
 * actors cost disk and no memory. It is written after the commit, and on disk some time later:
 * after a crash it is older than the journal, which is folded onto it (T6).
 *
 * Rows are addressed by (shard, table, key); keys of one table sort by their UTF-8 bytes.
 */
export type Put = {
  readonly shard: number;
  readonly table: string;
  readonly key: string;
  /** null removes the row */
  readonly value: Uint8Array | null;
};

export type Row = { readonly key: string; readonly value: Uint8Array };

export type TableRow = Row & { readonly table: string };

export type RangeOptions = {
  /** first key, inclusive; default the table's first */
  readonly from?: string;
  /** end key, exclusive; default the table's end */
  readonly to?: string;
  /** most rows; default 1,000 */
  readonly limit?: number;
  readonly reverse?: boolean;
};

/**
 * Reads are synchronous and show every write from its call on. Bytes belong to the State once they
 * are written; those that it returns must not be changed.
 */
export interface State {
  get(shard: number, table: string, key: string): Uint8Array | undefined;
  range(shard: number, table: string, options?: RangeOptions): readonly Row[];
  /**
   * Calls `visit` with the values of a range in key order, without copies: the bytes are valid
   * until it returns, and it must not read the state. Returns the last key when `limit` rows were
   * read, so that the caller can continue there; else undefined.
   */
  scan(
    shard: number,
    table: string,
    options: Omit<RangeOptions, 'reverse'>,
    visit: (value: Uint8Array) => void,
  ): string | undefined;
  /**
   * Every row of the shard, table by table, as they were at the first step: it may take any number
   * of ticks, and what is written meanwhile is not seen. Throws once the state is closed.
   */
  dump(shard: number): Iterable<TableRow>;
  /** Count of rows of a table (exact, may scan). */
  count(shard: number, table: string): number;
  /**
   * All or nothing, also after a crash; an earlier write is never absent where a later one is not.
   */
  write(puts: readonly Put[]): Promise<void>;
  /** Removes every row of the shard. */
  clear(shard: number): Promise<void>;
  close(): Promise<void>;
}

/** Keys are at most this many UTF-8 bytes (LMDB's key limit less the address of the table). */
export const STATE_KEY_BYTES_MAX = 1700;
