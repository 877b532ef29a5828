/**
 * Bug: the name of each subject was a part of Node's pool, so each new session kept up to 8 KiB,
 * which other buffers had left long ago.
 */
import { afterEach, expect, it } from 'vitest';
import { LmdbRows } from '../../../runtime/log/lmdb-rows.ts';
import { Subjects } from '../../../runtime/log/subjects.ts';
import { removeFolder, temporaryFolder } from './store.ts';

const folder = await temporaryFolder();
const rows = new LmdbRows(folder, 2 ** 20);

afterEach(async () => {
  await rows.close();
  await removeFolder(folder);
});

it('keeps of a subject the bytes of its name only', () => {
  const name = 'trn.local.default.session.a';
  const { key, nameBytes } = new Subjects(rows).findOrMake(name);
  expect(nameBytes.toString('utf8')).toBe(name);
  expect(key.buffer.byteLength).toBe(key.length);
  expect(nameBytes.buffer).toBe(key.buffer);
});
