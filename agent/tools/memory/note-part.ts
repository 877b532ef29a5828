/**
 * Reads a part of a note within one turn: a few calls of some microseconds, where calls in threads
 * take six times as much of the processor.
 *
 * Invariants: those of ../files/paths.ts. No link is followed, and only a plain file is read.
 */
import {
  type BigIntStats,
  closeSync,
  constants,
  fstatSync,
  openSync,
  readlinkSync,
  readSync,
  realpathSync,
} from 'node:fs';
import { join } from 'node:path';

export type OpenPart = {
  /** real path */
  readonly path: string;
  readonly bytes: Uint8Array;
  /** after the bytes were read */
  readonly stats: BigIntStats;
};

/** undefined: it cannot be read in this way. Reading the whole file tells why. */
export function readPart(
  root: string,
  path: string,
  { from, bytes }: { readonly from: number; readonly bytes: number },
): OpenPart | undefined {
  let file: number | undefined;
  try {
    const place = join(realpathSync.native(root), path);
    if (realpathSync.native(place) !== place) return undefined;
    const { O_RDONLY, O_NOFOLLOW, O_NONBLOCK } = constants;
    file = openSync(place, O_RDONLY | O_NOFOLLOW | O_NONBLOCK);
    if (!fstatSync(file).isFile() || (realPathOf(file) ?? place) !== place) return undefined;
    const buffer = Buffer.allocUnsafe(bytes);
    const length = readSync(file, buffer, 0, bytes, from);
    const stats = fstatSync(file, { bigint: true });
    return { path: place, bytes: buffer.subarray(0, length), stats };
  } catch {
    return undefined;
  } finally {
    if (file !== undefined) closeSync(file);
  }
}

/** undefined without /proc */
function realPathOf(file: number): string | undefined {
  try {
    return readlinkSync(`/proc/self/fd/${file}`);
  } catch {
    return undefined;
  }
}
