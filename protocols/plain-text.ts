/**
 * Makes untrusted text safe to display, such as device names in lists, prompts and terminals. Pure.
 *
 * Invariant: the result cannot control a terminal or reorder adjacent text.
 */

/** Control characters, line ends, and marks that change the text direction. */
const UNFIT =
  /[\p{Cc}\u061c\u200b\u200e\u200f\u2028\u2029\u202a-\u202e\u2060\u2066-\u2069\ufeff]+/gu;

const HALF_OF_A_PAIR = /\p{Cs}/gu;

/** The text on one line; each unsafe sequence becomes a space. */
export const plainText = (text: string): string =>
  text.replaceAll(UNFIT, ' ').replaceAll(HALF_OF_A_PAIR, '\ufffd');

/**
 * The beginning of the text, up to a number of UTF-16 units, trimmed; never splits a surrogate
 * pair.
 */
export const plainName = (text: string, charactersMax: number): string =>
  plainText(plainText(text).trim().slice(0, charactersMax))
    .trim()
    .replace(/\ufffd$/u, '');
