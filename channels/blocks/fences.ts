/**
 * Fenced code in markdown (CommonMark 4.5), limited to the question which lines open and close a
 * fence. Pure.
 *
 * Any indentation is accepted before a fence, not only up to three spaces, because fences in lists
 * are indented further. Where a fence is opened again, outside of its list, it has at most three.
 */

/** An open fence: the line that opens it again, and the line that closes it. */
export type Fence = { readonly opening: string; readonly closing: string };

/**
 * Begins like a fence: a cut inside such a line, or right before its marks, makes another fence.
 */
const MARK = /^[ \t]*(`{3,}|~{3,})/;

export const looksLikeFence = (line: string): boolean => MARK.test(line);

/** The fence that is open after a line, which has no line break at its end. */
export const afterLine = (open: Fence | undefined, line: string): Fence | undefined => {
  const mark = MARK.exec(line);
  if (mark === null) return open;
  const [whole, marks] = mark as unknown as [string, string];
  const rest = line.slice(whole.length);
  if (open === undefined) {
    if (marks.startsWith('`') && rest.includes('`')) return undefined;
    const outdented = whole.slice(0, -marks.length).replace(/^.*\t.*$|^ {4,}$/, '   ') + marks;
    return { opening: outdented + rest, closing: outdented };
  }
  const own = MARK.exec(open.closing)![1]!;
  const closes = marks[0] === own[0] && marks.length >= own.length && rest.trim() === '';
  return closes ? undefined : open;
};
