/** A folder of backups: which there are, and how many are kept. */
import { existsSync } from 'node:fs';
import { readdir, readFile, rename, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { errorData, TroupeError } from '../../protocols/errors.ts';
import { syncFolder, TEMPORARY_PREFIX } from '../blobs/durable-file.ts';
import { lockFolder } from '../log/folder-lock.ts';
import { backupsIn, type Manifest, OBJECTS_FILE, readManifest, verifiedAt } from './manifest.ts';
import { objectFile, OBJECTS_FOLDER } from './objects.ts';

export type ListedBackup =
  | (Pick<Manifest, 'id' | 'cell' | 'createdAt' | 'position' | 'encrypted' | 'program'> & {
      /** of the frames; objects are shared */
      readonly bytes: number;
      readonly verifiedAt?: number;
    })
  | { readonly id: string; readonly damage: string };

/** Oldest first. */
export async function listBackups(folder: string): Promise<readonly ListedBackup[]> {
  const listed: ListedBackup[] = [];
  for (const id of await backupsIn(folder)) {
    try {
      const { cell, createdAt, position, encrypted, program, parts } = await readManifest(
        join(folder, id),
      );
      const at = await verifiedAt(join(folder, id));
      const bytes = parts.reduce((sum, part) => sum + part.bytes, 0);
      const about = { id, cell, createdAt, position, encrypted, program, bytes };
      listed.push(at === undefined ? about : { ...about, verifiedAt: at });
    } catch (error) {
      listed.push({ id, damage: errorData(error).message });
    }
  }
  return listed;
}

export type Pruned = {
  readonly removed: readonly string[];
  readonly kept: readonly string[];
  readonly removedObjects: number;
};

/**
 * Removes all but the newest `keep` backups, and the objects that no remaining backup refers to.
 * The newest verified backup stays, however old it is.
 * @throws TroupeError INVALID_ARGUMENT when a remaining backup is damaged: then its objects are not
 *   known, and nothing is removed; UNAVAILABLE (LOCKED) while a backup is written
 */
export async function pruneBackups(folder: string, keep: number): Promise<Pruned> {
  if (!existsSync(folder)) throw new TroupeError('NOT_FOUND', `there is no folder ${folder}`);
  const lock = await lockFolder(folder);
  try {
    const { removed, kept, used } = await choosePruned(folder, keep);
    for (const id of removed) {
      const trash = join(folder, TEMPORARY_PREFIX + id);
      await rename(join(folder, id), trash);
      await syncFolder(folder);
      await rm(trash, { recursive: true, force: true });
    }
    const removedObjects = await removeOthers(folder, used);
    return { removed, kept, removedObjects };
  } finally {
    await lock.release();
  }
}

/**
 * Which backups a prune removes, and the objects that the others use.
 * @throws as `pruneBackups`
 */
export async function choosePruned(
  folder: string,
  keep: number,
): Promise<Pick<Pruned, 'removed' | 'kept'> & { readonly used: ReadonlySet<string> }> {
  if (!Number.isSafeInteger(keep) || keep < 1)
    throw new TroupeError('INVALID_ARGUMENT', 'keep at least 1 backup');
  const all = await backupsIn(folder);
  const verified: string[] = [];
  for (const id of all) if ((await verifiedAt(join(folder, id))) !== undefined) verified.push(id);
  const stays = new Set([...all.slice(-keep), ...verified.slice(-1)]);
  const used = new Set<string>();
  for (const id of stays) for (const name of await objectsOf(join(folder, id))) used.add(name);
  const removed = all.filter((id) => !stays.has(id));
  return { removed, kept: all.filter((id) => stays.has(id)), used };
}

async function objectsOf(path: string): Promise<readonly string[]> {
  await readManifest(path);
  const text = await readFile(join(path, OBJECTS_FILE), 'utf8');
  return text.split('\n').filter((name) => name !== '');
}

async function removeOthers(folder: string, used: ReadonlySet<string>): Promise<number> {
  const objects = join(folder, OBJECTS_FOLDER);
  if (!existsSync(objects)) return 0;
  let removed = 0;
  for (const part of await readdir(objects))
    for (const name of await readdir(join(objects, part))) {
      if (used.has(name)) continue;
      const isDraft = name.startsWith(TEMPORARY_PREFIX);
      await rm(isDraft ? join(objects, part, name) : objectFile(folder, name), { force: true });
      if (!isDraft) removed++;
    }
  return removed;
}
