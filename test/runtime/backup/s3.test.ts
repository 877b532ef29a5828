/** Backups in a bucket, on a local server that checks signatures, hashes and checksums. */
import { mkdirSync, readdirSync, writeFileSync } from 'node:fs';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { TroupeError } from '../../../protocols/errors.ts';
import { createBackup } from '../../../runtime/backup/create.ts';
import { noteVerified } from '../../../runtime/backup/manifest.ts';
import { restoreBackup } from '../../../runtime/backup/restore.ts';
import { S3Bucket } from '../../../runtime/backup/s3/bucket.ts';
import {
  listBucket,
  noteVerifiedInBucket,
  pruneBucket,
  readFromBucket,
  writeToBucket,
} from '../../../runtime/backup/s3/s3-backups.ts';
import type { BackupTarget } from '../../../runtime/backup/write-backup.ts';
import { verifyBackup } from '../../../runtime/backup/verify.ts';
import { createSystem, openEmbedded } from '../../../runtime/index.ts';
import { type S3Server, startS3Server } from '../../servers/s3-server.ts';
import { puppetType } from '../system/puppet.ts';
import { eventually } from '../eventually.ts';

async function scratch(): Promise<string> {
  const path = await mkdtemp(join(tmpdir(), 'troupe-backup-s3-'));
  onTestFinished(() => rm(path, { recursive: true, force: true }));
  return path;
}

async function server(): Promise<S3Server> {
  const running = await startS3Server();
  onTestFinished(() => running.close());
  running.settings.listing = true;
  return running;
}

const bucketOf = (running: S3Server, more: Partial<S3Server> = {}) =>
  new S3Bucket({ ...running, ...more, prefix: 'troupe/a b', partBytes: 50_000 });

/** A data folder, and what writes a backup of it to a place. */
async function installation() {
  const home = await scratch();
  const system = await createSystem({
    actors: [puppetType()],
    shards: 1,
    ...(await openEmbedded({ path: join(home, 'store') })),
  });
  await system.stop();
  mkdirSync(join(home, 'files'));
  writeFileSync(join(home, 'files/large'), Buffer.alloc(180_000, 'large'));
  writeFileSync(join(home, 'files/small'), 'small');
  const write = (to: BackupTarget) =>
    createBackup({
      store: join(home, 'store'),
      config: { secrets: [], leftOut: [] },
      to,
      program: 'test',
      async *files() {
        for (const name of readdirSync(join(home, 'files')))
          yield { path: `files/${name}`, from: join(home, 'files', name) };
      },
    });
  return { home, write, temporary: await scratch() };
}

describe('backups in a bucket', () => {
  it('share objects, are listed, verified, restored and pruned', { timeout: 60_000 }, async () => {
    const running = await server();
    const bucket = bucketOf(running);
    const { home, write, temporary } = await installation();
    const place = { bucket, temporary };
    const first = await writeToBucket(place, write);
    expect(first.newObjects).toBe(2);
    writeFileSync(join(home, 'files/small'), 'changed');
    const second = await writeToBucket(place, write);
    expect(second.newObjects).toBe(1);

    const verified = await readFromBucket(place, first.id, async (from) => {
      const found = await verifyBackup({ from, temporary });
      await noteVerified(found.path, found.verifiedAt, {});
      await noteVerifiedInBucket(bucket, found.path, found.id);
      return found;
    });
    expect(verified.shards).toBe(1);
    expect(await listBucket(place)).toMatchObject([
      { id: first.id, verifiedAt: verified.verifiedAt },
      { id: second.id, encrypted: false },
    ]);

    const into = join(await scratch(), 'restored');
    await readFromBucket(place, undefined, (from) => restoreBackup({ from, into }));
    expect(await readFile(join(into, 'files/small'), 'utf8')).toBe('changed');
    expect(await readFile(join(into, 'files/large'))).toEqual(Buffer.alloc(180_000, 'large'));

    await writeToBucket(place, write);
    const pruned = await pruneBucket(place, 1);
    expect(pruned.removed).toEqual([second.id]);
    expect(pruned.kept).toContain(first.id);
    expect(pruned.removedObjects).toBe(0);
    expect((await listBucket(place)).map(({ id }) => id)).toEqual(pruned.kept);
    expect([...running.objects.keys()].every((key) => key.startsWith('troupe/a b/'))).toBe(true);
    expect(running.objects.has('troupe/a b/lock')).toBe(false);
    expect(readdirSync(temporary)).toEqual([]);
  });

  it('are not replaced: a second writer is refused, and so is a manifest', async () => {
    const bucket = bucketOf(await server());
    const { write, temporary } = await installation();
    const place = { bucket, temporary };
    await writeToBucket(place, async (to) => {
      await expect(writeToBucket(place, write)).rejects.toMatchObject({
        code: 'UNAVAILABLE',
        message: expect.stringMatching(/interrupted .* run the command again after 2\S+Z$/),
      });
      return write(to);
    });
    await bucket.put('x', Buffer.from('first'), { ifAbsent: true });
    await expect(bucket.put('x', Buffer.from('second'), { ifAbsent: true })).rejects.toMatchObject({
      code: 'CONFLICT',
    });
    expect(Buffer.from((await bucket.get('x'))!).toString()).toBe('first');
  });

  it('a lock that was left ten minutes ago is removed', async () => {
    const bucket = bucketOf(await server());
    const { write, temporary } = await installation();
    const at = Date.now() - 660_000;
    await bucket.put('lock', Buffer.from(JSON.stringify({ owner: 'killed', at })));
    const { id } = await writeToBucket({ bucket, temporary }, write);
    expect(await listBucket({ bucket, temporary })).toMatchObject([{ id }]);
  });

  it('an object is removed for 5 s after the end at most, also if it began before', {
    timeout: 30_000,
  }, async () => {
    const running = await server();
    const end = new AbortController();
    const bucket = new S3Bucket({ ...running, prefix: 'b', signal: end.signal });
    running.faults.push({ kind: 'silent' });
    const removed = bucket.delete('lock');
    await eventually(() => expect(running.requests).toHaveLength(1));
    end.abort();
    await expect(removed).rejects.toThrow('no answer within 5 s');
    expect(running.requests).toHaveLength(1);
  });

  it('are not finished or pruned by a process that was stopped until its lock was taken', async () => {
    const running = await server();
    const bucket = bucketOf(running);
    const { write, temporary } = await installation();
    const place = { bucket, temporary };
    const now = vi.spyOn(Date, 'now');
    onTestFinished(() => now.mockRestore());
    const lockedBy = () => running.objects.get('troupe/a b/lock')?.body.toString();
    let second: string | undefined;
    const stopped = writeToBucket(place, async (to) => {
      const made = await write(to);
      const later = Date.now() + 660_000;
      now.mockImplementation(() => later);
      await writeToBucket(place, async (other) => {
        second = lockedBy();
        return write(other);
      });
      // The other process still writes.
      await bucket.put('lock', Buffer.from(second!));
      return made;
    });
    await expect(stopped).rejects.toMatchObject({ details: { reason: 'LOCK_LOST' } });
    expect(await listBucket(place)).toHaveLength(1);
    expect(lockedBy()).toBe(second);
  });

  it('survive lost answers and refusals of the store', { timeout: 60_000 }, async () => {
    const running = await server();
    const bucket = bucketOf(running);
    const { write, temporary } = await installation();
    for (let i = 0; i < 4; i++) {
      running.faults.push({ kind: 'cut' }, { kind: 'refuse', status: 503, code: 'SlowDown' });
      const { id } = await writeToBucket({ bucket, temporary }, write);
      expect((await listBucket({ bucket, temporary })).at(-1)).toMatchObject({ id });
    }
  });

  it('that are incomplete are not listed, and their objects stay until the next prune', async () => {
    const running = await server();
    const bucket = bucketOf(running);
    const { write, temporary } = await installation();
    const { id } = await writeToBucket({ bucket, temporary }, write);
    running.objects.delete(`troupe/a b/${id}/manifest.json`);
    expect(await listBucket({ bucket, temporary })).toEqual([]);
    await expect(
      readFromBucket({ bucket, temporary }, undefined, async () => {}),
    ).rejects.toMatchObject({ code: 'NOT_FOUND' });
    expect((await writeToBucket({ bucket, temporary }, write)).newObjects).toBe(0);
  });

  it('that were changed are refused', { timeout: 60_000 }, async () => {
    const running = await server();
    const bucket = bucketOf(running);
    const { write, temporary } = await installation();
    await writeToBucket({ bucket, temporary }, write);
    const restore = async () => {
      const into = join(await scratch(), 'restored');
      return readFromBucket({ bucket, temporary }, undefined, (from) =>
        restoreBackup({ from, into }),
      );
    };
    for (const { body } of running.objects.values()) {
      const before = Buffer.from(body);
      body[body.length >> 1]! ^= 1;
      await expect(restore()).rejects.toMatchObject({ code: 'INVALID_ARGUMENT' });
      before.copy(body);
    }
    await restore();
  });

  it('need the right keys, which no error shows', async () => {
    const running = await server();
    const secretAccessKey = 'wrong-secret-key-value';
    const { message, stack, details } = await bucketOf(running, { secretAccessKey })
      .list()
      .then(
        () => new TroupeError('INTERNAL', 'it was accepted'),
        (error: unknown) => error as TroupeError,
      );
    expect(message).toContain('AWS_SECRET_ACCESS_KEY does not belong to AWS_ACCESS_KEY_ID');
    expect(JSON.stringify(details) + stack).not.toContain(secretAccessKey);
  });
});
