/**
 * LmdbTables: the tables of one LMDB environment, as they are opened and read. How they are written
 * is for each kind of store to say: asynchronous and synchronous transactions never mix in one
 * environment.
 */
import {
  open,
  type Database,
  type DatabaseOptions,
  type RootDatabase,
  type Transaction,
} from 'lmdb';
import type { KeyedRow, RowRange, RowsRead, TableName } from './rows.ts';

export type LmdbTablesOptions = {
  readonly path: string;
  /** address space reserved at first, bytes; grows by itself */
  readonly mapSizeBytes: number;
  /** true: the kernel writes to the disk when it likes */
  readonly noSync: boolean;
  /** true: for a process beside the one that writes; the tables must exist. Default false */
  readonly readOnly?: boolean;
};

/** Gives what LMDB reads into as it is, instead of a copy. */
const AS_IT_LIES = {
  encode: (value: Buffer): Buffer => value,
  decode: (bytes: Buffer, size: number): Buffer => bytes.subarray(0, size),
};

/** Rows copied in one go of a frozen range. */
const FROZEN_PAGE = 256;

export class LmdbTables implements RowsRead {
  protected readonly root: RootDatabase<Buffer, Buffer>;
  protected readonly tables: Record<TableName, Database<Buffer, Buffer>>;
  /** `state` once more, read without copies */
  readonly #passing: Database<Buffer, Buffer>;
  /** read transactions of ranges that are not at their end */
  readonly #frozen = new Set<Transaction>();

  constructor({ path, mapSizeBytes, noSync, readOnly = false }: LmdbTablesOptions) {
    const binary = { encoding: 'binary', keyEncoding: 'binary' } as const;
    this.root = open<Buffer, Buffer>({
      path,
      noSubdir: false,
      mapSize: mapSizeBytes,
      maxDbs: 8,
      eventTurnBatching: false,
      ...(noSync ? { noSync } : {}),
      ...(readOnly ? { readOnly } : {}),
      ...binary,
    });
    this.tables = {
      meta: this.root.openDB<Buffer, Buffer>({ name: 'meta', ...binary }),
      log: this.root.openDB<Buffer, Buffer>({ name: 'log', ...binary }),
      state: this.root.openDB<Buffer, Buffer>({ name: 'state', ...binary }),
    };
    // The types of lmdb know no encoder that works on buffers; the library does.
    this.#passing = this.root.openDB<Buffer, Buffer>({
      name: 'state',
      keyEncoding: 'binary',
      encoder: AS_IT_LIES,
    } as unknown as DatabaseOptions & { name: string });
  }

  get(table: TableName, key: Uint8Array): Uint8Array | undefined {
    return this.tables[table].getBinary(key as Buffer);
  }

  range(table: TableName, range: RowRange): Iterable<KeyedRow> {
    return this.tables[table].getRange(rangeOptions(range));
  }

  passing(range: RowRange): Iterable<KeyedRow> {
    return this.#passing.getRange(rangeOptions(range));
  }

  /** Page by page in one read transaction: no cursor stays open between two steps. */
  *frozen(table: TableName, { from, to }: RowRange): Iterable<KeyedRow> {
    this.seeNewest();
    const transaction = this.root.useReadTransaction();
    this.#frozen.add(transaction);
    try {
      for (let start = from, exclusiveStart = false; ; exclusiveStart = true) {
        const at = { start: start as Buffer, exclusiveStart, end: to as Buffer };
        const page = [...this.tables[table].getRange({ ...at, limit: FROZEN_PAGE, transaction })];
        yield* page;
        if (page.length < FROZEN_PAGE) return;
        start = page.at(-1)!.key;
      }
    } finally {
      if (this.#frozen.delete(transaction)) transaction.done();
    }
  }

  keys(table: TableName, range: RowRange): Iterable<Uint8Array> {
    return this.tables[table].getKeys(rangeOptions(range));
  }

  count(table: TableName, range: RowRange): number {
    return this.tables[table].getKeysCount(rangeOptions(range));
  }

  /** Ends frozen ranges, too: they must not be gone on with. */
  async close(): Promise<void> {
    for (const transaction of this.#frozen) transaction.done();
    this.#frozen.clear();
    await this.root.close();
  }

  /** Reads after this see all that is committed. */
  protected seeNewest(): void {
    for (const table of Object.values(this.tables)) table.resetReadTxn();
    this.#passing.resetReadTxn();
  }
}

/** lmdb-js counts a reverse range from its upper end: `start` is above `end`. */
const rangeOptions = ({ from, to, limit, reverse }: RowRange) => ({
  ...(reverse === true
    ? {
        start: to as Buffer,
        exclusiveStart: true,
        end: from as Buffer,
        inclusiveEnd: true,
        reverse,
      }
    : { start: from as Buffer, end: to as Buffer }),
  ...(limit === undefined ? {} : { limit }),
});
