/** How a reader moves the view of a chart: by keys, by dragging, and by zooming with the wheel. */
import type { Box } from '../../charts/drawing.ts';
import { moved, type Size, zoomed } from './view-box.ts';

const ZOOM = 1.25;
const PAN = 40;
/** Pixels after which a press is no longer a click. */
const DRAG = 4;

type Move = (view: Box) => Box;

/** What a key does to the view. */
export function moveOf(key: string, pane: Size): Move | 'whole' | undefined {
  switch (key) {
    case '+':
    case '=':
      return (view) => zoomed(view, ZOOM, pane);
    case '-':
      return (view) => zoomed(view, 1 / ZOOM, pane);
    case '0':
      return 'whole';
    case 'ArrowLeft':
      return (view) => moved(view, -PAN, 0);
    case 'ArrowRight':
      return (view) => moved(view, PAN, 0);
    case 'ArrowUp':
      return (view) => moved(view, 0, -PAN);
    case 'ArrowDown':
      return (view) => moved(view, 0, PAN);
    default:
      return undefined;
  }
}

/** Only with a modifier, which a pinch on a touchpad sets: the wheel alone scrolls the page. */
export function zoomOf(event: WheelEvent, element: Element, pane: Size): Move | undefined {
  if (!event.ctrlKey && !event.metaKey) return undefined;
  const box = element.getBoundingClientRect();
  const [x, y] = [event.clientX - box.left, event.clientY - box.top];
  const factor = Math.exp(-event.deltaY / 200);
  return (view) => zoomed(view, factor, pane, x / box.width, y / box.height);
}

/** A press on the chart, which becomes a drag or a click. */
export class Drag {
  #last: { readonly x: number; readonly y: number } | undefined;
  #distance = 0;

  get isClick(): boolean {
    return this.#distance < DRAG;
  }

  begin({ clientX: x, clientY: y }: PointerEvent): void {
    this.#last = { x, y };
    this.#distance = 0;
  }

  /** undefined while it may become a click */
  move({ clientX, clientY, buttons }: PointerEvent, pane: Size): Move | undefined {
    const last = this.#last;
    if (!last || buttons === 0) return undefined;
    const [x, y] = [last.x - clientX, last.y - clientY];
    this.#distance += Math.abs(x) + Math.abs(y);
    this.#last = { x: clientX, y: clientY };
    if (this.isClick) return undefined;
    return (view) => moved(view, (x * view.width) / pane.width, (y * view.width) / pane.width);
  }
}
