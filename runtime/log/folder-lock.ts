/**
 * Folder lock: at most one process uses a data folder. The kernel holds the lock and releases it
 * when the process ends in any way, kill -9 included, so there are no stale locks: a lock file with
 * a pid could not detect a reused pid, or distinguish pid 1 of two containers.
 *
 * Node has no flock(2), so:
 *  - where the `flock` program exists (Linux: util-linux, busybox), it locks a file descriptor that
 *    it shares with this process. A flock belongs to the open file, not to the process that
 *    requested it (man 2 flock), so it remains when the program ends and is released when this
 *    process ends. It works across containers;
 *  - macOS and the BSDs take the same lock by a flag of open(2);
 *  - elsewhere a listening socket is the lock: an abstract socket (Linux) or a named pipe (Windows)
 *    named by the folder's identity. It is exclusive per host, on Linux per network namespace.
 *
 * The text of the lock file only names the holder in the error; it decides nothing.
 */
import { spawnSync } from 'node:child_process';
import { closeSync, ftruncateSync, openSync, readFileSync, statSync, writeSync } from 'node:fs';
import { createServer, type Server } from 'node:net';
import { join } from 'node:path';
import { TroupeError } from '../../protocols/errors.ts';
import { unreadable } from './store-errors.ts';

export const LOCK_FILE = 'troupe.lock';
/** open(2) on macOS and the BSDs: take an exclusive lock, do not wait for it */
const O_EXLOCK = 0x20;
const O_NONBLOCK = 0x4;
const O_RDWR_CREAT = 0x2 | 0x200;
const FLOCK_TIMEOUT_MS = 10_000;

export type FolderLock = {
  /** Frees the folder. May be repeated. */
  release(): Promise<void>;
};

type Means = 'flock' | 'open-flag' | 'socket';

/**
 * @param means for tests; default: the strongest this machine has
 * @throws TroupeError UNAVAILABLE, details.reason LOCKED and details.pid, when another process has
 * it
 */
export const lockFolder = async (folder: string, means?: Means): Promise<FolderLock> => {
  const chosen = means ?? (O_EXLOCK_PLATFORMS.has(process.platform) ? 'open-flag' : 'flock');
  const path = join(folder, LOCK_FILE);
  const file = openLockFile(folder, path, chosen);
  let server: Server | undefined;
  try {
    const answer = chosen === 'flock' ? flock(file) : chosen === 'socket' ? 'absent' : 'locked';
    if (answer === 'held') throw locked(folder, path);
    if (answer === 'absent') server = await listen(folder, path);
    ftruncateSync(file, 0);
    writeSync(file, `${process.pid}\n`, 0);
  } catch (error) {
    closeSync(file);
    throw error;
  }
  let released = false;
  return {
    async release() {
      if (released) return;
      released = true;
      closeSync(file);
      await new Promise<void>((resolve) =>
        server === undefined ? resolve() : server.close(() => resolve()),
      );
    },
  };
};

const O_EXLOCK_PLATFORMS = new Set<string>(['darwin', 'freebsd', 'openbsd', 'netbsd']);

const openLockFile = (folder: string, path: string, means: Means): number => {
  try {
    if (means === 'open-flag') return openSync(path, O_RDWR_CREAT | O_EXLOCK | O_NONBLOCK, 0o600);
    return openSync(path, 'a+', 0o600);
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (means === 'open-flag' && (code === 'EAGAIN' || code === 'EWOULDBLOCK'))
      throw locked(folder, path);
    throw unreadable(folder, error);
  }
};

/** `absent`: there is no such program here, or the file system has no such locks. */
const flock = (file: number): 'locked' | 'held' | 'absent' => {
  const { status, error } = spawnSync('flock', ['-x', '-n', '3'], {
    stdio: ['ignore', 'ignore', 'ignore', file],
    timeout: FLOCK_TIMEOUT_MS,
  });
  if (error === undefined && status === 0) return 'locked';
  return error === undefined && status === 1 ? 'held' : 'absent';
};

const listen = (folder: string, path: string): Promise<Server> => {
  const { dev, ino } = statSync(folder, { bigint: true });
  const name = `troupe-${dev.toString(16)}-${ino.toString(16)}`;
  const server = createServer((socket) => socket.destroy());
  server.unref();
  return new Promise((resolve, reject) => {
    server.once('error', (error: NodeJS.ErrnoException) =>
      reject(error.code === 'EADDRINUSE' ? locked(folder, path) : unreadable(folder, error)),
    );
    server.listen(process.platform === 'win32' ? `\\\\.\\pipe\\${name}` : `\0${name}`, () =>
      resolve(server),
    );
  });
};

const locked = (folder: string, path: string): TroupeError => {
  const pid = holder(path);
  const who = pid === undefined ? 'another process' : `process ${pid}`;
  return new TroupeError(
    'UNAVAILABLE',
    `the data folder ${folder} is in use by ${who}. Stop it first, or start with another data folder.`,
    { details: { reason: 'LOCKED', path: folder, ...(pid === undefined ? {} : { pid }) } },
  );
};

const holder = (path: string): number | undefined => {
  const pid = Number.parseInt(readFileSync(path, 'utf8'), 10);
  return Number.isSafeInteger(pid) && pid > 0 ? pid : undefined;
};
