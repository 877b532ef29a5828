import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { lockFolder } from '../../../runtime/log/folder-lock.ts';
import { eventually } from '../eventually.ts';
import { bundle, type Child, type Program } from './child.ts';
import { removeFolder, temporaryFolder } from './store.ts';

let program: Program;
let folder: string;
const children: Child[] = [];
beforeAll(async () => {
  program = await bundle(join(import.meta.dirname, 'folder-lock.program.ts'));
});
afterAll(() => program.remove());
beforeEach(async () => {
  folder = await temporaryFolder();
});
afterEach(async () => {
  for (const child of children.splice(0)) {
    child.process.kill('SIGKILL');
    await child.ended;
  }
  await removeFolder(folder);
});

const start = async (means: string): Promise<Child> => {
  const child = program.start([folder, means]);
  children.push(child);
  await eventually(() => expect(child.lines()).toHaveLength(1));
  return child;
};

describe.each(['flock', 'socket'] as const)('a folder locked by %s', (means) => {
  it.runIf(process.platform === 'linux')(
    'is refused to a second process, naming the first',
    async () => {
      const first = await start(means);
      expect(first.lines()).toEqual(['locked']);
      const second = await start(means);
      expect(second.lines()[0]).toContain(`in use by process ${first.process.pid}`);
      await expect(lockFolder(folder, means)).rejects.toMatchObject({
        code: 'UNAVAILABLE',
        details: { reason: 'LOCKED', path: folder, pid: first.process.pid },
      });
    },
  );

  it.runIf(process.platform === 'linux')(
    'is free at once after kill -9 of the process that locked it',
    async () => {
      const first = await start(means);
      first.process.kill('SIGKILL');
      await first.ended;
      const lock = await lockFolder(folder, means);
      expect(lock).toBeDefined();
      await lock.release();
    },
  );

  it.runIf(process.platform === 'linux')(
    'is acquired by exactly one of many processes that start together',
    async () => {
      const all = await Promise.all(Array.from({ length: 6 }, () => start(means)));
      expect(all.filter((child) => child.lines()[0] === 'locked')).toHaveLength(1);
    },
  );

  it.runIf(process.platform === 'linux')(
    'is refused a second time in the same process too',
    async () => {
      const lock = await lockFolder(folder, means);
      await expect(lockFolder(folder, means)).rejects.toMatchObject({
        details: { pid: process.pid },
      });
      await lock.release();
      await lock.release();
      await (await lockFolder(folder, means)).release();
    },
  );
});
