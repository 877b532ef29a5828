/** Files with which a command could prevent the save, opening or removal of its workspace. */
import { spawnSync } from 'node:child_process';
import { chmod, chown, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { address } from '../../../protocols/address.ts';
import { MemoryBlobs } from '../../../runtime/blobs/memory.ts';
import { syncedWorkspaces } from '../../../runtime/workspaces/synced.ts';
import { found } from './contract.ts';
import { removeFolder, temporaryFolder } from './temporary.ts';
import { change, patient } from './under-test.ts';

const a = address('t', 'agent', 'a');

let folder: string;
let blobs: MemoryBlobs;
let workers = 0;
beforeEach(async () => {
  folder = await temporaryFolder();
  blobs = new MemoryBlobs();
});
afterEach(() => removeFolder(folder));

const worker = () =>
  syncedWorkspaces({ blobs, cell: 'cell-1', cacheFolder: join(folder, `${workers++}`) });
const note = (text: string) => (path: string) => writeFile(join(path, 'note'), text);

it('bug: a path longer than the kernel allows made the workspace impossible to open', async () => {
  const one = worker();
  await change(one, a, note('saved'));
  const workspace = await one.open(a, patient);
  // what a command can do that descends one folder at a time
  const deep = `
    const fs = require('node:fs');
    const step = 'd'.repeat(200);
    for (const top of ['one', 'two', 'three']) {
      process.chdir(process.argv[1]);
      fs.mkdirSync(top);
      process.chdir(top);
      for (let n = 0; n < 60; n++) {
        fs.mkdirSync('closed');
        fs.writeFileSync('closed/file', '');
        fs.chmodSync('closed', 0o555);
        fs.mkdirSync(step);
        process.chdir(step);
      }
    }`;
  const { status } = spawnSync(process.execPath, ['-e', deep, workspace.path]);
  expect(status).toBe(0);
  await expect(workspace.save()).rejects.toMatchObject({ code: 'PAYLOAD_TOO_LARGE' });
  await workspace.close();
  expect(Object.keys(await found(one, a))).toEqual(['note']);
});

it('bug: a command that closed its workspace folder lost all its files', async () => {
  const isRoot = process.getuid?.() === 0;
  const unprivileged = 65_534;
  if (isRoot) await chown(folder, unprivileged, unprivileged);
  if (isRoot) process.seteuid?.(unprivileged); // file modes do not restrict root
  try {
    const version = await change(worker(), a, async (path) => {
      await note('saved')(path);
      await chmod(path, 0o000);
    });
    expect(version).toBe(1);
    expect(Object.keys(await found(worker(), a))).toEqual(['note']);
  } finally {
    if (isRoot) process.seteuid?.(0);
  }
});
