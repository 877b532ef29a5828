/**
 * Names of blobs: slash-separated tokens that are safe as file names, and never leave their folder.
 */
import { TroupeError } from '../../protocols/errors.ts';

const NAME = /^[A-Za-z0-9_-][A-Za-z0-9._-]*(\/[A-Za-z0-9_-][A-Za-z0-9._-]*)*$/;
const CHARACTERS_MAX = 512;

/** @throws TroupeError INVALID_ARGUMENT */
export function checkBlobName(name: string): void {
  if (name.length <= CHARACTERS_MAX && NAME.test(name)) return;
  throw new TroupeError(
    'INVALID_ARGUMENT',
    `${JSON.stringify(name.slice(0, 80))} is no blob name: write tokens of A-Z, a-z, 0-9, ., _ and - with slashes between, none beginning with a dot`,
  );
}

export const taken = (name: string) =>
  new TroupeError('CONFLICT', `the blob ${name} exists with other bytes; blobs are written once`);
