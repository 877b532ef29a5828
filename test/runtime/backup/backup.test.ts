/** Backups of a store that a running process writes to. */
import {
  closeSync,
  existsSync,
  mkdirSync,
  openSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
  writeSync,
} from 'node:fs';
import { cp, mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { createBackup, type BackupOptions } from '../../../runtime/backup/create.ts';
import { takeCut } from '../../../runtime/backup/cut.ts';
import { listBackups, pruneBackups } from '../../../runtime/backup/folder.ts';
import { noteVerified } from '../../../runtime/backup/manifest.ts';
import { restoreBackup } from '../../../runtime/backup/restore.ts';
import { verifyBackup } from '../../../runtime/backup/verify.ts';
import { createSystem, openEmbedded } from '../../../runtime/index.ts';
import { newRecipientKeys } from '../../../runtime/secrets/recipient.ts';
import { eventually } from '../eventually.ts';
import { bundle, type Child, type Program } from '../log/child.ts';
import { type Known, puppetType } from '../system/puppet.ts';
import { puppet } from '../system/world.ts';

const PASSPHRASE = 'twelve horses and a cart';
const SECRET = Buffer.alloc(32, 7);

let program: Program;
let original: string;
beforeAll(async () => {
  program = await bundle(join(import.meta.dirname, 'load.program.ts'));
  original = await mkdtemp(join(tmpdir(), 'troupe-backup-'));
  const child = program.start([original]);
  await eventually(() => {
    if (child.lines().length < 200) throw new Error(`it accepts too little: ${child.stderr()}`);
  });
  child.process.kill('SIGKILL');
  await child.ended;
}, 60_000);
afterAll(async () => {
  await program.remove();
  await rm(original, { recursive: true });
});

async function scratch(): Promise<string> {
  const path = await mkdtemp(join(tmpdir(), 'troupe-backup-'));
  onTestFinished(() => rm(path, { recursive: true, force: true }));
  return path;
}

/** A process that writes to the store, and what it has accepted so far. */
async function underLoad(store: string): Promise<{ child: Child; accepted: () => number[] }> {
  const child = program.start([store]);
  onTestFinished(async () => {
    child.process.kill('SIGKILL');
    await child.ended;
  });
  const accepted = () => child.lines().map(Number);
  await eventually(() => {
    if (accepted().length < 200) throw new Error(`it accepts too little: ${child.stderr()}`);
  });
  return { child, accepted };
}

const optionsOf = (home: string, more: Partial<BackupOptions> = {}): BackupOptions => ({
  store: join(home, 'store'),
  config: { secrets: [], leftOut: [] },
  to: { folder: join(home, 'backups') },
  program: 'test',
  async *files() {
    for (const name of readdirSync(join(home, 'files')))
      yield { path: `files/${name}`, from: join(home, 'files', name) };
  },
  ...more,
});

/** A data folder with two files. */
async function dataFolder(): Promise<string> {
  const home = await scratch();
  mkdirSync(join(home, 'files'));
  writeFileSync(join(home, 'files/a'), 'a'.repeat(300_000));
  writeFileSync(join(home, 'files/b'), 'b');
  return home;
}

/** A data folder that a process wrote to until it was killed: a copy of the same one. */
async function killed(): Promise<string> {
  const home = await dataFolder();
  await cp(original, join(home, 'store'), { recursive: true });
  return home;
}

/** Numbers that the actors of a restored store applied, when it has processed its mail. */
async function applied(store: string, prefix: 's' | 'r', count: number): Promise<number[]> {
  const system = await createSystem({
    actors: [puppetType()],
    ...(await openEmbedded({ path: store })),
  });
  try {
    await eventually(() => {
      for (const { lag } of system.status()) expect(lag).toBe(0);
    });
    return Array.from({ length: count }, (_, i) => {
      const found = system.inspect(puppet(`${prefix}${i}`));
      return ((found?.context as Known | undefined)?.seen ?? []).map((s) =>
        Number(s.split(':')[1]),
      );
    }).flat();
  } finally {
    await system.stop();
  }
}

const sorted = (numbers: readonly number[]) => numbers.toSorted((a, b) => a - b);

describe('a backup under load', () => {
  it('has every message that was accepted before it, once, though all are killed', {
    timeout: 60_000,
  }, async () => {
    const home = await dataFolder();
    const { child, accepted } = await underLoad(join(home, 'store'));
    const before = accepted();
    const { path } = await createBackup(optionsOf(home));
    child.process.kill('SIGKILL');
    await child.ended;
    rmSync(join(home, 'store'), { recursive: true });

    const into = join(home, 'restored');
    const restored = await restoreBackup({ from: path, into });
    expect(restored.position).toBeGreaterThan(0);
    const numbers = await applied(join(into, 'store'), 's', 97);
    expect(new Set(numbers).size).toBe(numbers.length);
    expect(before.filter((n) => !numbers.includes(n))).toEqual([]);
    // What the messages caused is complete, too, and nothing of it is there twice.
    expect(sorted(await applied(join(into, 'store'), 'r', 101))).toEqual(sorted(numbers));
    expect(readFileSync(join(into, 'files/a'), 'utf8')).toBe('a'.repeat(300_000));
  });

  it('can be cut at any time: 20 cuts without a gap, five of them restored and folded', {
    timeout: 60_000,
  }, async () => {
    const home = await dataFolder();
    const { accepted } = await underLoad(join(home, 'store'));
    let last = 0;
    for (let i = 0; i < 20; i++) {
      // A cut that misses frames of the log is refused.
      const cut = await takeCut(join(home, 'store'));
      expect(cut.position).toBeGreaterThanOrEqual(last);
      last = cut.position;
      await cut.close();
      if (i % 4 !== 0) continue;
      const file = join(home, `${i}.troupe`);
      const { position } = await createBackup(optionsOf(home, { to: { file } }));
      expect(position).toBeGreaterThanOrEqual(last);
      last = position;
      const verified = await verifyBackup({ from: file, temporary: home });
      expect(verified).toMatchObject({ shards: 4, position });
      expect(verified.actors).toBeGreaterThan(0);
      rmSync(file);
    }
    expect(accepted().length).toBeGreaterThan(200);
  });

  it('that is killed leaves no backup, and the next one works', { timeout: 30_000 }, async () => {
    const home = await killed();
    const backups = join(home, 'backups');
    // Killed between two frames: files are stored, the store is not.
    const stopped = createBackup(
      optionsOf(home, {
        onProgress: (what) => {
          if (what.startsWith('the store')) throw new Error('killed');
        },
      }),
    );
    await expect(stopped).rejects.toThrow('killed');
    mkdirSync(join(backups, '~20260101T000000000Z-00000000'), { recursive: true });
    expect(await listBackups(backups)).toEqual([]);
    const { newObjects } = await createBackup(optionsOf(home));
    expect(newObjects).toBe(0);
    expect(readdirSync(backups).filter((name) => name.startsWith('~'))).toEqual([]);
  });
});

describe('a damaged backup', () => {
  const refusals: readonly (readonly [string, (path: string, folder: string) => void, RegExp])[] = [
    ['with a changed bit', (path) => flip(join(path, 'backup.troupe')), /checksum is wrong/],
    [
      'that is cut short',
      (path) => truncateSync(join(path, 'backup.troupe'), 5_000),
      /checksum is wrong/,
    ],
    ['with a changed manifest', (path) => flip(join(path, 'manifest.json')), /manifest/],
    [
      'without a file',
      (_, folder) => rmSync(objectsIn(folder)[0]!),
      /object [0-9a-f]{64} is missing/,
    ],
    [
      'with a changed file',
      (_, folder) => flip(objectsIn(folder)[0]!),
      /object [0-9a-f]{64} is damaged/,
    ],
  ];

  const { recipient, identity } = newRecipientKeys();
  it.each([
    { kind: 'plain', seal: {}, openWith: {} },
    { kind: 'encrypted', seal: { recipients: [recipient] }, openWith: { identities: [identity] } },
  ])(
    'is refused, and nothing is restored ($kind)',
    { timeout: 60_000 },
    async ({ seal, openWith }) => {
      const home = await killed();
      for (const [, damage, message] of refusals) {
        const folder = join(await scratch(), 'backups');
        const { path } = await createBackup(
          optionsOf(home, { to: { folder }, seal, secret: SECRET }),
        );
        damage(path, folder);
        const how = { from: path, openWith };
        const into = join(home, 'restored');
        await expect(restoreBackup({ ...how, into })).rejects.toThrow(message);
        await expect(verifyBackup({ ...how, temporary: home })).rejects.toThrow(message);
        expect(readdirSync(home).filter((name) => /restored|verify/.test(name))).toEqual([]);
      }
    },
  );

  const flip = (file: string): void => {
    const bytes = readFileSync(file);
    const at = bytes.length >> 1;
    bytes[at] = bytes[at]! ^ 1;
    writeFileSync(file, bytes);
  };
});

const objectsIn = (folder: string): string[] =>
  readdirSync(join(folder, 'objects'), { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name));

describe('backups in one folder', () => {
  it('share files that did not change, and pruning keeps what is referred to', {
    timeout: 30_000,
  }, async () => {
    const home = await killed();
    const folder = join(home, 'backups');
    const first = await createBackup(optionsOf(home));
    expect(first.newObjects).toBe(2);
    writeFileSync(join(home, 'files/b'), 'other');
    const second = await createBackup(optionsOf(home));
    expect(second).toMatchObject({ newObjects: 1, newBytes: 5 });
    writeFileSync(join(home, 'files/b'), 'third');
    const third = await createBackup(optionsOf(home));
    expect(objectsIn(folder)).toHaveLength(4);
    await noteVerified(first.path, Date.now(), {});

    // The verified one stays, although it is the oldest.
    const pruned = await pruneBackups(folder, 1);
    expect(pruned).toMatchObject({ removed: [second.id], removedObjects: 1 });
    expect(pruned.kept).toEqual([first.id, third.id].toSorted());
    for (const path of [first.path, third.path])
      await verifyBackup({ from: path, temporary: home });
  });

  it('are not pruned when it is unknown which files a remaining one needs', {
    timeout: 30_000,
  }, async () => {
    const home = await killed();
    const folder = join(home, 'backups');
    await createBackup(optionsOf(home));
    const { path } = await createBackup(optionsOf(home));
    writeFileSync(join(path, 'objects.txt'), '');
    await expect(pruneBackups(folder, 1)).rejects.toThrow('objects.txt is cut short, or changed');
    expect(await listBackups(folder)).toHaveLength(2);
    expect(objectsIn(folder)).toHaveLength(2);
  });
});

describe('an encrypted backup', () => {
  it('opens with the identity of a recipient or the passphrase, and shows no contents', {
    timeout: 30_000,
  }, async () => {
    const home = await killed();
    const canary = 'a-canary-that-must-stay-secret';
    writeFileSync(join(home, 'files/b'), canary);
    const { recipient, identity } = newRecipientKeys();
    const seal = { passphrase: PASSPHRASE, recipients: [recipient] };
    const { path } = await createBackup(optionsOf(home, { seal, secret: SECRET }));
    for (const file of [...objectsIn(join(home, 'backups')), join(path, 'backup.troupe')])
      expect((await readFile(file)).includes(canary)).toBe(false);
    const temporary = home;
    await verifyBackup({ from: path, temporary, openWith: { identities: [identity] } });
    await verifyBackup({ from: path, temporary, openWith: { passphrase: PASSPHRASE } });
    const others = {
      passphrase: 'another long sentence',
      identities: [newRecipientKeys().identity],
    };
    for (const [openWith, message] of [
      [{}, /is encrypted: it needs a passphrase or an identity|an identity or a passphrase/],
      [others, /what was given does not open it/],
    ] as const)
      await expect(verifyBackup({ from: path, temporary, openWith })).rejects.toThrow(message);
    // The same contents are the same object, although each backup has a key of its own.
    const again = await createBackup(optionsOf(home, { seal, secret: SECRET }));
    expect(again.newObjects).toBe(0);
  });
});

it('a restore never changes a folder with contents', { timeout: 30_000 }, async () => {
  const home = await killed();
  const { path } = await createBackup(optionsOf(home));
  await expect(restoreBackup({ from: path, into: home })).rejects.toThrow('is not empty');
});

it('files that are replaced, or change all the time, do not prevent a backup', {
  timeout: 30_000,
}, async () => {
  const home = await killed();
  const files = join(home, 'files');
  const all = (...names: string[]) =>
    names.map((n) => ({ path: `files/${n}`, from: join(files, n) }));
  mkdirSync(join(files, 'folder'));
  writeFileSync(join(files, 'folder/x'), 'x');
  symlinkSync('a', join(files, 'link'));
  mkdirSync(join(files, 'links'));
  symlinkSync('a', join(files, 'links/y'));
  let pass = 0;
  const { path } = await createBackup(
    optionsOf(home, {
      async *files() {
        if (++pass === 1) return yield* all('a', 'b', 'folder/x', 'link', 'links/y');
        for (const name of ['b', 'folder', 'link', 'links'])
          rmSync(join(files, name), { recursive: true });
        for (const name of ['b', 'link']) mkdirSync(join(files, name));
        for (const name of ['b/in', 'link/in', 'folder', 'links'])
          writeFileSync(join(files, name), name);
        const log = openSync(join(files, 'log'), 'a');
        const writer = setInterval(() => writeSync(log, 'line of a log\n'));
        yield* all('b/in', 'link/in', 'folder', 'links', 'log');
        clearInterval(writer);
        closeSync(log);
      },
    }),
  );
  const into = join(home, 'restored');
  await restoreBackup({ from: path, into });
  for (const name of ['b/in', 'link/in', 'folder', 'links'])
    expect(readFileSync(join(into, 'files', name), 'utf8')).toBe(name);
  expect(existsSync(join(into, 'files/log'))).toBe(true);
});

it('a cut of a log whose segments are missing is refused', { timeout: 30_000 }, async () => {
  const home = await killed();
  rmSync(join(home, 'store/wal'), { recursive: true });
  await expect(takeCut(join(home, 'store'))).rejects.toThrow('its log is missing');
});
