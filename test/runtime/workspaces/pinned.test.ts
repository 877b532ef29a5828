/** Workspaces that are pinned to workers with certain labels. */
import { mkdir, readdir, readFile, rename, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { address } from '../../../protocols/address.ts';
import { MemoryBlobs } from '../../../runtime/blobs/memory.ts';
import type { Labels } from '../../../runtime/labels.ts';
import { pinnedWorkspaces } from '../../../runtime/workspaces/pinned.ts';
import { workspacesContract } from './contract.ts';
import { removeFolder, temporaryFolder } from './temporary.ts';
import { change, patient } from './under-test.ts';

const a = address('t', 'agent', 'a');
const FAST: Labels = { disk: 'fast', rack: '7' };

/** Workers of one cell, each with its own folder. */
const cellOf = () => {
  const blobs = new MemoryBlobs();
  return (root: string, labels: Labels = FAST, required: Labels = FAST, limits = {}) =>
    pinnedWorkspaces({ root, cell: 'cell-1', blobs, labels, labelsOf: () => required, limits });
};
const unavailable = (text: string) => ({
  code: 'UNAVAILABLE',
  message: expect.stringContaining(text) as string,
});

workspacesContract('a pinned folder', 'present', async () => {
  const path = await temporaryFolder();
  const root = join(path, 'volume');
  const worker = cellOf();
  await (await worker(root).open(a, patient)).close();
  return {
    worker: (limits) => worker(root, FAST, FAST, limits),
    async takeAway() {
      await rename(root, join(path, 'unmounted'));
      await mkdir(root);
      return async () => {
        await removeFolder(root);
        await rename(join(path, 'unmounted'), root);
      };
    },
    dispose: () => removeFolder(path),
  };
});

it('a worker without the labels is refused, and creates no folder', async () => {
  const path = await temporaryFolder();
  const workspaces = cellOf()(join(path, 'slow'), { disk: 'slow', rack: '7' });
  await expect(workspaces.open(a, patient)).rejects.toMatchObject(unavailable('disk=fast, rack=7'));
  await expect(workspaces.peek(a, ['x'])).rejects.toMatchObject(unavailable('this worker lacks'));
  expect(await readdir(path)).toEqual([]);
  await removeFolder(path);
});

it('a second machine with the labels and another disk never offers an empty folder', async () => {
  const path = await temporaryFolder();
  const worker = cellOf();
  const first = worker(join(path, 'one'));
  await change(first, a, (folder) => writeFile(join(folder, 'kept'), 'kept'));
  const second = worker(join(path, 'two'), { rack: '7', disk: 'fast', more: 'labels' });
  await expect(second.open(a, patient)).rejects.toMatchObject(unavailable('an empty folder'));
  const third = join(path, 'three');
  await change(cellOf()(third), a, async () => {});
  await expect(worker(third).open(a, patient)).rejects.toMatchObject(unavailable('the volume'));
  const same = await worker(join(path, 'one')).open(a, patient);
  expect(await readFile(join(same.path, 'kept'), 'utf8')).toBe('kept');
  await same.close();
  await removeFolder(path);
});

it('two machines that open concurrently agree on one volume', async () => {
  const path = await temporaryFolder();
  const worker = cellOf();
  const opened = await Promise.allSettled(
    ['one', 'two', 'three'].map((name) => worker(join(path, name)).open(a, patient)),
  );
  expect(opened.filter(({ status }) => status === 'fulfilled')).toHaveLength(1);
  for (const one of opened) if (one.status === 'fulfilled') await one.value.close();
  await removeFolder(path);
});

it('an actor for which no labels are configured has no workspace', async () => {
  const path = await temporaryFolder();
  const workspaces = cellOf()(path, FAST, {});
  await expect(workspaces.open(a, patient)).rejects.toMatchObject(unavailable('no labels'));
  await removeFolder(path);
});
