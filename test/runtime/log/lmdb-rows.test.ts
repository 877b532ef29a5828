import { readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { open } from 'lmdb';
import { expect, it, onTestFinished } from 'vitest';
import { checkDataFile } from '../../../runtime/log/data-file.ts';
import { DATA_FILE } from '../../../runtime/log/embedded-store.ts';
import { LmdbRows, returnToFlushed } from '../../../runtime/log/lmdb-rows.ts';
import { removeFolder, temporaryFolder } from './store.ts';

const PAGE_BYTES_AT = 48;
const FLAGS_AT = 52;
const TRANSACTION_AT = 152;
const BOOT_AT = 160;
const META_BYTES = 168;
const UNFLUSHED = 0x1000;

/** LMDB's newest header (see data-file.ts). */
const newestOf = (path: string) => {
  const file = readFileSync(join(path, DATA_FILE));
  const pageBytes = file.readUInt32LE(PAGE_BYTES_AT);
  const [last, at] = [0, pageBytes]
    .map((start) => [file.readBigUInt64LE(start + TRANSACTION_AT), start] as const)
    .sort(([a], [b]) => Number(b - a))[0]!;
  return { last, isFlushed: (file.readUInt16LE(at + FLAGS_AT) & UNFLUSHED) === 0 };
};

const row = (key: string, bytes: number) =>
  ({ table: 'state', key: Buffer.from(key), value: Buffer.alloc(bytes, key) }) as const;

// With lmdb-js' default, a header names pages before they are on the disk.
it('the header that names a commit is written after its pages are on the disk', async () => {
  const path = await temporaryFolder();
  onTestFinished(() => removeFolder(path));
  const rows = new LmdbRows(path, 2 ** 26);
  for (let n = 0; n < 100; n++) {
    const before = newestOf(path).last;
    const writes = Array.from({ length: 1 + ((n * 37) % 1_500) }, (_, i) => row(`k${i}`, 10 + n));
    await rows.commit(writes);
    expect(newestOf(path)).toEqual({ last: before + 1n, isFlushed: true });
  }
  await rows.close();
});

it('a file of an earlier program returns to its last flushed commit after a power loss', async () => {
  const path = await temporaryFolder();
  onTestFinished(() => removeFolder(path));
  const file = join(path, DATA_FILE);
  const binary = { encoding: 'binary', keyEncoding: 'binary' } as const;
  const root = open<Buffer, Buffer>({ path, noSubdir: false, maxDbs: 8, ...binary });
  const state = root.openDB<Buffer, Buffer>({ name: 'state', ...binary });
  const headerOf = (bytes: Buffer) => bytes.readUInt32LE(PAGE_BYTES_AT) / 2;
  await state.put(Buffer.from('k'), Buffer.from('flushed'));
  await root.flushed;
  const earlier = readFileSync(file);
  await state.put(Buffer.from('k'), Buffer.from('not flushed'));
  await root.close();
  // The power was lost before the flush: its header is the earlier one, and the boot another one.
  const later = readFileSync(file);
  const half = headerOf(earlier);
  earlier.copy(later, half, half, half + META_BYTES);
  for (const at of [0, half, 2 * half]) later.writeBigInt64LE(1n, at + BOOT_AT);
  writeFileSync(file, later);
  expect(checkDataFile(file)).toBe(true);
  await returnToFlushed(path, 2 ** 26);
  expect(checkDataFile(file)).toBe(false);
  const rows = new LmdbRows(path, 2 ** 26);
  expect(rows.get('state', Buffer.from('k'))?.toString()).toBe('flushed');
  await rows.close();
});

// Bug: both used one transaction, which was done once: LMDB reused no page from then on.
it('ranges that are frozen during one commit leave no read transaction behind', async () => {
  const path = await temporaryFolder();
  onTestFinished(() => removeFolder(path));
  const rows = new LmdbRows(path, 2 ** 26);
  const all = { from: Buffer.from([0]), to: Buffer.from([0xff]) };
  await rows.commit([row('k', 10)]);
  const committed = rows.commit([row('k', 20)]);
  const frozen = [0, 1].map(() => rows.frozen('state', all)[Symbol.iterator]());
  const lengths = () => frozen.map((range) => range.next().value?.value.length);
  expect(lengths()).toEqual([10, 10]);
  await committed;
  expect(lengths()).toEqual([undefined, undefined]);
  const many = Array.from({ length: 500 }, (_, n) => row(`k${n}`, 500));
  await rows.commit(many);
  const size = () => statSync(join(path, DATA_FILE)).size;
  const before = size();
  for (let n = 0; n < 20; n++) await rows.commit(many);
  expect(size()).toBeLessThan(4 * before);
  await rows.close();
});
