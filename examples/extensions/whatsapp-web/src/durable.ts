/**
 * Files that a kill leaves either old or new, and never in between.
 *
 * Node's permission model has no `fsync`, so files are opened for synchronous writes (O_SYNC). The
 * new name of a file cannot be forced onto the disk: after a power failure within seconds of a
 * rename, the old file may be back.
 */
import { closeSync, constants, mkdirSync, openSync, renameSync, writeSync } from 'node:fs';
import { dirname } from 'node:path';

const { O_APPEND, O_CREAT, O_SYNC, O_TRUNC, O_WRONLY } = constants;

export function writeDurably(file: string, text: string): void {
  mkdirSync(dirname(file), { recursive: true, mode: 0o700 });
  const next = `${file}.next`;
  const descriptor = openSync(next, O_WRONLY | O_CREAT | O_TRUNC | O_SYNC, 0o600);
  try {
    writeWhole(descriptor, text);
  } finally {
    closeSync(descriptor);
  }
  renameSync(next, file);
}

/** A descriptor for lines at the end of a file; each write is on the disk when it returns. */
export const openForLines = (file: string): number =>
  openSync(file, O_WRONLY | O_APPEND | O_SYNC, 0o600);

/** One write after the other until all bytes are written. */
export function writeWhole(descriptor: number, text: string): void {
  const bytes = Buffer.from(text);
  for (let from = 0; from < bytes.length; ) from += writeSync(descriptor, bytes, from);
}
