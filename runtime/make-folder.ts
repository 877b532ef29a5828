/**
 * Creates a folder and its parents. `mkdir` with `recursive` is not used: it never returns where
 * the operating system answers ENOENT although the parent exists (below `/proc`; Node 20 to 24).
 */
import { mkdirSync, type Stats, statSync } from 'node:fs';
import { dirname, resolve } from 'node:path';
import { TroupeError } from '../protocols/errors.ts';

/**
 * An existing folder is not changed.
 * @param mode of new folders; default: only the owner may enter them
 * @returns the topmost folder that was made; undefined when the folder existed
 * @throws TroupeError INVALID_ARGUMENT when the path is a file, or the folder cannot be made
 */
export function makeFolder(path: string, mode = 0o700): string | undefined {
  const folder = resolve(path);
  const found = lookUp(folder);
  if (found?.isDirectory()) return undefined;
  if (found) throw refused(folder, 'it is a file: choose a folder');
  const parent = dirname(folder);
  const topmost = parent === folder ? undefined : makeFolder(parent, mode);
  try {
    mkdirSync(folder, { mode });
  } catch (error) {
    const { code = 'unknown error' } = error as NodeJS.ErrnoException;
    // Another process may have made it since.
    if (code === 'EEXIST') return makeFolder(folder, mode) ?? topmost;
    throw refused(folder, `${code}; name another folder, or check its permissions`, error);
  }
  return topmost ?? folder;
}

/** undefined: there is nothing; below a file there is nothing either. */
function lookUp(path: string): Stats | undefined {
  try {
    return statSync(path, { throwIfNoEntry: false });
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOTDIR') return undefined;
    throw refused(path, 'it cannot be read', error);
  }
}

const refused = (folder: string, why: string, cause?: unknown): TroupeError =>
  new TroupeError('INVALID_ARGUMENT', `the folder ${folder} cannot be used: ${why}`, { cause });
