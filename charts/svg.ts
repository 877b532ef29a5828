/**
 * A drawing as SVG: static markup that the command line writes to files and that the page shows.
 * The page lights states and transitions up by their attributes `data-state` and `data-edge`.
 *
 * Boundary: pure; runs in browsers and in Node. Every text of a chart is escaped here.
 */
import { type Chart, type ChartState, fold, statesOf } from './chart.ts';
import {
  type Box,
  boxesOf,
  DOT,
  type Drawing,
  edgesOf,
  labelLines,
  LINE_HEIGHT,
  lineThrough,
  linesOf,
} from './drawing.ts';
import { fileStyle } from './style.ts';

const MARGIN = 6;

export type SvgOptions = {
  /** of the chart: its text alternative */
  readonly title: string;
  /** how deep the drawing goes */
  readonly depth: number;
  /** the file is read alone: with its style and its arrow heads */
  readonly isAlone: boolean;
};

/** The name of an edge in `data-edge`. */
export const edgeName = (from: string, to: string): string => `${from}>${to}`;

/** The viewBox that shows the whole drawing. */
export const wholeView = ({ width, height }: Drawing): Box => ({
  x: -MARGIN,
  y: -MARGIN,
  width: width + 2 * MARGIN,
  height: height + 2 * MARGIN,
});

/** One element `svg` of the natural size of the drawing. */
export function svgOf(chart: Chart, drawing: Drawing, options: SvgOptions): string {
  const { title, isAlone } = options;
  const { x, y, width, height } = wholeView(drawing);
  const size = `viewBox="${x} ${y} ${width} ${height}" width="${width}" height="${height}"`;
  const named = `role="img" aria-label="${escaped(title)}"`;
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" class="statechart" ${size} ${named}>`,
    ...(isAlone ? [`<style>${fileStyle}</style>`, ARROWS] : []),
    drawingMarkup(chart, drawing, options.depth),
    '</svg>',
  ].join('\n');
}

/** Arrow heads by the state of their line; the ids occur once per document. */
export const ARROWS = `<defs>${['', '-taken']
  .map(
    (kind) =>
      `<marker id="chart-arrow${kind}" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="8" ` +
      `markerHeight="8" markerUnits="userSpaceOnUse" orient="auto"><path class="arrow${kind}" d="M0 0L8 4L0 8z"/></marker>`,
  )
  .join('')}</defs>`;

/** What is inside of the element `svg`: states, then lines, then labels. */
export function drawingMarkup(chart: Chart, drawing: Drawing, depth: number): string {
  const folded = fold(chart, depth);
  const whole = new Map([...statesOf(chart.root)].map((state) => [state.path, state]));
  const boxes = boxesOf(folded, drawing);
  const edges = edgesOf(folded, drawing);
  return [
    stateMarkup(folded.root, { boxes, whole }),
    ...drawing.starts.map(startMarkup),
    ...edges.map(({ edge, points }) => {
      const name = escaped(edgeName(edge.from, edge.to));
      return `<path class="edge" data-edge="${name}" d="${lineThrough(points)}"/>`;
    }),
    ...edges.map(({ edge, label }) => {
      if (!label) return '';
      const name = escaped(edgeName(edge.from, edge.to));
      const all = `<title>${escaped(edge.labels.join('\n'))}</title>`;
      const lines = labelLines(edge).map((line, n) => labelText(line, label, n));
      return `<g class="label" data-edge="${name}">${all}${rectangle(label, 3)}${lines.join('')}</g>`;
    }),
  ].join('\n');
}

type States = {
  readonly boxes: ReadonlyMap<string, Box>;
  /** unfolded */
  readonly whole: ReadonlyMap<string, ChartState>;
};

function stateMarkup(state: ChartState, states: States, isRegion = false): string {
  const { path, key, kind, description } = state;
  const box = states.boxes.get(path)!;
  const whole = states.whole.get(path) ?? state;
  const isLeaf = state.states.length === 0;
  const isFolded = isLeaf && whole.states.length > 0;
  const names = ['state', isLeaf ? 'leaf' : 'nested', kind, isRegion && 'region'];
  const classes = [...names, isFolded && 'folded'].filter(Boolean).join(' ');
  const title = [path, description].filter(Boolean).join('\n');
  const lines = linesOf(state, whole).map((line, n) => stateText(line, box, isLeaf, n + 1));
  const inner = { x: box.x + 3, y: box.y + 3, width: box.width - 6, height: box.height - 6 };
  const children = state.states.map((child) => stateMarkup(child, states, kind === 'parallel'));
  return [
    `<g class="${classes}" data-state="${escaped(path)}"><title>${escaped(title)}</title>`,
    rectangle(box, 8),
    kind === 'final' ? rectangle(inner, 6) : '',
    stateText(key, box, isLeaf, 0),
    ...lines,
    '</g>',
    ...children,
  ].join('');
}

const rectangle = ({ x, y, width, height }: Box, radius: number): string =>
  `<rect x="${x}" y="${y}" width="${width}" height="${height}" rx="${radius}"/>`;

function stateText(text: string, { x, y, width }: Box, isCentered: boolean, line: number): string {
  const at = isCentered ? x + width / 2 : x + 12;
  const name = `${line === 0 ? 'title' : 'note'}${isCentered ? ' centered' : ''}`;
  return textMarkup(text, name, at, y + 18 + line * LINE_HEIGHT);
}

const labelText = (text: string, { x, y, width }: Box, line: number): string =>
  textMarkup(text, 'centered', x + width / 2, y + 11 + line * LINE_HEIGHT);

const textMarkup = (text: string, name: string, x: number, y: number): string =>
  `<text class="${name}" x="${x}" y="${y}">${escaped(text)}</text>`;

const startMarkup = ([x, y, ...points]: readonly number[]): string =>
  `<circle class="start" cx="${x}" cy="${y}" r="${DOT}"/><path class="edge start-edge" d="${lineThrough(points)}"/>`;

const ENTITIES: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
};

export const escaped = (text: string): string =>
  text.replace(/[&<>"']/g, (character) => ENTITIES[character]!);
