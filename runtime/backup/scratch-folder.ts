/**
 * Scratch folders of backups and restores: rows, mail and files that are not encrypted, for as long
 * as a command runs. What a killed process left is removed by the next command that needs such a
 * folder in the same place.
 *
 * Each folder has a lock that the kernel releases when its process ends in any way, so a folder is
 * removed only when no process uses it, also one in another container.
 */
import { mkdtemp, readdir, rm, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { LOCK_FILE, lockFolder } from '../log/folder-lock.ts';
import { makeFolder } from '../make-folder.ts';

const PREFIX = 'troupe-scratch-';
/** Apart from the lock, because a folder of backups has one of its own. */
const FILES = 'files';
/** What mkdtemp(3) adds to a prefix. */
const RANDOM = /^[A-Za-z0-9]{6}$/;
/**
 * Until then, a folder whose lock names no process may belong to one that has not locked it yet.
 */
const UNLOCKED_MS = 60_000;

/**
 * Creates a folder in `temporary`, for this user only, and removes it when `use` has ended. `use`
 * may move it to another place.
 * @param prefix of its name; abandoned folders with the same one are removed
 */
export async function withScratchFolder<T>(
  temporary: string,
  use: (folder: string) => Promise<T>,
  prefix = PREFIX,
): Promise<T> {
  makeFolder(temporary);
  await removeAbandoned(temporary, prefix);
  const folder = await mkdtemp(join(temporary, prefix));
  const lock = await lockFolder(folder);
  try {
    const inner = join(folder, FILES);
    makeFolder(inner);
    return await use(inner);
  } finally {
    await rm(folder, { recursive: true, force: true });
    await lock.release();
  }
}

/** A folder of another user, or one that disappears meanwhile, is left alone. */
async function removeAbandoned(temporary: string, prefix: string): Promise<void> {
  for (const name of await readdir(temporary)) {
    if (!name.startsWith(prefix) || !RANDOM.test(name.slice(prefix.length))) continue;
    const folder = join(temporary, name);
    try {
      const { mtimeMs, size } = await stat(join(folder, LOCK_FILE));
      // A process that has the lock writes its id there.
      if (size === 0 && Date.now() - mtimeMs < UNLOCKED_MS) continue;
      const lock = await lockFolder(folder);
      await rm(folder, { recursive: true, force: true });
      await lock.release();
    } catch {
      // LOCKED: its process runs.
    }
  }
}
