/**
 * The temporary folder in which a test starts processes of its own. Without room there, these
 * processes refuse work, which would look like a failure of theirs.
 */
import { mkdtempSync, statfsSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { TroupeError } from '../../protocols/errors.ts';
import { bytes } from '../output.ts';

/** What a short test needs. */
const BEGIN_BYTES_MIN = 64e6;
/** Below it a test ends: its account would be wrong. */
const RUN_BYTES_MIN = 16e6;
const LOOK_MS = 1_000;

/** For the configuration of a test's processes: room is checked here, for the whole disk. */
export const NO_DISK_LIMITS = { disk: { warnBytes: 0, readOnlyBytes: 0 } } as const;

/**
 * Makes a folder of this prefix in the temporary folder of this machine.
 * @throws TroupeError UNAVAILABLE when it has less than 64 MB free, or cannot be used
 */
export function temporaryFolder(prefix: string): string {
  const place = tmpdir();
  try {
    const full = fullDisk(place, BEGIN_BYTES_MIN);
    if (full) throw full;
    return mkdtempSync(join(place, prefix));
  } catch (cause) {
    if (cause instanceof TroupeError) throw cause;
    const { code = 'unknown error' } = cause as NodeJS.ErrnoException;
    throw new TroupeError(
      'UNAVAILABLE',
      `the temporary folder ${place} cannot be used (${code}): set TMPDIR to another folder`,
      { cause },
    );
  }
}

/** Aborted, with the error as its reason, when the disk of the folder is nearly full. */
export function whenFull(folder: string): { readonly signal: AbortSignal; end(): void } {
  const stop = new AbortController();
  const timer = setInterval(() => {
    const full = fullDisk(folder, RUN_BYTES_MIN);
    if (full) stop.abort(full);
  }, LOOK_MS);
  return { signal: stop.signal, end: () => clearInterval(timer) };
}

function fullDisk(folder: string, bytesMin: number): TroupeError | undefined {
  const { bavail, bsize } = statfsSync(folder);
  const freeBytes = bavail * bsize;
  if (freeBytes >= bytesMin) return undefined;
  return new TroupeError(
    'UNAVAILABLE',
    `the disk of the temporary folder ${tmpdir()} has ${bytes(freeBytes)} free, and the processes of ` +
      `this test need ${bytes(bytesMin)}: make room there, or set TMPDIR to a folder with more`,
    { details: { path: folder, freeBytes } },
  );
}
