/**
 * RewritableRows: the LMDB environment of a store or of a cache, which can be opened again and
 * replaced by a copy of its rows.
 *
 * LMDB that could not write its header must be opened again (MDB_PANIC). That happens at once, and
 * nothing is lost: memory holds the rows of the commit that failed. A range that is frozen ends.
 *
 * LMDB keeps the bytes of removed rows in free pages and in the gaps of used ones, and
 * its own compacting copy keeps the gaps. So an erasure writes every row into a new file.
 *
 * A crash leaves the present file, or the new one with the same rows; a start removes a copy that
 * was not finished.
 */
import { existsSync, mkdirSync, readdirSync, renameSync, rmSync } from 'node:fs';
import { rm, stat, statfs } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { TroupeError } from '../../protocols/errors.ts';
import { syncFolder } from '../blobs/durable-file.ts';
import type { LmdbTables } from './lmdb-tables.ts';
import { type KeyedRow, type RowRange, type Rows, RowsLost } from './rows.ts';
import type { RowWrite, TableName } from './rows.ts';

const COPY_PREFIX = 'rewrite-';
const TABLES = ['meta', 'log', 'state'] as const;
const PAGE_ROWS = 512;
const PAGE_BYTES = 4 * 2 ** 20;
const FILES = ['lock.mdb', 'data.mdb'] as const;
const FROZEN_POLL_MS = 10;
/** Batches wait meanwhile: a reader that was left without its end must not hold them up. */
const FROZEN_IDLE_MS = 10_000;
/** Free space that a copy leaves to the write-ahead log. */
const ROOM_LEFT_BYTES = 16 * 2 ** 20;
/** Below every key of the tables, and above. */
const LOWEST = Buffer.from([0]);
const HIGHEST = Buffer.alloc(64, 0xff);

type OpenRows = Rows & LmdbTables;

export class RewritableRows implements Rows {
  readonly #path: string;
  readonly #open: (path: string) => OpenRows;
  #present: OpenRows;
  /** why the rows cannot be used until the program is started again */
  #lost: RowsLost | undefined;
  /** ranges that are being read from the present file, and why one cannot be read to its end */
  readonly #frozen = new Set<{ why: string }>();
  /** rows that were read from them */
  #steps = 0;
  readonly #idleMs: number;
  #copies = 0;
  #isClosing = false;

  /**
   * @param open opens the environment of a folder, which exists
   * @param idleMs how long a rewrite waits for frozen ranges of which no row is read; default 10 s
   */
  constructor(path: string, open: (path: string) => OpenRows, idleMs = FROZEN_IDLE_MS) {
    this.#path = path;
    this.#open = open;
    this.#idleMs = idleMs;
    for (const name of readdirSync(path))
      if (name.startsWith(COPY_PREFIX)) rmSync(join(path, name), { recursive: true, force: true });
    this.#present = open(path);
  }

  get #rows(): OpenRows {
    if (this.#lost === undefined) return this.#present;
    throw new TroupeError('UNAVAILABLE', this.#lost.message, { cause: this.#lost });
  }

  get(table: TableName, key: Uint8Array): Uint8Array | undefined {
    return this.#rows.get(table, key);
  }

  range(table: TableName, range: RowRange): Iterable<KeyedRow> {
    return this.#rows.range(table, range);
  }

  passing(range: RowRange): Iterable<KeyedRow> {
    return this.#rows.passing(range);
  }

  *frozen(table: TableName, range: RowRange): Iterable<KeyedRow> {
    const rows = this.#rows;
    const reader = { why: 'it could not be written (is the disk full?)' };
    this.#frozen.add(reader);
    try {
      for (const row of rows.frozen(table, range)) {
        yield row;
        this.#steps++;
        if (rows !== this.#rows) throw openedAgain(this.#path, reader.why);
      }
    } finally {
      this.#frozen.delete(reader);
    }
  }

  keys(table: TableName, range: RowRange): Iterable<Uint8Array> {
    return this.#rows.keys(table, range);
  }

  count(table: TableName, range: RowRange): number {
    return this.#rows.count(table, range);
  }

  async commit(writes: readonly RowWrite[]): Promise<void> {
    if (this.#lost) throw this.#lost;
    const rows = this.#present;
    const { lastTransaction } = rows;
    try {
      await rows.commit(writes);
    } catch (cause) {
      if (rows.isPanicked) this.#openAgain(lastTransaction, cause);
      throw cause;
    }
  }

  /** No read comes between: nothing here waits. */
  #openAgain(lastTransaction: number, cause: unknown): void {
    try {
      this.#frozen.clear();
      this.#present.abandon();
      this.#present = this.#open(this.#path);
      const found = this.#present.lastTransaction;
      if (found !== lastTransaction)
        throw new Error(`it is at transaction ${found}, and not at ${lastTransaction}`);
    } catch (error) {
      this.#lost = new RowsLost(
        `the data file in ${this.#path} failed (${String(cause)}) and could not be opened again ` +
          `(${String(error)}): start the program again`,
        { cause: error },
      );
      throw this.#lost;
    }
  }

  closing(): void {
    this.#isClosing = true;
  }

  async close(): Promise<void> {
    if (!this.#lost) await this.#present.close();
  }

  async rewrite(): Promise<() => Promise<void>> {
    await assertRoom(this.#path);
    // LMDB knows an environment by its path for as long as the process runs.
    const folder = join(this.#path, `${COPY_PREFIX}${process.pid}-${++this.#copies}`);
    mkdirSync(folder, { recursive: true, mode: 0o700 });
    const next = this.#open(folder);
    try {
      for (const table of TABLES) await copyTable(this.#rows, next, table);
    } catch (error) {
      await next.close();
      await rm(folder, { recursive: true, force: true });
      throw error;
    }
    return () => this.#replace(next, folder);
  }

  async #replace(next: OpenRows, folder: string): Promise<void> {
    await this.#frozenEnd();
    // Nothing runs between the last look and the change.
    for (const reader of this.#frozen)
      reader.why = this.#isClosing
        ? 'the store is closed'
        : `it was written again, and no row was read for ${this.#idleMs} ms`;
    // No later rewrite waits for readers that were left with a former file.
    this.#frozen.clear();
    const former = this.#present;
    this.#present = next;
    await former.close();
    // The lock first: a reader in another process never opens the new file with the former lock.
    for (const name of FILES)
      if (existsSync(join(folder, name))) renameSync(join(folder, name), join(this.#path, name));
    await syncFolder(this.#path);
    await rm(folder, { recursive: true, force: true });
  }

  /** Counts looks and not time, so that a process that stood still ends no reader. */
  async #frozenEnd(): Promise<void> {
    const looksMax = this.#idleMs / FROZEN_POLL_MS;
    let steps = this.#steps;
    for (let looks = 0; this.#frozen.size > 0 && looks < looksMax; looks++) {
      if (this.#isClosing) return;
      await sleep(FROZEN_POLL_MS);
      if (steps !== this.#steps) looks = 0;
      steps = this.#steps;
    }
  }
}

const openedAgain = (path: string, why: string): TroupeError =>
  new TroupeError(
    'UNAVAILABLE',
    `the data file in ${path} was opened again while rows were read, because ${why}: ` +
      'read them again',
  );

/** @throws TroupeError UNAVAILABLE: a copy would leave no room for messages */
async function assertRoom(path: string): Promise<void> {
  const { size } = await stat(join(path, 'data.mdb'));
  const { bavail, bsize } = await statfs(path);
  const needed = size + ROOM_LEFT_BYTES;
  if (bavail * bsize < needed)
    throw new TroupeError(
      'UNAVAILABLE',
      `the data file is not written again: it needs ${needed} bytes of free space, ` +
        `and ${bavail * bsize} are free`,
    );
}

/** Nothing else writes meanwhile, so pages of different moments fit together. */
async function copyTable(from: Rows, to: Rows, table: TableName): Promise<void> {
  for (let start: Uint8Array = LOWEST; ; ) {
    const writes: RowWrite[] = [];
    let bytes = 0;
    for (const { key, value } of from.range(table, {
      from: start,
      to: HIGHEST,
      limit: PAGE_ROWS,
    })) {
      writes.push({ table, key: Buffer.from(key), value: Buffer.from(value) });
      bytes += value.length;
      if (bytes > PAGE_BYTES) break;
    }
    if (writes.length === 0) return;
    await to.commit(writes);
    start = Buffer.concat([writes.at(-1)!.key, Buffer.from([0])]);
  }
}
