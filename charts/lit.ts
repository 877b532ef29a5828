/**
 * What is lit in a drawing: the active states, the transitions out of them, and those that the last
 * turn took.
 *
 * A turn says which state values it passed through, not which transitions it took. Two values that
 * follow each other name the transition: it leads from a state that was active to one that is
 * entered. Where several do, the cause decides, then the deepest source, as in XState.
 */
import { activePaths, ancestorAt, type Chart, type ChartEdge, depthOf, fold } from './chart.ts';
import { edgeName } from './svg.ts';

/** The part of an actor's turn that is shown. */
export type ShownTurn = {
  /** type of the event as the machine received it */
  readonly event?: string;
  /** state value before the turn */
  readonly before?: unknown;
  /** state value after it */
  readonly state?: unknown;
  /** state values in between, one for each transition */
  readonly path?: readonly unknown[];
};

export type Lit = {
  /** paths of states */
  readonly active: ReadonlySet<string>;
  /** names of edges, as `data-edge` has them */
  readonly open: ReadonlySet<string>;
  readonly taken: ReadonlySet<string>;
};

/** What is lit at a state value in the chart down to a depth. */
export function litAt(
  chart: Chart,
  depth: number,
  value: unknown,
  turn: ShownTurn | undefined,
): Lit {
  const shown = (path: string) => ancestorAt(path, depth);
  const active = new Set(value === undefined ? [] : activePaths(value).map(shown));
  const taken = turn === undefined ? [] : takenEdges(chart, turn);
  const open = fold(chart, depth).edges.filter(({ from }) => active.has(from) && from !== '');
  return {
    active,
    open: new Set(open.map(({ from, to }) => edgeName(from, to))),
    taken: new Set(taken.map(({ from, to }) => edgeName(shown(from), shown(to)))),
  };
}

/** The transitions that a turn took, in order; [] where it changed no state. */
export function takenEdges(chart: Chart, turn: ShownTurn): readonly ChartEdge[] {
  const { before, state, event } = turn;
  const values = turn.path ?? (state === undefined ? [] : [state]);
  if (before === undefined) return [];
  return values.flatMap((value, n) => {
    const from = n === 0 ? before : values[n - 1];
    return stepsBetween(chart, from, value, n === 0 ? event : '');
  });
}

function stepsBetween(
  chart: Chart,
  before: unknown,
  after: unknown,
  event: string | undefined,
): readonly ChartEdge[] {
  const [was, is] = [new Set(activePaths(before)), new Set(activePaths(after))];
  const entered = new Set([...is].filter((path) => !was.has(path)));
  const possible = chart.edges.filter(
    ({ from, to }) => was.has(from) && isEntered(to, is, entered),
  );
  const caused = possible.filter(({ labels }) =>
    labels.some((label) => event !== undefined && isCausedBy(label, event)),
  );
  const [first] = (caused.length > 0 ? caused : entered.size > 0 ? possible : []).toSorted(
    (a, b) => depthOf(b.from) - depthOf(a.from),
  );
  return first ? [first] : [];
}

/** A target is entered with its own states, and a self-transition enters nothing new. */
const isEntered = (
  target: string,
  active: ReadonlySet<string>,
  entered: ReadonlySet<string>,
): boolean => active.has(target) && (entered.size === 0 || hasInside(target, entered));

const hasInside = (target: string, entered: ReadonlySet<string>): boolean =>
  [...entered].some((path) => path === target || path.startsWith(`${target}.`));

/** Whether a label `cause [guard]` is of this event type; '' is that of `always`. */
export function isCausedBy(label: string, eventType: string): boolean {
  const [cause = ''] = label.split(' [');
  if (eventType === '') return cause === 'always';
  const [, kind, name = ''] =
    /^xstate\.(done\.actor|error\.actor|done\.state|after)\.(.*)$/.exec(eventType) ?? [];
  if (kind === 'done.actor') return cause === `done(${name})`;
  if (kind === 'error.actor') return cause === `error(${name})`;
  if (kind === 'done.state') return cause === 'done';
  if (kind === 'after') return cause.startsWith('after ') && name.startsWith(`${cause.slice(6)}.`);
  return cause === eventType || (cause.endsWith('.*') && eventType.startsWith(cause.slice(0, -1)));
}
