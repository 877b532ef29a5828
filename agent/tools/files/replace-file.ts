/** Replaces a file of the workspace atomically: a reader sees either the old or the new content. */
import { randomUUID } from 'node:crypto';
import { lstat, rename, rm } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { makeFolder, type OpenFolder, openNew, PathRefused, type WorkspacePath } from './paths.ts';

/** Keeps the mode of an existing file and creates missing folders. @throws PathRefused */
export async function replaceFile(
  root: string,
  { path, shown }: WorkspacePath,
  content: string | Uint8Array,
): Promise<void> {
  if (shown === '') throw new PathRefused('The path is a folder.');
  const folder = await makeFolder(root, { path: dirname(path), shown });
  try {
    await replaceIn(folder, root, { path: join(folder.at, basename(path)), shown }, content);
  } finally {
    await folder.close();
  }
}

async function replaceIn(
  folder: OpenFolder,
  root: string,
  { path, shown }: WorkspacePath,
  content: string | Uint8Array,
): Promise<void> {
  const before = await lstat(path).catch(() => undefined);
  if (before?.isDirectory()) throw new PathRefused(`${shown} is a folder.`);
  if (before && !before.isFile()) throw new PathRefused(`${shown} is not a plain file.`);
  const scratch = join(folder.at, `.troupe-${randomUUID()}`);
  const file = await openNew(root, scratch, shown, before ? before.mode & 0o777 : 0o644);
  try {
    try {
      await file.writeFile(content);
    } finally {
      await file.close();
    }
    await rename(scratch, path);
  } catch (error) {
    await rm(scratch, { force: true });
    throw error;
  }
}
