/** The lines of a chunk that say most about a question. Pure. */
import { type Chunk, linesOf } from './chunks.ts';
import { tokensOf } from './tokens.ts';

export const EXCERPT_CHARACTERS_MAX = 700;

export type Excerpt = {
  readonly startLine: number;
  readonly endLine: number;
  readonly excerpt: string;
};

/** The whole chunk if it is short; otherwise the lines with the most words of the question. */
export function excerptOf(
  { startLine, endLine, text }: Chunk,
  question: readonly string[],
): Excerpt {
  if (text.length <= EXCERPT_CHARACTERS_MAX) return { startLine, endLine, excerpt: text };
  const lines = linesOf(text);
  const asked = new Set(question);
  const worth = lines.map((line) => new Set(tokensOf(line).filter((word) => asked.has(word))).size);
  let [best, bestWorth] = [0, -1];
  for (let from = 0; from < lines.length; from++) {
    const sum = worth.slice(from, endOf(lines, from)).reduce((all, one) => all + one, 0);
    if (sum > bestWorth) [best, bestWorth] = [from, sum];
  }
  const end = endOf(lines, best);
  const excerpt = lines.slice(best, end).join('\n');
  if (excerpt.length <= EXCERPT_CHARACTERS_MAX)
    return { startLine: startLine + best, endLine: startLine + end - 1, excerpt };
  return {
    startLine: startLine + best,
    endLine: startLine + best,
    excerpt: partOf(excerpt, asked),
  };
}

/** Exclusive: as many lines as fit, at least one. */
function endOf(lines: readonly string[], from: number): number {
  let characters = 0;
  let at = from;
  while (at < lines.length && (characters += lines[at]!.length + 1) <= EXCERPT_CHARACTERS_MAX) at++;
  return Math.max(at, from + 1);
}

/** Text before the first word of the question that a part shows. */
const BEFORE_CHARACTERS = 200;

/** Of a line that is too long: the part around the first word of the question. */
function partOf(line: string, question: ReadonlySet<string>): string {
  const lower = line.toLowerCase();
  const places = [...question].map((word) => lower.indexOf(word)).filter((at) => at >= 0);
  const from = places.length > 0 ? Math.max(0, Math.min(...places) - BEFORE_CHARACTERS) : 0;
  return line
    .slice(from, from + EXCERPT_CHARACTERS_MAX)
    .replace(/^[\uDC00-\uDFFF]|[\uD800-\uDBFF]$/g, '');
}
