/**
 * LmdbRows: the LMDB environment of the embedded store, written by checkpoints.
 *
 * What the guarantees rest on (lmdb-js 3.5):
 *  - only `batch` writes here: one asynchronous transaction at a time, on a thread of its own. A
 *    synchronous transaction could end an asynchronous one half-way
 *    (WriteWorker::WaitForCallbacks), so none runs after opening;
 *  - `overlappingSync` stays on: after power loss LMDB opens at the last flushed transaction;
 *  - a commit is answered after it is visible and flushed (mdb_txn_commit flushes at its end);
 *    readers keep an older snapshot until it is renewed;
 *  - the promise `flushed` of lmdb-js never resolves after a failed transaction, and `close` waits
 *    for it. So LMDB itself is asked what is flushed, and the last transaction is an empty one.
 */
import { systemClock } from '../clock/clock.ts';
import { inTime } from '../clock/in-time.ts';
import { LmdbTables } from './lmdb-tables.ts';
import type { Rows, RowWrite } from './rows.ts';

/** A commit that is not answered by then never will be: LMDB answers nothing more after a panic. */
const COMMIT_DEADLINE_MS = 120_000;

export class LmdbRows extends LmdbTables implements Rows {
  constructor(path: string, mapSizeBytes: number) {
    super({ path, mapSizeBytes, noSync: false });
  }

  async commit(writes: readonly RowWrite[]): Promise<void> {
    try {
      await this.#transaction(writes);
    } finally {
      this.seeNewest();
    }
  }

  /** LMDB flushes what it has not flushed yet, and calls back. */
  async flushed(): Promise<void> {
    const root = this.root as unknown as { sync(done: (error?: Error) => void): void };
    await new Promise<void>((resolve, reject) => {
      root.sync((error) => (error ? reject(error) : resolve()));
    });
  }

  override async close(): Promise<void> {
    await this.#transaction([]);
    await super.close();
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
  throw new Error(`the commit was not answered within ${COMMIT_DEADLINE_MS} ms`);
};

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
