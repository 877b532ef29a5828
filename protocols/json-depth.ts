/** How deep JSON is nested, before anything walks it. Pure. */

/**
 * Deeper than what any honest program sends. From some thousand on, whatever walks a value by
 * recursion, as `JSON.stringify` does, runs out of stack.
 */
export const JSON_DEPTH_MAX = 256;

/** Is this JSON nested deeper? One pass over the text, which ends where it is. */
export const isTooDeep = (json: string, depthMax: number = JSON_DEPTH_MAX): boolean => {
  // So deep a text has that many brackets twice.
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
