/** MemoryState: State as sorted maps in memory. */
import { TroupeError } from '../../protocols/errors.ts';
import { checkAddress, checkPuts, compareUtf8, RANGE_LIMIT_DEFAULT } from './row.ts';
import type { Put, RangeOptions, Row, State, TableRow } from './state.ts';

/** Rows of one table: the values by key, and the keys in order. */
class Table {
  readonly values = new Map<string, Uint8Array>();
  readonly keys: string[] = [];

  put(key: string, value: Uint8Array | null): void {
    const known = this.values.has(key);
    if (value === null) {
      if (known) this.keys.splice(this.indexOf(key), 1);
      this.values.delete(key);
      return;
    }
    if (!known) this.keys.splice(this.indexOf(key), 0, key);
    this.values.set(key, Uint8Array.from(value));
  }

  /** Index of the first key that is not below `key`. */
  indexOf(key: string): number {
    let low = 0;
    let high = this.keys.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (compareUtf8(this.keys[middle]!, key) < 0) low = middle + 1;
      else high = middle;
    }
    return low;
  }

  rows(start: number, end: number): Row[] {
    return this.keys
      .slice(start, end)
      .map((key) => ({ key, value: Uint8Array.from(this.values.get(key)!) }));
  }
}

export class MemoryState implements State {
  readonly #shards = new Map<number, Map<string, Table>>();
  #closed = false;

  get(shard: number, table: string, key: string): Uint8Array | undefined {
    checkAddress(shard, table, key);
    const value = this.#table(shard, table)?.values.get(key);
    return value === undefined ? undefined : Uint8Array.from(value);
  }

  range(shard: number, table: string, options: RangeOptions = {}): readonly Row[] {
    checkAddress(shard, table, '');
    const found = this.#table(shard, table);
    if (found === undefined) return [];
    const { from, to, limit = RANGE_LIMIT_DEFAULT, reverse = false } = options;
    const start = from === undefined ? 0 : found.indexOf(from);
    const end = to === undefined ? found.keys.length : found.indexOf(to);
    if (!reverse) return found.rows(start, Math.min(end, start + limit));
    return found.rows(Math.max(start, end - limit), end).reverse();
  }

  scan(
    shard: number,
    table: string,
    { from, to, limit = RANGE_LIMIT_DEFAULT }: Omit<RangeOptions, 'reverse'>,
    visit: (value: Uint8Array) => void,
  ): string | undefined {
    checkAddress(shard, table, '');
    const found = this.#table(shard, table);
    if (found === undefined) return undefined;
    const start = from === undefined ? 0 : found.indexOf(from);
    const end = to === undefined ? found.keys.length : found.indexOf(to);
    const keys = found.keys.slice(start, Math.min(end, start + limit));
    for (const key of keys) visit(found.values.get(key)!);
    return keys.length === limit ? keys.at(-1) : undefined;
  }

  *dump(shard: number): Iterable<TableRow> {
    this.#assertOpen();
    checkAddress(shard, 'any', '');
    const tables = [...(this.#shards.get(shard) ?? [])].sort(([a], [b]) => compareUtf8(a, b));
    const rows = tables.flatMap(([name, table]) =>
      table.rows(0, table.keys.length).map((row) => ({ table: name, ...row })),
    );
    for (const row of rows) {
      this.#assertOpen();
      yield row;
    }
  }

  count(shard: number, table: string): number {
    checkAddress(shard, table, '');
    return this.#table(shard, table)?.keys.length ?? 0;
  }

  async write(puts: readonly Put[]): Promise<void> {
    this.#assertOpen();
    checkPuts(puts);
    for (const { shard, table, key, value } of puts) {
      const tables = this.#shards.get(shard) ?? new Map<string, Table>();
      this.#shards.set(shard, tables);
      const found = tables.get(table) ?? new Table();
      tables.set(table, found);
      found.put(key, value);
    }
  }

  async clear(shard: number): Promise<void> {
    this.#assertOpen();
    checkAddress(shard, 'any', '');
    this.#shards.delete(shard);
  }

  async close(): Promise<void> {
    this.#closed = true;
  }

  #table(shard: number, table: string): Table | undefined {
    this.#assertOpen();
    return this.#shards.get(shard)?.get(table);
  }

  #assertOpen(): void {
    if (this.#closed) throw new TroupeError('UNAVAILABLE', 'the state is closed');
  }
}
