import { randomBytes } from 'node:crypto';
import { expect, it } from 'vitest';
import { BlobArtifacts } from '../../../runtime/artifacts/blob-artifacts.ts';
import { BlobUses } from '../../../runtime/artifacts/blob-uses.ts';
import { sealingKey } from '../../../runtime/artifacts/sealed-file.ts';
import type { Blobs } from '../../../runtime/blobs/blobs.ts';
import { MemoryBlobs } from '../../../runtime/blobs/memory.ts';
import type { Clock } from '../../../runtime/clock/clock.ts';
import { artifactsContract, MIME_TYPES, MovableClock } from './contract.ts';

const DAY_MS = 86_400_000;
const KEYS = { sealingKey: sealingKey(randomBytes(32).toString('hex')), urlKey: randomBytes(32) };
const bucket = (
  blobs: Blobs,
  clock: Clock,
  more: { bytesMax?: () => number; urlKey?: Buffer } = {},
) =>
  new BlobArtifacts({
    ...KEYS,
    blobs,
    clock,
    publicUrl: () => 'http://127.0.0.1:18789',
    mimeTypes: MIME_TYPES,
    bytesMax: () => 1e9,
    ...more,
  });
const usesOf = (blobs: Blobs, clock: Clock) =>
  new BlobUses({ blobs, clock, bytesMax: () => 1e9, fileOf });
/** Removes what was not used for 90 days; returns how much. */
async function sweep(blobs: Blobs, clock: Clock): Promise<number> {
  const uses = usesOf(blobs, clock);
  const before = clock.wallMs() - 90 * DAY_MS;
  let removed = 0;
  for (const hash of await uses.list('acme', before))
    if (await uses.remove('acme', hash, before)) removed++;
  return removed;
}
const fileOf = (tenant: string, hash: string) => `artifacts/${tenant}/${hash}`;
const put = (artifacts: BlobArtifacts, text: string) =>
  artifacts.put('acme', Buffer.from(text), { contentType: 'text/plain' });

artifactsContract('blobs', (clock) => {
  const blobs = new MemoryBlobs();
  return Promise.resolve({
    artifacts: bucket(blobs, clock),
    reopen: () => Promise.resolve(bucket(blobs, clock)),
    other: () => Promise.resolve(bucket(new MemoryBlobs(), clock, { urlKey: randomBytes(32) })),
    damage: async (tenant: string, hash: string) => {
      const file = Buffer.from((await blobs.get(fileOf(tenant, hash)))!);
      file[file.length - 17] = file[file.length - 17]! ^ 1;
      await blobs.delete(fileOf(tenant, hash));
      await blobs.put(fileOf(tenant, hash), file);
    },
    dispose: () => Promise.resolve(),
  });
});

it('stores no part of the contents unencrypted', async () => {
  const blobs = new MemoryBlobs();
  await put(bucket(blobs, new MovableClock()), 'the recipe is salt and patience');
  for (const name of await blobs.list(''))
    expect(Buffer.from((await blobs.get(name))!).includes('recipe')).toBe(false);
});

it('refuses a file beyond the storage limit of a tenant, and accepts one that is already stored', async () => {
  const artifacts = bucket(new MemoryBlobs(), new MovableClock(), { bytesMax: () => 10 });
  await put(artifacts, '12345678');
  await put(artifacts, '12345678');
  await expect(put(artifacts, 'abcdefgh')).rejects.toMatchObject({
    code: 'RATE_LIMIT_EXCEEDED',
    details: { limit: 'artifacts' },
  });
});

it('removes files that were neither stored nor signed for the retention time', async () => {
  const [blobs, clock] = [new MemoryBlobs(), new MovableClock()];
  const artifacts = bucket(blobs, clock);
  const old = await put(artifacts, 'old');
  const signed = await put(artifacts, 'signed');
  const again = await put(artifacts, 'again');
  clock.aheadMs = 60 * DAY_MS;
  await artifacts.sign('acme', signed.hash);
  await put(artifacts, 'again');
  clock.aheadMs = 100 * DAY_MS;
  expect(await sweep(blobs, clock)).toBe(1);
  await expect(artifacts.get('acme', old.hash)).rejects.toMatchObject({ code: 'NOT_FOUND' });
  for (const { hash } of [signed, again]) await artifacts.get('acme', hash);
  const names = await blobs.list('');
  expect(names.filter((name) => name.includes(old.hash))).toEqual([]);
  expect(names).toHaveLength(4);
});

/** Runs `meanwhile` when a blob is deleted for the first time, before or after the deletion. */
const interrupted = (blobs: Blobs, name: string, meanwhile: () => Promise<unknown>): Blobs => {
  let first = true;
  return {
    put: (...args) => blobs.put(...args),
    get: (...args) => blobs.get(...args),
    list: (...args) => blobs.list(...args),
    async delete(deleted) {
      await blobs.delete(deleted);
      if (deleted !== name || !first) return;
      first = false;
      await meanwhile();
    },
  };
};

it('keeps a file that is stored again during its removal', async () => {
  const [blobs, clock] = [new MemoryBlobs(), new MovableClock()];
  const artifacts = bucket(blobs, clock);
  const { hash } = await put(artifacts, 'one');
  clock.aheadMs = 100 * DAY_MS;
  const again = interrupted(blobs, fileOf('acme', hash), () => put(artifacts, 'one'));
  expect(await sweep(again, clock)).toBe(0);
  expect((await artifacts.get('acme', hash)).artifact.bytes).toBe(3);
});

it('completes the removals of a killed sweep, and restores files that were used since', async () => {
  const [blobs, clock] = [new MemoryBlobs(), new MovableClock()];
  const artifacts = bucket(blobs, clock);
  const [used, unused] = [await put(artifacts, 'used'), await put(artifacts, 'unused')];
  clock.aheadMs = 100 * DAY_MS;
  const killed = () => Promise.reject(new Error('killed'));
  const dies = interrupted(blobs, fileOf('acme', used.hash), killed);
  const before = clock.wallMs() - 90 * DAY_MS;
  const dying = usesOf(dies, clock).remove('acme', used.hash, before);
  await expect(dying).rejects.toThrow('killed');
  await usesOf(blobs, clock).record('acme', used);
  expect(await sweep(blobs, clock)).toBe(1);
  expect((await artifacts.get('acme', used.hash)).artifact.bytes).toBe(4);
  await expect(artifacts.get('acme', unused.hash)).rejects.toMatchObject({ code: 'NOT_FOUND' });
  expect(await blobs.list('artifact-due/')).toEqual([]);
});
