/** Shortens a text by removing its middle. Pure. */

const HEAD_SHARE = 0.7;
const MARKER_CHARACTERS_MAX = 60;

/**
 * Returns the text unchanged when it has at most `max` characters. Otherwise returns its beginning
 * and end, with a line between them that states the number of removed characters, `max` characters
 * in total. It never splits a surrogate pair, and a second cut changes nothing.
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

/** Removes half of a surrogate pair at the end. */
const whole = (text: string): string => (/[\ud800-\udbff]$/.test(text) ? text.slice(0, -1) : text);

/** Removes half of a surrogate pair at the beginning. */
const wholeEnd = (text: string): string => (/^[\udc00-\udfff]/.test(text) ? text.slice(1) : text);
