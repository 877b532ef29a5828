/**
 * LmdbSnapshot: the rows of an embedded store as of one commit, read by a process beside the one
 * that writes them. Commits continue meanwhile; space that they free is not used again until
 * `close`.
 */
import type { Transaction } from 'lmdb';
import { LmdbTables } from './lmdb-tables.ts';
import type { KeyedRow, TableName } from './rows.ts';

const PAGE = 256;
const MAP_SIZE_BYTES = 2 ** 30;

export class LmdbSnapshot extends LmdbTables {
  #transaction: Transaction | undefined;

  constructor(path: string) {
    super({ path, mapSizeBytes: MAP_SIZE_BYTES, noSync: false, readOnly: true });
  }

  /** From now on the rows are those of the newest commit. */
  renew(): void {
    this.#transaction?.done();
    this.seeNewest();
    this.#transaction = this.root.useReadTransaction();
  }

  /** A copy of the row's value. */
  row(table: TableName, key: Uint8Array): Uint8Array | undefined {
    const [found] = this.tables[table].getRange({
      start: key as Buffer,
      limit: 1,
      transaction: this.#held(),
    });
    return found && Buffer.compare(found.key, key) === 0 ? found.value : undefined;
  }

  /** Copies of all rows in key order, over any number of ticks. */
  *all(table: TableName): Iterable<KeyedRow> {
    for (let start: Buffer | undefined; ; ) {
      const from = start === undefined ? {} : { start, exclusiveStart: true };
      const transaction = this.#held();
      const page = [...this.tables[table].getRange({ ...from, limit: PAGE, transaction })];
      yield* page;
      if (page.length < PAGE) return;
      start = page.at(-1)!.key;
    }
  }

  override async close(): Promise<void> {
    this.#transaction?.done();
    this.#transaction = undefined;
    await super.close();
  }

  #held(): Transaction {
    if (this.#transaction === undefined) throw new Error('the snapshot is not open');
    return this.#transaction;
  }
}
