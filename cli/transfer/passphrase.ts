/**
 * The passphrase of the keys in an export. It is never an argument, because other users can see the
 * arguments of a process.
 */
import { readFile } from 'node:fs/promises';
import { TroupeError } from '../../protocols/errors.ts';

export type PassphraseOptions = { readonly passphraseFile?: string };

/** How the passphrase is passed. */
export const PASSPHRASE = 'TROUPE_EXPORT_PASSPHRASE, or --passphrase-file FILE';

/**
 * Undefined if none is set.
 * @param variable the environment variable that may hold it
 * @throws TroupeError NOT_FOUND when the file cannot be read
 */
export async function passphraseOf(
  { passphraseFile }: PassphraseOptions,
  variable = 'TROUPE_EXPORT_PASSPHRASE',
): Promise<string | undefined> {
  if (passphraseFile === undefined) return process.env[variable] || undefined;
  try {
    return (await readFile(passphraseFile, 'utf8')).replace(/\r?\n$/, '');
  } catch (cause) {
    throw new TroupeError('NOT_FOUND', `the passphrase file ${passphraseFile} cannot be read`, {
      cause,
    });
  }
}
