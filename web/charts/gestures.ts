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

type Point = { readonly x: number; readonly y: number };

const distance = (a: Point, b: Point): number => Math.hypot(a.x - b.x, a.y - b.y);

/** Presses on the chart: one becomes a drag or a click, two fingers move and scale the view. */
export class Drag {
  readonly #at = new Map<number, Point>();
  #distance = 0;

  get isClick(): boolean {
    return this.#distance < DRAG;
  }

  begin({ pointerId, clientX: x, clientY: y, isPrimary }: PointerEvent): void {
    if (isPrimary) {
      this.#at.clear();
      this.#distance = 0;
    }
    this.#at.set(pointerId, { x, y });
  }

  end({ pointerId }: PointerEvent): void {
    this.#at.delete(pointerId);
  }

  /** undefined while it may become a click */
  move(event: PointerEvent, pane: Size): Move | undefined {
    const { pointerId, clientX: x, clientY: y, buttons } = event;
    const last = this.#at.get(pointerId);
    if (!last || buttons === 0) return undefined;
    const other = [...this.#at].find(([id]) => id !== pointerId)?.[1];
    this.#distance += Math.abs(x - last.x) + Math.abs(y - last.y);
    const now = { x, y };
    this.#at.set(pointerId, now);
    if (this.isClick) return undefined;
    const share = other ? 0.5 : 1;
    const [dx, dy] = [(last.x - x) * share, (last.y - y) * share];
    const drag: Move = (view) =>
      moved(view, (dx * view.width) / pane.width, (dy * view.width) / pane.width);
    if (!other) return drag;
    const factor = distance(now, other) / Math.max(1, distance(last, other));
    const box = (event.currentTarget as Element).getBoundingClientRect();
    const middle = [(x + other.x) / 2 - box.left, (y + other.y) / 2 - box.top] as const;
    return (view) =>
      zoomed(drag(view), factor, pane, middle[0] / box.width, middle[1] / box.height);
  }
}
