/**
 * Tokens: the words of a text, as notes and questions have them. Pure.
 *
 *  - a word in lower case as it is written, and without marks: `Đà` is `đà` and `da`
 *  - an identifier (`E_LOCK_4471`, `src/a.ts`, `v2.1.3`) whole and in parts
 *  - of scripts without spaces (Han, kana, Thai, Lao, Khmer, Myanmar) each character and each pair
 *    of neighbours, because no segmenter cuts a note and a question alike
 */

const WORD = /[\p{L}\p{N}][\p{L}\p{M}\p{N}]*/gu;
/** It begins at the beginning of a word: each other place would be tried, in quadratic time. */
const IDENTIFIER = /(?<![\p{L}\p{N}])[\p{L}\p{N}]+(?:[_.@/:#-][\p{L}\p{N}]+)+/gu;
const SCRIPTS = ['Han', 'Hiragana', 'Katakana', 'Thai', 'Lao', 'Khmer', 'Myanmar'];
const UNSPACED = `[${SCRIPTS.map((script) => `\\p{Script=${script}}`).join('')}\\u30fc]`;
const UNSPACED_RUN = new RegExp(`${UNSPACED}[${UNSPACED.slice(1, -1)}\\p{M}]*`, 'gu');
const HAS_UNSPACED = new RegExp(UNSPACED, 'u');
/** Longer words and identifiers are cut: they are data, such as base64. */
const TOKEN_CHARACTERS_MAX = 64;

/** Without marks; `đ` and `ł` have none that Unicode could take off. */
const withoutMarks = (word: string): string =>
  ASCII.test(word)
    ? word
    : word.normalize('NFD').replaceAll(/\p{M}/gu, '').replaceAll('đ', 'd').replaceAll('ł', 'l');

const ASCII = /^[a-z0-9]*$/;

const IS_ASCII = /^[\0-\x7f]*$/;
const ASCII_WORD = /[a-z0-9]+/g;
const ASCII_IDENTIFIER = /(?<![a-z0-9])[a-z0-9]+(?:[_.@/:#-][a-z0-9]+)+/g;

/** In order of the text, with repeats. */
export function tokensOf(text: string): string[] {
  return IS_ASCII.test(text) ? asciiTokensOf(text.toLowerCase()) : anyTokensOf(text);
}

/** Of most texts, and in two thirds of the time. */
function asciiTokensOf(lower: string): string[] {
  const words = lower.match(ASCII_WORD) ?? [];
  return [...words, ...(lower.match(ASCII_IDENTIFIER) ?? [])].map(cut);
}

function anyTokensOf(text: string): string[] {
  const lower = text.normalize('NFC').toLowerCase();
  const found: string[] = [];
  for (const [run] of lower.matchAll(WORD))
    if (HAS_UNSPACED.test(run)) addMixed(found, run);
    else addWord(found, run);
  for (const [whole] of lower.matchAll(IDENTIFIER)) found.push(cut(whole));
  return found;
}

const cut = (token: string): string => token.slice(0, TOKEN_CHARACTERS_MAX);

function addWord(found: string[], word: string): void {
  const plain = withoutMarks(word);
  found.push(cut(word));
  if (plain !== word) found.push(cut(plain));
}

/** A run such as `用React写`. */
function addMixed(found: string[], run: string): void {
  let from = 0;
  for (const { 0: part, index } of run.matchAll(UNSPACED_RUN)) {
    if (index > from) addWord(found, run.slice(from, index));
    addUnspaced(found, part);
    from = index + part.length;
  }
  if (from < run.length) addWord(found, run.slice(from));
}

function addUnspaced(found: string[], run: string): void {
  let before = '';
  for (const character of run) {
    found.push(character);
    if (before !== '') found.push(before + character);
    before = character;
  }
}

/** Whether spelling and endings of the token vary: a word without marks in a script with spaces. */
export const isPlainWord = (token: string): boolean =>
  PLAIN_WORD.test(token) && withoutMarks(token) === token;
const PLAIN_WORD = /^\p{L}{3,32}$/u;
