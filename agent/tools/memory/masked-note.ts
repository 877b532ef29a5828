/**
 * Masks secrets in notes before a text is cut, which could leave a part of a value. It remembers
 * files without a secret, because a search reads the same files again and again.
 */
import { LruMap } from '../../../runtime/index.ts';
import type { SecretMask } from '../secret-mask.ts';

/** Remembered files of one tenant. */
const CLEAN_MAX = 10_000;
/** by path: the stamp of a file without a secret */
const clean = new WeakMap<object, LruMap<string, string>>();

/**
 * The note with as many lines as before.
 * @param stamp differs after every change of the file; undefined: it may have changed
 */
export function maskedNote(
  text: string,
  { path, stamp }: { readonly path: string; readonly stamp: string | undefined },
  secrets: Pick<SecretMask, 'text'>,
): string {
  const known = clean.get(secrets) ?? new LruMap<string, string>(CLEAN_MAX);
  clean.set(secrets, known);
  if (stamp !== undefined && known.get(path) === stamp) return text;
  const masked = maskedLines(text, secrets);
  if (masked === text && stamp !== undefined) known.set(path, stamp);
  return masked;
}

/** A value of several lines is masked line by line. */
export function maskedLines(whole: string, secrets: Pick<SecretMask, 'text'>): string {
  const masked = secrets.text(whole);
  const countOf = (some: string) => some.split('\n').length;
  if (masked === whole || countOf(masked) === countOf(whole)) return masked;
  return whole
    .split('\n')
    .map((line) => secrets.text(line))
    .join('\n');
}
