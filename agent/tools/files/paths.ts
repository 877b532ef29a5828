/**
 * Resolves paths written by a model to files of the workspace.
 *
 * Invariants:
 *  1. Nothing outside the workspace's folder is opened: not by `..`, by an absolute path, or
 *     through a link inside or outside the workspace.
 *  2. Only plain files and folders are opened: no device, pipe or socket.
 *
 * The first check resolves the deepest existing part of the path, which must be in the workspace.
 * The file is then opened without following a link (O_NOFOLLOW), and a second check reads its
 * location from the descriptor. The second check detects changes by another process, such as a
 * folder replaced by a link, before a byte is read or written. Without /proc only the first check
 * runs. A hard link cannot be distinguished from its file, but a sandbox cannot create one to a
 * file that it does not see.
 */
import { constants } from 'node:fs';
import { type FileHandle, mkdir, open, readlink, realpath, stat } from 'node:fs/promises';
import { basename, dirname, isAbsolute, join, normalize, relative, resolve, sep } from 'node:path';
import { WORKSPACE } from '../../../protocols/sandbox/sandbox-paths.ts';

/** The path cannot be used; the message is for the model. */
export class PathRefused extends Error {
  override readonly name = 'PathRefused';
}

/** A path component or a link leads out of the folder. */
export class PathOutside extends PathRefused {}

export type WorkspacePath = {
  /** real path on this machine; its existing part contains no link */
  readonly path: string;
  /** path for the model, relative to the workspace; '' is its top */
  readonly shown: string;
};

/**
 * Resolves `given`: relative to the workspace, or absolute inside it or inside `/workspace`.
 *
 * @throws PathRefused
 */
export async function workspacePath(root: string, given: string): Promise<WorkspacePath> {
  if (given.includes('\0')) throw new PathRefused('The path contains a zero byte.');
  const realRoot = await realpath(root);
  const wanted = normalize(join(root, relativeTo(given, [root, realRoot, WORKSPACE])));
  if (!isWithin(root, wanted)) throw outside(given);
  const inside = relative(root, wanted);
  const path = await resolvedUnder(realRoot, inside, given);
  return { path, shown: inside.split(sep).join('/') };
}

const relativeTo = (given: string, roots: readonly string[]): string => {
  const path = normalize(given);
  if (!isAbsolute(path)) return path;
  const root = roots.find((each) => isWithin(each, path));
  if (root === undefined) throw outside(given);
  return relative(root, path);
};

/** `inside` with all links of its existing part resolved; the rest consists of plain names. */
async function resolvedUnder(root: string, inside: string, given: string): Promise<string> {
  const missing: string[] = [];
  for (let path = resolve(root, inside); ; path = dirname(path)) {
    const real = await realpath(path).catch((error: unknown) => absent(error, given));
    if (real !== undefined) {
      if (!isWithin(root, real)) throw outside(given);
      return join(real, ...missing);
    }
    if (await isDanglingLink(path)) throw outside(given);
    missing.unshift(basename(path));
  }
}

/** Writing through a dangling link would create its target, so it is refused. */
const isDanglingLink = (path: string): Promise<boolean> =>
  readlink(path).then(
    () => true,
    () => false,
  );

const absent = (error: unknown, given: string): undefined => {
  const { code } = error as NodeJS.ErrnoException;
  if (code === 'ENOENT') return undefined;
  if (code === 'ENOTDIR') throw new PathRefused(`A part of ${given} is a file, not a folder.`);
  if (code === 'ELOOP') throw new PathRefused(`${given} is a link that leads to itself.`);
  if (code === 'ENAMETOOLONG') throw new PathRefused('The path is too long.');
  throw error;
};

/** Opens a plain file for reading. @throws PathRefused when it is missing or not a plain file */
export async function openToRead(root: string, { path, shown }: WorkspacePath) {
  // without O_NONBLOCK, opening a named pipe would block
  const flags = constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK;
  const file = await open(path, flags).catch((error: unknown) => {
    throw refusalOf(error, shown);
  });
  return checked(file, root, shown);
}

/** Creates a file that must not exist yet. @throws PathRefused */
export async function openNew(root: string, path: string, shown: string, mode: number) {
  const { O_WRONLY, O_CREAT, O_EXCL, O_NOFOLLOW } = constants;
  const file = await open(path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, mode).catch(
    (error: unknown) => {
      throw refusalOf(error, shown);
    },
  );
  return checked(file, root, shown);
}

/** The second check: the open file is plain and inside the workspace. */
async function checked(file: FileHandle, root: string, shown: string): Promise<FileHandle> {
  try {
    if (!(await file.stat()).isFile()) {
      throw new PathRefused(`${shown || 'The path'} is not a plain file.`);
    }
    await whereOpen(file, root, shown);
    return file;
  } catch (error) {
    await file.close();
    throw error;
  }
}

/** The location of an open file or folder; undefined without /proc. @throws PathRefused: outside */
async function whereOpen(file: FileHandle, root: string, shown: string) {
  const real = await readlink(`/proc/self/fd/${file.fd}`).catch(() => undefined);
  if (real !== undefined && !isWithin(await realpath(root), real)) throw outside(shown);
  return real;
}

/** An open folder: a name appended to `at` is in it, even when its path has changed since. */
export type OpenFolder = { readonly at: string; close(): Promise<void> };

/** @throws PathRefused when it is missing, not a folder, or not in the workspace */
export async function openFolder(
  root: string,
  { path, shown }: WorkspacePath,
): Promise<OpenFolder> {
  const { O_RDONLY, O_DIRECTORY, O_NOFOLLOW } = constants;
  const folder = await open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW).catch((error: unknown) => {
    throw refusalOf(error, shown);
  });
  try {
    const real = await whereOpen(folder, root, shown);
    const at = real === undefined ? path : `/proc/self/fd/${folder.fd}`;
    return { at, close: () => folder.close() };
  } catch (error) {
    await folder.close();
    throw error;
  }
}

/** The same, component by component from the workspace's top; creates missing folders. */
export async function makeFolder(
  root: string,
  { path, shown }: WorkspacePath,
): Promise<OpenFolder> {
  const realRoot = await realpath(root);
  let folder = await openFolder(root, { path: realRoot, shown: '' });
  for (const name of relative(realRoot, path).split(sep).filter(Boolean)) {
    const above = folder;
    try {
      const next = join(above.at, name);
      await mkdir(next, 0o755).catch((error: NodeJS.ErrnoException) => {
        if (error.code !== 'EEXIST') throw refusalOf(error, shown);
      });
      folder = await openFolder(root, { path: next, shown });
    } finally {
      await above.close();
    }
  }
  return folder;
}

/**
 * Converts a system error into a message for the model; errors that it cannot act on are rethrown.
 */
export function refusalOf(error: unknown, shown: string): unknown {
  switch ((error as NodeJS.ErrnoException).code) {
    case 'ENOENT':
      return new PathRefused(`There is no file ${shown}.`);
    case 'ELOOP':
    case 'EMLINK':
      return outside(shown);
    case 'ENOTDIR':
      return new PathRefused(`A part of ${shown} is a file or a link, not a folder.`);
    case 'EISDIR':
      return new PathRefused(`${shown || 'The path'} is a folder.`);
    case 'ENXIO':
    case 'EOPNOTSUPP':
    case 'ENODEV':
      return new PathRefused(`${shown} is not a plain file.`);
    case 'EACCES':
    case 'EPERM':
      return new PathRefused(`${shown} cannot be opened: its permissions do not allow it.`);
    default:
      return error;
  }
}

const outside = (given: string): PathOutside =>
  new PathOutside(
    `${given} is not in the workspace. Use a path relative to the workspace, or under ${WORKSPACE}.`,
  );

export const isWithin = (root: string, path: string): boolean =>
  path === root || path.startsWith(root.endsWith(sep) ? root : root + sep);

/** A folder of the workspace by its real path; undefined when it is not a folder. */
export const isFolder = (path: string): Promise<boolean> =>
  stat(path).then(
    (found) => found.isDirectory(),
    () => false,
  );
