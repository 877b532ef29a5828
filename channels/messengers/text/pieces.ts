/**
 * piecesOf: Markdown as messages that a messenger accepts: cut where a reader pauses, written in
 * its dialect. Pure; the time is linear in the length of the text, whatever it contains.
 *
 * Invariants:
 *  1. No piece is longer than the limit, as Markdown, as formatted and as plain text. Lengths are
 *     UTF-16 units, which is what the services count or less.
 *  2. Only white space at cuts is lost, and lines of fences that contain nothing. Fenced code that
 *     is cut continues in the next piece, fenced again with its language.
 *  3. No piece is empty, and no surrogate pair is split.
 */
import assert from 'node:assert/strict';
import { cutWithin, wholeBlock } from '../../blocks/chunker.ts';
import type { Fence } from '../../blocks/fences.ts';
import type { Dialect } from './dialects.ts';
import { render, type Rendered } from './render.ts';

type PieceOptions = {
  readonly dialect: Dialect;
  /** longest accepted text, at least 128 */
  readonly charactersMax: number;
  /** the text is read only as far as these pieces need; default all */
  readonly piecesMax?: number;
};
/** `text` is to be sent; `plain` if the service refuses its formatting. */
type Piece = Rendered & { readonly markdown: string };

const CHARACTERS_MIN = 128;
/** Longer Markdown is not read at once: some of it takes time that grows with the square. */
const READ_MAX = 8_192;
/** Shorter pieces, of unusual text, are continued unchanged: every piece must shorten the text. */
const CUT_MIN = 16;
/** A part of the limit that the lines of a fence may use; longer ones are not repeated. */
const FENCE_SHARE = 0.25;

export function piecesOf(markdown: string, options: PieceOptions): readonly Piece[] {
  const { piecesMax = Number.POSITIVE_INFINITY } = options;
  assert(options.charactersMax >= CHARACTERS_MIN, `charactersMax is below ${CHARACTERS_MIN}`);
  const pieces: Piece[] = [];
  let rest: Rest = { text: wellFormed(markdown), fence: undefined };
  while (rest.text !== '' && pieces.length < piecesMax) {
    const [piece, next] = firstPiece(rest, options);
    if (piece.text !== '') pieces.push(piece);
    rest = next;
  }
  return pieces;
}

/** Without halves of surrogate pairs and control characters, which services refuse. */
const wellFormed = (text: string): string =>
  text.replaceAll(/\r\n?/g, '\n').replaceAll(/\p{Surrogate}|[^\P{Cc}\t\n]/gu, '\ufffd');

/** The text that is in no piece yet, with the fence that is open before it. */
type Rest = { readonly text: string; readonly fence: Fence | undefined };

function firstPiece(rest: Rest, { dialect, charactersMax }: PieceOptions): [Piece, Rest] {
  const most = Math.min(charactersMax, READ_MAX) - lengthOf(rest.fence);
  for (let limit = most; ; ) {
    const cut = cutWithin(rest.text, rest.fence, limit);
    const at = beforeMarks(rest.text, cut.at);
    const fence = lengthOf(cut.fence) > charactersMax * FENCE_SHARE ? undefined : cut.fence;
    const markdown = wholeBlock(rest.text.slice(0, at), rest.fence, fence);
    const rendered = render(markdown, dialect);
    const length = Math.max(markdown.length, rendered.text.length, rendered.plain.length);
    if (length <= charactersMax || limit === 1)
      return [
        { markdown, ...rendered },
        { text: continued(rest.text, at, fence), fence },
      ];
    limit = Math.max(1, Math.floor(Math.min(limit * 0.9, (limit * charactersMax) / length)));
  }
}

/** A cut must not leave the marks of a quote without its text, which would be no quote any more. */
function beforeMarks(text: string, at: number): number {
  const line = text.lastIndexOf('\n', at - 1) + 1;
  const hasText = at === text.length || !/^[ \t>]*>[ \t]*$/.test(text.slice(line, at));
  return hasText || line === 0 ? at : line;
}

/** A cut must not turn the middle of a line into the beginning of a list, or a list into code. */
function continued(text: string, at: number, fence: Fence | undefined): string {
  const rest = text.slice(at);
  if (fence !== undefined || at < CUT_MIN) return rest;
  if (text[at - 1] === '\n') return rest.replace(/^[ \t]+(?=(?:[+*-]|\d{1,9}[.)])[ \t])/, '');
  return rest
    .replace(/^[ \t]+/, '')
    .replace(/^(?=#{1,6}\s|[+*-]\s|>|[-_*=]{3,}[ \t]*(?:\n|$))/, '\\')
    .replace(/^\d{1,9}(?=[.)]\s)/, '$&\\');
}

/** What the lines that close a fence and open it again add. */
const lengthOf = (fence: Fence | undefined): number =>
  fence === undefined ? 0 : fence.opening.length + fence.closing.length + 2;
