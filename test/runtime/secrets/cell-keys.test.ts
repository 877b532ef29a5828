import { randomBytes } from 'node:crypto';
import { expect, it } from 'vitest';
import type { Blobs } from '../../../runtime/blobs/blobs.ts';
import { MemoryBlobs } from '../../../runtime/blobs/memory.ts';
import { joinCellKeys, type KeyPlace } from '../../../runtime/secrets/cell-keys.ts';

/** of `openssl rand -hex 32`, which is quick */
const SECRET = 'c2b5a1f97e3d40868f1c02ab5d7e94637a90f1e8b3d4c6527081e9fa3bd5c46f';
const NAMES = ['sealing', 'files'];
type Folder = Map<string, string>;

const placesOf = (folder: Folder, managed: readonly string[] = []): KeyPlace[] =>
  NAMES.map((name) => ({
    name,
    managed: managed.includes(name),
    read: () => Promise.resolve(folder.get(name)),
    write: (text) => {
      const isNew = !folder.has(name);
      if (isNew) folder.set(name, text);
      return Promise.resolve(isNew);
    },
    remove: () => Promise.resolve(void folder.delete(name)),
    make: () => {
      const d = randomBytes(32).toString('hex');
      return Promise.resolve(name === 'sealing' ? JSON.stringify({ kty: 'OKP', d }) : d);
    },
  }));
const join = (blobs: Blobs, folder: Folder, secret?: string, managed?: readonly string[]) =>
  joinCellKeys({ blobs, cell: 'c1', secret, places: placesOf(folder, managed) });
const refusedAs = (reason: string) => ({ code: 'UNAUTHORIZED', details: { reason } });

/** Ends the process before it stores a blob whose name ends with this text. */
const killedBefore = (blobs: Blobs, end: RegExp): Blobs => ({
  get: (name) => blobs.get(name),
  delete: (name) => blobs.delete(name),
  list: (prefix) => blobs.list(prefix),
  put: (name, bytes) =>
    end.test(name) ? Promise.reject(new Error('killed')) : blobs.put(name, bytes),
});

it('returns the keys of the first process to each further one, and stores none unencrypted', async () => {
  const [blobs, first, second] = [new MemoryBlobs(), new Map(), new Map()];
  await join(blobs, first, SECRET);
  await join(blobs, second, SECRET);
  expect(first.size).toBe(2);
  expect(second).toEqual(first);
  for (const name of await blobs.list(''))
    for (const text of first.values())
      expect(Buffer.from((await blobs.get(name))!).includes(text)).toBe(false);
});

it('does not open what the same process has sealed', async () => {
  const [blobs, first]: [Blobs, Folder] = [new MemoryBlobs(), new Map()];
  const damaging: Blobs = {
    ...killedBefore(blobs, /^$/),
    get: async (name) => (name.includes('sealed') ? Buffer.from('damaged') : blobs.get(name)),
  };
  await join(damaging, first, SECRET);
  expect(first.size).toBe(2);
  await expect(join(damaging, first, SECRET)).rejects.toMatchObject({ code: 'INVALID_ARGUMENT' });
});

it('agrees on one set of keys when several first processes start at once', async () => {
  const blobs = new MemoryBlobs();
  const folders = [1, 2, 3].map((): Folder => new Map());
  await Promise.all(folders.map((folder) => join(blobs, folder, SECRET)));
  for (const folder of folders) expect(folder).toEqual(folders[0]);
  expect(await blobs.list('')).toHaveLength(2);
});

it('adopts the keys of an existing cell unchanged', async () => {
  const sealing = JSON.stringify({ keys: [{ d: 'present' }, { d: 'former' }] });
  const [blobs, former, other] = [new MemoryBlobs(), new Map([['sealing', sealing]]), new Map()];
  await join(blobs, former);
  expect(former.get('sealing')).toBe(sealing);
  await expect(join(blobs, other, SECRET)).rejects.toMatchObject(refusedAs('NOT_SHARED'));
  await join(blobs, former, SECRET);
  await join(blobs, other, SECRET);
  expect(other).toEqual(former);
  // A newer key in front of the cell's key does not make it a different set.
  former.set('sealing', JSON.stringify({ keys: [{ d: 'new' }, { d: 'present' }] }));
  await join(blobs, former);
});

it.each([/digests$/, /sealed/])(
  'continues when the first process is killed before %s',
  async (end) => {
    const [blobs, first, second] = [new MemoryBlobs(), new Map(), new Map()];
    await expect(join(killedBefore(blobs, end), first, SECRET)).rejects.toThrow('killed');
    await join(blobs, second, SECRET);
    await join(blobs, first, SECRET);
    expect(first).toEqual(second);
  },
);

it('continues when a first process without a secret is killed', async () => {
  const [blobs, folder]: [Blobs, Folder] = [new MemoryBlobs(), new Map()];
  await expect(join(killedBefore(blobs, /digests$/), folder)).rejects.toThrow('killed');
  const made = new Map(folder);
  await join(blobs, folder);
  expect(folder).toEqual(made);
});

it('leaves no keys in the folder of a process without a secret that was not the first', async () => {
  const [blobs, won, lost] = [new MemoryBlobs(), new Map(), new Map()];
  const late: Blobs = {
    get: (name) => blobs.get(name),
    delete: (name) => blobs.delete(name),
    list: (prefix) => blobs.list(prefix),
    async put(name, bytes) {
      await join(blobs, won);
      await blobs.put(name, bytes);
    },
  };
  await expect(join(late, lost)).rejects.toMatchObject(refusedAs('NOT_SHARED'));
  expect(lost.size).toBe(0);
});

it('refuses another secret, none, and other keys, and changes nothing', async () => {
  const [blobs, first, other] = [new MemoryBlobs(), new Map(), new Map()];
  await join(blobs, first, SECRET);
  await expect(join(blobs, other, `${SECRET}!`)).rejects.toMatchObject(refusedAs('WRONG_SECRET'));
  await expect(join(blobs, first, `${SECRET}!`)).rejects.toMatchObject(refusedAs('WRONG_SECRET'));
  await expect(join(blobs, other)).rejects.toMatchObject(refusedAs('NO_SECRET'));
  expect(other.size).toBe(0);
  other.set('files', 'f'.repeat(64));
  for (const secret of [SECRET, undefined])
    await expect(join(blobs, other, secret)).rejects.toMatchObject(refusedAs('OTHER_KEYS'));
  expect(other.get('files')).toBe('f'.repeat(64));
  await join(blobs, first);
});

it('ignores stored keys when the operator configures keys per process', async () => {
  const [blobs, first, second] = [
    new MemoryBlobs(),
    new Map(),
    new Map([['sealing', '{"d":"own"}']]),
  ];
  await join(blobs, first, SECRET, ['sealing']);
  await join(blobs, second, SECRET, ['sealing']);
  expect(second.get('sealing')).toBe('{"d":"own"}');
  expect(second.get('files')).toBe(first.get('files'));
});

it('shares the keys of a folder after the operator has changed a key of theirs', async () => {
  const [blobs, first, second, third]: [Blobs, Folder, Folder, Folder] = [
    new MemoryBlobs(),
    new Map([['sealing', '{"d":"former"}']]),
    new Map([['sealing', '{"d":"later"}']]),
    new Map(),
  ];
  await join(blobs, first, undefined, ['sealing']);
  first.set('sealing', '{"d":"later"}');
  await join(blobs, first, SECRET, ['sealing']);
  await join(blobs, second, SECRET, ['sealing']);
  expect(second).toEqual(first);
  await expect(join(blobs, third, SECRET)).rejects.toThrow(
    'configure the same key for this process',
  );
});
