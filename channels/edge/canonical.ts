/** Canonical JSON of a payload (RFC 8785), for comparing payloads. */
import { canonicalize } from 'json-canonicalize';
import { TroupeError } from '../../protocols/errors.ts';

/**
 * The same text for the same payload, whatever the order of its fields.
 * @throws TroupeError INVALID_ARGUMENT for a number that JSON allows but a double cannot represent
 */
export const canonicalOf = (payload: unknown): string => {
  try {
    return canonicalize(payload);
  } catch (cause) {
    throw new TroupeError(
      'INVALID_ARGUMENT',
      'the payload has no canonical form (RFC 8785): its numbers must fit a double',
      { cause },
    );
  }
};
