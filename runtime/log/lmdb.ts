/**
 * The embedded store: Log and State in one LMDB environment, so that a journal record, the mailbox
 * entries it sends and the rows it changes are one transaction (docs/commit-protocol.md, section
 * 6).
 *
 * What the numbers and guarantees rest on (lmdb-js 3.5):
 *  - only `batch` writes here: one asynchronous transaction at a time, on a thread of its own. A
 *    synchronous transaction could end an asynchronous one half-way
 *    (WriteWorker::WaitForCallbacks), so none runs after opening;
 *  - `overlappingSync` stays on: after power loss LMDB opens at the last flushed transaction;
 *  - a commit is answered after it is visible; readers keep an older snapshot until it is renewed.
 */
import { randomBytes } from 'node:crypto';
import { existsSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { TroupeError } from '../../protocols/errors.ts';
import { writeFileDurably } from '../blobs/durable-file.ts';
import { type Clock, systemClock } from '../clock/clock.ts';
import { LmdbState } from '../state/lmdb.ts';
import type { State } from '../state/state.ts';
import { checkDataFile } from './data-file.ts';
import { lockFolder } from './folder-lock.ts';
import { GroupCommit } from './group-commit.ts';
import { LmdbLog } from './lmdb-log.ts';
import type { Log } from './log.ts';
import { LmdbTables } from './lmdb-tables.ts';
import type { Rows, RowWrite } from './rows.ts';
import { corrupt, unreadable } from './store-errors.ts';
import { makeFolder } from '../make-folder.ts';

/** `process`: what was answered survives kill -9 of any process. `power`: also loss of power. */
export type Durability = 'process' | 'power';

export type LmdbStoreOptions = {
  /** folder of the store; made when absent */
  readonly path: string;
  readonly durability: Durability;
  /** address space reserved at first, bytes; grows by itself. Default 1 GiB */
  readonly mapSizeBytes?: number;
  /** gives the log its time; default the system's */
  readonly clock?: Clock;
};

export type LmdbStore = {
  readonly log: Log;
  /** Every subject of the log that starts with the prefix and ever held an entry. */
  subjects(prefix: string): Iterable<string>;
  readonly state: State;
  /** 128-bit hex name made when the store was; never changes (E5) */
  readonly cell: string;
  readonly formatVersion: number;
  /** Commits open requests, then closes log, state and folder. May be repeated. */
  close(): Promise<void>;
};

/** Of the rows' layout. A store of a newer format is refused, never guessed at. */
export const FORMAT_VERSION = 1;
/**
 * A file next to LMDB's file names the store, so a lost or emptied data file is not mistaken for a
 * new store.
 */
export const STORE_FILE = 'store.json';
export const DATA_FILE = 'data.mdb';
const MAP_SIZE_BYTES_DEFAULT = 2 ** 30;
const CELL = Buffer.from('cell');

/**
 * Opens the store of a folder, or makes it.
 * @throws TroupeError UNAVAILABLE (details.reason LOCKED, pid) when another process has the folder;
 * INTERNAL (CORRUPT) when its data cannot be trusted; INTERNAL (FORMAT) when it is of a newer
 * format
 */
export const openLmdbStore = async (options: LmdbStoreOptions): Promise<LmdbStore> => {
  const { path } = options;
  try {
    makeFolder(path);
  } catch (error) {
    throw unreadable(path, error);
  }
  const lock = await lockFolder(path);
  let rows: LmdbRows | undefined;
  try {
    const description = readDescription(path);
    rows = openRows(options, description !== undefined);
    const cell = await agreeOnCell(path, rows, description);
    return assemble(rows, cell, options, () => lock.release());
  } catch (error) {
    await rows?.close();
    await lock.release();
    throw error instanceof TroupeError ? error : unreadable(path, error);
  }
};

const assemble = (
  rows: LmdbRows,
  cell: string,
  options: LmdbStoreOptions,
  release: () => Promise<void>,
): LmdbStore => {
  const commits = new GroupCommit(rows, {
    onSettled: () => log.forgetIdleSubjects(),
    mustFlush: options.durability === 'power',
  });
  const log = new LmdbLog(rows, commits, options.clock ?? systemClock);
  const state = new LmdbState(rows, commits);
  const close = async () => {
    await commits.close();
    await Promise.all([log.close(), state.close()]);
    // An unanswered commit may still be writing: the folder stays locked until the process ends.
    if (commits.broken) return;
    await rows.close();
    await release();
  };
  let closing: Promise<void> | undefined;
  return {
    log,
    subjects: (prefix) => log.subjects(prefix),
    state,
    cell,
    formatVersion: FORMAT_VERSION,
    close: () => (closing ??= close()),
  };
};

type Description = { readonly cell: string; readonly formatVersion: number };

const readDescription = (path: string): Description | undefined => {
  const file = join(path, STORE_FILE);
  if (!existsSync(file)) return undefined;
  let read: Partial<Description> | null;
  try {
    read = JSON.parse(readFileSync(file, 'utf8')) as Partial<Description> | null;
  } catch (error) {
    throw corrupt(path, `${STORE_FILE} cannot be read`, error);
  }
  const { cell, formatVersion } = read ?? {};
  if (typeof cell !== 'string' || typeof formatVersion !== 'number') {
    throw corrupt(path, `${STORE_FILE} does not name a cell and a format`);
  }
  if (formatVersion > FORMAT_VERSION) {
    throw new TroupeError(
      'INTERNAL',
      `the store in ${path} has format ${formatVersion}; this program reads up to ${FORMAT_VERSION}. ` +
        'Use the newer program that wrote it.',
      { details: { reason: 'FORMAT', path, formatVersion } },
    );
  }
  return { cell, formatVersion };
};

const openRows = (options: LmdbStoreOptions, exists: boolean): LmdbRows => {
  const { path } = options;
  const file = join(path, DATA_FILE);
  const present = existsSync(file) && statSync(file).size > 0;
  if (exists && !present) throw corrupt(path, `${DATA_FILE} is missing or empty`);
  if (present) checkDataFile(file);
  try {
    return new LmdbRows(options);
  } catch (error) {
    const { code } = error as { code?: unknown };
    if (typeof code === 'number' && code > 0) throw unreadable(path, error); // errno; LMDB's are below 0
    throw corrupt(path, `LMDB cannot read it (${String(error)})`, error);
  }
};

/**
 * The store's cell is in LMDB and in a file next to it; a data file of another store is refused.
 */
const agreeOnCell = async (
  path: string,
  rows: LmdbRows,
  description?: Description,
): Promise<string> => {
  const stored = rows.get('meta', CELL);
  let cell = stored === undefined ? undefined : Buffer.from(stored).toString('utf8');
  if (description !== undefined && cell !== description.cell) {
    throw corrupt(
      path,
      `${DATA_FILE} belongs to cell ${cell}, ${STORE_FILE} to ${description.cell}`,
    );
  }
  if (cell === undefined) {
    cell = randomBytes(16).toString('hex');
    await rows.commit([{ table: 'meta', key: CELL, value: Buffer.from(cell) }]);
  }
  if (description === undefined) {
    const text = JSON.stringify({ cell, formatVersion: FORMAT_VERSION });
    await writeFileDurably(join(path, STORE_FILE), Buffer.from(`${text}\n`));
  }
  return cell;
};

class LmdbRows extends LmdbTables implements Rows {
  readonly #durability: Durability;

  constructor({ path, durability, mapSizeBytes = MAP_SIZE_BYTES_DEFAULT }: LmdbStoreOptions) {
    super({ path, mapSizeBytes, noSync: false });
    this.#durability = durability;
  }

  async commit(writes: readonly RowWrite[]): Promise<void> {
    const committed = this.root.batch(() => {
      for (const { table, key, value } of writes) {
        // the batch's promise covers all of its writes
        if (value === null) void this.tables[table].remove(key as Buffer);
        else void this.tables[table].put(key as Buffer, value as Buffer);
      }
    });
    const flushed = this.#durability === 'power' ? Promise.resolve(this.root.flushed) : undefined;
    try {
      await committed;
      await flushed;
    } catch (error) {
      throw await reasonOf(error);
    } finally {
      this.seeNewest();
    }
  }
}

/**
 * lmdb-js rejects with a general error that holds a promise, itself rejected with what LMDB said.
 */
const reasonOf = async (error: unknown): Promise<unknown> => {
  try {
    await (error as { commitError?: Promise<never> }).commitError;
    return error;
  } catch (reason) {
    return reason;
  }
};
