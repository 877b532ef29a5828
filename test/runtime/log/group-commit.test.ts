/**
 * Failures that a disk can have and a test cannot cause: the rows under the group commit are made
 * to fail.
 */
import { describe, expect, it } from 'vitest';
import { systemClock } from '../../../runtime/clock/clock.ts';
import { type CommitRequest, GroupCommit } from '../../../runtime/log/group-commit.ts';
import { LmdbLog } from '../../../runtime/log/lmdb-log.ts';
import { AppendUnknown } from '../../../runtime/log/log.ts';
import type { KeyedRow, RowRange, Rows, RowWrite, TableName } from '../../../runtime/log/rows.ts';

/** Sorted rows in memory; `failing` decides about the next commits. */
class FailingRows implements Rows {
  failing: 'no' | 'before' | 'after' | 'never answers' | 'panic' = 'no';
  readonly commits: number[] = [];
  readonly #rows = new Map<string, Uint8Array>();

  get(table: TableName, key: Uint8Array): Uint8Array | undefined {
    if (this.failing === 'panic') throw new Error('MDB_PANIC');
    return this.#rows.get(`${table}/${Buffer.from(key).toString('hex')}`);
  }

  *range(table: TableName, { from, to, limit, reverse }: RowRange): Iterable<KeyedRow> {
    const [low, high] = [from, to].map((key) => `${table}/${Buffer.from(key).toString('hex')}`);
    const keys = [...this.#rows.keys()].filter((key) => key >= low! && key < high!).sort();
    if (reverse === true) keys.reverse();
    for (const key of keys.slice(0, limit)) {
      yield { key: Buffer.from(key.slice(table.length + 1), 'hex'), value: this.#rows.get(key)! };
    }
  }

  *passing(range: RowRange): Iterable<KeyedRow> {
    yield* this.range('state', range);
  }

  *frozen(table: TableName, range: RowRange): Iterable<KeyedRow> {
    yield* this.range(table, range);
  }

  *keys(table: TableName, range: RowRange): Iterable<Uint8Array> {
    for (const { key } of this.range(table, range)) yield key;
  }

  count(table: TableName, range: RowRange): number {
    return [...this.keys(table, range)].length;
  }

  async commit(writes: readonly RowWrite[]): Promise<void> {
    if (this.failing === 'never answers') return new Promise(() => {});
    if (this.failing === 'before' || this.failing === 'panic') throw new Error('ENOSPC');
    this.commits.push(writes.length);
    for (const { table, key, value } of writes) {
      const name = `${table}/${Buffer.from(key).toString('hex')}`;
      if (value === null) this.#rows.delete(name);
      else this.#rows.set(name, value);
    }
    if (this.failing === 'after') throw new Error('EIO: fdatasync');
  }

  async close(): Promise<void> {}
}

const storeOn = (rows: FailingRows, mustFlush = false) => {
  const commits = new GroupCommit(rows, { onSettled: () => {}, mustFlush, commitDeadlineMs: 50 });
  return { commits, log: new LmdbLog(rows, commits, systemClock) };
};
const bytes = Buffer.from('entry');

describe('a commit that fails', () => {
  it('before anything is stored rejects as UNAVAILABLE and assigns the position to the next append', async () => {
    const rows = new FailingRows();
    const { log } = storeOn(rows);
    await log.append('s', bytes);
    rows.failing = 'before';
    const failed = [log.append('s', bytes, { expectedLast: 1 }), log.append('t', bytes)];
    for (const one of failed) await expect(one).rejects.toMatchObject({ code: 'UNAVAILABLE' });
    expect(await log.last('s')).toBe(1);
    rows.failing = 'no';
    expect(await log.append('s', bytes, { expectedLast: 1 })).toMatchObject({ position: 2 });
    expect(await log.append('t', bytes, { expectedLast: 0 })).toMatchObject({ position: 1 });
    expect(await log.read('t', 1)).toHaveLength(1);
  });

  // An owner resolves an unknown append by reading back (C3): it must find what is visible.
  it('in its flush is unknown, and at durability process can be read back', async () => {
    const rows = new FailingRows();
    const { log } = storeOn(rows);
    rows.failing = 'after';
    await expect(log.append('s', bytes, { expectedLast: 0 })).rejects.toBeInstanceOf(AppendUnknown);
    expect((await log.readLast('s'))?.position).toBe(1);
    rows.failing = 'no';
    expect(await log.append('s', bytes, { expectedLast: 0 })).toEqual({ kind: 'refused', last: 1 });
    expect(await log.append('s', bytes, { expectedLast: 1 })).toMatchObject({ position: 2 });
  });

  it('in its flush ends a store that promised the flush: not even a read may call it committed', async () => {
    const rows = new FailingRows();
    const { log } = storeOn(rows, true);
    rows.failing = 'after';
    await expect(log.append('s', bytes)).rejects.toBeInstanceOf(AppendUnknown);
    rows.failing = 'no';
    await expect(log.readLast('s')).rejects.toMatchObject({ details: { reason: 'STORE_BROKEN' } });
    await expect(log.append('s', bytes)).rejects.toMatchObject({ code: 'UNAVAILABLE' });
  });

  it.each(['never answers', 'panic'] as const)(
    'and %s is unknown and ends the store',
    async (failing) => {
      const rows = new FailingRows();
      const { log, commits } = storeOn(rows);
      await log.append('s', bytes);
      rows.failing = failing;
      const first = log.append('s', bytes);
      await expect(first).rejects.toBeInstanceOf(AppendUnknown);
      await expect(log.last('s')).rejects.toMatchObject({ details: { reason: 'STORE_BROKEN' } });
      await commits.close();
    },
  );

  it('fails what waits behind a broken store, telling that nothing of it was stored', async () => {
    const rows = new FailingRows();
    const { log } = storeOn(rows);
    rows.failing = 'never answers';
    const first = log.append('s', bytes);
    await new Promise((resolve) => setImmediate(resolve));
    const second = log.append('t', bytes);
    await expect(first).rejects.toBeInstanceOf(AppendUnknown);
    await expect(second).rejects.toMatchObject({ code: 'UNAVAILABLE' });
  });
});

describe('the group commit', () => {
  it('commits all appends of one turn of the event loop in one transaction', async () => {
    const rows = new FailingRows();
    const { log } = storeOn(rows);
    await Promise.all(Array.from({ length: 50 }, () => log.append('s', bytes)));
    expect(rows.commits).toHaveLength(1);
  });

  it('rejects a refused append with its failed transaction, because the refusal depended on it', async () => {
    const rows = new FailingRows();
    const { log } = storeOn(rows);
    rows.failing = 'before';
    const [winner, loser] = [
      log.append('s', bytes, { expectedLast: 0 }),
      log.append('s', bytes, { expectedLast: 0 }),
    ];
    await expect(winner).rejects.toMatchObject({ code: 'UNAVAILABLE' });
    await expect(loser).rejects.toMatchObject({ code: 'UNAVAILABLE' });
    rows.failing = 'no';
    expect(await log.append('s', bytes, { expectedLast: 0 })).toMatchObject({ position: 1 });
  });

  it('refuses requests beyond its bound at once and accepts them again when there is room', async () => {
    const rows = new FailingRows();
    const { commits } = storeOn(rows);
    const big = (): Promise<void> =>
      new Promise((resolve, reject) => {
        const request: CommitRequest = {
          bytes: 100 * 2 ** 20,
          build: () => {},
          committed: resolve,
          failed: reject,
        };
        commits.submit(request);
      });
    const taken = [big(), big()];
    await expect(big()).rejects.toMatchObject({ details: { reason: 'OVERLOADED' } });
    await Promise.all(taken);
    await big();
  });

  it('fails only the request whose building fails', async () => {
    const { commits, log } = storeOn(new FailingRows());
    const broken = new Promise<void>((resolve, reject) => {
      const build = () => {
        throw new Error('no');
      };
      commits.submit({ bytes: 0, build, committed: resolve, failed: reject });
    });
    const stored = log.append('s', bytes);
    await expect(broken).rejects.toThrow('no');
    expect(await stored).toMatchObject({ kind: 'stored', position: 1 });
  });

  it('commits appends before close and refuses later ones', async () => {
    const { commits, log } = storeOn(new FailingRows());
    const asked = log.append('s', bytes);
    const closing = commits.close();
    await expect(log.append('s', bytes)).rejects.toMatchObject({ code: 'UNAVAILABLE' });
    await closing;
    expect(await asked).toMatchObject({ position: 1 });
  });
});
