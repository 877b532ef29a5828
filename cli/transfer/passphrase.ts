/** The passphrase of the keys in an export. It is never an argument: those are seen by others. */
import { readFile } from 'node:fs/promises';
import { TroupeError } from '../../protocols/errors.ts';

export type PassphraseOptions = { readonly passphraseFile?: string };

/** How a person gives it. */
export const PASSPHRASE = 'TROUPE_EXPORT_PASSPHRASE, or --passphrase-file FILE';

/** undefined when none is given. @throws TroupeError NOT_FOUND when the file cannot be read */
export async function passphraseOf({
  passphraseFile,
}: PassphraseOptions): Promise<string | undefined> {
  if (passphraseFile === undefined) return process.env['TROUPE_EXPORT_PASSPHRASE'] || undefined;
  try {
    return (await readFile(passphraseFile, 'utf8')).replace(/\r?\n$/, '');
  } catch (cause) {
    throw new TroupeError('NOT_FOUND', `the passphrase file ${passphraseFile} cannot be read`, {
      cause,
    });
  }
}
