/**
 * A drawing: where the states, transitions and labels of a chart are. It holds numbers only; what
 * they belong to follows from the chart, in document order. All measures are pixels at scale 1.
 *
 * Boundary: pure; runs in browsers and in Node.
 */
import { type Chart, type ChartEdge, type ChartState, countInside, statesOf } from './chart.ts';

export type Drawing = {
  readonly width: number;
  readonly height: number;
  /** x, y, width, height of every state */
  readonly states: readonly number[];
  /**
   * for every state with an initial state: center of its dot, then the points of the arrow to the
   * initial state
   */
  readonly starts: readonly (readonly number[])[];
  /** for every edge: x, y, width, height of its label, then the points of its line */
  readonly edges: readonly (readonly number[])[];
};

/** A chart down to a depth, drawn from top to bottom and from left to right. */
export type Level = { readonly depth: number; readonly down: Drawing; readonly right: Drawing };

export type Box = {
  readonly x: number;
  readonly y: number;
  readonly width: number;
  readonly height: number;
};

export const LINE_HEIGHT = 13;
/** Font sizes of titles and of every other text. */
export const TITLE_SIZE = 12.5;
export const TEXT_SIZE = 10.5;
const LABEL_LINES_MAX = 3;
const LABEL_CHARACTERS_MAX = 44;
const DOT = 4;

/** What a box shows below its title. */
export const linesOf = (state: ChartState, whole: ChartState = state): readonly string[] => {
  const folded = state.states.length === 0 ? countInside(whole) : 0;
  return [
    ...state.invokes.map((name) => `⚙ ${name}`),
    ...(folded > 0 ? [`+ ${folded} states`] : []),
  ];
};

/** What a label shows: the first transitions, and how many more there are. */
export function labelLines({ labels }: ChartEdge): readonly string[] {
  const shown = labels.length > LABEL_LINES_MAX ? labels.slice(0, LABEL_LINES_MAX - 1) : labels;
  const more = labels.length - shown.length;
  return [...shown.map(shortened), ...(more > 0 ? [`+ ${more} more`] : [])];
}

const shortened = (text: string): string =>
  text.length > LABEL_CHARACTERS_MAX ? `${text.slice(0, LABEL_CHARACTERS_MAX - 1)}…` : text;

/** Width of a text in DejaVu Sans, the widest of the common sans-serif fonts. */
export function textWidth(text: string, size: number): number {
  let ems = 0;
  for (const character of text) ems += emsOf(character);
  return Math.ceil(ems * size);
}

const emsOf = (character: string): number => {
  if (/[ijl.,:;'|! ]/.test(character)) return 0.32;
  if (/[frtI()[\]]/.test(character)) return 0.41;
  if (/[mwMWQO@%⚙…+]/.test(character)) return 0.9;
  return /[A-Z]/.test(character) ? 0.7 : 0.63;
};

/** The states of a chart with their boxes, by path. */
export function boxesOf(chart: Chart, { states }: Drawing): ReadonlyMap<string, Box> {
  const boxes = [...statesOf(chart.root)].map(({ path }, n): [string, Box] => {
    const [x = 0, y = 0, width = 0, height = 0] = states.slice(4 * n, 4 * n + 4);
    return [path, { x, y, width, height }];
  });
  return new Map(boxes);
}

export type DrawnEdge = {
  readonly edge: ChartEdge;
  /** undefined for an edge without a label */
  readonly label: Box | undefined;
  readonly points: readonly number[];
};

export const edgesOf = ({ edges }: Chart, drawing: Drawing): readonly DrawnEdge[] =>
  edges.map((edge, n) => {
    const [x = 0, y = 0, width = 0, height = 0, ...points] = drawing.edges[n] ?? [];
    return { edge, label: width > 0 ? { x, y, width, height } : undefined, points };
  });

/** A line through these points, with round corners. */
export function lineThrough(points: readonly number[]): string {
  const at = (n: number): Point => [points[2 * n] ?? 0, points[2 * n + 1] ?? 0];
  const last = points.length / 2 - 1;
  let line = `M${at(0).join(' ')}`;
  for (let n = 1; n < last; n++) line += corner(at(n - 1), at(n), at(n + 1));
  return `${line}L${at(last).join(' ')}`;
}

type Point = readonly [number, number];
const RADIUS = 6;

function corner(from: Point, at: Point, to: Point): string {
  const [start, end] = [toward(at, from), toward(at, to)];
  return `L${start.join(' ')}Q${at.join(' ')} ${end.join(' ')}`;
}

/** The point at most a radius and at most halfway from one point to another. */
function toward([x, y]: Point, [toX, toY]: Point): Point {
  const length = Math.hypot(toX - x, toY - y) || 1;
  const part = Math.min(RADIUS, length / 2) / length;
  return [rounded(x + (toX - x) * part), rounded(y + (toY - y) * part)];
}

const rounded = (value: number): number => Math.round(value * 10) / 10;

export { DOT };

/** The direction of a level that is larger in a pane of this size. */
export function fitting({ down, right }: Level, width: number, height: number): Drawing {
  const scale = (drawing: Drawing) => Math.min(1, width / drawing.width, height / drawing.height);
  return scale(right) > scale(down) + 0.05 ? right : down;
}
