import { readdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { openFileBlobs } from '../../../runtime/blobs/files.ts';
import { MemoryBlobs } from '../../../runtime/blobs/memory.ts';
import { removeFolder, temporaryFolder } from '../log/store.ts';
import { blobsContract } from './contract.ts';

blobsContract('memory', async () => ({ blobs: new MemoryBlobs(), dispose: async () => {} }));
blobsContract('files', async () => {
  const path = await temporaryFolder();
  const open = () => openFileBlobs(join(path, 'blobs'));
  return { blobs: await open(), reopen: open, dispose: () => removeFolder(path) };
});

it('removes incomplete blobs of a crash at its start, and never lists them', async () => {
  const path = await temporaryFolder();
  const blobs = await openFileBlobs(path);
  await blobs.put('snap/whole', Buffer.from('whole'));
  await writeFile(join(path, 'snap', '~0123456789'), 'hal');
  expect(await blobs.list('')).toEqual(['snap/whole']);
  const again = await openFileBlobs(path);
  expect(await again.list('')).toEqual(['snap/whole']);
  expect(await readdir(join(path, 'snap'))).toEqual(['=whole']);
  await removeFolder(path);
});
