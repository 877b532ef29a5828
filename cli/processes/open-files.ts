/** Checks how many files this process may open: sockets, stores and loaded modules count. */
import { readFileSync } from 'node:fs';
import { TroupeError } from '../../protocols/errors.ts';

/** An idle process has about 60; the rest is for clients, tools and model calls. */
const OPEN_FILES_MIN = 256;

/** Does nothing where the limit is not known. @throws TroupeError UNAVAILABLE when it is too low */
export function checkOpenFiles(): void {
  const limit = openFilesLimit();
  if (limit === undefined || limit >= OPEN_FILES_MIN) return;
  throw new TroupeError(
    'UNAVAILABLE',
    `this process may open ${limit} files, and troupe needs ${OPEN_FILES_MIN} or more: ulimit -n 4096`,
  );
}

/** The soft limit, which Node raises to the hard one at its start; undefined outside of Linux. */
function openFilesLimit(): number | undefined {
  try {
    const [, soft] =
      /^Max open files +(\d+)/m.exec(readFileSync('/proc/self/limits', 'utf8')) ?? [];
    return soft === undefined ? undefined : Number(soft);
  } catch {
    return undefined;
  }
}
