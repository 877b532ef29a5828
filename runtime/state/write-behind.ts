/**
 * WriteBehindState: State on the rows of an LMDB environment. A write is in memory at once, over
 * the stored rows; the checkpointer stores it later, with all other changes since its last batch.
 * After a crash State is as it was at a checkpoint, and the journal is folded onto it.
 */
import { TroupeError } from '../../protocols/errors.ts';
import type { WriteBehindSource } from '../log/checkpointer.ts';
import type { KeyedRow, RowsRead, RowWrite } from '../log/rows.ts';
import { merged, Overlay } from './overlay.ts';
import {
  addressOfStateKey,
  checkAddress,
  checkedValue,
  checkPuts,
  encodeValue,
  keyOfStateKey,
  RANGE_LIMIT_DEFAULT,
  shardRange,
  stateKey,
  tableRange,
} from './row.ts';
import type { Put, RangeOptions, Row, State, TableRow } from './state.ts';

export type WriteBehindOptions = {
  readonly rows: RowsRead;
  /** @throws TroupeError UNAVAILABLE when nothing may be read or written any more */
  assertSound(): void;
  /**
   * Called before a change of about so many bytes.
   * @throws TroupeError UNAVAILABLE when there is no room for it
   */
  assertRoom?(bytes: number): void;
  /** Called after a change of about so many bytes. */
  changed(bytes: number): void;
};

/** Counted per row beside its bytes. */
const ROW_OVERHEAD_BYTES = 64;

export class WriteBehindState implements State, WriteBehindSource {
  readonly #o: WriteBehindOptions;
  readonly #rows: RowsRead;
  readonly #overlay = new Overlay();
  #isClosed = false;

  constructor(options: WriteBehindOptions) {
    this.#o = options;
    this.#rows = options.rows;
  }

  get(shard: number, table: string, key: string): Uint8Array | undefined {
    this.#assertOpen();
    checkAddress(shard, table, key);
    const over = this.#overlay.get(shard, table, key);
    if (over !== undefined) return over.value ?? undefined;
    const value = this.#rows.get('state', stateKey(shard, table, key));
    return value === undefined ? undefined : checkedValue(value, () => [shard, table, key]);
  }

  range(shard: number, table: string, options: RangeOptions = {}): readonly Row[] {
    this.#assertOpen();
    checkAddress(shard, table, '');
    const { limit = RANGE_LIMIT_DEFAULT, reverse = false } = options;
    const rows: Row[] = [];
    if (limit <= 0) return rows;
    for (const row of this.#merged(shard, table, options, limit, reverse)) {
      rows.push({ key: keyOfStateKey(row.key, table), value: row.value });
      if (rows.length === limit) break;
    }
    return rows;
  }

  scan(
    shard: number,
    table: string,
    options: Omit<RangeOptions, 'reverse'>,
    visit: (value: Uint8Array) => void,
  ): string | undefined {
    this.#assertOpen();
    checkAddress(shard, table, '');
    const { limit = RANGE_LIMIT_DEFAULT } = options;
    let count = 0;
    if (limit <= 0) return undefined;
    for (const { key, value } of this.#merged(shard, table, options, limit, false, true)) {
      visit(value);
      if (++count === limit) return keyOfStateKey(key, table);
    }
    return undefined;
  }

  *dump(shard: number): Iterable<TableRow> {
    this.#assertOpen();
    checkAddress(shard, 'any', '');
    const stored = this.#rows.frozen('state', shardRange(shard));
    const over = this.#overlay.ofShard(shard);
    for (const row of merged(checked(stored, shard), over)) {
      yield { ...addressOfStateKey(row.key), value: row.value };
      this.#assertOpen();
    }
  }

  count(shard: number, table: string): number {
    this.#assertOpen();
    checkAddress(shard, table, '');
    const { from, to } = tableRange(shard, table);
    let count = this.#rows.count('state', { from, to });
    for (const { key, value } of this.#overlay.range(shard, table, from, to))
      count += Number(value !== null) - Number(this.#rows.get('state', key) !== undefined);
    return count;
  }

  async write(puts: readonly Put[]): Promise<void> {
    this.#assertOpen();
    checkPuts(puts);
    let bytes = 0;
    for (const { key, value } of puts) bytes += key.length + (value?.length ?? 0);
    bytes += puts.length * ROW_OVERHEAD_BYTES;
    this.#o.assertRoom?.(bytes);
    for (const { shard, table, key, value } of puts)
      this.#overlay.put(shard, table, key, value, () => stateKey(shard, table, key));
    this.#o.changed(bytes);
  }

  async clear(shard: number): Promise<void> {
    this.#assertOpen();
    checkAddress(shard, 'any', '');
    const stored = [...this.#rows.keys('state', shardRange(shard))];
    for (const encoded of [...stored, ...this.#overlay.ofShard(shard).map(({ key }) => key)]) {
      const { table, key } = addressOfStateKey(encoded);
      this.#overlay.put(shard, table, key, null, () => Buffer.from(encoded));
    }
    this.#o.changed(stored.length * ROW_OVERHEAD_BYTES);
  }

  take(writes: RowWrite[]): void {
    for (const { key, value } of this.#overlay.takeBatch())
      writes.push({ table: 'state', key, value: value === null ? null : encodeValue(value) });
  }

  committed(): void {
    this.#overlay.dropBatch();
  }

  /** The rows are still in the overlay. */
  failed(): void {}

  /** Refuses all that comes; the store closes the rows below it. */
  async close(): Promise<void> {
    this.#isClosed = true;
  }

  #merged(
    shard: number,
    table: string,
    { from: first, to: end }: RangeOptions,
    limit: number,
    reverse: boolean,
    isPassing = false,
  ): Iterable<KeyedRow> {
    const { from, to } = tableRange(shard, table, { from: first, to: end });
    const over = this.#overlay.range(shard, table, from, to);
    // Rows of the overlay may hide stored ones.
    const range = over.length === 0 ? { from, to, limit, reverse } : { from, to, reverse };
    const stored = isPassing ? this.#rows.passing(range) : this.#rows.range('state', range);
    return merged(checked(stored, shard), over, reverse);
  }

  #assertOpen(): void {
    if (this.#isClosed) throw new TroupeError('UNAVAILABLE', 'the state is closed');
    this.#o.assertSound();
  }
}

/** @throws TroupeError INTERNAL, details.reason CORRUPT, at a row that is not what was written */
function* checked(rows: Iterable<KeyedRow>, shard: number): Iterable<KeyedRow> {
  for (const { key, value } of rows) {
    const bytes = checkedValue(value, () => {
      const address = addressOfStateKey(key);
      return [shard, address.table, address.key];
    });
    yield { key, value: bytes };
  }
}
