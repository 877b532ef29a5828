/** Replaces a file of the workspace as one step: who reads it finds the old one or the new one. */
import { randomUUID } from 'node:crypto';
import { mkdir, rename, rm, stat } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { isFolder, openNew, PathRefused, type WorkspacePath, workspacePath } from './paths.ts';

/** Keeps the mode of a file that was there. Makes the folders. @throws PathRefused */
export async function replaceFile(
  root: string,
  { path, shown }: WorkspacePath,
  content: string,
): Promise<void> {
  if (shown === '' || (await isFolder(path))) {
    throw new PathRefused(`${shown || 'The path'} is a folder.`);
  }
  const before = await stat(path).catch(() => undefined);
  if (before && !before.isFile()) throw new PathRefused(`${shown} is not a plain file.`);
  await mkdir(dirname(path), { recursive: true, mode: 0o755 });
  // looked at again, since folders were made in between
  const again = await workspacePath(root, shown);
  if (again.path !== path) throw new PathRefused(`${shown} changed while it was written.`);
  const scratch = join(dirname(path), `.troupe-${randomUUID()}`);
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
