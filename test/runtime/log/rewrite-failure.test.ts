/** A rewrite that cannot put its file in place ends the store, and costs nothing of it. */
import { cpSync, mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { openEmbeddedStore } from '../../../runtime/log/embedded-store.ts';

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
