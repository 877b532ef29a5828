/**
 * Scratch folders of backups: rows, mail and files that are not encrypted, for as long as a command
 * runs. What a killed process left is removed by the next command that needs such a folder in the
 * same place.
 *
 * Each folder has a lock that the kernel releases when its process ends in any way, so a folder is
 * removed only when no process uses it, also one in another container.
 */
import { mkdir, mkdtemp, readdir, rm, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { LOCK_FILE, lockFolder } from '../log/folder-lock.ts';
import { makeFolder } from '../make-folder.ts';

const PREFIX = 'troupe-scratch-';
/** Apart from the lock, because a folder of backups has one of its own. */
const FILES = 'files';
/** A younger folder may belong to a process that has not locked it yet. */
const UNLOCKED_MS = 60_000;

/** Creates a folder in `temporary`, for this user only, and removes it when `use` has ended. */
export async function withScratchFolder<T>(
  temporary: string,
  use: (folder: string) => Promise<T>,
): Promise<T> {
  makeFolder(temporary);
  await removeAbandoned(temporary);
  const folder = await mkdtemp(join(temporary, PREFIX));
  const lock = await lockFolder(folder);
  try {
    const inner = join(folder, FILES);
    await mkdir(inner);
    return await use(inner);
  } finally {
    await rm(folder, { recursive: true, force: true });
    await lock.release();
  }
}

/** A folder of another user, or one that disappears meanwhile, is left alone. */
async function removeAbandoned(temporary: string): Promise<void> {
  for (const name of await readdir(temporary)) {
    if (!name.startsWith(PREFIX)) continue;
    const folder = join(temporary, name);
    try {
      const { mtimeMs } = await stat(join(folder, LOCK_FILE));
      if (Date.now() - mtimeMs < UNLOCKED_MS) continue;
      const lock = await lockFolder(folder);
      await rm(folder, { recursive: true, force: true });
      await lock.release();
    } catch {
      // LOCKED: its process runs.
    }
  }
}
