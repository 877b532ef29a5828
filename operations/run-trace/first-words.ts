/** The first words of a text, in one line. */
import { TRACE_WORDS_CHARACTERS } from '../../protocols/run-trace.ts';

export const firstWords = (text: string, characters = TRACE_WORDS_CHARACTERS): string => {
  const line = text
    .slice(0, characters * 4)
    .replaceAll(/\s+/g, ' ')
    .trim();
  if (line.length <= characters) return line;
  // Never cuts a surrogate pair.
  return `${line.slice(0, characters - 1).replace(/[\uD800-\uDBFF]$/, '')}…`;
};
