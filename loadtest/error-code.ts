/** The code under which a failed request is counted. */
import { TroupeError } from '../protocols/errors.ts';

/**
 * The code of our taxonomy; the system's code for a lost connection, such as `ECONNRESET`; `ERROR`
 * for anything else.
 */
export function errorCodeOf(error: unknown): string {
  if (error instanceof TroupeError) return error.code;
  const { code } = error as { readonly code?: unknown };
  return typeof code === 'string' && code !== '' ? code : 'ERROR';
}
