/** The drawing of a chart: what is lit in it, and which part of it is visible. */
import type { RefObject } from 'preact';
import { useEffect, useLayoutEffect, useMemo, useRef } from 'preact/hooks';
import { activeLeaves, ancestorAt, depthOf, fold } from '../../charts/chart.ts';
import { type Box, boxesOf, type Drawing, fitting, type Level } from '../../charts/drawing.ts';
import { type Lit, type ShownTurn, takenEdges } from '../../charts/lit.ts';
import type { PublishedChart } from '../../charts/published.ts';
import { ARROWS, drawingMarkup, wholeView } from '../../charts/svg.ts';
import { Drag, moveOf, zoomOf } from './gestures.ts';
import { Glide } from './glide.ts';
import { strings } from './strings.ts';
import { around, focusOn, type Size } from './view-box.ts';

/** Attributes of SVG are case-sensitive, and preact's types know `tabIndex` only. */
const FOCUSABLE = { tabindex: 0 };

export type StageProps = {
  readonly published: PublishedChart;
  readonly level: Level;
  readonly lit: Lit;
  readonly pane: Size;
  readonly value: unknown;
  readonly turn: ShownTurn | undefined;
  readonly isFollowing: boolean;
  /** the reader moved the view: it stays */
  readonly isFree: boolean;
  readonly chosen: string | undefined;
  readonly onChoose: (path: string) => void;
  readonly onMove: () => void;
};

export const Stage = (props: StageProps) => {
  const { published, level, lit, pane, chosen } = props;
  const { chart, type } = published;
  const svg = useRef<SVGSVGElement>(null);
  const drawing = fitting(level, pane.width, pane.height);
  const markup = useMemo(
    () => ({ __html: ARROWS + drawingMarkup(chart, drawing, level.depth) }),
    [chart, drawing],
  );
  const shownChosen = chosen === undefined ? undefined : ancestorAt(chosen, level.depth);
  useLayoutEffect(() => {
    if (svg.current) light(svg.current, lit, shownChosen);
  }, [lit, markup, shownChosen]);
  const change = useView(svg, drawing, props);
  const drag = useMemo(() => new Drag(), []);
  return (
    <svg
      ref={svg}
      {...FOCUSABLE}
      class="statechart"
      role="application"
      aria-label={strings.chartOf(type)}
      dangerouslySetInnerHTML={markup}
      onKeyDown={(event) => {
        const move = moveOf(event.key, pane);
        if (!move) return;
        event.preventDefault();
        change(move === 'whole' ? () => around(wholeView(drawing), pane) : move);
      }}
      onWheel={(event) => {
        const move = zoomOf(event, event.currentTarget, pane);
        if (!move) return;
        event.preventDefault();
        change(move);
      }}
      onPointerDown={(event) => drag.begin(event)}
      onPointerUp={(event) => drag.end(event)}
      onPointerCancel={(event) => drag.end(event)}
      onPointerMove={(event) => {
        const move = drag.move(event, pane);
        if (!move) return;
        event.currentTarget.setPointerCapture(event.pointerId);
        change(move);
      }}
      onClick={(event) => {
        const state = (event.target as Element).closest<SVGElement>('[data-state]');
        if (state && drag.isClick) props.onChoose(state.dataset['state'] ?? '');
      }}
    />
  );
};

/** Shows the whole drawing, or follows the actor; returns a function that moves the view. */
function useView(
  svg: RefObject<SVGSVGElement>,
  drawing: Drawing,
  props: StageProps,
): (move: (view: Box) => Box) => void {
  const { pane, isFollowing, isFree, value } = props;
  const glide = useMemo(() => new Glide(), []);
  /** between two drawings there is no way to glide */
  const shown = useRef<Drawing>();
  useEffect(() => {
    if (!svg.current || pane.width === 0) return;
    const focus = isFollowing ? focusBox(drawing, props) : undefined;
    const isOther = shown.current !== drawing;
    if (isFree && !isOther) return;
    shown.current = drawing;
    glide.to(svg.current, focus ?? around(wholeView(drawing), pane), isOther);
  }, [drawing, isFollowing, isFollowing ? value : undefined, pane.width, pane.height]);
  useEffect(() => () => glide.end(), []);
  return (move) => {
    if (!svg.current || !glide.view) return;
    if (!isFree) props.onMove();
    glide.to(svg.current, move(glide.view), true);
  };
}

/** Sets the classes of what changed. */
function light(svg: SVGSVGElement, { active, open, taken }: Lit, chosen: string | undefined): void {
  for (const state of svg.querySelectorAll<SVGElement>('[data-state]')) {
    const path = state.dataset['state'] ?? '';
    state.classList.toggle('active', active.has(path));
    state.classList.toggle('chosen', path === chosen);
  }
  for (const edge of svg.querySelectorAll<SVGElement>('[data-edge]')) {
    const name = edge.dataset['edge'] ?? '';
    edge.classList.toggle('open', open.has(name));
    edge.classList.toggle('taken', taken.has(name));
  }
}

/** The surroundings of the state that was entered last; undefined without an active state. */
function focusBox(
  drawing: Drawing,
  { published: { chart }, level: { depth }, value, turn, pane }: StageProps,
): Box | undefined {
  if (value === undefined) return undefined;
  const boxes = boxesOf(fold(chart, depth), drawing);
  const leaves = activeLeaves(value);
  const target = turn === undefined ? undefined : takenEdges(chart, turn).at(-1)?.to;
  const leaf = leaves.find((path) => target !== undefined && isWithin(path, target)) ?? leaves[0];
  if (leaf === undefined) return undefined;
  const state = boxes.get(ancestorAt(leaf, depth));
  const parent = boxes.get(ancestorAt(leaf, Math.min(depth, depthOf(leaf)) - 1));
  return state && focusOn(state, parent ?? state, wholeView(drawing), pane);
}

const isWithin = (path: string, ancestor: string): boolean =>
  path === ancestor || path.startsWith(`${ancestor}.`);
