/**
 * Chunks: a note cut into parts that a search finds, by lines. Pure.
 *
 * A heading begins a chunk. A longer section is cut at lines, and each part repeats the last lines
 * of the part before it, so that neighbouring lines are found together.
 */

export type Chunk = {
  /** from 1 */
  readonly startLine: number;
  /** inclusive */
  readonly endLine: number;
  /** the lines, joined by `\n`; of a line that is too long for a chunk, a part of it */
  readonly text: string;
};

/** About 400 tokens, and 80 that are repeated: an unspaced character counts as one token. */
const WEIGHT_MAX = 1_600;
const OVERLAP_WEIGHT = 320;
const HAS_WIDE = /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Hangul}]/u;
const WIDE = /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Hangul}]/gu;
const HEADING = /^#{1,6}\s/;
const FENCE = /^\s*(?:```|~~~)/;

const weightOf = (line: string): number => line.length + 1 + 3 * (line.match(WIDE)?.length ?? 0);

export function* chunksOf(text: string): Generator<Chunk> {
  const lines = linesOf(text);
  let from = 0;
  let weight = 0;
  let isFenced = false;
  for (let at = 0; at < lines.length; at++) {
    const line = lines[at]!;
    const own = weightOf(line);
    if (FENCE.test(line)) isFenced = !isFenced;
    const isSection = !isFenced && HEADING.test(line) && hasBody(lines, from, at);
    if (isSection || (weight + own > WEIGHT_MAX && at > from)) {
      yield* chunk(lines, from, at);
      from = isSection ? at : overlapFrom(lines, from, at);
      weight = lines.slice(from, at).reduce((sum, one) => sum + weightOf(one), 0);
      if (weight + own > WEIGHT_MAX) [from, weight] = [at, 0];
    }
    weight += own;
  }
  yield* chunk(lines, from, lines.length);
}

/** Where lines begin in the UTF-8 bytes of a text, asked for in order. */
export class LineBytes {
  readonly #text: string;
  readonly #isAscii: boolean;
  #line = 1;
  #at = 0;
  #bytes = 0;

  constructor(text: string) {
    this.#text = text;
    this.#isAscii = Buffer.byteLength(text) === text.length;
  }

  /** @param line from 1, not before the last one; after the last line of the text: its end */
  startOf(line: number): number {
    const from = this.#at;
    for (; this.#line < line && this.#at < this.#text.length; this.#line++) {
      const end = this.#text.indexOf('\n', this.#at);
      this.#at = end < 0 ? this.#text.length : end + 1;
    }
    this.#bytes += this.#isAscii
      ? this.#at - from
      : Buffer.byteLength(this.#text.slice(from, this.#at));
    return this.#bytes;
  }
}

/** The chunks of these lines of a text alone: several if it is one long line. */
export const chunksWithin = (
  text: string,
  startLine: number,
  endLine: number,
): readonly string[] => {
  const lines = linesWithin(text, startLine, endLine);
  return [...chunk(lines, 0, lines.length)].map((one) => one.text);
};

/** From 1, inclusive. Only these lines are copied. */
function linesWithin(text: string, startLine: number, endLine: number): readonly string[] {
  let from = 0;
  for (let line = 1; line < startLine; line++) {
    const end = text.indexOf('\n', from);
    if (end < 0) return [];
    from = end + 1;
  }
  let to = from;
  for (let line = startLine; line <= endLine; line++) {
    const end = text.indexOf('\n', to);
    if (end < 0) return linesOf(text.slice(from));
    to = end + 1;
  }
  return linesOf(text.slice(from, to)).slice(0, -1);
}

/** Lines as citations count them. */
export const linesOf = (text: string): string[] => text.split(/\r?\n/);

/** Headings that follow each other stay together. */
const hasBody = (lines: readonly string[], from: number, to: number): boolean =>
  lines.slice(from, to).some((line) => line.trim() !== '' && !HEADING.test(line));

function overlapFrom(lines: readonly string[], from: number, to: number): number {
  let weight = 0;
  let at = to;
  while (at - 1 > from && (weight += weightOf(lines[at - 1]!)) <= OVERLAP_WEIGHT) at -= 1;
  return at;
}

/** Without blank lines at its ends. A single line that is too long becomes several chunks. */
function* chunk(lines: readonly string[], from: number, to: number): Generator<Chunk> {
  let [start, end] = [from, to];
  while (start < end && lines[start]!.trim() === '') start++;
  while (end > start && lines[end - 1]!.trim() === '') end--;
  if (start === end) return;
  const place = { startLine: start + 1, endLine: end };
  const text = lines.slice(start, end).join('\n');
  if (end - start > 1 || weightOf(text) <= WEIGHT_MAX) return yield { ...place, text };
  for (let at = 0; at < text.length; ) {
    const part = partOf(text, at);
    yield { ...place, text: part };
    at += part.length;
  }
}

/** Up to WEIGHT_MAX; it splits no surrogate pair. */
function partOf(text: string, from: number): string {
  const most = text.slice(from, from + WEIGHT_MAX).replace(/[\uD800-\uDBFF]$/, '');
  if (!HAS_WIDE.test(most)) return most === '' ? text.slice(from, from + 1) : most;
  let weight = 0;
  let part = '';
  for (const character of most) {
    if ((weight += HAS_WIDE.test(character) ? 4 : 1) > WEIGHT_MAX && part !== '') break;
    part += character;
  }
  return part;
}
