/** A rewrite that cannot put its file in place, or that rows are read from meanwhile. */
import { cpSync, mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { openEmbeddedStore } from '../../../runtime/log/embedded-store.ts';
import { LmdbRows } from '../../../runtime/log/lmdb-rows.ts';
import { RewritableRows } from '../../../runtime/log/rewritable-rows.ts';
import { removeFolder, temporaryFolder } from './store.ts';

test('a new file that cannot take its place breaks the store, which opens whole again', async () => {
  const path = mkdtempSync(join(tmpdir(), 'troupe-rewrite-'));
  onTestFinished(() => rmSync(path, { recursive: true, force: true }));
  const store = await openEmbeddedStore({ path, durability: 'process' });
  for (let n = 0; n < 50; n++) await store.log.append('kept', Buffer.from(`entry ${n}`));
  // A file is never renamed to the name of a folder.
  rmSync(join(path, 'lock.mdb'));
  mkdirSync(join(path, 'lock.mdb'));
  await expect(store.scrub()).rejects.toThrow('EISDIR');
  await expect(store.log.append('kept', Buffer.from('after'))).rejects.toMatchObject({
    code: 'UNAVAILABLE',
  });
  await store.close();
  // The folder stays locked until the process ends, so a copy is opened.
  rmSync(join(path, 'lock.mdb'), { recursive: true });
  const copy = mkdtempSync(join(tmpdir(), 'troupe-rewrite-'));
  onTestFinished(() => rmSync(copy, { recursive: true, force: true }));
  cpSync(path, copy, { recursive: true });
  const again = await openEmbeddedStore({ path: copy, durability: 'process' });
  expect(await again.log.read('kept', 1)).toHaveLength(50);
  await again.close();
});

// Bug: an erasure waited without end for a dump that was left without its end.
test('a rewrite waits for a range that is read, and not for one that is not', async () => {
  const path = await temporaryFolder();
  onTestFinished(() => removeFolder(path));
  const rows = new RewritableRows(path, (folder) => new LmdbRows(folder, 2 ** 26), 200);
  onTestFinished(() => rows.close());
  const keys = Array.from({ length: 40 }, (_, n) => Buffer.from([n + 1]));
  await rows.commit(keys.map((key) => ({ table: 'state', key, value: key })));
  const range = () => rows.frozen('state', { from: Buffer.from([0]), to: Buffer.from([0xff]) });
  const left = range()[Symbol.iterator]();
  left.next();
  const read: number[] = [];
  const reading = (async () => {
    for (const { value } of range()) {
      read.push(value[0]!);
      await new Promise((resolve) => setTimeout(resolve, 10));
    }
  })();
  const replace = await rows.rewrite();
  await replace();
  expect(read).toHaveLength(40);
  await reading;
  expect(() => left.next()).toThrow('no row was read for 200 ms: read them again');
  expect([...range()]).toHaveLength(40);
  await rows.commit([{ table: 'state', key: Buffer.from([99]), value: Buffer.from([99]) }]);
});

// Bug: each later erasure waited for it, too.
test('a range that was left without its end holds up one rewrite', async () => {
  const path = await temporaryFolder();
  onTestFinished(() => removeFolder(path));
  const idleMs = 1_000;
  const rows = new RewritableRows(path, (folder) => new LmdbRows(folder, 2 ** 26), idleMs);
  onTestFinished(() => rows.close());
  const keys = [Buffer.from([1]), Buffer.from([2])];
  await rows.commit(keys.map((key) => ({ table: 'state', key, value: key })));
  const left = rows.frozen('state', { from: keys[0]!, to: Buffer.from([9]) })[Symbol.iterator]();
  left.next();
  await (await rows.rewrite())();
  const since = performance.now();
  await (await rows.rewrite())();
  expect(performance.now() - since).toBeLessThan(idleMs);
  expect(() => left.next()).toThrow('read them again');
});

test('a range that was left without its end ends when the store begins to close', async () => {
  const path = await temporaryFolder();
  onTestFinished(() => removeFolder(path));
  const rows = new RewritableRows(path, (folder) => new LmdbRows(folder, 2 ** 26), 3_600_000);
  onTestFinished(() => rows.close());
  const keys = [Buffer.from([1]), Buffer.from([2])];
  await rows.commit(keys.map((key) => ({ table: 'state', key, value: key })));
  const left = rows.frozen('state', { from: keys[0]!, to: Buffer.from([9]) })[Symbol.iterator]();
  left.next();
  const replaced = (await rows.rewrite())();
  rows.closing();
  await replaced;
  expect(() => left.next()).toThrow('because the store is closed: read them again');
});
