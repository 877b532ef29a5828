/**
 * Shrinking: finds a small part of the messages and faults of a failing run that still breaks the
 * same rule (delta debugging: Zeller and Hildebrandt, 2002).
 */

export type Shrunk<T> = { readonly items: readonly T[]; readonly tried: number };

/**
 * @param fails whether the run with these items only breaks the rule; at most `triesMax` calls
 */
export async function shrink<T>(
  all: readonly T[],
  fails: (items: readonly T[]) => Promise<boolean>,
  triesMax: number,
): Promise<Shrunk<T>> {
  let items = all;
  let pieces = 2;
  let tried = 0;
  while (items.length > 0 && tried < triesMax) {
    const size = Math.max(1, Math.ceil(items.length / pieces));
    let smaller: readonly T[] | undefined;
    // Later items first: what happened after the failure goes in few steps.
    for (let end = items.length; end > 0 && !smaller && tried < triesMax; end -= size) {
      const from = Math.max(0, end - size);
      const rest = items.filter((_, n) => n < from || n >= end);
      tried++;
      if (await fails(rest)) smaller = rest;
    }
    if (smaller) {
      items = smaller;
      pieces = Math.max(2, pieces - 1);
    } else if (size === 1) break;
    else pieces = Math.min(items.length, pieces * 2);
  }
  return { items, tried };
}
