import { randomBytes } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { cp, mkdir, readdir, readFile, stat, utimes, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setImmediate as turn } from 'node:timers/promises';
import { afterEach, describe, expect, it } from 'vitest';
import type { Artifacts } from '../../../runtime/artifacts/artifacts.ts';
import {
  type FolderArtifactsOptions,
  openFolderArtifacts,
} from '../../../runtime/artifacts/folder.ts';
import { keepSigningKey } from '../../../runtime/artifacts/signing-key.ts';
import type { Clock } from '../../../runtime/clock/clock.ts';
import { artifactsContract, MIME_TYPES } from './contract.ts';

const folders: string[] = [];
const scratch = (): string => {
  const path = mkdtempSync(join(tmpdir(), 'troupe-artifacts-'));
  folders.push(path);
  return path;
};
const clear = () => {
  for (const path of folders.splice(0)) rmSync(path, { recursive: true, force: true });
};
const optionsOf = (path: string, more: Partial<FolderArtifactsOptions> = {}) => ({
  path,
  publicUrl: () => 'http://127.0.0.1:18789',
  mimeTypes: MIME_TYPES,
  ...more,
});
const fileOf = (path: string, hash: string) => join(path, 'acme', hash.slice(0, 2), hash);
const put = (artifacts: Artifacts, text: string) =>
  artifacts.put('acme', Buffer.from(text), { contentType: 'text/plain' });

const underTest = (more: Partial<FolderArtifactsOptions>) => async (clock: Clock) => {
  const path = join(scratch(), 'deep', 'bucket');
  const open = () => openFolderArtifacts(optionsOf(path, { ...more, clock }));
  return {
    artifacts: await open(),
    reopen: open,
    other: () => openFolderArtifacts(optionsOf(scratch(), { ...more, clock })),
    damage: async (tenant: string, hash: string) => {
      const file = join(path, tenant, hash.slice(0, 2), hash);
      const bytes = await readFile(file);
      // The last byte of the contents, in front of the tag of a sealed one.
      const at = bytes.length - (more.encryptionKey ? 17 : 1);
      bytes[at] = bytes[at]! ^ 1;
      await writeFile(file, bytes);
    },
    dispose: async () => clear(),
  };
};

const KEY = randomBytes(32).toString('hex');
artifactsContract('a folder', underTest({}));
artifactsContract('a folder, sealed', underTest({ encryptionKey: KEY }));

describe('a sealed folder', () => {
  afterEach(clear);

  it('stores no part of the contents unencrypted, and two files of the same contents differ', async () => {
    const [a, b] = [scratch(), scratch()];
    const secret = 'the recipe is salt and patience';
    const { hash } = await put(
      await openFolderArtifacts(optionsOf(a, { encryptionKey: KEY })),
      secret,
    );
    await put(await openFolderArtifacts(optionsOf(b, { encryptionKey: KEY })), secret);
    const [first, second] = [await readFile(fileOf(a, hash)), await readFile(fileOf(b, hash))];
    expect(first.includes('recipe')).toBe(false);
    expect(first.equals(second)).toBe(false);
  });

  it('reports a wrong key and its id, and continues with the right one', async () => {
    const path = scratch();
    const sealed = await openFolderArtifacts(optionsOf(path, { encryptionKey: KEY }));
    const { hash } = await put(sealed, 'one');
    const keyId = /"keyId":"([0-9a-f]{8})"/.exec(await readFile(fileOf(path, hash), 'latin1'))![1]!;
    const otherKey = randomBytes(32).toString('base64');
    for (const more of [{ encryptionKey: otherKey }, {}]) {
      const wrong = await openFolderArtifacts(optionsOf(path, more));
      await expect(wrong.get('acme', hash)).rejects.toMatchObject({
        code: 'UNAVAILABLE',
        message: expect.stringContaining(keyId) as string,
      });
    }
    expect((await sealed.get('acme', hash)).artifact.bytes).toBe(3);
  });

  it('reads files that were stored before the folder had a key', async () => {
    const path = scratch();
    const { hash } = await put(await openFolderArtifacts(optionsOf(path)), 'early');
    const sealed = await openFolderArtifacts(optionsOf(path, { encryptionKey: KEY }));
    expect(Buffer.from((await sealed.get('acme', hash)).contents).toString()).toBe('early');
  });

  it('detects a changed type, a changed name and a truncated file', async () => {
    const path = scratch();
    const artifacts = await openFolderArtifacts(optionsOf(path, { encryptionKey: KEY }));
    const { hash } = await put(artifacts, 'one');
    const { hash: other } = await put(artifacts, 'two');
    const whole = await readFile(fileOf(path, hash));
    const retyped = Buffer.from(
      whole.toString('latin1').replace('text/plain', 'image/webp'),
      'latin1',
    );
    const damaged = [retyped, whole.subarray(0, -1), whole.subarray(0, 40), Buffer.alloc(0)];
    for (const bytes of [...damaged, await readFile(fileOf(path, other))]) {
      await writeFile(fileOf(path, hash), bytes);
      await expect(artifacts.get('acme', hash)).rejects.toMatchObject({ code: 'INTERNAL' });
    }
  });

  it.each(['short', `${KEY}00`, 'g'.repeat(64)])(
    'refuses the key %j and explains how to create one',
    async (key) => {
      await expect(
        openFolderArtifacts(optionsOf(scratch(), { encryptionKey: key })),
      ).rejects.toMatchObject({
        code: 'INVALID_ARGUMENT',
        message: expect.not.stringContaining(key) as string,
      });
    },
  );
});

describe('a folder of artifacts', () => {
  afterEach(clear);

  it('creates one signing key in a race, readable by its owner only', async () => {
    const path = scratch();
    const buckets = await Promise.all(
      Array.from({ length: 8 }, () => openFolderArtifacts(optionsOf(path))),
    );
    const { hash } = await put(buckets[0]!, 'one');
    const { artifact_uri: uri } = await buckets[0]!.sign('acme', hash);
    for (const bucket of buckets) expect(await bucket.resolve('acme', uri)).toBe(hash);
    expect((await stat(join(path, 'signing-key'))).mode & 0o777).toBe(0o600);
    expect((await stat(fileOf(path, hash))).mode & 0o777).toBe(0o600);
    expect((await readdir(path)).toSorted()).toEqual(['acme', 'incoming', 'signing-key']);
  });

  it('keeps the first of two signing keys that are created almost at once', async () => {
    for (let round = 0; round < 20; round++) {
      const path = scratch();
      const keys = Array.from({ length: 12 }, async (_, at) => {
        for (let turns = 0; turns < at * 3; turns++) await turn();
        return keepSigningKey(path);
      });
      const made = new Set((await Promise.all(keys)).map((key) => key.toString('hex')));
      expect(made.size).toBe(1);
    }
  });

  it('refuses an invalid signing key', async () => {
    const path = scratch();
    await writeFile(join(path, 'signing-key'), 'abc\n');
    await expect(openFolderArtifacts(optionsOf(path))).rejects.toMatchObject({
      code: 'UNAVAILABLE',
      message: expect.stringContaining(join(path, 'signing-key')) as string,
    });
  });

  it('binds a URL to its path', async () => {
    const path = scratch();
    const artifacts = await openFolderArtifacts(optionsOf(path));
    const { hash } = await put(artifacts, 'one');
    const { artifact_uri: uri } = await artifacts.sign('acme', hash);
    const lured = uri.replace('http://127.0.0.1:18789', 'http://127.0.0.1:6666');
    await expect(artifacts.resolve('acme', lured)).rejects.toMatchObject({ code: 'FORBIDDEN' });
    // Another gateway on the same folder, by its own address: its URLs are valid here, too.
    const publicUrl = () => 'https://b.example/agents';
    const other = await openFolderArtifacts(optionsOf(path, { publicUrl }));
    const theirs = await other.sign('acme', hash);
    expect(theirs.artifact_uri).toMatch(/^https:\/\/b\.example\/agents\/v1\/artifacts\/acme\//);
    expect(await artifacts.resolve('acme', theirs.artifact_uri)).toBe(hash);
  });

  it('removes at its start incomplete files of a crash a day ago, and no newer ones', async () => {
    const path = scratch();
    const incoming = join(path, 'incoming');
    await mkdir(incoming);
    for (const name of ['~old', '~new']) await writeFile(join(incoming, name), 'half');
    await utimes(join(incoming, '~old'), 0, 0);
    await openFolderArtifacts(optionsOf(path));
    expect(await readdir(incoming)).toEqual(['~new']);
  });

  it('keeps its files and URLs when the whole folder is moved', async () => {
    const [from, to] = [scratch(), join(scratch(), 'moved')];
    const artifacts = await openFolderArtifacts(optionsOf(from, { encryptionKey: KEY }));
    const { hash } = await put(artifacts, 'one');
    const { artifact_uri: uri } = await artifacts.sign('acme', hash);
    await cp(from, to, { recursive: true });
    const moved = await openFolderArtifacts(optionsOf(to, { encryptionKey: KEY }));
    expect(await moved.resolve('acme', uri)).toBe(hash);
    expect((await moved.get('acme', hash)).artifact.bytes).toBe(3);
  });

  it('reports which folder cannot be used', async () => {
    const path = scratch();
    await writeFile(join(path, 'file'), '');
    await expect(openFolderArtifacts(optionsOf(join(path, 'file')))).rejects.toMatchObject({
      code: 'INVALID_ARGUMENT',
      message: expect.stringContaining(join(path, 'file')) as string,
    });
  });
});
