/**
 * Peek: reads some files of a workspace without opening it. The files for a prompt are read before
 * every run, and must neither wait for a tool that works in the folder nor cost a copy of it.
 *
 * Invariant: nothing outside the workspace is read, even when it contains links that change in the
 * meantime. The path is resolved and opened without following a link; on Linux the opened file is
 * compared with the path again.
 */
import { constants } from 'node:fs';
import { type FileHandle, open, readdir, readlink, realpath, stat } from 'node:fs/promises';
import { join, sep } from 'node:path';

export type PeekedFile = {
  readonly path: string;
  /** absent if the file exists and was not read; `left` says why */
  readonly bytes?: Uint8Array;
  readonly size: number;
  /** larger than PEEK_BYTES_MAX; a link that leads out or nowhere; a folder, a pipe, no right */
  readonly left?: 'too large' | 'leads out' | 'unreadable';
};

/** The result. Pass it to the next call: the same object is returned if nothing changed. */
export type Peeked = {
  readonly signature: string;
  /** existing files, in the order of the requested paths, then by name */
  readonly files: readonly PeekedFile[];
};

/** Result for one file. */
export const PEEK_BYTES_MAX = 1024 * 1024;
/** Maximum number of folders that `*` matches, in the order of their names. */
export const PEEK_FOLDERS_MAX = 200;
/** A file that was just written may be written again without a change of its times. */
const UNSETTLED_MS = 50;
const UNSETTLED = ' unsettled';

export const NOTHING: Peeked = { signature: '', files: [] };

/** What distinguishes versions of a file in the file system; undefined: it does not exist. */
type Sign = { readonly path: string; readonly sign: string; readonly changedMs: number };

/**
 * @param paths relative to the folder; one step may be `*`: every folder there, no link to one
 * @param wallMs now, by a clock that is close to the file system's
 */
export async function peekFolder(
  root: string,
  paths: readonly string[],
  before: Peeked | undefined,
  wallMs: () => number,
): Promise<Peeked> {
  const now = wallMs();
  const wanted = (await Promise.all(paths.map((path) => expanded(root, path)))).flat();
  const signs = (await Promise.all(wanted.map((path) => signOf(root, path)))).filter(
    (sign) => sign !== undefined,
  );
  if (signs.length === 0) return NOTHING;
  const settled = signs.every(({ changedMs }) => changedMs < now - UNSETTLED_MS);
  const signature = signs.map(({ path, sign }) => `${path}\0${sign}`).join('\n');
  if (settled && before?.signature === signature) return before;
  const top = await realpath(root).catch(unlessAbsent);
  if (top === undefined) return NOTHING;
  const files = await Promise.all(signs.map(({ path }) => readInside(top, path)));
  return {
    signature: settled ? signature : signature + UNSETTLED,
    files: files.filter((file) => file !== undefined),
  };
}

/** The paths that a path with `*` matches. */
async function expanded(root: string, path: string): Promise<string[]> {
  const steps = path.split('/');
  const star = steps.indexOf('*');
  if (star < 0) return [path];
  const folder = steps.slice(0, star).join('/');
  try {
    const found = await readdir(join(root, folder), { withFileTypes: true });
    const names = found.filter((entry) => entry.isDirectory()).map(({ name }) => name);
    return names
      .sort()
      .slice(0, PEEK_FOLDERS_MAX)
      .map((name) => [...steps.slice(0, star), name, ...steps.slice(star + 1)].join('/'));
  } catch (error) {
    if (isAbsent(error)) return [];
    throw error;
  }
}

async function signOf(root: string, path: string): Promise<Sign | undefined> {
  try {
    const { ino, size, mtimeMs, ctimeMs } = await stat(join(root, path));
    return { path, sign: `${ino} ${size} ${mtimeMs} ${ctimeMs}`, changedMs: ctimeMs };
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === 'ELOOP' || code === 'EACCES') return { path, sign: code, changedMs: 0 };
    if (isAbsent(error)) return undefined;
    throw error;
  }
}

/** Whether the error means that the name does not exist. */
export const isAbsent = (error: unknown): boolean =>
  ['ENOENT', 'ENOTDIR'].includes((error as NodeJS.ErrnoException).code ?? '');

function unlessAbsent(error: unknown): undefined {
  if (!isAbsent(error)) throw error;
}

/** undefined: it was removed meanwhile. */
async function readInside(top: string, path: string): Promise<PeekedFile | undefined> {
  const inside = (place: string) => place.startsWith(top + sep);
  let file: FileHandle | undefined;
  try {
    const place = await realpath(join(top, path));
    if (!inside(place)) return { path, size: 0, left: 'leads out' };
    // does not block on a pipe, and does not follow a file that has become a link
    const flags = constants.O_RDONLY | constants.O_NONBLOCK | constants.O_NOFOLLOW;
    file = await open(place, flags);
    const opened = await readlink(`/proc/self/fd/${file.fd}`).catch(() => place);
    if (!inside(opened)) return { path, size: 0, left: 'leads out' };
    const found = await file.stat();
    if (!found.isFile()) return { path, size: 0, left: 'unreadable' };
    if (found.size > PEEK_BYTES_MAX) return { path, size: found.size, left: 'too large' };
    const bytes = await readAtMost(file, PEEK_BYTES_MAX);
    return { path, size: bytes.length, bytes };
  } catch (error) {
    return isAbsent(error) ? undefined : { path, size: 0, left: 'unreadable' };
  } finally {
    await file?.close();
  }
}

/** The file may grow while it is read. */
async function readAtMost(file: FileHandle, max: number): Promise<Uint8Array> {
  const { size } = await file.stat();
  const bytes = Buffer.alloc(Math.min(size, max));
  let filled = 0;
  while (filled < bytes.length) {
    const { bytesRead } = await file.read(bytes, filled, bytes.length - filled, filled);
    if (bytesRead === 0) break;
    filled += bytesRead;
  }
  return bytes.subarray(0, filled);
}
