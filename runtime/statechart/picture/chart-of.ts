/** The chart of a machine as plain data, without functions and actions: what a drawing shows. */
import type { AnyStateMachine, AnyStateNode } from 'xstate';
import {
  ancestorAt,
  type Chart,
  type ChartEdge,
  type ChartState,
  depthOf,
} from '../../../charts/chart.ts';
import { defined } from '../../../protocols/defined.ts';
import type { StateMeta } from '../../../protocols/statechart.ts';
import { nodesOf } from '../facts.ts';
import { labelOf } from '../labels.ts';
import { sourceName, transitionsOf } from '../parts.ts';

export const chartOf = (machine: AnyStateMachine): Chart => ({
  root: stateOf(machine.root),
  edges: edgesOf(machine),
});

const pathOf = ({ path }: Pick<AnyStateNode, 'path'>): string => path.join('.');

const stateOf = (node: AnyStateNode): ChartState => ({
  path: pathOf(node),
  key: node.key,
  kind: node.type,
  ...defined({ description: node.description, initial: initialOf(node) }),
  invokes: node.invoke.map(({ src }) => sourceName(src)),
  handles: [
    ...new Set(transitionsOf(node).flatMap((each) => (each.target ? [] : [labelOf(each)]))),
  ],
  defers: ((node.meta ?? {}) as StateMeta).defer ?? [],
  states: Object.values(node.states).map(stateOf),
});

/** The child that is entered first, also where the initial state is deeper. */
function initialOf(node: AnyStateNode): string | undefined {
  const target = node.type === 'compound' ? node.initial.target[0] : undefined;
  return target && ancestorAt(pathOf(target), depthOf(pathOf(node)) + 1);
}

function edgesOf({ root }: AnyStateMachine): ChartEdge[] {
  const edges = new Map<string, { from: string; to: string; labels: string[] }>();
  for (const node of nodesOf(root)) {
    for (const transition of transitionsOf(node)) {
      for (const target of transition.target ?? []) {
        const [from, to] = [pathOf(node), pathOf(target as AnyStateNode)];
        const edge = edges.get(`${from}>${to}`) ?? { from, to, labels: [] };
        const label = labelOf(transition);
        if (!edge.labels.includes(label)) edge.labels.push(label);
        edges.set(`${from}>${to}`, edge);
      }
    }
  }
  return [...edges.values()];
}
