/** The visible part of a drawing, in the coordinates of the drawing. Pure. */
import type { Box } from '../../charts/drawing.ts';

export type Size = { readonly width: number; readonly height: number };

/** Texts of 10.5 pixels are readable down to this scale. */
const READABLE = 0.8;
const SCALE_MAX = 2.5;
const SCALE_MIN = 0.1;
const MARGIN = 24;

/** A view with the proportions of the pane that contains the box, not magnified. */
export function around(box: Box, pane: Size): Box {
  return centered(box, pane, Math.min(1, pane.width / box.width, pane.height / box.height));
}

function centered(box: Box, pane: Size, scale: number): Box {
  const [width, height] = [pane.width / scale, pane.height / scale];
  const x = box.x + box.width / 2 - width / 2;
  const y = box.y + box.height / 2 - height / 2;
  return { x, y, width, height };
}

/**
 * Where to look at an active state of a drawing: its surroundings where they are readable in the
 * pane, otherwise the state itself with as much around it as fits.
 */
export function focusOn(state: Box, surroundings: Box, whole: Box, pane: Size): Box {
  const all = around(withMargin(surroundings), pane);
  if (pane.width / all.width >= READABLE) return all;
  return within(centered(state, pane, READABLE), whole);
}

/** Moved so that it shows nothing outside of the drawing; centered where the drawing is smaller. */
function within(view: Box, whole: Box): Box {
  const along = (at: number, size: number, start: number, length: number) =>
    size >= length
      ? start + (length - size) / 2
      : Math.min(start + length - size, Math.max(start, at));
  return {
    ...view,
    x: along(view.x, view.width, whole.x, whole.width),
    y: along(view.y, view.height, whole.y, whole.height),
  };
}

const withMargin = ({ x, y, width, height }: Box): Box => ({
  x: x - MARGIN,
  y: y - MARGIN,
  width: width + 2 * MARGIN,
  height: height + 2 * MARGIN,
});

/** Scales the view around a point that is given as parts of its width and height. */
export function zoomed(view: Box, factor: number, pane: Size, atX = 0.5, atY = 0.5): Box {
  const scale = pane.width / view.width;
  const wanted = Math.min(SCALE_MAX, Math.max(SCALE_MIN, scale * factor));
  const [width, height] = [pane.width / wanted, pane.height / wanted];
  return {
    x: view.x + (view.width - width) * atX,
    y: view.y + (view.height - height) * atY,
    width,
    height,
  };
}

export const moved = (view: Box, x: number, y: number): Box => ({
  ...view,
  x: view.x + x,
  y: view.y + y,
});

/** A view between two others; `part` is from 0 to 1. */
export function between(from: Box, to: Box, part: number): Box {
  const mix = (a: number, b: number) => a + (b - a) * part;
  return {
    x: mix(from.x, to.x),
    y: mix(from.y, to.y),
    width: mix(from.width, to.width),
    height: mix(from.height, to.height),
  };
}

export const textOf = ({ x, y, width, height }: Box): string =>
  [x, y, width, height].map((value) => Math.round(value * 10) / 10).join(' ');
