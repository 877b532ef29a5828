/** A regular expression of names in words, for the people who choose the names. */

const NAME =
  /^\^(?:\(\?!(?<except>\w+)\$\))?(?:\[(?<first>[^\]]+)\])?\[(?<then>[^\]]+)\]\{(?<least>\d+),(?<most>\d+)\}\$$/;
const PARTED = /^\^\[(?<part>[^\]]+)\]\+\(\[(?<between>[^\]]+)\]\[\k<part>\]\+\)\*\$$/;
const RANGES = [
  ['a-zA-Z', 'letters'],
  ['A-Za-z', 'letters'],
  ['a-z', 'lower-case letters'],
  ['A-Z', 'upper-case letters'],
  ['0-9', 'digits'],
] as const;

/**
 * `^[a-z][a-z0-9_]{0,62}$` as `1 to 63 characters of lower-case letters, digits and _, the first
 * one of lower-case letters`. Follows "must be" in errors.
 * @returns undefined for other forms: they are not of names
 */
export function patternInWords(pattern: string): string | undefined {
  const { part, between = '' } = PARTED.exec(pattern)?.groups ?? {};
  if (part !== undefined) return `${kinds(part)}, with a single one of ${kinds(between)} inside`;
  const { groups } = NAME.exec(pattern) ?? {};
  if (!groups) return undefined;
  const { except, first, then = '', least, most } = groups;
  const more = first === undefined ? 0 : 1;
  const [from, to] = [Number(least) + more, Number(most) + more];
  const begins = first === undefined || first === then ? '' : `, the first one of ${kinds(first)}`;
  const other = except === undefined ? '' : `, and not ${except}`;
  return `${from} to ${to} characters of ${kinds(then)}${begins}${other}`;
}

/** `a-z0-9_-` as `lower-case letters, digits, _ and -`. */
function kinds(characters: string): string {
  const found: string[] = [];
  let rest = characters;
  for (const [range, words] of RANGES) {
    if (!rest.includes(range)) continue;
    rest = rest.replace(range, '');
    found.push(words);
  }
  const all = [...found, ...rest.replaceAll('\\', '').split('')];
  return all.length < 2 ? all.join('') : `${all.slice(0, -1).join(', ')} and ${all.at(-1)}`;
}
