/**
 * Masks secrets in notes before a text is cut, which could leave a part of a value. It remembers
 * files without a secret, because a search reads the same files again and again.
 */
import { setImmediate as turn } from 'node:timers/promises';
import { LruMap } from '../../../runtime/index.ts';
import type { SecretMask } from '../secret-mask.ts';

/** Remembered files of one tenant. */
const CLEAN_MAX = 10_000;
export type NoteMask = Pick<SecretMask, 'text' | 'textStream'>;

/** by path: the stamp of a file without a secret */
const clean = new WeakMap<object, LruMap<string, string>>();

/** Characters that are looked through before other work continues: a note has up to 1 MiB. */
const CHARACTERS_AT_ONCE = 65_536;

type StampedPath = {
  readonly path: string;
  /** differs after every change of the file; undefined: it may have changed */
  readonly stamp: string | undefined;
};

/** Whether the file is known to have no secret. */
export const isClean = ({ path, stamp }: StampedPath, secrets: NoteMask): boolean =>
  stamp !== undefined && clean.get(secrets)?.get(path) === stamp;

/** The note with as many lines as before. */
export async function maskedNote(
  text: string,
  { path, stamp }: StampedPath,
  secrets: NoteMask,
): Promise<string> {
  if (isClean({ path, stamp }, secrets)) return text;
  const known = clean.get(secrets) ?? new LruMap<string, string>(CLEAN_MAX);
  clean.set(secrets, known);
  const masked = (await hasSecret(text, secrets)) ? maskedLines(text, secrets) : text;
  if (masked === text && stamp !== undefined) known.set(path, stamp);
  return masked;
}

async function hasSecret(text: string, { textStream }: NoteMask): Promise<boolean> {
  const stream = textStream();
  let masked = '';
  for (let from = 0; from < text.length; from += CHARACTERS_AT_ONCE) {
    if (from > 0) await turn();
    masked += stream.add(text.slice(from, from + CHARACTERS_AT_ONCE));
  }
  return masked + stream.end() !== text;
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
