/** The best few of many, in order. Pure. */

export type Scored<Id> = { readonly id: Id; readonly score: number };

/**
 * Keeps the best `count`. Which of equal ones is kept, and is first, does not depend on the order
 * in which they come.
 */
export function insertInto<Id>(
  best: Scored<Id>[],
  one: Scored<Id>,
  count: number,
  isBefore: (one: Id, other: Id) => boolean,
): void {
  const isBetter = (other: Scored<Id>) =>
    one.score === other.score ? isBefore(one.id, other.id) : one.score > other.score;
  if (best.length === count) {
    if (!isBetter(best[count - 1]!)) return;
    best.pop();
  }
  let at = best.length;
  while (at > 0 && isBetter(best[at - 1]!)) at--;
  best.splice(at, 0, one);
}
