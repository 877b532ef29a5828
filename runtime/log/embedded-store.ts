/**
 * The embedded store: Log and State of one process, in one folder.
 *
 *   store.json  names the store's cell and format
 *   wal/        the write-ahead log: every append is in it before it is answered
 *   data.mdb    LMDB: entries and rows as of the last checkpoint
 *
 * A start opens LMDB and replays the frames above its checkpoint into the Log. The rows of State
 * are those of the checkpoint then; loading a shard folds the rest of its journal onto them.
 */
import { randomBytes } from 'node:crypto';
import {
  closeSync,
  existsSync,
  fsyncSync,
  openSync,
  readFileSync,
  renameSync,
  statSync,
  writeSync,
} from 'node:fs';
import { join } from 'node:path';
import { TroupeError } from '../../protocols/errors.ts';
import { TEMPORARY_PREFIX } from '../blobs/durable-file.ts';
import { type Clock, systemClock } from '../clock/clock.ts';
import { makeFolder } from '../make-folder.ts';
import { checkDataFile } from './data-file.ts';
import { lockFolder } from './folder-lock.ts';
import { LmdbRows, returnToFlushed } from './lmdb-rows.ts';
import { RewritableRows } from './rewritable-rows.ts';
import type { RowWrite } from './rows.ts';
import { corrupt, unreadable } from './store-errors.ts';
import { openWalFolder, type WalFolder } from './wal/folder.ts';
import { type Durability, openWalStore, type WalStore, type WalStoreOptions } from './wal-store.ts';

export type EmbeddedStoreOptions = {
  /** folder of the store; made when absent */
  readonly path: string;
  readonly durability: Durability;
  /** address space reserved at first, bytes; grows by itself. Default 1 GiB */
  readonly mapSizeBytes?: number;
  /** gives the log its time; default the system's */
  readonly clock?: Clock;
} & Pick<
  WalStoreOptions,
  'onAlarm' | 'syncEveryMs' | 'checkpointEveryMs' | 'checkpointBytes' | 'atTurnEnd'
>;

export type EmbeddedStore = WalStore & {
  /** 128-bit hex name made when the store was; never changes (E5) */
  readonly cell: string;
  readonly formatVersion: number;
};

/**
 * Of the folder's layout. A store of a newer format is refused, never guessed at. Format 1 had no
 * write-ahead log: every entry and row was in LMDB. It opens as it is, and becomes format 2 before
 * the first frame is written, so that an older program refuses it from then on.
 */
export const FORMAT_VERSION = 2;
/**
 * A file next to LMDB's file names the store, so a lost or emptied data file is not mistaken for a
 * new store.
 */
export const STORE_FILE = 'store.json';
export const DATA_FILE = 'data.mdb';
export const WAL_FOLDER = 'wal';
const MAP_SIZE_BYTES_DEFAULT = 2 ** 30;
const CELL = Buffer.from('cell');

/**
 * Opens the store of a folder, or makes it.
 * @throws TroupeError UNAVAILABLE (details.reason LOCKED, pid) when another process has the folder;
 * INTERNAL (CORRUPT) when its data cannot be trusted; INTERNAL (FORMAT) when it is of a newer
 * format
 */
export const openEmbeddedStore = async (options: EmbeddedStoreOptions): Promise<EmbeddedStore> => {
  const { path, clock = systemClock } = options;
  try {
    makeFolder(path);
  } catch (error) {
    throw unreadable(path, error);
  }
  const lock = await lockFolder(path);
  let rows: RewritableRows | undefined;
  try {
    const description = readDescription(path);
    rows = await openRows(options, description !== undefined);
    const cell = await agreeOnCell(path, rows, description);
    const folder = walFolder(path, description?.formatVersion ?? FORMAT_VERSION, cell);
    const release = () => lock.release();
    const store = await openWalStore({ ...options, rows, folder, cell, clock, release });
    const { log, state, subjects, scrub, failed, close } = store;
    return { log, state, subjects, scrub, failed, close, cell, formatVersion: FORMAT_VERSION };
  } catch (error) {
    await rows?.close();
    await lock.release();
    throw error instanceof TroupeError ? error : unreadable(path, error);
  }
};

/** The folder of the write-ahead log, whose first segment makes the store one of this format. */
const walFolder = (path: string, formatVersion: number, cell: string): WalFolder => {
  const folder = openWalFolder(join(path, WAL_FOLDER));
  let isOlder = formatVersion < FORMAT_VERSION;
  return {
    ...folder,
    create(name) {
      if (isOlder) writeDescription(path, cell);
      isOlder = false;
      return folder.create(name);
    },
  };
};

export type StoreDescription = { readonly cell: string; readonly formatVersion: number };

/** undefined when the folder has none. @throws TroupeError INTERNAL: CORRUPT, or FORMAT (newer) */
export const readDescription = (path: string): StoreDescription | undefined => {
  const file = join(path, STORE_FILE);
  if (!existsSync(file)) return undefined;
  let read: Partial<StoreDescription> | null;
  try {
    read = JSON.parse(readFileSync(file, 'utf8')) as Partial<StoreDescription> | null;
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

/** Complete or absent after a crash, and on the disk when it returns. */
export const writeDescription = (
  path: string,
  cell: string,
  formatVersion: number = FORMAT_VERSION,
): void => {
  const draft = join(path, `${TEMPORARY_PREFIX}${STORE_FILE}`);
  const file = openSync(draft, 'w', 0o600);
  try {
    writeSync(file, `${JSON.stringify({ cell, formatVersion })}\n`);
    fsyncSync(file);
  } finally {
    closeSync(file);
  }
  renameSync(draft, join(path, STORE_FILE));
};

const openRows = async (
  options: EmbeddedStoreOptions,
  exists: boolean,
): Promise<RewritableRows> => {
  const { path, mapSizeBytes = MAP_SIZE_BYTES_DEFAULT } = options;
  const file = join(path, DATA_FILE);
  const present = existsSync(file) && statSync(file).size > 0;
  if (exists && !present) throw corrupt(path, `${DATA_FILE} is missing or empty`);
  const mustReturn = present && checkDataFile(file);
  try {
    if (mustReturn) await returnToFlushed(path, mapSizeBytes);
    return new RewritableRows(path, (folder) => new LmdbRows(folder, mapSizeBytes));
  } catch (error) {
    const { code } = error as { code?: unknown };
    if (typeof code === 'number' && code > 0) throw unreadable(path, error); // errno; LMDB's are below 0
    throw corrupt(path, `LMDB cannot read it (${String(error)})`, error);
  }
};

/** Makes a data file one of this cell. */
export const cellRow = (cell: string): RowWrite => ({
  table: 'meta',
  key: CELL,
  value: Buffer.from(cell),
});

/**
 * The store's cell is in LMDB and in a file next to it; a data file of another store is refused.
 */
const agreeOnCell = async (
  path: string,
  rows: RewritableRows,
  description?: StoreDescription,
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
    await rows.commit([cellRow(cell)]);
  }
  if (description === undefined) writeDescription(path, cell);
  return cell;
};
