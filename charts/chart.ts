/**
 * A statechart as plain data: its states and its transitions, without code. The runtime makes it
 * from a machine; programs that draw charts read it.
 *
 * Boundary: pure; runs in browsers and in Node; imports nothing.
 */

export type StateKind = 'atomic' | 'compound' | 'parallel' | 'final' | 'history';

export type ChartState = {
  /** keys from the root, joined by dots; '' for the root */
  readonly path: string;
  readonly key: string;
  readonly kind: StateKind;
  readonly description?: string;
  /** path of the state that is entered first; of compound states */
  readonly initial?: string;
  /** effects that run while the state is active */
  readonly invokes: readonly string[];
  /** `event [guard]`: transitions without a target, which do not change the state */
  readonly handles: readonly string[];
  /** types of the messages that wait in the stash while the state is active */
  readonly defers: readonly string[];
  readonly states: readonly ChartState[];
};

/** All transitions from one state to another. */
export type ChartEdge = {
  readonly from: string;
  readonly to: string;
  /** `event [guard]`; in document order */
  readonly labels: readonly string[];
};

export type Chart = {
  readonly root: ChartState;
  /** one for each pair of states, in document order */
  readonly edges: readonly ChartEdge[];
};

/** Every state, parents before children, in document order. */
export function* statesOf(state: ChartState): Generator<ChartState> {
  yield state;
  for (const child of state.states) yield* statesOf(child);
}

/** 0 for the root. */
export const depthOf = (path: string): number => (path === '' ? 0 : path.split('.').length);

/** The ancestor at this depth, or the state itself when it is not deeper. */
export const ancestorAt = (path: string, depth: number): string =>
  path.split('.').slice(0, depth).join('.');

/** Of the deepest state. */
export const depthIn = (chart: Chart): number =>
  Math.max(...[...statesOf(chart.root)].map(({ path }) => depthOf(path)));

/** The number of states inside of a state, at any depth. */
export const countInside = (state: ChartState): number => [...statesOf(state)].length - 1;

/**
 * The chart down to a depth: deeper states are folded into their ancestor at that depth, and their
 * transitions are lifted to it. Transitions inside of a folded state are left out.
 */
export function fold(chart: Chart, depth: number): Chart {
  const edges = new Map<string, { from: string; to: string; labels: string[] }>();
  for (const { from, to, labels } of chart.edges) {
    const [source, target] = [ancestorAt(from, depth), ancestorAt(to, depth)];
    const isInside = source === target && (depthOf(from) > depth || depthOf(to) > depth);
    if (isInside) continue;
    const name = `${source}>${target}`;
    const edge = edges.get(name) ?? { from: source, to: target, labels: [] };
    edge.labels.push(...labels.filter((label) => !edge.labels.includes(label)));
    edges.set(name, edge);
  }
  return { root: foldState(chart.root, depth), edges: [...edges.values()] };
}

const foldState = (state: ChartState, depth: number): ChartState => ({
  ...state,
  states: depthOf(state.path) >= depth ? [] : state.states.map((child) => foldState(child, depth)),
});

/**
 * Paths of the active states of a state value as XState stores it, root first: `{ a: 'b' }` is '',
 * 'a' and 'a.b'.
 */
export function activePaths(value: unknown): string[] {
  return ['', ...pathsIn(value, '')];
}

/** The innermost active states of a state value. */
export const activeLeaves = (value: unknown): readonly string[] =>
  activePaths(value).filter(
    (path, _, all) => path !== '' && !all.some((other) => other.startsWith(`${path}.`)),
  );

function pathsIn(value: unknown, prefix: string): string[] {
  if (typeof value === 'string') return [`${prefix}${value}`];
  if (typeof value !== 'object' || value === null) return [];
  return Object.entries(value).flatMap(([key, inner]) => [
    `${prefix}${key}`,
    ...pathsIn(inner, `${prefix}${key}.`),
  ]);
}
