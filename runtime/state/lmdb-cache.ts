/**
 * State cache: State for a log that is stored elsewhere, in its own LMDB environment. It is only a
 * cache (T6): a damaged one is emptied and filled again from the journal.
 *
 * Writes wait in memory for the next checkpoint, which is one synchronous transaction without a
 * flush. After kill -9 the cache is that of the last checkpoint; power loss may leave anything. So
 * a file next to it names the boot of the machine under which it was written; under another boot,
 * for another cell or another format it is emptied before LMDB reads it.
 */
import { randomUUID } from 'node:crypto';
import { existsSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { TroupeError } from '../../protocols/errors.ts';
import { systemClock } from '../clock/clock.ts';
import { Checkpointer } from '../log/checkpointer.ts';
import { checkDataFile } from '../log/data-file.ts';
import { lockFolder } from '../log/folder-lock.ts';
import { LmdbTables } from '../log/lmdb-tables.ts';
import { RewritableRows } from '../log/rewritable-rows.ts';
import type { Rows, RowWrite } from '../log/rows.ts';
import { unreadable } from '../log/store-errors.ts';
import { makeFolder } from '../make-folder.ts';
import type { State } from './state.ts';
import { WriteBehindState } from './write-behind.ts';

export type StateCacheOptions = {
  /** a folder of its own; made when absent, used by one process at a time */
  readonly path: string;
  /** whose rows these are */
  readonly cell: string;
  /** names this start of the machine; default: what its kernel says, else always a new one */
  readonly boot?: string;
  /** address space reserved at first, bytes; grows by itself. Default 1 GiB */
  readonly mapSizeBytes?: number;
  /**
   * how many erasures the cell had: a cache that was last scrubbed before the latest of them is
   * emptied. Default 0
   */
  readonly erasures?: number;
  /** called before a cache that may hold erased rows is emptied, to remove what belongs to it */
  readonly beforeEmptied?: () => void;
};

/** `close` frees the folder, too. */
export type StateCache = State & {
  /** why it was emptied when it was opened; undefined when it was not, or was new */
  readonly emptied: string | undefined;
  /**
   * Writes the rows into a new file: nothing that was removed before the call stays on the disk.
   * Changes wait in memory meanwhile. One call at a time.
   * @param erasures as the option
   * @throws TroupeError UNAVAILABLE when the file cannot be written
   */
  scrub(erasures: number): Promise<void>;
};

/** Of the rows' layout and of what the fold keeps in them. */
const FORMAT = 1;
/** Beside LMDB's file. */
const CACHE_FILE = 'cache.json';
const DATA_FILES = ['data.mdb', 'lock.mdb'];
const MAP_SIZE_BYTES_DEFAULT = 2 ** 30;
const BOOT_FILE = '/proc/sys/kernel/random/boot_id';

/**
 * Opens the cache of a folder, emptied if it cannot be trusted.
 * @throws TroupeError UNAVAILABLE (details.reason LOCKED, pid) when another process has the folder,
 * (UNREADABLE) when nothing can be kept there
 */
export const openStateCache = async (options: StateCacheOptions): Promise<StateCache> => {
  const { path } = options;
  try {
    makeFolder(path);
  } catch (error) {
    throw unreadable(path, error);
  }
  const lock = await lockFolder(path);
  try {
    return new LmdbStateCache(options, openTables(options), () => lock.release());
  } catch (error) {
    await lock.release();
    throw error instanceof TroupeError ? error : unreadable(path, error);
  }
};

/** Maximum number of processes with one name on one machine. */
const NAMESAKES_MAX = 100;

type NamedCache = Pick<StateCacheOptions, 'cell' | 'erasures'> & {
  readonly folderOf: (name: string) => string;
  readonly beforeEmptied?: (name: string) => void;
};

/**
 * Opens the cache of a process by its name. If another process uses that name, the next free one:
 * `twin`, `twin-2`, `twin-3`.
 * @throws TroupeError as openStateCache
 */
export const openNamedStateCache = async (
  first: string,
  { folderOf, beforeEmptied, ...of }: NamedCache,
): Promise<{ readonly name: string; readonly state: StateCache }> => {
  for (let n = 1; ; n++) {
    const name = n === 1 ? first : `${first}-${n}`;
    try {
      const path = folderOf(name);
      const emptying = { beforeEmptied: () => beforeEmptied?.(name) };
      return { name, state: await openStateCache({ path, ...of, ...emptying }) };
    } catch (error) {
      const isTaken = error instanceof TroupeError && error.details?.['reason'] === 'LOCKED';
      if (!isTaken || n === NAMESAKES_MAX) throw error;
    }
  }
};

type Opened = { readonly rows: RewritableRows; readonly emptied: string | undefined };

/** A cell without erasures has the description of older programs. */
const describe = ({ cell, erasures = 0, boot = bootOfMachine() }: StateCacheOptions) => ({
  cell,
  format: FORMAT,
  boot,
  ...(erasures > 0 ? { erasures } : {}),
});

const writeDescription = (options: StateCacheOptions): void =>
  writeFileSync(join(options.path, CACHE_FILE), `${JSON.stringify(describe(options))}\n`, {
    mode: 0o600,
  });

const openTables = (options: StateCacheOptions): Opened => {
  const { path, mapSizeBytes = MAP_SIZE_BYTES_DEFAULT, erasures = 0 } = options;
  const openRows = () =>
    new RewritableRows(
      path,
      (folder) => new CacheTables({ path: folder, mapSizeBytes, noSync: true }),
    );
  const begin = (): RewritableRows => {
    if (erasures > 0) options.beforeEmptied?.();
    // The description is removed first and written last: rows without it are invalid.
    for (const file of [CACHE_FILE, ...DATA_FILES]) rmSync(join(path, file), { force: true });
    const rows = openRows();
    writeDescription(options);
    return rows;
  };
  const foreign = whyForeign(path, describe(options));
  if (foreign !== undefined)
    return { rows: begin(), emptied: foreign === 'absent' ? undefined : foreign };
  try {
    checkDataFile(join(path, DATA_FILES[0]!));
    return { rows: openRows(), emptied: undefined };
  } catch (error) {
    return { rows: begin(), emptied: `it cannot be read (${String(error)})` };
  }
};

/** What speaks against the rows that are there; undefined: nothing. */
const whyForeign = (path: string, wanted: Record<string, unknown>): string | undefined => {
  const file = join(path, DATA_FILES[0]!);
  if (!existsSync(file) || statSync(file).size === 0) return 'absent';
  let found: Record<string, unknown> | null;
  try {
    found = JSON.parse(readFileSync(join(path, CACHE_FILE), 'utf8')) as typeof found;
  } catch (error) {
    return `${CACHE_FILE} cannot be read (${String(error)})`;
  }
  const other = Object.keys(wanted).find((name) => found?.[name] !== wanted[name]);
  return other && `it is of another ${other} (${String(found?.[other])})`;
};

/** Without a name for it every start counts as one after a loss of power. */
const bootOfMachine = (): string => {
  try {
    return readFileSync(BOOT_FILE, 'utf8').trim();
  } catch {
    return randomUUID();
  }
};

class CacheTables extends LmdbTables implements Rows {
  /** Synchronous: readers see it when this returns. It survives no loss of power. */
  async commit(writes: readonly RowWrite[]): Promise<void> {
    this.root.transactionSync(() => {
      for (const { table, key, value } of writes) {
        if (value === null) this.tables[table].removeSync(key as Buffer);
        else this.tables[table].putSync(key as Buffer, value as Buffer);
      }
    });
    this.seeNewest();
  }
}

/** Rows that may wait for a disk that does not take them; then shards move to other machines. */
const WAITING_BYTES_MAX = 64 * 2 ** 20;

class LmdbStateCache extends WriteBehindState implements StateCache {
  readonly emptied: string | undefined;
  readonly #rows: RewritableRows;
  readonly #options: StateCacheOptions;
  readonly #checkpointer: Checkpointer;
  readonly #release: () => Promise<void>;
  #closing: Promise<void> | undefined;

  constructor(options: StateCacheOptions, { rows, emptied }: Opened, release: () => Promise<void>) {
    super({
      rows,
      // Memory holds nothing that the journal does not.
      assertSound: () => {},
      assertRoom: (bytes) => this.#checkpointer.assertRoom(bytes),
      changed: (bytes) => this.#checkpointer.changed(bytes),
    });
    this.emptied = emptied;
    this.#rows = rows;
    this.#options = options;
    this.#release = release;
    this.#checkpointer = new Checkpointer({
      sources: [this],
      clock: systemClock,
      commit: (writes) => rows.commit(writes),
      bytesMax: WAITING_BYTES_MAX,
    });
  }

  async scrub(erasures: number): Promise<void> {
    const { path } = this.#options;
    if (!(await this.#checkpointer.now()))
      throw new TroupeError('UNAVAILABLE', `the cache in ${path} cannot be written`);
    await this.#checkpointer.alone(async () => {
      const replace = await this.#rows.rewrite();
      // A crash, or a file that cannot be put in place, empties the cache at the next start.
      rmSync(join(path, CACHE_FILE), { force: true });
      await replace();
      writeDescription({ ...this.#options, erasures });
    });
  }

  /** May be repeated. */
  override close(): Promise<void> {
    this.#closing ??= this.#close();
    return this.#closing;
  }

  async #close(): Promise<void> {
    this.#rows.closing();
    await super.close();
    await this.#checkpointer.close();
    await this.#rows.close();
    await this.#release();
  }
}
