/**
 * Checkout: makes a folder contain exactly the entries of a manifest, whatever it contained before.
 * Existing files are compared by the hash of their bytes, never by their times. So a folder that a
 * crash left incomplete can be reused like an older version, and only differences are fetched.
 *
 * Invariant: nothing is written through a link. Before the first write, every link that is not in
 * the manifest is removed, and every folder that is written to is verified to be a real one; new
 * links are made last.
 */
import { randomUUID } from 'node:crypto';
import {
  chmod,
  lstat,
  mkdir,
  open,
  readdir,
  readlink,
  rename,
  rm,
  symlink,
} from 'node:fs/promises';
import { join } from 'node:path';
import type { SavedEntry, SavedFile } from './manifest.ts';
import { inParallel } from './parallel.ts';
import { isAbsent } from './peek.ts';
import { chunksOf, readTree, type Tree, type TreeEntry } from './tree.ts';
import { hashIn, hashOf } from './versions.ts';
import type { WorkspaceLimits } from './workspaces.ts';

type Fetch = (chunk: string) => Promise<Uint8Array>;

/** Files fetched concurrently: each needs memory for one chunk. */
const FILES_AT_ONCE = 8;

export async function checkOut(
  root: string,
  wanted: readonly SavedEntry[],
  limits: WorkspaceLimits,
  fetch: Fetch,
): Promise<void> {
  const there = await removeOthers(root, wanted, limits);
  for (const entry of wanted) {
    if (entry.kind === 'folder' && !there.has(entry.path)) await mkdir(join(root, entry.path));
  }
  const files = wanted.filter((entry) => entry.kind === 'file');
  await inParallel(files, FILES_AT_ONCE, (file) => bringFile(root, file, there, fetch));
  // Links come last, so that nothing is ever written through one.
  for (const entry of wanted) {
    if (entry.kind === 'link' && !there.has(entry.path))
      await symlink(entry.target, join(root, entry.path));
  }
}

/**
 * Removes entries that are not part of the version or of another kind; returns the remaining ones,
 * by path.
 */
async function removeOthers(
  root: string,
  wanted: readonly SavedEntry[],
  limits: WorkspaceLimits,
): Promise<Map<string, TreeEntry>> {
  const byPath = new Map(wanted.map((entry) => [entry.path, entry]));
  const there = new Map<string, TreeEntry>();
  const { entries, leftOut } = await readOrEmpty(root, limits);
  for (const entry of entries) {
    const other = byPath.get(entry.path);
    const stays =
      other?.kind === entry.kind &&
      (other.kind !== 'link' || (await readlink(join(root, entry.path))) === other.target);
    // Modes of folders are not part of a version, and a read-only folder could not be updated.
    if (stays && entry.kind === 'folder') await chmod(join(root, entry.path), 0o755);
    if (stays) there.set(entry.path, entry);
    else await removeTree(join(root, entry.path));
  }
  for (const { place } of leftOut) await removeTree(place);
  return there;
}

/**
 * Removes the file or folder, whatever is in it: folders that may not be written (module caches
 * have such), and paths longer than the kernel accepts.
 */
export async function removeTree(path: string | Buffer): Promise<void> {
  for (let isSecond = false; ; isSecond = true) {
    try {
      return await rm(path, { recursive: true, force: true });
    } catch (error) {
      const found = await lstat(path).catch(unlessGone);
      if (!found) return;
      if (!found.isDirectory()) throw error; // chmod would change what a link leads to
      const moved = await makeRemovable(Buffer.from(path));
      if (isSecond && moved === 0) throw error;
    }
  }
}

/** Bytes of a path below the root at which a folder is moved up: Linux accepts 4,095 in all. */
const DEEP_BYTES = 2_048;

/**
 * Makes folders writable, and moves those that are too deep directly below the root, where their
 * paths are shorter for the next attempt. Returns how many were moved. Folders may vanish in the
 * meantime: a failed call of `rm` still removes some.
 */
async function makeRemovable(root: Buffer): Promise<number> {
  let moved = 0;
  const enter = async (folder: Buffer): Promise<void> => {
    await chmod(folder, 0o700);
    for (const found of await readdir(folder, { withFileTypes: true, encoding: 'buffer' })) {
      if (!found.isDirectory()) continue;
      const place = within(folder, found.name);
      const isDeep = place.length - root.length > DEEP_BYTES;
      await (isDeep ? moveUp(place) : enter(place)).catch(unlessGone);
    }
  };
  const moveUp = async (place: Buffer): Promise<void> => {
    await chmod(place, 0o700);
    await rename(place, within(root, Buffer.from(`moved-${randomUUID()}`)));
    moved++;
  };
  await enter(root).catch(unlessGone);
  return moved;
}

function unlessGone(error: unknown): void {
  if (!isAbsent(error)) throw error;
}

const within = (folder: Buffer, name: Buffer): Buffer =>
  Buffer.concat([folder, Buffer.from('/'), name]);

/** A copy that cannot be read, or exceeds the limits, cannot be reused: it is emptied. */
async function readOrEmpty(root: string, limits: WorkspaceLimits): Promise<Tree> {
  try {
    return await readTree(root, limits);
  } catch {
    await removeTree(root);
    await mkdir(root, { mode: 0o700 });
    return { entries: [], leftOut: [] };
  }
}

async function bringFile(
  root: string,
  file: SavedFile,
  there: ReadonlyMap<string, TreeEntry>,
  fetch: Fetch,
): Promise<void> {
  const path = join(root, file.path);
  const found = there.get(file.path);
  if (found?.kind === 'file' && found.bytes === file.bytes && (await hasBytes(path, file))) {
    if (found.mode !== file.mode) await chmod(path, file.mode);
    return;
  }
  await rm(path, { force: true });
  const handle = await open(path, 'wx', 0o600);
  try {
    for (const chunk of file.chunks) await handle.writeFile(await fetch(chunk));
    await handle.chmod(file.mode);
  } finally {
    await handle.close();
  }
}

async function hasBytes(path: string, { chunks }: SavedFile): Promise<boolean> {
  let at = 0;
  try {
    for await (const bytes of chunksOf(path)) {
      const chunk = chunks[at++];
      if (chunk === undefined || hashIn(chunk) !== hashOf(bytes)) return false;
    }
  } catch {
    return false; // not readable: written again
  }
  return at === chunks.length;
}
