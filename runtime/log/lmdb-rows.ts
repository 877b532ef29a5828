/**
 * LmdbRows: the LMDB environment of the embedded store, written by checkpoints.
 *
 * What the guarantees rest on (lmdb-js 3.5):
 *  - only `batch` writes here: one asynchronous transaction at a time, on a thread of its own. A
 *    synchronous transaction could end an asynchronous one half-way
 *    (WriteWorker::WaitForCallbacks), so none runs after opening;
 *  - `overlappingSync` is off: a commit writes its pages, flushes them, and then writes and flushes
 *    the header that names them (mdb_txn_commit). So after a power loss, or a flush that failed,
 *    LMDB is at the transaction before: no header names a page that may be lost;
 *  - a commit is answered when all of that is done; readers keep an older snapshot until it is
 *    renewed;
 *  - after a header that could not be written, a further transaction is never answered, and keeps a
 *    thread without end. So LMDB is opened again first (RewritableRows).
 */
import { open } from 'lmdb';
import { systemClock } from '../clock/clock.ts';
import { inTime } from '../clock/in-time.ts';
import { LmdbTables } from './lmdb-tables.ts';
import { RowsLost, type Rows, type RowWrite } from './rows.ts';

/** The disk does not answer, or LMDB does not: later commits would wait behind this one. */
const COMMIT_DEADLINE_MS = 120_000;

export class LmdbRows extends LmdbTables implements Rows {
  constructor(path: string, mapSizeBytes: number) {
    super({ path, mapSizeBytes, noSync: false });
  }

  /** @throws RowsLost when LMDB does not answer; the commit may still be under way then */
  async commit(writes: readonly RowWrite[]): Promise<void> {
    const release = this.hold();
    try {
      await this.#transaction(writes);
    } finally {
      release();
    }
  }

  async #transaction(writes: readonly RowWrite[]): Promise<void> {
    const committed = this.root.batch(() => {
      for (const { table, key, value } of writes) {
        // the batch's promise covers all of its writes
        if (value === null) void this.tables[table].remove(key as Buffer);
        else void this.tables[table].put(key as Buffer, value as Buffer);
      }
    });
    try {
      await inTime(systemClock, committed, COMMIT_DEADLINE_MS, notAnswered);
    } catch (error) {
      throw await reasonOf(error);
    }
  }
}

const notAnswered = (): never => {
  throw new RowsLost(`LMDB did not answer a commit within ${COMMIT_DEADLINE_MS} ms`);
};

/**
 * Earlier programs flushed a commit after its header (`overlappingSync`). LMDB returns to the last
 * flushed one when it is opened as they opened it. Needed when `checkDataFile` says so.
 */
export const returnToFlushed = (path: string, mapSizeBytes: number): Promise<void> =>
  open({ path, noSubdir: false, mapSize: mapSizeBytes, maxDbs: 8, overlappingSync: true }).close();

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
