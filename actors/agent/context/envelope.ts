/**
 * Envelope: marks what comes from outside, so that a model can tell it from what people and the
 * system say (SX4). It is a mark, no wall: what a tool may do is decided by policy and boundary.
 *
 * A text can not close its own envelope: the closing mark inside it loses its bracket.
 */
const OPEN = /^<tool_result source="[^"\n]*">\n/;
const CLOSE = '\n</tool_result>';
const SOURCE_CHARACTERS_MAX = 100;

/** `source`: the tool's name. */
export const marked = (source: string, text: string): string =>
  `<tool_result source="${attribute(source)}">\n${defused(text)}${CLOSE}`;

/** What is in the envelope; a text without one as it is. */
export const unmarked = (text: string): string =>
  OPEN.test(text) && text.endsWith(CLOSE) ? text.replace(OPEN, '').slice(0, -CLOSE.length) : text;

const attribute = (source: string): string =>
  source.replaceAll(/["<>\s]+/g, '_').slice(0, SOURCE_CHARACTERS_MAX);

const defused = (text: string): string => text.replaceAll(/<(\/?)(?=tool_result\b)/gi, '‹$1');
