/**
 * A disk that is full for the header of LMDB's data file, in the process that calls this. Linux.
 */
import assert from 'node:assert/strict';
import { closeSync, openSync, readdirSync, readFileSync, readlinkSync } from 'node:fs';
import { join } from 'node:path';
const DATA_FILE = 'data.mdb';

const DESCRIPTORS = '/proc/self/fd';
/** O_DSYNC, as /proc shows it: LMDB writes its header with this flag, and its pages without. */
const DSYNC = 0o10000;

const descriptorsOf = (file: string): readonly number[] =>
  readdirSync(DESCRIPTORS)
    .filter((name) => {
      try {
        return readlinkSync(join(DESCRIPTORS, name)) === file;
      } catch {
        return false;
      }
    })
    .map(Number);

const isDsync = (descriptor: number): boolean => {
  const [, flags] = readFileSync(`/proc/self/fdinfo/${descriptor}`, 'utf8').match(
    /flags:\s*(\d+)/,
  )!;
  return (Number.parseInt(flags!, 8) & DSYNC) !== 0;
};

/** From now on the disk is full for the header of a data file, until LMDB opens it again. */
export const fillHeader = (path: string): void => {
  const descriptor = descriptorsOf(join(path, DATA_FILE)).find(isDsync)!;
  // The system gives the lowest free number: all below are taken meanwhile.
  const below: number[] = [];
  do below.push(openSync('/dev/null', 'r'));
  while (below.at(-1)! < descriptor);
  closeSync(descriptor);
  assert.equal(openSync('/dev/full', 'r+'), descriptor);
  for (const placeholder of below) closeSync(placeholder);
};
