/** Errors of opening the embedded store: what happened, where, and what to do. */
import { TroupeError } from '../../protocols/errors.ts';

/** The data cannot be trusted. It is never repaired silently: an operator decides what is lost. */
export const corrupt = (path: string, why: string, cause?: unknown): TroupeError =>
  new TroupeError(
    'INTERNAL',
    `the store in ${path} is damaged: ${why}. Restore the data folder from a backup, ` +
      'or move it away to begin with an empty one.',
    { details: { reason: 'CORRUPT', path }, cause },
  );

export const unreadable = (path: string, cause: unknown): TroupeError =>
  new TroupeError(
    'UNAVAILABLE',
    `the data folder ${path} cannot be opened: ${String(cause)}. ` +
      'It must be a folder on a local disk that this user may write.',
    { details: { reason: 'UNREADABLE', path }, cause },
  );
