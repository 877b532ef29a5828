/**
 * Overlay: rows of State that are not in LMDB yet, over those that are. A row that is removed is
 * in it, too, so that it hides the stored one.
 */
import type { KeyedRow } from '../log/rows.ts';

export type OverlayRow = {
  /** as in LMDB */
  readonly key: Buffer;
  /** null hides the stored row */
  value: Uint8Array | null;
  /** batch that will write it: the one that was open when it changed last */
  batch: number;
};

type Table = {
  readonly rows: Map<string, OverlayRow>;
  /** by key, without the rows in `added` */
  sorted: OverlayRow[];
  /** rows since the last read of a range, which sorts them in */
  added: OverlayRow[];
};

export class Overlay {
  readonly #shards = new Map<number, Map<string, Table>>();
  #batch = 1;

  get(shard: number, table: string, key: string): OverlayRow | undefined {
    return this.#shards.get(shard)?.get(table)?.rows.get(key);
  }

  /** @param encodedKey makes the key as LMDB has it; called for rows that are new here */
  put(
    shard: number,
    table: string,
    key: string,
    value: Uint8Array | null,
    encodedKey: () => Buffer,
  ): void {
    const { rows, added } = this.#table(shard, table);
    const known = rows.get(key);
    if (known !== undefined) {
      known.value = value;
      known.batch = this.#batch;
      return;
    }
    const row = { key: encodedKey(), value, batch: this.#batch };
    rows.set(key, row);
    added.push(row);
  }

  /** Rows of a table from one key to below another, in order of keys. */
  range(shard: number, table: string, from: Uint8Array, to: Uint8Array): readonly OverlayRow[] {
    const found = this.#shards.get(shard)?.get(table);
    if (found === undefined) return [];
    const sorted = sortedRows(found);
    return sorted.slice(firstFrom(sorted, from), firstFrom(sorted, to));
  }

  /** Copies of all rows of a shard, in order of keys. */
  ofShard(shard: number): readonly Readonly<OverlayRow>[] {
    const tables = [...(this.#shards.get(shard)?.values() ?? [])];
    const rows = tables.flatMap((table) => [...table.rows.values()].map((row) => ({ ...row })));
    return rows.sort(byKey);
  }

  /** Every row, for the batch that ends with this call. */
  *takeBatch(): Iterable<OverlayRow> {
    this.#batch++;
    for (const tables of this.#shards.values())
      for (const { rows } of tables.values()) yield* rows.values();
  }

  /** The batch that was taken last is in LMDB: drops the rows that did not change since. */
  dropBatch(): void {
    const isOld = ({ batch }: OverlayRow) => batch < this.#batch;
    for (const [shard, tables] of this.#shards) {
      for (const [name, table] of tables) {
        for (const [key, row] of table.rows) if (isOld(row)) table.rows.delete(key);
        if (table.rows.size === 0) tables.delete(name);
        else {
          table.sorted = table.sorted.filter((row) => !isOld(row));
          table.added = table.added.filter((row) => !isOld(row));
        }
      }
      if (tables.size === 0) this.#shards.delete(shard);
    }
  }

  #table(shard: number, name: string): Table {
    let tables = this.#shards.get(shard);
    if (tables === undefined) this.#shards.set(shard, (tables = new Map()));
    let table = tables.get(name);
    if (table === undefined) tables.set(name, (table = { rows: new Map(), sorted: [], added: [] }));
    return table;
  }
}

function sortedRows(table: Table): readonly OverlayRow[] {
  const { sorted, added } = table;
  if (added.length === 0) return sorted;
  table.added = [];
  if (added.length > SORTED_IN_ONE_BY_ONE)
    return (table.sorted = [...sorted, ...added].sort(byKey));
  for (const row of added) sorted.splice(firstFrom(sorted, row.key), 0, row);
  return sorted;
}

/** More rows are cheaper to sort together with all others. */
const SORTED_IN_ONE_BY_ONE = 64;

const byKey = (a: OverlayRow, b: OverlayRow): number => Buffer.compare(a.key, b.key);

/** Stored rows with the overlay's over them, in order of keys; hidden rows are left out. */
export function* merged(
  stored: Iterable<KeyedRow>,
  over: readonly Readonly<OverlayRow>[],
  reverse = false,
): Iterable<KeyedRow> {
  const order = reverse ? -1 : 1;
  const rows = reverse ? over.toReversed() : over;
  let next = 0;
  for (const row of stored) {
    let isHidden = false;
    for (; next < rows.length; next++) {
      const place = order * Buffer.compare(rows[next]!.key, row.key);
      if (place > 0) break;
      if (place === 0) isHidden = true;
      const { key, value } = rows[next]!;
      if (value !== null) yield { key, value };
    }
    if (!isHidden) yield row;
  }
  for (; next < rows.length; next++) {
    const { key, value } = rows[next]!;
    if (value !== null) yield { key, value };
  }
}

/** Index of the first row whose key is not below the given one. */
const firstFrom = (sorted: readonly OverlayRow[], key: Uint8Array): number => {
  let low = 0;
  let high = sorted.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (Buffer.compare(sorted[middle]!.key, key) < 0) low = middle + 1;
    else high = middle;
  }
  return low;
};
