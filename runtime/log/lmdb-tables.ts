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
  /** ranges that are not at their end; some may use the same read transaction */
  readonly #frozen = new Set<{ readonly transaction: Transaction }>();
  /** what all other reads see, while a commit is under way */
  #held: { readonly transaction?: Transaction } = {};

  constructor({ path, mapSizeBytes, noSync, readOnly = false }: LmdbTablesOptions) {
    const binary = { encoding: 'binary', keyEncoding: 'binary' } as const;
    this.root = open<Buffer, Buffer>({
      path,
      noSubdir: false,
      mapSize: mapSizeBytes,
      maxDbs: 8,
      eventTurnBatching: false,
      // A header names only pages that are on the disk. With lmdb-js' default the header is first.
      overlappingSync: false,
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
    return (this.tables[table] as Reads).getBinary(key as Buffer, this.#held);
  }

  range(table: TableName, range: RowRange): Iterable<KeyedRow> {
    return this.tables[table].getRange(this.#options(range));
  }

  passing(range: RowRange): Iterable<KeyedRow> {
    return this.#passing.getRange(this.#options(range));
  }

  /** Page by page in one read transaction: no cursor stays open between two steps. */
  *frozen(table: TableName, { from, to }: RowRange): Iterable<KeyedRow> {
    const transaction = this.#snapshot();
    const use = { transaction };
    this.#frozen.add(use);
    try {
      for (let start = from, exclusiveStart = false; ; exclusiveStart = true) {
        const at = { start: start as Buffer, exclusiveStart, end: to as Buffer };
        const page = [...this.tables[table].getRange({ ...at, limit: FROZEN_PAGE, transaction })];
        yield* page;
        if (page.length < FROZEN_PAGE) return;
        start = page.at(-1)!.key;
      }
    } finally {
      if (this.#frozen.delete(use)) transaction.done();
    }
  }

  keys(table: TableName, range: RowRange): Iterable<Uint8Array> {
    return this.tables[table].getKeys(this.#options(range));
  }

  count(table: TableName, range: RowRange): number {
    return this.tables[table].getKeysCount(this.#options(range));
  }

  /** Ends frozen ranges, too: they must not be gone on with. */
  async close(): Promise<void> {
    for (const { transaction } of this.#frozen) transaction.done();
    this.#frozen.clear();
    await this.root.close();
  }

  /**
   * LMDB could not write its header, and refuses every read and write until it is opened again
   * (MDB_PANIC). For lmdb-js a range is empty then. Ask after a failed commit, before any read.
   * While a range is frozen, every failure counts as one: lmdb-js may give its transaction to a new
   * reader then, and LMDB is not asked.
   */
  get isPanicked(): boolean {
    if (this.#frozen.size > 0) return true;
    this.seeNewest();
    try {
      this.root.useReadTransaction().done();
      return false;
    } catch (error) {
      return String(error).includes('MDB_PANIC');
    }
  }

  /** Number of the last transaction, also after a panic. */
  get lastTransaction(): number {
    return (this.root as unknown as Internals).env.info().lastTxnId;
  }

  /** As `close`, and done when it returns. No commit may be under way. */
  abandon(): void {
    // lmdb-js awaits its own promises, which are settled.
    Object.assign(this.root, { _endWrites: undefined });
    void this.close();
  }

  /**
   * Until the call of the answer, reads see what was committed before. They use a transaction that
   * is open already, so a panic of the commit does not reach them.
   */
  protected hold(): () => void {
    const transaction = this.#snapshot();
    this.#held = { transaction };
    return () => {
      this.#held = {};
      transaction.done();
      this.seeNewest();
    };
  }

  /** Reads after this see all that is committed. */
  protected seeNewest(): void {
    for (const table of Object.values(this.tables)) table.resetReadTxn();
    this.#passing.resetReadTxn();
  }

  #snapshot(): Transaction {
    const { transaction } = this.#held;
    if (transaction === undefined) this.seeNewest();
    else (transaction as unknown as CountedTransaction).use();
    return transaction ?? this.root.useReadTransaction();
  }

  #options(range: RowRange) {
    return { ...rangeOptions(range), ...this.#held };
  }
}

/** The types of lmdb know no options of `getBinary`; the library does. */
type Reads = {
  getBinary(key: Buffer, options: { readonly transaction?: Transaction }): Buffer | undefined;
};

/** One more user calls `done`. */
type CountedTransaction = { use(): void };

/** What lmdb-js keeps in its stores, beside their types. */
type Internals = { readonly env: { info(): { readonly lastTxnId: number } } };

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
