/** kill -9 of a worker during its saves, and the workspace that the next worker opens. */
import { randomInt } from 'node:crypto';
import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, beforeEach, expect, it } from 'vitest';
import { address } from '../../../protocols/address.ts';
import { openFileBlobs } from '../../../runtime/blobs/files.ts';
import { folderWorkspaces } from '../../../runtime/workspaces/folder.ts';
import { syncedWorkspaces } from '../../../runtime/workspaces/synced.ts';
import { eventually } from '../eventually.ts';
import { bundle, type Child, type Program } from '../log/child.ts';
import { removeFolder, temporaryFolder } from './temporary.ts';
import { patient } from './under-test.ts';

const a = address('t', 'agent', 'a');
const cell = 'cell-1';
const FILES = 12;
const KILLS = 8;

let program: Program;
let root: string;
let children: Child[];
beforeAll(async () => {
  program = await bundle(join(import.meta.dirname, 'opener.program.ts'));
});
afterAll(() => program.remove());
beforeEach(async () => {
  root = await temporaryFolder();
  children = [];
});
afterEach(async () => {
  for (const child of children) child.process.kill('SIGKILL');
  await Promise.all(children.map(({ ended }) => ended));
  await removeFolder(root);
});

const start = (kind: string): Child => {
  const child = program.start([kind, root, String(FILES)]);
  children.push(child);
  return child;
};

const said = (child: Child, word: string) =>
  eventually(() => {
    const line = child.lines().findLast((text) => text.startsWith(word));
    if (!line)
      throw new Error(`it did not say '${word}': ${child.lines().join()} ${child.stderr()}`);
    return Number(line.slice(word.length));
  });

const versionsIn = async (path: string) => {
  const texts = await Promise.all(
    (await readdir(path)).map((name) => readFile(join(path, name), 'utf8')),
  );
  return texts.map((text) => text.split(' ')[0]);
};

it('a synced workspace is complete after each kill: it is the last saved version, or the one that was being saved', async () => {
  for (let kills = 0; kills < KILLS; kills++) {
    const child = start('synced');
    await said(child, 'saving');
    const lines = child.lines().length;
    await eventually(() => expect(child.lines().length).toBeGreaterThan(lines + randomInt(6)));
    child.process.kill('SIGKILL');
    await child.ended;
    const last = (word: string) =>
      Number(
        child
          .lines()
          .findLast((l) => l.startsWith(word))
          ?.split(' ')[1],
      );
    const blobs = await openFileBlobs(join(root, 'blobs'));
    const workspaces = syncedWorkspaces({ blobs, cacheFolder: join(root, 'cache'), cell });
    const workspace = await workspaces.open(a, patient);
    expect(workspace.version).toBeGreaterThanOrEqual(last('saved') || last('opened'));
    expect(workspace.version).toBeLessThanOrEqual(last('saving'));
    const expected = Array.from({ length: FILES }, () => String(workspace.version));
    expect(await versionsIn(workspace.path)).toEqual(expected);
    await workspace.close();
  }
});

it.each(['folder', 'synced'])(
  'the next worker opens a %s workspace as soon as the first one is killed, and not before',
  async (kind) => {
    await (await folderWorkspaces({ root, cell, create: true }).open(a, patient)).close();
    const first = start(kind);
    await said(first, 'saved');
    const second = start(kind);
    const third = start(kind);
    const before = await said(first, 'saved');
    await eventually(async () => expect(await said(first, 'saved')).toBeGreaterThan(before + 3));
    expect([...second.lines(), ...third.lines()]).toEqual([]);
    first.process.kill('SIGKILL');
    await first.ended;
    const next = await eventually(() => {
      const opened = [second, third].filter((child) => child.lines().length > 0);
      expect(opened).toHaveLength(1);
      return opened[0]!;
    });
    expect(await said(next, 'opened')).toBeGreaterThanOrEqual(await said(first, 'saved'));
  },
);
