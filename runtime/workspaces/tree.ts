/**
 * Tree: the contents of a workspace's folder, read without following links. What cannot be saved is
 * left out and reported by name: a link that escapes, a socket, a pipe, a device, a name that is
 * not UTF-8, a file that this process may not read.
 *
 * Two kinds of links are saved:
 *  - A relative link inside the workspace. Its target has `..` only at the beginning, not more than
 *    the depth of the link. The folder of the link is a real one, so these `..` are exact. The rest
 *    of the target goes down, through folders or other saved links, so by induction it stays in the
 *    workspace. (Resolving the text alone would be wrong: `a/../b` leaves the folder when `a` is a
 *    link to a place higher up.)
 *  - A link to a path of the sandbox: absolute, without `..`, below the folders of programs or the
 *    mount point of the workspace (`protocols/sandbox/sandbox-paths.ts`). It is meant for
 *    sandboxes. Outside of one it would name a file of the worker's machine, so code that reads or
 *    writes a workspace from outside never follows a link that leaves the folder.
 */
import { constants, type Stats } from 'node:fs';
import { access, chmod, type FileHandle, lstat, open, readdir, readlink } from 'node:fs/promises';
import { posix } from 'node:path';
import { TroupeError } from '../../protocols/errors.ts';
import { PROGRAM_FOLDERS, WORKSPACE } from '../../protocols/sandbox/sandbox-paths.ts';
import type { LeftOut, WorkspaceLimits } from './workspaces.ts';

export type TreeEntry =
  | { readonly kind: 'folder'; readonly path: string }
  | { readonly kind: 'link'; readonly path: string; readonly target: string }
  /** mode: the nine permission bits */
  | { readonly kind: 'file'; readonly path: string; readonly mode: number; readonly bytes: number };

export type Tree = {
  /** a folder comes right before its contents; names in one folder are in order of UTF-16 units */
  readonly entries: TreeEntry[];
  /** `place`: its path on this machine, in bytes, for a name that is not UTF-8 */
  readonly leftOut: (LeftOut & { readonly place: Buffer })[];
};

/** @throws TroupeError PAYLOAD_TOO_LARGE past a limit */
export async function readTree(root: string, limits: WorkspaceLimits): Promise<Tree> {
  const { entries, leftOut }: Tree = { entries: [], leftOut: [] };
  let bytes = 0;
  const walk = async (folder: string, names: readonly Found[], depth: number): Promise<void> => {
    if (depth > limits.depthMax) throw tooMuch(`${limits.depthMax} folders deep`, folder);
    for (const { name, place } of names) {
      const path = folder === '' ? name : `${folder}/${name}`;
      if (Buffer.byteLength(path) > limits.pathBytesMax)
        throw tooMuch(`${limits.pathBytesMax} bytes in a path`, path);
      if (entries.length + leftOut.length >= limits.entriesMax)
        throw tooMuch(`${limits.entriesMax} entries`, path);
      const entry = await readEntry(path, place);
      if (typeof entry === 'string') {
        leftOut.push({ path, place, reason: entry });
        continue;
      }
      const within = entry.kind === 'folder' ? await namesIn(place) : [];
      if (within === undefined) {
        leftOut.push({ path, place, reason: UNREADABLE });
        continue;
      }
      entries.push(entry);
      if (entry.kind === 'folder') await walk(path, within, depth + 1);
      if (entry.kind !== 'file') continue;
      if (entry.bytes > limits.fileBytesMax)
        throw tooMuch(`${limits.fileBytesMax} bytes in a file`, path);
      bytes += entry.bytes;
      if (bytes > limits.bytesMax) throw tooMuch(`${limits.bytesMax} bytes in all`, path);
    }
  };
  const top = Buffer.from(root);
  // A command may have made the root unreadable. Saving would then remove all files.
  const { mode } = await lstat(top);
  if ((mode & 0o700) !== 0o700) await chmod(top, (mode & 0o777) | 0o700);
  const names = await namesIn(top);
  if (!names) throw new TroupeError('UNAVAILABLE', `${root} cannot be read: ${UNREADABLE}`);
  await walk('', names, 0);
  return { entries, leftOut };
}

type Found = { readonly name: string; readonly place: Buffer };

/** In order. Undefined when this process may not read the folder. */
async function namesIn(folder: Buffer): Promise<Found[] | undefined> {
  try {
    const names = await readdir(folder, { encoding: 'buffer' });
    const found = names.map((name) => ({
      name: name.toString('utf8'),
      place: Buffer.concat([folder, SLASH, name]),
    }));
    return found.sort((a, b) => (a.name < b.name ? -1 : 1));
  } catch (error) {
    if (isForbidden(error)) return undefined;
    throw error;
  }
}

const SLASH = Buffer.from('/');
const UNREADABLE = 'its permissions do not allow reading';

const isForbidden = (error: unknown): boolean =>
  ['EACCES', 'EPERM'].includes((error as NodeJS.ErrnoException).code ?? '');

/** Returns a text with the reason for an entry that cannot be saved. */
async function readEntry(path: string, place: Buffer): Promise<TreeEntry | string> {
  if (path.includes('\uFFFD')) return 'its name is not UTF-8';
  const found = await lstat(place).catch((error: unknown) => {
    if (isForbidden(error)) return undefined; // its folder may be listed but not entered
    throw error;
  });
  if (!found) return UNREADABLE;
  if (found.isDirectory()) return { kind: 'folder', path };
  if (found.isFile()) {
    if (!(await isReadable(place))) return UNREADABLE;
    return { kind: 'file', path, mode: found.mode & 0o777, bytes: found.size };
  }
  if (!found.isSymbolicLink()) return `it is a ${specialKind(found)}`;
  const target = await readlink(place);
  if (target.includes('\uFFFD')) return 'it is a link to a name that is not UTF-8';
  if (staysInside(path, target) || isSandboxPath(target)) return { kind: 'link', path, target };
  return `it is a link to ${JSON.stringify(target)}, outside of the workspace and of the sandbox`;
}

const isReadable = (place: Buffer): Promise<boolean> =>
  access(place, constants.R_OK).then(
    () => true,
    (error: unknown) => {
      if (isForbidden(error)) return false;
      throw error;
    },
  );

const specialKind = (found: Stats): string => {
  if (found.isFIFO()) return 'named pipe';
  return found.isSocket() ? 'socket' : 'device';
};

/** Whether a link at `path` (relative to the root) cannot lead out; see the file's head. */
export function staysInside(path: string, target: string): boolean {
  if (target === '' || posix.isAbsolute(target)) return false;
  const steps = target.split('/').filter((step) => step !== '' && step !== '.');
  const down = steps.findIndex((step) => step !== '..');
  const climbs = down < 0 ? steps.length : down;
  return climbs <= path.split('/').length - 1 && !steps.slice(climbs).includes('..');
}

/** Whether a link to this path has the same, unambiguous meaning in every sandbox. */
export const isSandboxPath = (target: string): boolean =>
  posix.isAbsolute(target) &&
  !target.split('/').includes('..') &&
  [...PROGRAM_FOLDERS, WORKSPACE].some((folder) => {
    const path = posix.normalize(target);
    return path === folder || path.startsWith(`${folder}/`);
  });

/** Files are cut into blobs of this size: one is in memory at a time. */
export const CHUNK_BYTES = 4 * 1024 * 1024;

/** The file's bytes in pieces of CHUNK_BYTES, the last one shorter; none for an empty file. */
export async function* chunksOf(file: string): AsyncGenerator<Buffer> {
  // the target of a link is never read
  const handle = await open(file, constants.O_RDONLY | constants.O_NOFOLLOW);
  try {
    let left = (await handle.stat()).size;
    for (;;) {
      const chunk = await readChunk(handle, left);
      left -= chunk.length;
      if (chunk.length > 0) yield chunk;
      if (chunk.length < CHUNK_BYTES) return;
    }
  } finally {
    await handle.close();
  }
}

/** @param expected remaining bytes of the file; one more is requested, to detect its end */
async function readChunk(handle: FileHandle, expected: number): Promise<Buffer> {
  let chunk = Buffer.allocUnsafe(Math.min(Math.max(expected, 0) + 1, CHUNK_BYTES));
  for (let filled = 0; ; ) {
    const { bytesRead } = await handle.read(chunk, filled, chunk.length - filled);
    filled += bytesRead;
    if (bytesRead === 0 || filled === CHUNK_BYTES) return chunk.subarray(0, filled);
    if (filled < chunk.length) continue;
    const larger = Math.min(2 * chunk.length, CHUNK_BYTES); // the file has grown since its size was read
    chunk = Buffer.concat([chunk], larger);
  }
}

const tooMuch = (limit: string, path: string): TroupeError =>
  new TroupeError(
    'PAYLOAD_TOO_LARGE',
    `the workspace has more than ${limit}, at ${JSON.stringify(path)}; ` +
      'remove files that can be created again, or store large files elsewhere',
    { details: { path } },
  );
