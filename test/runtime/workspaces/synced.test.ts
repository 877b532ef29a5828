/** Workspaces that are synced through Blobs: the fence, the sweep, and the copied files. */
import { mkdir, readdir, rename, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { address } from '../../../protocols/address.ts';
import { TroupeError } from '../../../protocols/errors.ts';
import type { Blobs } from '../../../runtime/blobs/blobs.ts';
import { openFileBlobs } from '../../../runtime/blobs/files.ts';
import { MemoryBlobs } from '../../../runtime/blobs/memory.ts';
import {
  type SyncedWorkspacesOptions,
  syncedWorkspaces,
} from '../../../runtime/workspaces/synced.ts';
import { removeFolder, temporaryFolder } from './temporary.ts';
import { found, workspacesContract } from './contract.ts';
import { change, patient } from './under-test.ts';

const a = address('t', 'agent', 'a');
const cell = 'cell-1';

workspacesContract('Blobs', 'absent', async () => {
  const path = await temporaryFolder();
  const stored = join(path, 'stored');
  const files = await openFileBlobs(stored);
  const gate = new Gate(files);
  let workers = 0;
  return {
    worker: (limits) =>
      syncedWorkspaces({
        blobs: gate,
        cell,
        cacheFolder: join(path, `worker-${workers++}`),
        limits: limits ?? {},
      }),
    async takeAway() {
      gate.before = async () => {
        throw new TroupeError('UNAVAILABLE', 'no connection');
      };
      return async () => void (gate.before = async () => {});
    },
    dispose: () => removeFolder(path),
  };
});

/** Blobs whose calls a test can delay, fail and count. */
class Gate implements Blobs {
  readonly #inner: Blobs;
  readonly calls: string[] = [];
  before: (call: string) => Promise<void> = async () => {};
  after: (call: string) => Promise<void> = async () => {};

  constructor(inner: Blobs) {
    this.#inner = inner;
  }

  put(name: string, bytes: Uint8Array) {
    return this.#through(`put ${name}`, () => this.#inner.put(name, bytes));
  }
  get(name: string) {
    return this.#through(`get ${name}`, () => this.#inner.get(name));
  }
  delete(name: string) {
    return this.#through(`delete ${name}`, () => this.#inner.delete(name));
  }
  list(prefix: string) {
    return this.#through(`list ${prefix}`, () => this.#inner.list(prefix));
  }

  async #through<T>(call: string, work: () => Promise<T>): Promise<T> {
    await this.before(call);
    this.calls.push(call);
    const result = await work();
    await this.after(call);
    return result;
  }
}

let folder: string;
let blobs: Blobs;
let workers = 0;
beforeEach(async () => {
  folder = await temporaryFolder();
  blobs = new MemoryBlobs();
});
afterEach(() => removeFolder(folder));

const worker = (options: Partial<SyncedWorkspacesOptions> = {}) =>
  syncedWorkspaces({ blobs, cell, cacheFolder: join(folder, `${workers++}`), ...options });
const note = (text: string) => (path: string) => writeFile(join(path, 'note'), text);
const isManifest = (call: string) => call.includes('/m/');
const isChunk = (call: string) => call.includes('/f/');

it('an overtaken opener cannot save, and the save of the other one is kept', async () => {
  const gate = new Gate(blobs);
  const [one, two] = [worker({ blobs: gate }), worker()];
  const first = await one.open(a, patient);
  const second = await two.open(a, patient);
  await note('first')(first.path);
  await note('second')(second.path);
  await second.save();
  await expect(first.save()).rejects.toMatchObject({ code: 'CONFLICT' });
  await expect(first.save()).rejects.toMatchObject({ code: 'CONFLICT' });
  expect(gate.calls.filter((call) => call.startsWith('put'))).toEqual([]);
  await second.save();
  await Promise.all([first.close(), second.close()]);
  expect(await found(one, a)).toEqual(await found(worker(), a));
  expect(await found(one, a)).toEqual({ note: `644 ${Buffer.from('second').toString('base64')}` });
});

it('exactly one of two openers that save the same bytes at once gets the version', async () => {
  const openings = await Promise.all([1, 2, 3, 4].map(() => worker().open(a, patient)));
  for (const { path } of openings) await note('same')(path);
  const saved = await Promise.allSettled(openings.map((workspace) => workspace.save()));
  expect(saved.filter(({ status }) => status === 'fulfilled')).toHaveLength(1);
  expect(saved.filter(({ status }) => status === 'rejected')).toMatchObject(
    Array.from({ length: 3 }, () => ({ reason: { code: 'CONFLICT' } })),
  );
  await Promise.all(openings.map((workspace) => workspace.close()));
});

it('bug: a paused opener stored its version under the free name after that version had been removed', async () => {
  const gate = new Gate(blobs);
  const sleeper = await worker({ blobs: gate }).open(a, patient);
  await note('of the sleeper')(sleeper.path);
  let wake!: () => void;
  const slept = new Promise<void>((resolve) => (wake = resolve));
  let asleep!: () => void;
  const falls = new Promise<void>((resolve) => (asleep = resolve));
  gate.before = async (call) => {
    if (!call.startsWith('put') || !isManifest(call)) return;
    asleep();
    await slept;
  };
  const saving = sleeper.save();
  await falls;
  const other = worker({ versionsKept: 2 });
  for (let n = 1; n <= 6; n++) await change(other, a, note(`${n}`));
  wake();
  await expect(saving).rejects.toMatchObject({ code: 'CONFLICT' });
  await sleeper.close();
  const names = await blobs.list(`ws/${cell}/m/`);
  expect(names.map((name) => Number(name.slice(-12)))).toEqual([5, 6]);
  expect(await found(worker(), a)).toEqual({ note: `644 ${Buffer.from('6').toString('base64')}` });
});

it('a save that counts is no conflict, even if others have saved after it before it knew', async () => {
  const gate = new Gate(blobs);
  const first = await worker({ blobs: gate }).open(a, patient);
  await note('first')(first.path);
  gate.after = async (call) => {
    if (!call.startsWith('put') || !isManifest(call)) return;
    await change(worker(), a, note('second'));
  };
  await first.save();
  expect(first.version).toBe(1);
  gate.after = async () => {};
  await note('third')(first.path);
  await expect(first.save()).rejects.toMatchObject({ code: 'CONFLICT' });
  await first.close();
});

it('a save whose answer was lost is recognized when it is repeated', async () => {
  const gate = new Gate(blobs);
  const workspace = await worker({ blobs: gate }).open(a, patient);
  await note('one')(workspace.path);
  gate.after = async (call) => {
    if (call.startsWith('put') && isManifest(call))
      throw new TroupeError('UNAVAILABLE', 'no answer');
  };
  await expect(workspace.save()).rejects.toMatchObject({ code: 'UNAVAILABLE' });
  gate.after = async () => {};
  await note('two')(workspace.path);
  await workspace.save();
  expect(workspace.version).toBe(2);
  await workspace.close();
  expect(await found(worker(), a)).toEqual({
    note: `644 ${Buffer.from('two').toString('base64')}`,
  });
});

it('copies only differing files, in both directions, and creates no version without a change', async () => {
  const gate = new Gate(blobs);
  const counted = worker({ blobs: gate });
  const chunks = () => gate.calls.filter(isChunk).map((call) => call.split(' ')[0]);
  await change(counted, a, async (path) => {
    for (let n = 0; n < 20; n++) await writeFile(join(path, `file-${n}`), `file ${n}`);
  });
  expect(chunks()).toEqual(Array.from({ length: 20 }, () => 'put'));
  gate.calls.length = 0;
  const version = await change(counted, a, (path) =>
    rename(join(path, 'file-1'), join(path, 'renamed')),
  );
  expect(version).toBe(2);
  expect(chunks()).toEqual([]);
  await change(counted, a, note('new'));
  expect(chunks()).toEqual(['put']);
  expect(await change(counted, a, note('new'))).toBe(3);
  gate.calls.length = 0;
  await change(worker(), a, note('newer'));
  await found(counted, a);
  expect(chunks()).toEqual(['get']);
});

it('a copy that was only read is reused, and an abandoned one is not', async () => {
  const gate = new Gate(blobs);
  const reader = worker({ blobs: gate });
  await change(worker(), a, note('read'));
  const fetched = () => gate.calls.filter((call) => call.startsWith('get') && isChunk(call)).length;
  await found(reader, a);
  await found(reader, a);
  expect(fetched()).toBe(1);
  const workspace = await reader.open(a, patient);
  await workspace.close({ abandoned: true });
  await expect(readdir(workspace.path)).rejects.toMatchObject({ code: 'ENOENT' });
  await found(reader, a);
  expect(fetched()).toBe(2);
});

it('the next open repairs any state of the copy on the disk', async () => {
  const cacheFolder = join(folder, 'cache');
  const cached = () => worker({ cacheFolder });
  const fill = async (path: string) => {
    await mkdir(join(path, 'sub'));
    await writeFile(join(path, 'sub/file'), 'right');
  };
  await change(cached(), a, fill);
  const saved = await found(worker(), a);
  const kept = async () => join(cacheFolder, (await readdir(cacheFolder))[0]!, 'kept');
  const damages = [
    async () => writeFile(join(await kept(), 'sub/file'), 'wrong'),
    async () => writeFile(join(await kept(), 'more'), ''),
    async () => rm(join(await kept(), 'sub'), { recursive: true }),
    async () => rm(await kept(), { recursive: true }),
    async () => rm(cacheFolder, { recursive: true }),
  ];
  for (const damage of damages) {
    await damage();
    const workspace = await cached().open(a, patient);
    expect(workspace.version).toBe(1);
    await workspace.close();
    expect(await found(cached(), a)).toEqual(saved);
  }
});

it('leaves only the most recently used copies on the disk, and every actor keeps its files', async () => {
  const cacheFolder = join(folder, 'cache');
  const few = worker({ cacheFolder, copiesKept: 2 });
  const actors = ['1', '2', '3', '4'].map((key) => address('t', 'agent', key));
  const copied = async () => {
    const left = await Promise.all(
      (await readdir(cacheFolder)).sort().map((place) => readdir(join(cacheFolder, place))),
    );
    return left.map((names) => names.includes('kept'));
  };
  for (const actor of actors) await change(few, actor, note(actor));
  expect(await copied()).toEqual([false, false, true, true]);
  await change(few, actors[2]!, note('again'));
  await change(few, actors[0]!, note('again'));
  expect(await copied()).toEqual([true, false, true, false]);
  await change(worker({ cacheFolder, copiesKept: 1 }), actors[1]!, note('again'));
  expect((await copied()).filter(Boolean)).toHaveLength(1);
  for (const actor of actors) expect(await found(few, actor)).toEqual(await found(worker(), actor));
});

it('keeps the files of the kept versions, and no others', async () => {
  const keeping = worker({ versionsKept: 3 });
  for (let n = 1; n <= 9; n++) {
    await change(keeping, a, async (path) => {
      await note(`${n}`)(path);
      await writeFile(join(path, 'lasting'), 'as it was');
    });
  }
  const list = async (kind: string) =>
    (await blobs.list(`ws/${cell}/${kind}/`)).map((name) =>
      Number(name.split('/')[4]!.slice(0, 12)),
    );
  expect(await list('m')).toEqual([7, 8, 9]);
  expect(await list('f')).toEqual([1, 7, 8, 9]);
});

it('a sweep during a save of another opener removes nothing that its version refers to', async () => {
  const gate = new Gate(blobs);
  await change(worker(), a, note('base'));
  const saver = await worker({ blobs: gate }).open(a, patient);
  for (let n = 0; n < 5; n++) await writeFile(join(saver.path, `file-${n}`), `${n}`);
  let uploads = 0;
  gate.after = async (call) => {
    if (!call.startsWith('put') || !isChunk(call) || ++uploads !== 3) return;
    const sweeper = await worker({ versionsKept: 2 }).open(a, patient);
    await note('overtakes')(sweeper.path);
    await sweeper.save(); // version 2: sweeps
    await sweeper.close();
  };
  await expect(saver.save()).rejects.toMatchObject({ code: 'CONFLICT' });
  await saver.close();
  expect(uploads).toBeGreaterThanOrEqual(3);
  expect(Object.keys(await found(worker(), a))).toEqual(['note']);
  for (let n = 3; n <= 4; n++) await change(worker({ versionsKept: 2 }), a, note(`${n}`));
  expect(await blobs.list(`ws/${cell}/f/`)).toHaveLength(2);
});

it('bug: a paused sweep removed the files of a version that was saved after it had read the head', async () => {
  const gate = new Gate(blobs);
  await change(worker(), a, note('1'));
  let once = true;
  gate.before = async (call) => {
    if (!call.startsWith('list') || !isChunk(call) || !once) return;
    once = false;
    await change(worker(), a, note('newer'));
  };
  await change(worker({ blobs: gate, versionsKept: 2 }), a, note('2')); // sweeps
  expect(once).toBe(false);
  const content = `644 ${Buffer.from('newer').toString('base64')}`;
  expect(await found(worker(), a)).toEqual({ note: content });
});

it('an open that a sweep overtakes continues with the newest version', async () => {
  const gate = new Gate(blobs);
  await change(worker(), a, note('old'));
  let once = true;
  gate.before = async (call) => {
    if (!call.startsWith('get') || !isChunk(call) || !once) return;
    once = false;
    for (let n = 2; n <= 6; n++) await change(worker({ versionsKept: 2 }), a, note(`${n}`));
  };
  const workspace = await worker({ blobs: gate }).open(a, patient);
  expect(workspace.version).toBe(6);
  await workspace.close();
});

it('a file that is missing or damaged in the store makes it UNAVAILABLE, never another file', async () => {
  await change(worker(), a, note('whole'));
  const [name = ''] = await blobs.list(`ws/${cell}/f/`);
  await blobs.delete(name);
  await expect(worker().open(a, patient)).rejects.toMatchObject({
    code: 'UNAVAILABLE',
    details: { reason: 'MISSING' },
  });
  await blobs.put(name, Buffer.from('other'));
  await expect(worker().open(a, patient)).rejects.toMatchObject({
    code: 'UNAVAILABLE',
    details: { reason: 'CORRUPT' },
  });
});

it('a manifest that is damaged, or would write outside, makes it UNAVAILABLE', async () => {
  const { encodeManifest } = await import('../../../runtime/workspaces/manifest.ts');
  await change(worker(), a, note('whole'));
  const [name = ''] = await blobs.list(`ws/${cell}/m/`);
  const entries = [{ kind: 'file' as const, path: '../out', mode: 0o644, bytes: 0, chunks: [] }];
  const manifest = { cell, actor: a, version: 1, opener: 'x', parent: '', entries };
  for (const bytes of [Buffer.from('garbage'), encodeManifest(manifest)]) {
    await blobs.delete(name);
    await blobs.put(name, bytes);
    await expect(worker().open(a, patient)).rejects.toMatchObject({
      code: 'UNAVAILABLE',
      details: { reason: 'CORRUPT' },
    });
  }
});
