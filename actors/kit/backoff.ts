/**
 * Backoff between attempts: exponential with full jitter, as in "Exponential Backoff And
 * Jitter" (AWS Architecture Blog, 2015). Pure: the jitter's seed is the event that failed.
 */
import type { ErrorData } from '../../protocols/errors.ts';

/** A requested pause is kept, up to this limit. */
const RETRY_AFTER_MS_MAX = 3_600_000;

/** FNV-1a with the finalizer of MurmurHash3: 32 well mixed bits of a text. */
export function hashOf(text: string): number {
  let hash = 0x811c9dc5;
  for (let at = 0; at < text.length; at++) {
    hash = Math.imul(hash ^ text.charCodeAt(at), 0x01000193);
  }
  hash = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b);
  hash = Math.imul(hash ^ (hash >>> 13), 0xc2b2ae35);
  return (hash ^ (hash >>> 16)) >>> 0;
}

/**
 * Pause before the next attempt, milliseconds: between 0 and `first` doubled with every failure, up
 * to `max`; never shorter than the error's `retryAfterMs`.
 * @param failures from 1 @param seed unique per failure
 */
export function pauseMsOf(
  { first, max }: { readonly first: number; readonly max: number },
  failures: number,
  { seed, error }: { readonly seed: string; readonly error: ErrorData },
): number {
  const ceiling = Math.min(max, first * 2 ** (failures - 1));
  const jittered = Math.floor((hashOf(seed) / 2 ** 32) * (ceiling + 1));
  return Math.max(jittered, Math.min(error.retryAfterMs ?? 0, RETRY_AFTER_MS_MAX));
}
