/**
 * An error of sensitive work is reduced to its code: its message may contain a part of the payload,
 * and would be stored, published and logged in plain text.
 */
import { TroupeError } from '../../../protocols/errors.ts';
import type { CheckInput } from '../types.ts';

/** Instead of whatever was wrong. */
export const mutedText = (action: string): string =>
  `the work of ${action} failed; what it said is not shown, since its payload is sensitive`;

/**
 * The work's value. @throws what it throws; of a sensitive action an error of the same kind and
 * code with a fixed text
 */
export async function muted<T>(
  { envelope, terms }: Pick<CheckInput, 'envelope' | 'terms'>,
  signal: AbortSignal,
  work: () => Promise<T>,
): Promise<T> {
  if (!terms.sensitive) return work();
  try {
    return await work();
  } catch (error) {
    if (signal.aborted && error === signal.reason) throw error;
    const text = mutedText(envelope.action);
    // No cause: it would be logged. Whether it is a TroupeError says what was done (perform.ts).
    throw error instanceof TroupeError
      ? new TroupeError(error.code, text, optionsOf(error))
      : new Error(text);
  }
}

function optionsOf({ retryAfterMs, details }: TroupeError) {
  const compensated = details?.['compensated'];
  return {
    ...(retryAfterMs === undefined ? {} : { retryAfterMs }),
    ...(typeof compensated === 'boolean' ? { details: { compensated } } : {}),
  };
}
