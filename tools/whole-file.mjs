/** Files of a build that are written whole, and what a build that was killed leaves of them. */
import * as fs from 'node:fs';
import { dirname } from 'node:path';

/**
 * Written to a temporary name and renamed: a program that starts meanwhile reads the old or the new
 * file.
 */
export function writeWhole(path, contents, mode = 0o666) {
  fs.mkdirSync(dirname(path), { recursive: true });
  const partial = `${path}.${process.pid}.partial`;
  fs.writeFileSync(partial, contents, { mode });
  fs.renameSync(partial, path);
}

/** Undefined for other files; true: the build that was writing it is gone. */
export function isAbandoned(path) {
  const [, pid] = /\.(\d+)\.partial$/.exec(path) ?? [];
  return pid && !isAlive(Number(pid));
}

function isAlive(pid) {
  try {
    return process.kill(pid, 0);
  } catch (error) {
    return error.code !== 'ESRCH';
  }
}
