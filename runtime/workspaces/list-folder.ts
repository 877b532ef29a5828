/** Lists the files of a folder of a workspace in place, without opening or changing it. */
import type { Dirent } from 'node:fs';
import { lstat, readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { isAbsent } from './peek.ts';
import type { ListedFile, WorkspaceLimits } from './workspaces.ts';

/** How many files are looked at together: each costs a call to the file system. */
const AT_ONCE = 64;

/** Bounds of a list: what is beyond is left out. */
export type ListLimits = Pick<WorkspaceLimits, 'entriesMax' | 'depthMax'>;

/**
 * Files below a folder, by path. Links are not followed, neither at the end nor on the way, and
 * what disappears meanwhile is left out.
 * @param folder relative to the root
 */
export async function listFolder(
  root: string,
  folder: string,
  limits: ListLimits,
): Promise<readonly ListedFile[]> {
  const paths = await pathsBelow(root, folder, limits);
  const files: ListedFile[] = [];
  for (let at = 0; at < paths.length; at += AT_ONCE) {
    const some = paths.slice(at, at + AT_ONCE).map((path) => sizeOf(root, path));
    files.push(...(await Promise.all(some)).filter((file) => file !== undefined));
  }
  return files;
}

/** Paths of plain files below a folder, sorted. */
export async function pathsBelow(
  root: string,
  folder: string,
  { entriesMax, depthMax }: ListLimits,
  isWanted: (path: string) => boolean = () => true,
): Promise<readonly string[]> {
  const paths: string[] = [];
  const walk = async (path: string, depth: number): Promise<void> => {
    for (const entry of await entriesIn(join(root, path))) {
      if (paths.length >= entriesMax) return;
      const inner = `${path}/${entry.name}`;
      if (entry.isFile() && isWanted(inner)) paths.push(inner);
      if (entry.isDirectory() && depth < depthMax) await walk(inner, depth + 1);
    }
  };
  if (await isPlain(root, folder)) await walk(folder, 1);
  return paths.sort();
}

/** Whether each step is a folder and no link. */
async function isPlain(root: string, folder: string): Promise<boolean> {
  const steps = folder.split('/');
  for (let count = 1; count <= steps.length; count++) {
    const found = await lstat(join(root, ...steps.slice(0, count))).catch(unlessGone);
    if (!found?.isDirectory()) return false;
  }
  return true;
}

async function entriesIn(place: string): Promise<readonly Dirent[]> {
  const entries = (await readdir(place, { withFileTypes: true }).catch(unlessGone)) ?? [];
  return entries.sort((a, b) => (a.name < b.name ? -1 : 1));
}

async function sizeOf(root: string, path: string): Promise<ListedFile | undefined> {
  const found = await lstat(join(root, path)).catch(unlessGone);
  return found?.isFile() ? { path, bytes: found.size } : undefined;
}

/** Forbidden counts as gone: it is left out. */
function unlessGone(error: unknown): undefined {
  const { code = '' } = error as NodeJS.ErrnoException;
  if (!isAbsent(error) && code !== 'EACCES' && code !== 'EPERM') throw error;
}
