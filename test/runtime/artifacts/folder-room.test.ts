/** The storage limit of a tenant's folder, and which files are removed first. */
import { mkdtempSync, rmSync } from 'node:fs';
import { mkdir, readdir, rename, stat, utimes } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import {
  type FolderArtifactsOptions,
  openFolderArtifacts,
} from '../../../runtime/artifacts/folder.ts';
import { fileOf, FolderRoom } from '../../../runtime/artifacts/folder-room.ts';
import { systemClock } from '../../../runtime/index.ts';

const DAY_MS = 86_400_000;

async function openBucket(more: Partial<FolderArtifactsOptions> = {}) {
  const path = mkdtempSync(join(tmpdir(), 'troupe-room-'));
  onTestFinished(() => rmSync(path, { recursive: true, force: true }));
  const open = () =>
    openFolderArtifacts({
      path,
      publicUrl: () => 'http://127.0.0.1:1',
      mimeTypes: ['text/plain'],
      ...more,
    });
  const artifacts = await open();
  const put = (text: string, tenant = 'acme', to = artifacts) =>
    to.put(tenant, Buffer.from(text), { contentType: 'text/plain' });
  const aside = join(path, 'incoming');
  const room = new FolderRoom({
    path,
    aside,
    bytesMax: () => 1e9,
    clock: systemClock,
  });
  const age = async (hash: string, days: number) => {
    const at = new Date(Date.now() - days * DAY_MS);
    await utimes(fileOf(path, 'acme', hash), at, at);
  };
  const isThere = (hash: string) =>
    artifacts.get('acme', hash).then(
      () => true,
      () => false,
    );
  /** Removes what was not used for 90 days; returns how much. */
  const sweep = async (): Promise<number> => {
    const before = Date.now() - 90 * DAY_MS;
    let removed = 0;
    for (const hash of await room.list('acme', before))
      if (await room.remove('acme', hash, before)) removed++;
    return removed;
  };
  return { artifacts, put, open, sweep, path, aside, age, isThere };
}

describe('the storage limit of a tenant', () => {
  const full = { code: 'RATE_LIMIT_EXCEEDED', details: { limit: 'artifacts' } };

  it('refuses further bytes, and accepts a file that is already stored', async () => {
    const { put } = await openBucket({ bytesMax: () => 3_000 });
    await put('a'.repeat(2_000));
    await expect(put('b'.repeat(2_000))).rejects.toMatchObject(full);
    await put('a'.repeat(2_000));
    await put('c'.repeat(500));
    await put('b'.repeat(2_000), 'other');
  });

  it('counts concurrent files once each', async () => {
    const { put } = await openBucket({ bytesMax: () => 10_000 });
    const texts = Array.from({ length: 20 }, (_, n) => String(n % 10).repeat(1_000 + n));
    const stored = await Promise.allSettled(texts.map((text) => put(text)));
    expect(stored.filter(({ status }) => status === 'fulfilled')).toHaveLength(9);
  });

  it('includes files that were stored before this process started', async () => {
    const { put, open } = await openBucket({ bytesMax: () => 3_000 });
    await put('a'.repeat(2_000));
    await expect(put('b'.repeat(2_000), 'acme', await open())).rejects.toMatchObject(full);
  });
});

describe('a sweep', () => {
  it('removes files that were not stored or signed for the retention time, and no others', async () => {
    const { artifacts, put, age, sweep, isThere, path } = await openBucket();
    const [old, signed, again, young] = await Promise.all(['1', '2', '3', '4'].map((t) => put(t)));
    for (const { hash } of [old!, signed!, again!]) await age(hash, 91);
    await age(young!.hash, 89);
    await artifacts.sign('acme', signed!.hash);
    await put('3');
    expect(await sweep()).toBe(1);
    const there = await Promise.all([old!, signed!, again!, young!].map((a) => isThere(a.hash)));
    expect(there).toEqual([false, true, true, true]);
    expect(await stat(join(path, 'signing-key')).catch(() => readdir(path))).toBeTruthy();
  });

  it('never removes a file that is stored at the same time', async () => {
    const { put, age, sweep, isThere } = await openBucket();
    for (let round = 0; round < 100; round++) {
      const { hash } = await put(`text ${round % 5}`);
      await age(hash, 91);
      await Promise.all([sweep(), put(`text ${round % 5}`), sweep()]);
      expect([round, await isThere(hash)]).toEqual([round, true]);
    }
  });

  it('releases the space that a dead process had reserved', async () => {
    const { put, age, sweep, isThere, path, aside } = await openBucket();
    const [old, used] = await Promise.all([put('old'), put('used')]);
    await age(old.hash, 91);
    await mkdir(aside, { recursive: true });
    for (const { hash } of [old, used])
      await rename(fileOf(path, 'acme', hash), join(aside, `taken.acme.${hash}.00ff`));
    expect(await sweep()).toBe(1);
    expect([await isThere(old.hash), await isThere(used.hash)]).toEqual([false, true]);
    expect(await readdir(aside)).toEqual([]);
  });
});
