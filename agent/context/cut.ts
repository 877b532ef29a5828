/** Cuts a text in its middle. Pure. */

const HEAD_SHARE = 0.7;
const MARKER_CHARACTERS_MAX = 60;

/**
 * The text, when it has at most `max` characters; else its beginning and its end with a line in
 * between that says how much is missing, together at most `max`. A character beyond the basic plane
 * is never cut in half. Cutting what was cut changes nothing.
 */
export function cutMiddle(text: string, max: number): string {
  if (text.length <= max) return text;
  const kept = max - MARKER_CHARACTERS_MAX;
  if (kept <= 0) return whole(text.slice(0, Math.max(0, max)));
  const headLength = Math.ceil(kept * HEAD_SHARE);
  const head = whole(text.slice(0, headLength));
  const tail = wholeEnd(text.slice(text.length - (kept - headLength)));
  return `${head}\n[… ${text.length - head.length - tail.length} characters are left out here …]\n${tail}`;
}

/** Without half of a character at its end. */
const whole = (text: string): string => (/[\ud800-\udbff]$/.test(text) ? text.slice(0, -1) : text);

/** Without half of a character at its beginning. */
const wholeEnd = (text: string): string => (/^[\udc00-\udfff]/.test(text) ? text.slice(1) : text);
