/** Workspaces in a folder or on a shared volume. */
import { mkdir, readdir, rename, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { type Address, address } from '../../../protocols/address.ts';
import { folderWorkspaces } from '../../../runtime/workspaces/folder.ts';
import { folderNameOf } from '../../../runtime/workspaces/name.ts';
import { removeFolder, temporaryFolder } from './temporary.ts';
import { found, workspacesContract } from './contract.ts';
import { change, patient } from './under-test.ts';

const a = address('t', 'agent', 'a');
const cell = 'cell-1';

workspacesContract('a folder', 'present', async () => {
  const path = await temporaryFolder();
  const root = join(path, 'volume');
  await (await folderWorkspaces({ root, cell, create: true }).open(a, patient)).close();
  return {
    worker: (limits) => folderWorkspaces({ root, cell, limits: limits ?? {} }),
    async takeAway() {
      await rename(root, join(path, 'unmounted'));
      await mkdir(root); // the empty mount point
      return async () => {
        await removeFolder(root);
        await rename(join(path, 'unmounted'), root);
      };
    },
    dispose: () => removeFolder(path),
  };
});

it('a folder without the marker is never used or changed', async () => {
  const root = await temporaryFolder();
  const workspaces = folderWorkspaces({ root, cell });
  await expect(workspaces.open(a, patient)).rejects.toMatchObject({
    code: 'UNAVAILABLE',
    message: expect.stringContaining('not mounted'),
  });
  await expect(
    folderWorkspaces({ root: join(root, 'absent'), cell }).open(a, patient),
  ).rejects.toMatchObject({ code: 'UNAVAILABLE' });
  expect(await readdir(root)).toEqual([]);
  await removeFolder(root);
});

it('a folder of another cell is not used, even if a new one could be created', async () => {
  const root = await temporaryFolder();
  await change(folderWorkspaces({ root, cell, create: true }), a, (path) =>
    writeFile(join(path, 'note'), ''),
  );
  await expect(
    folderWorkspaces({ root, cell: 'other', create: true }).open(a, patient),
  ).rejects.toMatchObject({ code: 'UNAVAILABLE', message: expect.stringContaining(cell) });
  expect(Object.keys(await found(folderWorkspaces({ root, cell }), a))).toEqual(['note']);
  await removeFolder(root);
});

it('a volume that disappears later is not recreated, although the first open may create it', async () => {
  const path = await temporaryFolder();
  const root = join(path, 'volume');
  const workspaces = folderWorkspaces({ root, cell, create: true });
  await (await workspaces.open(a, patient)).close();
  await removeFolder(root);
  await mkdir(root);
  await expect(workspaces.open(a, patient)).rejects.toMatchObject({ code: 'UNAVAILABLE' });
  expect(await readdir(root)).toEqual([]);
  await removeFolder(path);
});

it('a peek reads nothing outside, regardless of links in the folder', async () => {
  const path = await temporaryFolder();
  const workspaces = folderWorkspaces({ root: join(path, 'volume'), cell, create: true });
  await mkdir(join(path, 'outside'));
  await writeFile(join(path, 'outside/SKILL.md'), 'secret');
  const workspace = await workspaces.open(a, patient);
  const files = workspace.path;
  await symlink(join(path, 'outside/SKILL.md'), join(files, 'AGENTS.md'));
  await symlink(join(path, 'outside'), join(files, 'folder'));
  await symlink('AGENTS.md', join(files, 'USER.md'));
  await symlink('loop', join(files, 'loop'));
  await workspace.close();
  const seen = await workspaces.peek(a, ['AGENTS.md', 'USER.md', 'folder/SKILL.md', 'loop']);
  expect(seen.files.map(({ path: name, left, bytes }) => [name, left, bytes])).toEqual([
    ['AGENTS.md', 'leads out', undefined],
    ['USER.md', 'leads out', undefined],
    ['folder/SKILL.md', 'leads out', undefined],
    ['loop', 'unreadable', undefined],
  ]);
  expect((await workspaces.peek(a, ['*/SKILL.md'])).files).toEqual([]);
  await removeFolder(path);
});

workspacesContract('named folders', 'present', async () => {
  const path = await temporaryFolder();
  const [root, own] = [join(path, 'volume'), join(path, 'own')];
  await (await folderWorkspaces({ root, cell, create: true }).open(a, patient)).close();
  const filesOf = (actor: Address) => join(own, folderNameOf(actor));
  return {
    worker: (limits) =>
      folderWorkspaces({ root, cell, filesOf, create: true, limits: limits ?? {} }),
    async takeAway() {
      await rename(own, join(path, 'unmounted')).catch(() => {});
      await writeFile(own, ''); // nothing can be made in its place
      return async () => {
        await removeFolder(own);
        await rename(join(path, 'unmounted'), own).catch(() => {});
      };
    },
    dispose: () => removeFolder(path),
  };
});

it('a named folder is made once, and never again after files were saved in it', async () => {
  const path = await temporaryFolder();
  const own = join(path, 'own/a');
  const create = { root: join(path, 'volume'), cell, create: true };
  const workspaces = folderWorkspaces({ ...create, filesOf: () => own });
  expect((await workspaces.peek(a, ['note'])).files).toEqual([]);
  await change(workspaces, a, async (folder) => {
    expect(folder).toBe(own);
    await writeFile(join(folder, 'note'), 'x');
  });
  expect((await workspaces.peek(a, ['note'])).files).toHaveLength(1);
  await rename(own, join(path, 'unmounted'));
  const isMissing = { code: 'UNAVAILABLE', message: expect.stringContaining(`${own} is missing`) };
  await expect(workspaces.open(a, patient)).rejects.toMatchObject(isMissing);
  await expect(workspaces.peek(a, ['note'])).rejects.toMatchObject(isMissing);
  const moved = folderWorkspaces({ ...create, filesOf: () => join(path, 'moved') });
  expect(await change(moved, a, (folder) => writeFile(join(folder, 'note'), 'y'))).toBe(1);
  await removeFolder(path);
});

it('a named folder of a shared volume is never made', async () => {
  const path = await temporaryFolder();
  const root = join(path, 'volume');
  await (await folderWorkspaces({ root, cell, create: true }).open(a, patient)).close();
  const own = join(path, 'own');
  const workspaces = folderWorkspaces({ root, cell, filesOf: () => own });
  await expect(workspaces.open(a, patient)).rejects.toMatchObject({
    code: 'UNAVAILABLE',
    message: expect.stringContaining('mount its volume'),
  });
  await mkdir(own);
  await change(workspaces, a, (folder) => writeFile(join(folder, 'note'), 'x'));
  expect(await readdir(own)).toEqual(['note']);
  await removeFolder(path);
});

it('a peek at a volume that has disappeared is UNAVAILABLE', async () => {
  const path = await temporaryFolder();
  const root = join(path, 'volume');
  const workspaces = folderWorkspaces({ root, cell, create: true });
  const before = await workspaces.peek(a, ['note']);
  expect(before.files).toEqual([]);
  await change(workspaces, a, (folder) => writeFile(join(folder, 'note'), 'x'));
  const seen = await workspaces.peek(a, ['note'], before);
  expect(seen.files).toHaveLength(1);
  await rename(root, join(path, 'unmounted'));
  await expect(workspaces.peek(a, ['note'], seen)).rejects.toMatchObject({ code: 'UNAVAILABLE' });
  await removeFolder(path);
});
