/** Replacements in a text, for the tool `edit`. Pure. */
import { NO_SECRETS, type SecretMask } from '../secret-mask.ts';

export type Replacement = {
  readonly oldText: string;
  readonly newText: string;
  /** replace every occurrence instead of exactly one */
  readonly all?: boolean;
};

/** `done` when the edit is already applied: no old text occurs and every new text does. */
export type Replaced =
  | { readonly kind: 'changed'; readonly text: string; readonly places: number }
  | { readonly kind: 'done' }
  | { readonly kind: 'refused'; readonly why: string };

/**
 * Applies `replacements` in order, all or none. `secrets`: masked in the text that a refusal
 * quotes.
 */
export function replaceIn(
  text: string,
  replacements: readonly Replacement[],
  secrets: SecretMask = NO_SECRETS,
): Replaced {
  if (isDone(text, replacements)) return { kind: 'done' };
  let changed = text;
  let places = 0;
  for (const [index, { oldText, newText, all = false }] of replacements.entries()) {
    const found = countOf(changed, oldText);
    const which = replacements.length > 1 ? `edit ${index + 1}: ` : '';
    if (found === 0) {
      return {
        kind: 'refused',
        why: `${which}the old text is not in the file. ${nearest(changed, oldText, secrets)}`,
      };
    }
    if (found > 1 && !all) {
      const lines = placesOf(changed, oldText, 10).join(', ');
      const why =
        `${which}the old text is there ${timesOf(found)} times (lines ${lines}). ` +
        'Include more of the surrounding text, or set all to true.';
      return { kind: 'refused', why };
    }
    const length = changed.length + found * (newText.length - oldText.length);
    if (found > PLACES_MAX || length > RESULT_CHARACTERS_MAX) {
      const why = `${which}too large for edit: at most ${PLACES_MAX} places and ${RESULT_CHARACTERS_MAX} characters of the result are allowed. Use exec.`;
      return { kind: 'refused', why };
    }
    // split and join: `$` has no meaning in the new text
    changed = changed.split(oldText).join(newText);
    places += found;
  }
  return changed === text ? { kind: 'done' } : { kind: 'changed', text: changed, places };
}

/** Maximum number of occurrences replaced at once, because each needs memory. */
const PLACES_MAX = 100_000;
const RESULT_CHARACTERS_MAX = 32 * 1024 * 1024;

/** The number of occurrences, at most PLACES_MAX + 1. */
const countOf = (text: string, part: string): number => {
  let count = 0;
  for (let at = text.indexOf(part); at >= 0; at = text.indexOf(part, at + part.length)) {
    if (++count > PLACES_MAX) break;
  }
  return count;
};

const timesOf = (count: number): string =>
  count > PLACES_MAX ? `more than ${PLACES_MAX}` : String(count);

const isDone = (text: string, replacements: readonly Replacement[]): boolean =>
  replacements.every(
    ({ oldText, newText }) =>
      newText !== '' &&
      text.includes(newText) &&
      countOf(text, newText) <= PLACES_MAX &&
      // occurrences of the old text inside a new text do not count
      !text.split(newText).join('').includes(oldText),
  );

/** Line numbers of the first `max` occurrences, found in one pass. */
const placesOf = (text: string, part: string, max: number): number[] => {
  const lines: number[] = [];
  let [from, line] = [0, 1];
  let at = text.indexOf(part);
  while (at >= 0 && lines.length < max) {
    line += text.slice(from, at).split('\n').length - 1;
    lines.push(line);
    from = at;
    at = text.indexOf(part, at + part.length);
  }
  return lines;
};

/** Maximum number of lines that are compared with the old text; it bounds the cost. */
const LINES_COMPARED_MAX = 5_000;
const SHOWN_CHARACTERS_MAX = 800;

/** The lines most similar to `wanted`, so that the model sees the actual text. */
export function nearest(text: string, wanted: string, secrets = NO_SECRETS): string {
  const lines = text.split('\n').slice(0, LINES_COMPARED_MAX);
  const looked = wanted.replace(/^\n+|\n+$/g, '').split('\n');
  const sets = lines.map(wordsOf);
  const targets = looked.slice(0, 20).map(wordsOf);
  let best = { at: -1, score: 0 };
  for (let at = 0; at < lines.length; at++) {
    const score = targets.reduce((sum, target, row) => sum + alike(target, sets[at + row]), 0);
    if (score > best.score) best = { at, score };
  }
  if (best.score < targets.length * 0.4) return 'No line in it is similar: read the file again.';
  // masked before the cut, which could leave a part of a value
  const part = secrets.text(lines.slice(best.at, best.at + looked.length).join('\n'));
  const first = best.at + 1;
  return `The most similar text begins at line ${first}:\n${part.slice(0, SHOWN_CHARACTERS_MAX)}`;
}

const wordsOf = (line: string): ReadonlySet<string> =>
  new Set(line.match(/[\p{L}\p{N}_]+|[^\s\p{L}\p{N}_]/gu));

/** Share of common words (Jaccard); two empty lines are equal. */
const alike = (one: ReadonlySet<string>, other: ReadonlySet<string> | undefined): number => {
  if (!other) return 0;
  if (one.size === 0 && other.size === 0) return 0.5;
  let common = 0;
  for (const word of one) if (other.has(word)) common++;
  return common / (one.size + other.size - common || 1);
};
