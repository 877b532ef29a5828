/**
 * Text of strangers made fit to be shown: names of devices in lists, questions and terminals. Pure.
 *
 * Invariant: what is left can neither steer a terminal nor turn the order of what stands beside it.
 */

/** Control characters, ends of lines, and marks that change the direction of text. */
const UNFIT =
  /[\p{Cc}\u061c\u200b\u200e\u200f\u2028\u2029\u202a-\u202e\u2060\u2066-\u2069\ufeff]+/gu;

const HALF_OF_A_PAIR = /\p{Cs}/gu;

/** The same text on one line, a space where something was unfit. */
export const plainText = (text: string): string =>
  text.replaceAll(UNFIT, ' ').replaceAll(HALF_OF_A_PAIR, '\ufffd');

/** At most so many UTF-16 units of it, trimmed; no half of a surrogate pair is left. */
export const plainName = (text: string, charactersMax: number): string =>
  plainText(plainText(text).trim().slice(0, charactersMax))
    .trim()
    .replace(/\ufffd$/u, '');
