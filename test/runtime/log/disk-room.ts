/**
 * The space on the disk of one process. A limit on the size of its files makes their writes fail as
 * a full disk does, without a mount, and for no other process.
 */
import { execFileSync } from 'node:child_process';

export const hasPrlimit = (): boolean => {
  try {
    execFileSync('prlimit', ['--version']);
    return true;
  } catch {
    return false;
  }
};

/**
 * From now on no write of the process to a file succeeds, except to its first bytes. A full disk
 * does not refuse to overwrite either: the headers of LMDB are there, and when a write of them
 * fails, LMDB cannot be used any more until it is opened again.
 */
export const fillDisk = (pid: number): void => limit(pid, `${HEADER_BYTES}:unlimited`);

const HEADER_BYTES = 8_192;

export const emptyDisk = (pid: number): void => limit(pid, 'unlimited:unlimited');

const limit = (pid: number, bytes: string): void => {
  execFileSync('prlimit', ['--pid', `${pid}`, `--fsize=${bytes}`]);
};
