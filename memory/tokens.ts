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

/** In order of the text, with repeats. */
export function tokensOf(text: string): string[] {
  const found: string[] = [];
  eachToken(text, (bytes, from, to) => found.push(bytes.toString('utf8', from, to)));
  return found;
}

/** Receives a token as UTF-8; the bytes change after the call. */
export type TokenVisitor = (bytes: Buffer, from: number, to: number) => void;

/**
 * Visits the tokens of `tokensOf`. An index of many texts has seen nearly each of their words
 * before, so it needs no string for them, which would take most of its time.
 */
export function eachToken(text: string, visit: TokenVisitor): void {
  if (IS_ASCII.test(text)) return eachAsciiToken(text, visit);
  for (const token of anyTokensOf(text)) {
    const bytes = Buffer.from(token);
    visit(bytes, 0, bytes.length);
  }
}

/** Of a character: part of a word, what may join two words to an identifier, or neither. */
const [OTHER, PART, JOINER] = [0, 1, 2] as const;
const KINDS = Uint8Array.from({ length: 128 }, (_, code) => {
  const character = String.fromCharCode(code);
  if (/[a-zA-Z0-9]/.test(character)) return PART;
  return /[_.@/:#-]/.test(character) ? JOINER : OTHER;
});

/** Room for most texts, for one call; zeros before and after it. */
const room = Buffer.alloc(8_192);

function eachAsciiToken(text: string, visit: TokenVisitor): void {
  const bytes = text.length < room.length - 1 ? room : Buffer.alloc(text.length + 2);
  const length = bytes.write(text, 0, 'latin1');
  const identifiers: number[] = [];
  let [identifier, words] = [0, 0];
  for (let at = 0; at < length; at++) {
    if (KINDS[bytes[at]!] !== PART) continue;
    const from = at;
    for (let byte = bytes[at]!; KINDS[byte] === PART; byte = bytes[++at]!)
      if (byte >= 65 && byte <= 90) bytes[at] = byte | 32;
    visit(bytes, from, Math.min(at, from + TOKEN_CHARACTERS_MAX));
    if (words === 0) identifier = from;
    words += 1;
    if (KINDS[bytes[at]!] === JOINER && KINDS[bytes[at + 1]!] === PART) continue;
    if (words > 1) identifiers.push(identifier, Math.min(at, identifier + TOKEN_CHARACTERS_MAX));
    words = 0;
  }
  for (let at = 0; at < identifiers.length; at += 2)
    visit(bytes, identifiers[at]!, identifiers[at + 1]!);
  bytes.fill(0, 0, length);
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
