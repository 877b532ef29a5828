/** The best few of many, in order. Pure. */

export type Scored<Id> = { readonly id: Id; readonly score: number };

/** Keeps the best `count`, equal ones in the order in which they come. */
export function insertInto<Id>(best: Scored<Id>[], one: Scored<Id>, count: number): void {
  if (best.length === count && one.score <= best[count - 1]!.score) return;
  if (best.length === count) best.pop();
  let at = best.length;
  while (at > 0 && best[at - 1]!.score < one.score) at--;
  best.splice(at, 0, one);
}
