/** Measures how deeply JSON is nested before other code traverses it. Pure. */

/**
 * No reasonable client exceeds this depth. Recursive traversal, such as `JSON.stringify`, overflows
 * the stack at several thousand.
 */
export const JSON_DEPTH_MAX = 256;

/** Whether the JSON is nested more deeply. Reads the text once and stops at the limit. */
export const isTooDeep = (json: string, depthMax: number = JSON_DEPTH_MAX): boolean => {
  // A text nested this deeply contains at least twice this many brackets.
  if (json.length <= 2 * depthMax) return false;
  let depth = 0;
  let isInText = false;
  for (let at = 0; at < json.length; at++) {
    const code = json.charCodeAt(at);
    if (code === QUOTE) isInText = !isInText;
    else if (isInText) {
      if (code === BACKSLASH) at++;
    } else if (code === BRACKET || code === BRACE) {
      if (++depth > depthMax) return true;
    } else if (code === BRACKET_END || code === BRACE_END) depth--;
  }
  return false;
};

const [QUOTE, BACKSLASH, BRACKET, BRACKET_END, BRACE, BRACE_END] = [34, 92, 91, 93, 123, 125];
