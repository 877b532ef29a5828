/** Blob names: slash-separated tokens of [A-Za-z0-9._-]; `.` and `..` are not tokens. */
import { TroupeError } from '../../protocols/errors.ts';

const NAME = /^[A-Za-z0-9._-]+(?:\/[A-Za-z0-9._-]+)*$/;
export const BLOB_NAME_CHARACTERS_MAX = 512;
const TOKEN_CHARACTERS_MAX = 200;

/** @throws TroupeError INVALID_ARGUMENT */
export const checkBlobName = (name: string): void => {
  const tokens = name.split('/');
  const fits =
    name.length <= BLOB_NAME_CHARACTERS_MAX &&
    tokens.every((token) => token.length <= TOKEN_CHARACTERS_MAX);
  if (NAME.test(name) && fits && !tokens.includes('.') && !tokens.includes('..')) return;
  throw new TroupeError(
    'INVALID_ARGUMENT',
    `${JSON.stringify(name.slice(0, 100))} is not a blob name: write tokens of A-Z a-z 0-9 . _ - between slashes, ` +
      `at most ${BLOB_NAME_CHARACTERS_MAX} characters`,
  );
};

export const blobTaken = (name: string): TroupeError =>
  new TroupeError('CONFLICT', `blob ${name} exists with different bytes; a name is written once`, {
    details: { name },
  });
