/** The backup of a data folder whose tenants' files are in an S3 bucket. */
import { existsSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';

import type { Artifact } from '../../../runtime/artifacts/artifacts.ts';
import { openS3Artifacts } from '../../../runtime/artifacts/s3.ts';
import { type BackupOptions, createBackup } from '../../../runtime/backup/create.ts';
import { restoreBackup } from '../../../runtime/backup/restore.ts';
import { verifyBackup } from '../../../runtime/backup/verify.ts';
import { createSystem, openEmbedded } from '../../../runtime/index.ts';
import { type S3Server, startS3Server } from '../../servers/s3-server.ts';
import { puppetType } from '../system/puppet.ts';

const contents = ['one', 'two', ''].map((text) => Buffer.from(text));

async function scratch(): Promise<string> {
  const path = await mkdtemp(join(tmpdir(), 'troupe-backup-'));
  onTestFinished(() => rm(path, { recursive: true, force: true }));
  return path;
}

async function bucketServer(): Promise<S3Server> {
  const running = await startS3Server();
  onTestFinished(() => running.close());
  running.settings.listing = true;
  return running;
}

const bucketOf = ({ settings: _, ...place }: S3Server) =>
  openS3Artifacts({ ...place, encryption: 'none', mimeTypes: ['*/*'] });

async function storeOfShards(shards: number): Promise<string> {
  const path = join(await scratch(), 'store');
  const system = await createSystem({
    ...(await openEmbedded({ path })),
    actors: [puppetType()],
    shards,
  });
  await system.stop();
  return path;
}

/** A bucket with some files, and the options of a backup that contains them. */
async function original(): Promise<{
  readonly from: S3Server;
  readonly stored: readonly Artifact[];
  readonly options: BackupOptions;
}> {
  const from = await bucketServer();
  const bucket = bucketOf(from);
  const stored: Artifact[] = [];
  for (const each of contents)
    stored.push(await bucket.put('acme', each, { contentType: 'text/plain' }));
  const options: BackupOptions = {
    store: await storeOfShards(2),
    config: { secrets: [], leftOut: [] },
    to: { folder: await scratch() },
    program: 'test',
    async *files() {},
    bucket,
  };
  return { from, stored, options };
}

it.each(['a folder of backups', 'one file'])('%s has them, and restores them', async (target) => {
  const { stored, options } = await original();
  const file = join(await scratch(), 'backup.troupe');
  const to = target === 'one file' ? { file } : options.to;
  const { path, files } = await createBackup({ ...options, to });
  expect(files).toBeGreaterThanOrEqual(contents.length);
  const restored = bucketOf(await bucketServer());
  const into = join(await scratch(), 'restored');
  await restoreBackup({ from: path, into, bucket: async () => restored });
  for (const [n, artifact] of stored.entries())
    expect(Buffer.from((await restored.get('acme', artifact.hash)).contents)).toEqual(contents[n]);
  // They are in the bucket only.
  expect(existsSync(join(into, 'bucket'))).toBe(false);
  const ports = await openEmbedded({ path: join(into, 'store') });
  await ports.store.close();
});

it('is refused where the configuration names no bucket, and then leaves no folder', async () => {
  const { options } = await original();
  const { path } = await createBackup(options);
  const into = join(await scratch(), 'restored');
  await expect(
    restoreBackup({ from: path, into, bucket: async () => undefined }),
  ).rejects.toMatchObject({
    code: 'INVALID_ARGUMENT',
    message: expect.stringContaining('--no-artifacts') as string,
  });
  expect(existsSync(into)).toBe(false);
});

it('leaves no folder when the bucket stores nothing', async () => {
  const { options } = await original();
  const { path } = await createBackup(options);
  const to = await bucketServer();
  const refused = bucketOf({ ...to, secretAccessKey: 'wrong' });
  const into = join(await scratch(), 'restored');
  await expect(
    restoreBackup({ from: path, into, bucket: async () => refused }),
  ).rejects.toMatchObject({ code: 'UNAVAILABLE' });
  expect(existsSync(into)).toBe(false);
});

it('is verified and restored without a bucket when its files are left out', async () => {
  const { options } = await original();
  const { path } = await createBackup(options);
  await verifyBackup({ from: path, temporary: await scratch() });
  const into = join(await scratch(), 'restored');
  await restoreBackup({ from: path, into });
  expect(existsSync(join(into, 'store'))).toBe(true);
});

it('needs a program that knows files of a bucket only if it has some', async () => {
  const { options } = await original();
  const { bucket: _, ...without } = options;
  const readers = [];
  for (const each of [options, without]) {
    const { path } = await createBackup(each);
    readers.push((await restoreBackup({ from: path, into: join(await scratch(), 'r') })).minReader);
  }
  expect(readers).toEqual([4, 1]);
});

it('leaves no folder when it is cancelled', async () => {
  const { options } = await original();
  const { path } = await createBackup(options);
  const into = join(await scratch(), 'restored');
  const stop = new AbortController();
  const onProgress = (what: string) => what.startsWith('file 2') && stop.abort();
  const restored = bucketOf(await bucketServer());
  await expect(
    restoreBackup({
      from: path,
      into,
      bucket: async () => restored,
      signal: stop.signal,
      onProgress: (what) => void onProgress(what),
    }),
  ).rejects.toMatchObject({ code: 'CANCELLED' });
  expect(existsSync(into)).toBe(false);
});

it('is refused as the backup of a cluster before it looks for a bucket', async () => {
  const { options } = await original();
  const { path } = await createBackup(options);
  const into = join(await scratch(), 'restored');
  const bucket = () => Promise.reject(new Error('it was looked for'));
  const ports = await openEmbedded({ path: join(await scratch(), 'target') });
  onTestFinished(() => ports.store.close());
  const target = { log: ports.store.log, blobs: ports.blobs, clear: async () => {} };
  await expect(
    restoreBackup({ from: path, into, bucket, cluster: { target, env: 'other' } }),
  ).rejects.toMatchObject({ message: expect.stringContaining('without --nats') as string });
});
