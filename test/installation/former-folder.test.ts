/** A cluster that stored files in its data folder before its cell did: no file is lost. */
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { keepsFilesInCell, openArtifacts } from '../../installation/artifact-bucket.ts';
import { MemoryBlobs } from '../../runtime/blobs/memory.ts';
import { loadConfig } from '../../runtime/config/index.ts';
import { scratchFolder } from '../runtime/config/folder.ts';

it('reads and signs files of the folder, and moves them to the cell', async () => {
  const home = scratchFolder();
  const { config } = loadConfig({ env: {}, home, flags: { data: home } });
  const before = await openArtifacts(config);
  const put = (text: string) =>
    before.put('acme', Buffer.from(text), { contentType: 'text/plain' });
  const [read, signed] = [await put('read'), await put('signed')];
  const { artifact_uri: former } = await before.sign('acme', read.hash);

  mkdirSync(join(home, 'a2a'), { recursive: true });
  writeFileSync(join(home, 'a2a', 'files.key'), 'ab'.repeat(32));
  const blobs = new MemoryBlobs();
  const cell = await openArtifacts(config, { blobs });
  expect(await cell.resolve('acme', former)).toBe(read.hash);
  expect(Buffer.from((await cell.get('acme', read.hash)).contents).toString()).toBe('read');
  await cell.sign('acme', signed.hash);
  expect(await blobs.list('artifacts/')).toHaveLength(2);
  await expect(cell.get('acme', 'ab'.repeat(32))).rejects.toMatchObject({ code: 'NOT_FOUND' });
});

it('keeps files of a process with a location in its folder, unless the location of files is set', () => {
  const inCell = (a2a: object) => {
    const home = scratchFolder();
    writeFileSync(join(home, 'troupe.json5'), JSON.stringify({ a2a }));
    return keepsFilesInCell(loadConfig({ env: {}, home, flags: { data: home } }).config);
  };
  expect(inCell({})).toBe(true);
  expect(inCell({ locality: 'here' })).toBe(false);
  expect(inCell({ locality: 'here', artifacts: { locality: 'here' } })).toBe(true);
  expect(inCell({ artifacts: { path: '/files' } })).toBe(false);
});
