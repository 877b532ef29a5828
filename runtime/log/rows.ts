/**
 * Rows: the sorted binary tables under the embedded Log and State, as their adapters see them. The
 * boundary between what we store (log entries, subjects, state rows) and what stores it (LMDB).
 */

/** `meta`: subjects and the store's own facts; `log`: entries; `state`: rows of shards. */
export type TableName = 'meta' | 'log' | 'state';

export type RowWrite = {
  readonly table: TableName;
  readonly key: Uint8Array;
  /** null removes the row */
  readonly value: Uint8Array | null;
};

export type RowRange = {
  /** inclusive */
  readonly from: Uint8Array;
  /** exclusive */
  readonly to: Uint8Array;
  /** default: all */
  readonly limit?: number;
  readonly reverse?: boolean;
};

export type KeyedRow = { readonly key: Uint8Array; readonly value: Uint8Array };

export interface RowsRead {
  /** A copy of the row's value. Sees every commit that has been answered. */
  get(table: TableName, key: Uint8Array): Uint8Array | undefined;
  /** Copies, in key order; read while iterating, so finish within the tick. */
  range(table: TableName, range: RowRange): Iterable<KeyedRow>;
  /**
   * The rows of a range of `state`, in key order, as views into the store that are valid until the
   * next step. For readers of many rows that keep few: a copy would cost more than everything else.
   */
  passing(range: RowRange): Iterable<KeyedRow>;
  /**
   * Copies, in key order, of `from` to `to` as they were at the first step, over any number of
   * ticks. Space that is freed meanwhile is not used again until the end of it.
   * @throws TroupeError UNAVAILABLE when the file had to be opened again, or was written again and
   * no row was read for 10 s
   */
  frozen(table: TableName, range: RowRange): Iterable<KeyedRow>;
  keys(table: TableName, range: RowRange): Iterable<Uint8Array>;
  count(table: TableName, range: RowRange): number;
  close(): Promise<void>;
}

/** The rows cannot be used any more until the program is started again. */
export class RowsLost extends Error {
  override readonly name = 'RowsLost';
}

export interface Rows extends RowsRead {
  /**
   * All writes in order in one transaction, or none. At most one commit is under way at a time; the
   * bytes belong to the store until it is answered. Resolves when readers see it and it is as
   * durable as these rows are: those of a store survive a power loss. When it fails, the rows are
   * as before, and can be written again.
   * @throws RowsLost when they cannot
   */
  commit(writes: readonly RowWrite[]): Promise<void>;
  /**
   * Copies the rows that exist into a new file, and resolves with the call that puts it in the
   * place of the present one: nothing that was removed or overwritten stays in the file. Must not
   * run beside `commit`, until the call has ended. When the call fails, memory and
   * disk may differ.
   * @throws TroupeError UNAVAILABLE without enough free space; nothing is changed then
   */
  rewrite?(): Promise<() => Promise<void>>;
  /** `close` follows: a rewrite that is under way ends without a wait for frozen ranges. */
  closing?(): void;
}

/** The smallest key above every key that starts with the prefix. */
export const prefixEnd = (prefix: Uint8Array): Uint8Array => {
  const end = Uint8Array.from(prefix);
  for (let i = end.length - 1; i >= 0; i--) {
    const byte = end[i]!;
    if (byte < 0xff) {
      end[i] = byte + 1;
      return end.subarray(0, i + 1);
    }
  }
  throw new RangeError('a prefix of only 0xff bytes has no end');
};
