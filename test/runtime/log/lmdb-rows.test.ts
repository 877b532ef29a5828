import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { DATA_FILE } from '../../../runtime/log/embedded-store.ts';
import { LmdbRows } from '../../../runtime/log/lmdb-rows.ts';
import { removeFolder, temporaryFolder } from './store.ts';

const PAGE_BYTES_AT = 48;
const TRANSACTION_AT = 152;

/** What LMDB's headers say: the last transaction, and the last flushed one (see data-file.ts). */
const transactionsOf = (path: string): { last: bigint; flushed: bigint } => {
  const file = readFileSync(join(path, DATA_FILE));
  const pageBytes = file.readUInt32LE(PAGE_BYTES_AT);
  const at = (offset: number) => file.readBigUInt64LE(offset + TRANSACTION_AT);
  const [first, second] = [at(0), at(pageBytes)];
  return { last: first > second ? first : second, flushed: at(pageBytes / 2) };
};

const row = (key: string, bytes: number) =>
  ({ table: 'state', key: Buffer.from(key), value: Buffer.alloc(bytes, key) }) as const;

// The next transaction is sometimes queued before the flush of the last one was answered.
it('flushed resolves after any sequence of commits, when the header of LMDB names the last one', async () => {
  const path = await temporaryFolder();
  onTestFinished(() => removeFolder(path));
  const rows = new LmdbRows(path, 2 ** 26);
  for (let n = 0; n < 100; n++) {
    const writes = Array.from({ length: 1 + ((n * 37) % 1_500) }, (_, i) => row(`k${i}`, 10 + n));
    await rows.commit(writes);
    const expected = transactionsOf(path).last;
    const flushed = rows.flushed().then(() => transactionsOf(path).flushed);
    if (n % 3 === 0) await rows.commit([row('next', n)]);
    expect(await flushed).toBeGreaterThanOrEqual(expected);
  }
  await rows.close();
});
