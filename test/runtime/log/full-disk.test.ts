import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { openEmbeddedStore } from '../../../runtime/log/embedded-store.ts';
import { eventually } from '../eventually.ts';
import { bundle, type Program } from './child.ts';
import { emptyDisk, hasPrlimit } from './disk-room.ts';
import { removeFolder, temporaryFolder } from './store.ts';

let program: Program;
beforeAll(async () => {
  program = await bundle(join(import.meta.dirname, 'full-disk.program.ts'));
});
afterAll(() => program.remove());

it.skipIf(!hasPrlimit())(
  'rejects appends while the disk is full, stores no part of them, and continues when there is space',
  async () => {
    const path = await temporaryFolder();
    const child = program.start([path], 4 * 2 ** 20);
    await eventually(() => expect(child.lines()).toContainEqual(expect.stringMatching(/^full/)));
    emptyDisk(child.process.pid!);
    child.process.stdin!.write('go on\n');
    const ended = await child.ended;
    expect([child.lines().at(-1), ended]).toEqual(['done', 0]);
    const store = await openEmbeddedStore({ path, durability: 'process' });
    expect(await store.log.last('s')).toBeGreaterThan(20);
    await store.close();
    await removeFolder(path);
  },
);

// lmdb-js waits for the flush of its last transaction before it closes; if that flush failed, it
// waits forever.
it.skipIf(!hasPrlimit())(
  'closes while the disk is full, and keeps all acknowledged appends',
  async () => {
    const path = await temporaryFolder();
    const child = program.start([path, 'close'], 4 * 2 ** 20);
    expect(await child.ended).toBe(0);
    const [answered] = child.lines().flatMap((line) => line.match(/^full (\d+)$/)?.[1] ?? []);
    const store = await openEmbeddedStore({ path, durability: 'process' });
    expect(await store.log.last('s')).toBe(Number(answered));
    await store.close();
    await removeFolder(path);
  },
);
