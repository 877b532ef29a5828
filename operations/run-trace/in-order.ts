/** Merges the steps of several sessions into one order. */
import type { TraceStep } from '../../protocols/run-trace.ts';

/**
 * A step with the names of its prerequisites (`needs`), and the name under which other steps need
 * it (`gives`).
 */
export type Ordered = {
  readonly step: TraceStep;
  readonly gives?: string;
  readonly needs?: readonly string[];
};

/**
 * Merges the lists. Each keeps its own order; the earliest head comes first unless one of its needs
 * is still ahead. Needs that no step gives are ignored. If all heads wait for each other, the
 * earliest comes first.
 */
export function inOrder(lists: readonly (readonly Ordered[])[]): readonly TraceStep[] {
  const open = new Map<string, number>();
  for (const { gives } of lists.flat()) if (gives) open.set(gives, (open.get(gives) ?? 0) + 1);
  const heads = lists.map((list) => ({ list, at: 0 })).filter(({ list }) => list.length > 0);
  const steps: TraceStep[] = [];
  while (heads.length > 0) {
    const times = heads.map(({ list, at }) => list[at]!);
    const free = times.map(({ needs = [] }) => !needs.some((need) => open.has(need)));
    const some = free.includes(true);
    let first = -1;
    for (const [at, { step }] of times.entries()) {
      if (some && !free[at]) continue;
      if (first < 0 || step.at < times[first]!.step.at) first = at;
    }
    const { step, gives } = times[first]!;
    steps.push(step);
    // The first step that gives the name suffices: a run makes many calls.
    if (gives) open.delete(gives);
    const head = heads[first]!;
    if (++head.at === head.list.length) heads.splice(first, 1);
  }
  return steps;
}
