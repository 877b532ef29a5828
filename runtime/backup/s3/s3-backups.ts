/**
 * Backups in a bucket, with the names that they have in a folder. A backup is written into a
 * temporary folder first, without the objects that the bucket has; its manifest is stored last and
 * only if there is none, so a backup that was interrupted is not listed and no writer replaces
 * another one's.
 *
 * `lock` is an object that is stored only if there is none: one process at a time writes or prunes.
 * Who holds it writes it again every minute, and gives up when that failed for five minutes. One
 * that was not written for ten minutes is removed.
 */
import { randomBytes } from 'node:crypto';
import { existsSync } from 'node:fs';
import { readdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { errorData, TroupeError } from '../../../protocols/errors.ts';
import { choosePruned, type ListedBackup, listBackups, type Pruned } from '../folder.ts';
import { BACKUP_FILE, ID, MANIFEST_FILE, OBJECTS_FILE, VERIFIED_FILE } from '../manifest.ts';
import { OBJECTS_FOLDER } from '../objects.ts';
import { withScratchFolder } from '../scratch-folder.ts';
import type { BackupTarget, CreatedBackup } from '../write-backup.ts';
import type { S3Listed } from '../../artifacts/s3-requests.ts';
import type { S3Bucket } from './bucket.ts';

const LOCK = 'lock';
const LEDGER = 'erasures.jsonl';
const RENEW_MS = 60_000;
const STALE_MS = 600_000;

export type S3Backups = {
  readonly bucket: S3Bucket;
  /** where backups are while they are written and read */
  readonly temporary: string;
};

/** @throws TroupeError UNAVAILABLE (LOCKED, LOCK_LOST) while another process writes there */
export const writeToBucket = (
  { bucket, temporary }: S3Backups,
  write: (to: BackupTarget) => Promise<CreatedBackup>,
): Promise<CreatedBackup> =>
  withLock(bucket, (assertHeld) =>
    withScratchFolder(temporary, async (folder) => {
      const stored = new Set(
        (await bucket.list(`${OBJECTS_FOLDER}/`)).map(({ key }) => nameOf(key)),
      );
      const made = await write({ folder, stored });
      const objects = join(folder, OBJECTS_FOLDER);
      for (const part of existsSync(objects) ? await readdir(objects) : [])
        for (const name of await readdir(join(objects, part)))
          await bucket.putFile(`${OBJECTS_FOLDER}/${part}/${name}`, join(objects, part, name));
      const { id } = made;
      for (const file of [BACKUP_FILE, OBJECTS_FILE])
        await bucket.putFile(`${id}/${file}`, join(folder, id, file));
      const manifest = await readFile(join(folder, id, MANIFEST_FILE));
      assertHeld();
      await bucket.put(`${id}/${MANIFEST_FILE}`, manifest, { ifAbsent: true });
      return made;
    }),
  );

/** Calls `use` with a folder of backups that contains one: that with the id, or the newest one. */
export const readFromBucket = <T>(
  { bucket, temporary }: S3Backups,
  id: string | undefined,
  use: (folder: string) => Promise<T>,
): Promise<T> =>
  withScratchFolder(temporary, async (folder) => {
    const all = await bucket.list();
    const chosen = id ?? idsIn(all).at(-1);
    if (chosen === undefined || !idsIn(all).includes(chosen))
      throw new TroupeError('NOT_FOUND', `the bucket has no backup${id ? ` ${id}` : ''} there`);
    const fetch = (found: readonly S3Listed[]) => each(found, fetchTo(bucket, folder));
    await fetch(all.filter(({ key }) => key.startsWith(`${chosen}/`) || key === LEDGER));
    const names = await readFile(join(folder, chosen, OBJECTS_FILE), 'utf8').catch(() => '');
    const wanted = new Set(names.split('\n'));
    await fetch(
      all.filter(({ key }) => key.startsWith(`${OBJECTS_FOLDER}/`) && wanted.has(nameOf(key))),
    );
    return use(folder);
  });

/** Notes in the bucket what `verify` noted in the folder. */
export async function noteVerifiedInBucket(bucket: S3Bucket, path: string, id: string) {
  await bucket.put(`${id}/${VERIFIED_FILE}`, await readFile(join(path, VERIFIED_FILE)));
}

/** As `listBackups`. */
export const listBucket = ({ bucket, temporary }: S3Backups): Promise<readonly ListedBackup[]> =>
  withScratchFolder(temporary, async (folder) => {
    await mirror(bucket, folder, await bucket.list());
    return listBackups(folder);
  });

/** As `pruneBackups`. */
export const pruneBucket = ({ bucket, temporary }: S3Backups, keep: number): Promise<Pruned> =>
  withLock(bucket, (assertHeld) =>
    withScratchFolder(temporary, async (folder) => {
      const remove = async (key: string) => {
        assertHeld();
        await bucket.delete(key);
      };
      const all = await bucket.list();
      await mirror(bucket, folder, all);
      const { removed, kept, used } = await choosePruned(folder, keep);
      const parts = all.filter(({ key }) => removed.some((id) => key.startsWith(`${id}/`)));
      // Without its manifest a backup is not listed.
      const last = (key: string) => (key.endsWith(MANIFEST_FILE) ? 0 : 1);
      for (const { key } of parts.toSorted((a, b) => last(a.key) - last(b.key))) await remove(key);
      const unused = all.filter(
        ({ key }) => key.startsWith(`${OBJECTS_FOLDER}/`) && !used.has(nameOf(key)),
      );
      for (const { key } of unused) await remove(key);
      return { removed, kept, removedObjects: unused.length };
    }),
  );

export async function putLedger(bucket: S3Bucket, file: string): Promise<void> {
  if (existsSync(file)) await bucket.put(LEDGER, await readFile(file));
}

/** Manifests, and what they name in a form that is small: the frames are empty files. */
async function mirror(bucket: S3Bucket, folder: string, all: readonly S3Listed[]): Promise<void> {
  const small = new Set([MANIFEST_FILE, OBJECTS_FILE, VERIFIED_FILE]);
  const listed = new Set(idsIn(all));
  const ofBackups = all.filter(({ key }) => listed.has(key.split('/')[0]!));
  await each(
    ofBackups.filter(({ key }) => small.has(nameOf(key))),
    fetchTo(bucket, folder),
  );
  for (const { key } of ofBackups)
    if (nameOf(key) === BACKUP_FILE) await writeFile(join(folder, key), '');
}

const fetchTo = (bucket: S3Bucket, folder: string) => (found: S3Listed) =>
  bucket.getFile(found.key, join(folder, ...found.key.split('/')), found.bytes);

/** Of complete backups, oldest first. */
const idsIn = (all: readonly S3Listed[]): readonly string[] =>
  all
    .filter(({ key }) => ID.test(key.split('/')[0]!) && nameOf(key) === MANIFEST_FILE)
    .map(({ key }) => key.split('/')[0]!)
    .sort();

const nameOf = (key: string): string => key.slice(key.lastIndexOf('/') + 1);

const AT_ONCE = 4;

async function each<T>(items: readonly T[], work: (item: T) => Promise<unknown>): Promise<void> {
  const queue = items.values();
  const run = async () => {
    for (const item of queue) await work(item);
  };
  await Promise.all(Array.from({ length: AT_ONCE }, run));
}

/** Throws once the lock may belong to another process: what follows must not be done. */
type AssertHeld = () => void;

async function withLock<T>(bucket: S3Bucket, work: (held: AssertHeld) => Promise<T>): Promise<T> {
  const owner = randomBytes(12).toString('hex');
  const text = () => Buffer.from(JSON.stringify({ owner, at: Date.now() }));
  let writtenAt = Date.now();
  await takeLock(bucket, text);
  // A process that was stopped for long must not write the lock again: another one may have it.
  const isHeld = () => Date.now() - writtenAt < STALE_MS / 2;
  const renew = async () => {
    const at = Date.now();
    if (!isHeld()) return;
    await bucket.put(LOCK, text());
    writtenAt = at;
  };
  const timer = setInterval(() => void renew().catch(() => {}), RENEW_MS);
  try {
    return await work(() => {
      if (isHeld()) return;
      throw new TroupeError(
        'UNAVAILABLE',
        'the lock of these backups was not written again for five minutes, so another process may ' +
          'write there: run the command again',
        { details: { reason: 'LOCK_LOST' } },
      );
    });
  } finally {
    clearInterval(timer);
    if (isHeld()) await bucket.delete(LOCK).catch(() => {});
  }
}

function locked(at: number, cause: unknown): TroupeError {
  const freeAt = new Date((at || Date.now()) + STALE_MS).toISOString();
  return new TroupeError(
    'UNAVAILABLE',
    'another process writes to these backups, or was killed or interrupted within the last ten ' +
      `minutes: if none does, run the command again after ${freeAt}`,
    { details: { reason: 'LOCKED' }, cause },
  );
}

async function takeLock(bucket: S3Bucket, text: () => Buffer): Promise<void> {
  for (let attempt = 1; ; attempt++)
    try {
      return await bucket.put(LOCK, text(), { ifAbsent: true });
    } catch (error) {
      if (errorData(error).code !== 'CONFLICT') throw error;
      const held = Buffer.from((await bucket.get(LOCK)) ?? []).toString();
      const at = Number(/"at":(\d+)/.exec(held)?.[1] ?? 0);
      if (attempt > 1 || Date.now() - at < STALE_MS) throw locked(at, error);
      await bucket.delete(LOCK);
    }
}
