/**
 * LmdbState: State on the rows of an LMDB environment. In the embedded store writes go through the
 * same group commit as the journal's, so a `clear` cannot overtake or split the append before it;
 * a cache commits each at once.
 */
import { TroupeError } from '../../protocols/errors.ts';
import type { GroupCommit } from '../log/group-commit.ts';
import type { RowsRead, RowWrite } from '../log/rows.ts';
import {
  addressOfStateKey,
  checkAddress,
  checkedValue,
  checkPuts,
  decodeValue,
  encodeValue,
  keyOfStateKey,
  RANGE_LIMIT_DEFAULT,
  shardRange,
  stateKey,
  tableRange,
} from './row.ts';
import type { Put, RangeOptions, Row, State, TableRow } from './state.ts';

/** Who makes transactions of what State writes. */
export type Commits = Pick<GroupCommit, 'submit' | 'assertSound'>;

export class LmdbState implements State {
  readonly #rows: RowsRead;
  readonly #commits: Commits;
  #closed = false;

  constructor(rows: RowsRead, commits: Commits) {
    this.#rows = rows;
    this.#commits = commits;
  }

  get(shard: number, table: string, key: string): Uint8Array | undefined {
    this.#assertOpen();
    checkAddress(shard, table, key);
    const value = this.#rows.get('state', stateKey(shard, table, key));
    return value === undefined ? undefined : decodeValue(shard, table, key, value);
  }

  range(shard: number, table: string, options: RangeOptions = {}): readonly Row[] {
    this.#assertOpen();
    checkAddress(shard, table, '');
    const rows: Row[] = [];
    for (const row of this.#rows.range('state', tableRange(shard, table, options))) {
      const key = keyOfStateKey(row.key, table);
      rows.push({ key, value: decodeValue(shard, table, key, row.value) });
    }
    return rows;
  }

  scan(
    shard: number,
    table: string,
    { from, to, limit = RANGE_LIMIT_DEFAULT }: Omit<RangeOptions, 'reverse'>,
    visit: (value: Uint8Array) => void,
  ): string | undefined {
    this.#assertOpen();
    checkAddress(shard, table, '');
    let count = 0;
    let last: Uint8Array | undefined;
    const range = tableRange(shard, table, { from, to, limit });
    for (const { key, value } of this.#rows.passing(range)) {
      visit(checkedValue(value, () => [shard, table, keyOfStateKey(key, table)]));
      last = key;
      count++;
    }
    return count === limit && last ? keyOfStateKey(last, table) : undefined;
  }

  *dump(shard: number): Iterable<TableRow> {
    this.#assertOpen();
    checkAddress(shard, 'any', '');
    for (const row of this.#rows.frozen('state', shardRange(shard))) {
      const { table, key } = addressOfStateKey(row.key);
      yield { table, key, value: decodeValue(shard, table, key, row.value) };
      this.#assertOpen();
    }
  }

  count(shard: number, table: string): number {
    this.#assertOpen();
    checkAddress(shard, table, '');
    const { from, to } = tableRange(shard, table);
    return this.#rows.count('state', { from, to });
  }

  async write(puts: readonly Put[]): Promise<void> {
    this.#assertOpen();
    checkPuts(puts);
    const bytes = puts.reduce((sum, put) => sum + put.key.length + (put.value?.length ?? 0), 0);
    await this.#commit(bytes, false, (writes) => {
      for (const { shard, table, key, value } of puts) {
        const bytesOrNull = value === null ? null : encodeValue(value);
        writes.push({ table: 'state', key: stateKey(shard, table, key), value: bytesOrNull });
      }
    });
  }

  /** One transaction: a half-cleared shard would be a wrong fold with a right position. */
  async clear(shard: number): Promise<void> {
    this.#assertOpen();
    checkAddress(shard, 'any', '');
    await this.#commit(0, true, (writes) => {
      for (const key of this.#rows.keys('state', shardRange(shard))) {
        writes.push({ table: 'state', key, value: null });
      }
    });
  }

  /** Refuses all that comes; the store closes the rows below it. */
  async close(): Promise<void> {
    this.#closed = true;
  }

  #commit(bytes: number, alone: boolean, build: (writes: RowWrite[]) => void): Promise<void> {
    return new Promise((resolve, reject) => {
      this.#commits.submit({
        bytes,
        alone,
        build,
        committed: resolve,
        failed: (cause) => reject(writeFailed(cause)),
      });
    });
  }

  #assertOpen(): void {
    if (this.#closed) throw new TroupeError('UNAVAILABLE', 'the state is closed');
    this.#commits.assertSound();
  }
}

const writeFailed = (cause: unknown): TroupeError =>
  new TroupeError(
    'UNAVAILABLE',
    `the store could not write (is the disk full?): ${String(cause)}`,
    {
      details: { reason: 'STORE_WRITE_FAILED' },
      cause,
    },
  );
