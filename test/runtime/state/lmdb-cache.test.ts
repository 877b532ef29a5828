/** The cache of rows of a cluster's process: it is discarded in case of doubt (T6). */
import { execFile, execFileSync } from 'node:child_process';
import { readFile, truncate, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { openStateCache, type StateCache } from '../../../runtime/state/lmdb-cache.ts';
import { eventually } from '../eventually.ts';
import { bundle, type Program } from '../log/child.ts';
import { removeFolder, temporaryFolder } from '../log/store.ts';
import { stateContract, type StateUnderTest } from './contract.ts';

const cacheUnderTest = async (): Promise<StateUnderTest> => {
  const path = await temporaryFolder();
  const openAgain = async (): Promise<StateUnderTest> => {
    const state = await openStateCache({ path, cell: 'cell' });
    return {
      state,
      async reopen() {
        await state.close();
        return openAgain();
      },
      async dispose() {
        await state.close();
        await removeFolder(path);
      },
    };
  };
  return openAgain();
};

stateContract('LMDB cache', cacheUnderTest);

const SHARD = 0;
const put = (key: string, value: Uint8Array = Buffer.from(key)) => ({
  shard: SHARD,
  table: 'row',
  key,
  value,
});

let path: string;
beforeEach(async () => {
  path = await temporaryFolder();
});
afterEach(() => removeFolder(path));

describe('a state cache is emptied', () => {
  const written = async (): Promise<void> => {
    const cache = await openStateCache({ path, cell: 'cell', boot: 'one' });
    expect(cache.emptied).toBeUndefined();
    await cache.write([put('a')]);
    await cache.close();
  };
  const opened = async (options: { cell?: string; boot?: string } = {}): Promise<StateCache> => {
    const cache = await openStateCache({ path, cell: 'cell', boot: 'one', ...options });
    const rows = cache.count(SHARD, 'row');
    await cache.write([put('b')]);
    await cache.close();
    expect(rows).toBe(cache.emptied === undefined ? 1 : 0);
    return cache;
  };

  it('not when the same machine opens it again for the same cell', async () => {
    await written();
    expect((await opened()).emptied).toBeUndefined();
  });

  it('when the machine was rebooted since, because power may have been lost', async () => {
    await written();
    expect((await opened({ boot: 'two' })).emptied).toMatch(/another boot/);
  });

  it('when its rows are of another cell', async () => {
    await written();
    expect((await opened({ cell: 'other' })).emptied).toMatch(/another cell/);
  });

  it('when they are of another format', async () => {
    await written();
    const file = join(path, 'cache.json');
    const found = JSON.parse(await readFile(file, 'utf8')) as { format: number };
    await writeFile(file, JSON.stringify({ ...found, format: found.format + 1 }));
    expect((await opened()).emptied).toMatch(/another format/);
  });

  it('when its description cannot be read', async () => {
    await written();
    await writeFile(join(path, 'cache.json'), '{"cell":');
    expect((await opened()).emptied).toMatch(/cache\.json/);
  });

  it('when its file is truncated, and when it is no LMDB file', async () => {
    await written();
    await truncate(join(path, 'data.mdb'), 9_000);
    expect((await opened()).emptied).toMatch(/cannot be read/);
    await writeFile(join(path, 'data.mdb'), 'no such thing'.repeat(10_000));
    expect((await opened()).emptied).toMatch(/cannot be read/);
  });
});

it('a state cache is open in one process at a time', async () => {
  const cache = await openStateCache({ path, cell: 'cell' });
  const second = openStateCache({ path, cell: 'cell' });
  await expect(second).rejects.toMatchObject({
    code: 'UNAVAILABLE',
    details: { reason: 'LOCKED' },
  });
  await cache.close();
  await (await openStateCache({ path, cell: 'cell' })).close();
});

it('a state cache grows beyond the space that it reserved', async () => {
  const cache = await openStateCache({ path, cell: 'cell', mapSizeBytes: 2 ** 20 });
  const value = Buffer.alloc(2 ** 16, 1);
  for (let i = 0; i < 128; i++) await cache.write([put(`${i}`, value), put(`${i}+`, value)]);
  expect(cache.count(SHARD, 'row')).toBe(256);
  await cache.close();
});

describe('a process that writes a state cache', () => {
  let program: Program;
  beforeAll(async () => {
    program = await bundle(join(import.meta.dirname, 'cache-writer.program.ts'));
  });
  afterAll(() => program.remove());

  it('leaves the rows of one of its writes after kill -9, and no partial write', async () => {
    let before = 0;
    for (let round = 0; round < 8; round++) {
      const child = program.start([path]);
      const wanted = 1 + Math.floor(Math.random() * 300);
      await eventually(() => expect(child.lines().length).toBeGreaterThanOrEqual(wanted));
      child.process.kill('SIGKILL');
      expect(await child.ended).toBe('SIGKILL');
      const answered = Number(child.lines().at(-1));
      const cache = await openStateCache({ path, cell: 'cell' });
      const stored = cache.get(SHARD, 'meta', 'n');
      const last = stored === undefined ? 0 : Buffer.from(stored).readUInt32LE(0);
      expect(last).toBeGreaterThanOrEqual(before);
      expect(last).toBeLessThanOrEqual(answered + 1);
      const rows = [...cache.dump(SHARD)].filter(({ table }) => table === 'row');
      const numbers = rows.map(({ value }) => Buffer.from(value).readUInt32LE(0));
      expect(numbers.sort((a, b) => a - b)).toEqual(Array.from({ length: last }, (_, i) => i + 1));
      await cache.close();
      before = last;
    }
  });

  const hasPrlimit = (): boolean => {
    try {
      execFileSync('prlimit', ['--version']);
      return true;
    } catch {
      return false;
    }
  };

  // A file size limit makes writes fail as a full disk does, for one process and without a mount.
  it.skipIf(!hasPrlimit())(
    'refuses writes when too many wait for a full disk, and continues when there is space',
    async () => {
      const child = program.start([path, '20000'], 4 * 2 ** 20);
      await eventually(() => expect(child.lines().at(-1)).toMatch(/^full/));
      const [, code, rows, n] = child.lines().at(-1)!.split(' ');
      expect([code, rows]).toEqual(['UNAVAILABLE', n]);
      const limit = ['--pid', `${child.process.pid}`, '--fsize=unlimited:unlimited'];
      await promisify(execFile)('prlimit', limit);
      child.process.stdin!.write('go on\n');
      expect(await child.ended).toBe(0);
      expect(child.lines().at(-1)).toBe(`again ${Number(n) + 20} ${Number(n) + 20}`);
    },
  );
});
