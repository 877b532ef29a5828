/**
 * Translates between charts and the graphs of ELK, the Eclipse Layout Kernel: a chart becomes a
 * graph with sizes, and ELK's answer becomes a drawing. Only types of elkjs are used here.
 */
import type { ElkExtendedEdge, ElkNode } from 'elkjs/lib/elk-api.js';
import { type Chart, type ChartState, fold, statesOf } from '../../../charts/chart.ts';
import {
  DOT,
  type Drawing,
  LINE_HEIGHT,
  labelLines,
  linesOf,
  TEXT_SIZE,
  textWidth,
  TITLE_SIZE,
} from '../../../charts/drawing.ts';

export type Direction = 'DOWN' | 'RIGHT';

/**
 * The settings of the best pictures of 32 tried on five machines. Coordinates are those of the
 * whole drawing, and transitions cross the borders of nested states.
 */
const OPTIONS: Readonly<Record<string, string>> = {
  'elk.algorithm': 'layered',
  'elk.hierarchyHandling': 'INCLUDE_CHILDREN',
  'elk.edgeRouting': 'ORTHOGONAL',
  'elk.json.edgeCoords': 'ROOT',
  'elk.json.shapeCoords': 'ROOT',
  'elk.edgeLabels.inline': 'true',
  'elk.layered.nodePlacement.strategy': 'NETWORK_SIMPLEX',
  'elk.layered.considerModelOrder.strategy': 'PREFER_EDGES',
  'elk.layered.cycleBreaking.strategy': 'DEPTH_FIRST',
  'elk.layered.feedbackEdges': 'true',
  'elk.layered.spacing.nodeNodeBetweenLayers': '28',
  'elk.layered.spacing.edgeEdgeBetweenLayers': '10',
  'elk.layered.spacing.edgeNodeBetweenLayers': '14',
  'elk.spacing.nodeNode': '22',
  'elk.spacing.edgeNode': '14',
  'elk.spacing.edgeEdge': '10',
};

const GRAPH = 'graph';
/** ELK's ids may not be empty. */
const idOf = (path: string): string => `s:${path}`;
const dotOf = (path: string): string => `dot:${path}`;
const edgeId = (n: number): string => `e:${n}`;

/** The states of a chart that begin with a dot. */
const startsOf = (chart: Chart): ChartState[] =>
  [...statesOf(chart.root)].filter(({ initial, states }) => initial && states.length > 0);

/** A chart down to a depth as a graph that ELK lays out. */
export function graphOf(chart: Chart, depth: number, direction: Direction): ElkNode {
  const folded = fold(chart, depth);
  const whole = new Map([...statesOf(chart.root)].map((state) => [state.path, state]));
  const starts = startsOf(folded).map(({ path, initial = '' }) => ({
    id: `start:${path}`,
    sources: [dotOf(path)],
    targets: [idOf(initial)],
  }));
  return {
    id: GRAPH,
    layoutOptions: { ...OPTIONS, 'elk.direction': direction },
    children: [nodeOf(folded.root, whole)],
    edges: [...folded.edges.map((edge, n) => edgeOf(edge, n)), ...starts],
  };
}

function nodeOf(state: ChartState, whole: ReadonlyMap<string, ChartState>): ElkNode {
  const lines = linesOf(state, whole.get(state.path) ?? state);
  const widths = [
    textWidth(state.key, TITLE_SIZE) * 1.1,
    ...lines.map((line) => textWidth(line, TEXT_SIZE)),
  ];
  const width = Math.ceil(Math.max(...widths)) + 24;
  const height = 28 + lines.length * LINE_HEIGHT;
  if (state.states.length === 0) return { id: idOf(state.path), width, height };
  const dot = { id: dotOf(state.path), width: 2 * DOT, height: 2 * DOT };
  return {
    id: idOf(state.path),
    layoutOptions: {
      'elk.padding': `[top=${height + 6},left=14,bottom=14,right=14]`,
      'elk.nodeSize.constraints': 'MINIMUM_SIZE',
      'elk.nodeSize.minimum': `(${width},${height})`,
    },
    children: [
      ...state.states.map((child) => nodeOf(child, whole)),
      ...(state.initial === undefined ? [] : [dot]),
    ],
  };
}

function edgeOf(edge: Chart['edges'][number], n: number): ElkExtendedEdge {
  const lines = labelLines(edge);
  const width = Math.max(0, ...lines.map((line) => textWidth(line, TEXT_SIZE))) + 8;
  const label = {
    id: `l:${n}`,
    text: lines.join('\n'),
    width,
    height: lines.length * LINE_HEIGHT + 3,
  };
  return {
    id: edgeId(n),
    sources: [idOf(edge.from)],
    targets: [idOf(edge.to)],
    labels: lines.length > 0 ? [label] : [],
  };
}

/** What ELK made of the graph of this chart and depth. */
export function drawingOf(chart: Chart, depth: number, graph: ElkNode): Drawing {
  const folded = fold(chart, depth);
  const nodes = new Map([...nodesIn(graph)].map((node) => [node.id, node]));
  const edges = new Map((graph.edges ?? []).map((edge) => [edge.id, edge]));
  const box = (path: string) => rectangle(nodes.get(idOf(path)));
  return {
    width: Math.ceil(graph.width ?? 0),
    height: Math.ceil(graph.height ?? 0),
    states: [...statesOf(folded.root)].flatMap(({ path }) => box(path)),
    starts: startsOf(folded).map(({ path }) => {
      const { x = 0, y = 0 } = nodes.get(dotOf(path)) ?? {};
      const points = pointsOf(edges.get(`start:${path}`));
      return [Math.round(x) + DOT, Math.round(y) + DOT, ...points];
    }),
    edges: folded.edges.map((_, n) => {
      const edge = edges.get(edgeId(n));
      return [...rectangle(edge?.labels?.[0]), ...pointsOf(edge)];
    }),
  };
}

function* nodesIn(node: ElkNode): Generator<ElkNode> {
  yield node;
  for (const child of node.children ?? []) yield* nodesIn(child);
}

type Shape = Pick<ElkNode, 'x' | 'y' | 'width' | 'height'>;

const rectangle = ({ x = 0, y = 0, width = 0, height = 0 }: Shape = {}): number[] =>
  [x, y, width, height].map(Math.round);

const pointsOf = (edge: ElkExtendedEdge | undefined): number[] =>
  (edge?.sections ?? [])
    .flatMap(({ startPoint, bendPoints = [], endPoint }) => [startPoint, ...bendPoints, endPoint])
    .flatMap(({ x, y }) => [Math.round(x), Math.round(y)]);
