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
import type { RowWrite } from '../log/rows.ts';
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
};

/** `close` frees the folder, too. */
export type StateCache = State & {
  /** why it was emptied when it was opened; undefined when it was not, or was new */
  readonly emptied: string | undefined;
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
    const { tables, emptied } = openTables(options);
    return new LmdbStateCache(tables, emptied, () => lock.release());
  } catch (error) {
    await lock.release();
    throw error instanceof TroupeError ? error : unreadable(path, error);
  }
};

/** Maximum number of processes with one name on one machine. */
const NAMESAKES_MAX = 100;

/**
 * Opens the cache of a process by its name. If another process uses that name, the next free one:
 * `twin`, `twin-2`, `twin-3`.
 * @throws TroupeError as openStateCache
 */
export const openNamedStateCache = async (
  first: string,
  { folderOf, cell }: { readonly folderOf: (name: string) => string; readonly cell: string },
): Promise<{ readonly name: string; readonly state: StateCache }> => {
  for (let n = 1; ; n++) {
    const name = n === 1 ? first : `${first}-${n}`;
    try {
      return { name, state: await openStateCache({ path: folderOf(name), cell }) };
    } catch (error) {
      const isTaken = error instanceof TroupeError && error.details?.['reason'] === 'LOCKED';
      if (!isTaken || n === NAMESAKES_MAX) throw error;
    }
  }
};

type Opened = { readonly tables: CacheTables; readonly emptied: string | undefined };

const openTables = (options: StateCacheOptions): Opened => {
  const { path, cell, boot = bootOfMachine(), mapSizeBytes = MAP_SIZE_BYTES_DEFAULT } = options;
  const description = { cell, format: FORMAT, boot };
  const begin = (): CacheTables => {
    // The description is removed first and written last: rows without it are invalid.
    for (const file of [CACHE_FILE, ...DATA_FILES]) rmSync(join(path, file), { force: true });
    const tables = new CacheTables({ path, mapSizeBytes, noSync: true });
    writeFileSync(join(path, CACHE_FILE), `${JSON.stringify(description)}\n`, { mode: 0o600 });
    return tables;
  };
  const foreign = whyForeign(path, description);
  if (foreign !== undefined)
    return { tables: begin(), emptied: foreign === 'absent' ? undefined : foreign };
  try {
    checkDataFile(join(path, DATA_FILES[0]!));
    const tables = new CacheTables({ path, mapSizeBytes, noSync: true });
    return { tables, emptied: undefined };
  } catch (error) {
    return { tables: begin(), emptied: `it cannot be read (${String(error)})` };
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

class CacheTables extends LmdbTables {
  /** All writes in order in one transaction, or none. Readers see it when this returns. */
  commitNow(writes: readonly RowWrite[]): void {
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
  readonly #tables: CacheTables;
  readonly #checkpointer: Checkpointer;
  readonly #release: () => Promise<void>;
  #closing: Promise<void> | undefined;

  constructor(tables: CacheTables, emptied: string | undefined, release: () => Promise<void>) {
    super({
      rows: tables,
      // Memory holds nothing that the journal does not.
      assertSound: () => {},
      assertRoom: (bytes) => this.#checkpointer.assertRoom(bytes),
      changed: (bytes) => this.#checkpointer.changed(bytes),
    });
    this.emptied = emptied;
    this.#tables = tables;
    this.#release = release;
    this.#checkpointer = new Checkpointer({
      sources: [this],
      clock: systemClock,
      commit: (writes) => tables.commitNow(writes),
      bytesMax: WAITING_BYTES_MAX,
    });
  }

  /** May be repeated. */
  override close(): Promise<void> {
    this.#closing ??= this.#close();
    return this.#closing;
  }

  async #close(): Promise<void> {
    await super.close();
    await this.#checkpointer.close();
    await this.#tables.close();
    await this.#release();
  }
}
