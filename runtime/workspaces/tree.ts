/**
 * Tree: what is in a workspace's folder, read without following any link, and refused where it
 * could not be kept or could lead out of the folder.
 *
 * A link's target is relative, its `..` stand at its beginning only, and they do not climb over the
 * workspace's root. The folder a link is in is a real one, so those `..` mean what they say; what
 * follows goes down, through folders or through other links of the same kind. So by induction no
 * link leads out. (Resolving the text alone would not do: `a/../b` leaves the folder when `a` is a
 * link to a place higher up.)
 */
import { type FileHandle, lstat, open, readdir, readlink } from 'node:fs/promises';
import { join, posix } from 'node:path';
import { TroupeError } from '../../protocols/errors.ts';
import type { WorkspaceLimits } from './workspaces.ts';

export type TreeEntry =
  | { readonly kind: 'folder'; readonly path: string }
  | { readonly kind: 'link'; readonly path: string; readonly target: string }
  /** mode: the nine permission bits */
  | { readonly kind: 'file'; readonly path: string; readonly mode: number; readonly bytes: number };

/** A folder stands right before what it holds; names of one folder are in order of UTF-16 units. */
export async function readTree(root: string, limits: WorkspaceLimits): Promise<TreeEntry[]> {
  const entries: TreeEntry[] = [];
  let bytes = 0;
  const walk = async (folder: string, depth: number): Promise<void> => {
    if (depth > limits.depthMax) throw tooMuch(`${limits.depthMax} folders deep`, folder);
    for (const name of (await readdir(join(root, folder))).sort()) {
      const path = folder === '' ? name : `${folder}/${name}`;
      checkPath(path, limits);
      const entry = await readEntry(root, path);
      entries.push(entry);
      if (entries.length > limits.entriesMax) throw tooMuch(`${limits.entriesMax} entries`, path);
      if (entry.kind === 'folder') await walk(path, depth + 1);
      if (entry.kind !== 'file') continue;
      if (entry.bytes > limits.fileBytesMax)
        throw tooMuch(`${limits.fileBytesMax} bytes in a file`, path);
      bytes += entry.bytes;
      if (bytes > limits.bytesMax) throw tooMuch(`${limits.bytesMax} bytes in all`, path);
    }
  };
  await walk('', 0);
  return entries;
}

async function readEntry(root: string, path: string): Promise<TreeEntry> {
  const place = join(root, path);
  const found = await lstat(place);
  if (found.isDirectory()) return { kind: 'folder', path };
  if (found.isFile()) return { kind: 'file', path, mode: found.mode & 0o777, bytes: found.size };
  if (!found.isSymbolicLink())
    throw refused(path, 'is neither a file, a folder nor a link; remove it');
  const target = await readlink(place);
  if (!staysInside(path, target))
    throw refused(path, `is a link to ${JSON.stringify(target)}: ${LINK_RULE}`);
  return { kind: 'link', path, target };
}

const LINK_RULE =
  "a link in a workspace leads to a place in it, relative, with `..` at the target's beginning only";

/** Whether a link at `path` (relative to the root) can not lead out; see the file's head. */
export function staysInside(path: string, target: string): boolean {
  if (target === '' || posix.isAbsolute(target)) return false;
  const steps = target.split('/').filter((step) => step !== '' && step !== '.');
  const down = steps.findIndex((step) => step !== '..');
  const climbs = down < 0 ? steps.length : down;
  return climbs <= path.split('/').length - 1 && !steps.slice(climbs).includes('..');
}

/** A name that is not UTF-8 comes from Node with U+FFFD in it and can not be opened again. */
function checkPath(path: string, limits: WorkspaceLimits): void {
  if (path.includes('\uFFFD')) throw refused(path, 'has a name that is not UTF-8; rename it');
  if (Buffer.byteLength(path) > limits.pathBytesMax)
    throw tooMuch(`${limits.pathBytesMax} bytes in a path`, path);
}

/** Files are cut into blobs of this size: one is in memory at a time. */
export const CHUNK_BYTES = 4 * 1024 * 1024;

/** The file's bytes in pieces of CHUNK_BYTES, the last one shorter; none for an empty file. */
export async function* chunksOf(file: string): AsyncGenerator<Buffer> {
  const handle = await open(file, 'r');
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

/** @param expected bytes that are left of the file; one more is asked for, to see its end */
async function readChunk(handle: FileHandle, expected: number): Promise<Buffer> {
  let chunk = Buffer.allocUnsafe(Math.min(Math.max(expected, 0) + 1, CHUNK_BYTES));
  for (let filled = 0; ; ) {
    const { bytesRead } = await handle.read(chunk, filled, chunk.length - filled);
    filled += bytesRead;
    if (bytesRead === 0 || filled === CHUNK_BYTES) return chunk.subarray(0, filled);
    if (filled < chunk.length) continue;
    const larger = Math.min(2 * chunk.length, CHUNK_BYTES); // it grew since it was looked at
    chunk = Buffer.concat([chunk], larger);
  }
}

const refused = (path: string, why: string): TroupeError =>
  new TroupeError('INVALID_ARGUMENT', `${JSON.stringify(path)} in the workspace ${why}`, {
    details: { path },
  });

const tooMuch = (limit: string, path: string): TroupeError =>
  new TroupeError(
    'PAYLOAD_TOO_LARGE',
    `the workspace has more than ${limit}, at ${JSON.stringify(path)}; ` +
      'remove what can be made again, or keep large files elsewhere',
    { details: { path } },
  );
