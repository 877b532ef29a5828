/**
 * A list of rows of one height of which only the visible ones are in the document, so that its work
 * does not grow with its length.
 */
import type { ComponentChildren, RefObject } from 'preact';
import { useLayoutEffect, useRef, useState } from 'preact/hooks';

export const ROW_HEIGHT = 34;
/** Rows above and below the visible ones. */
const EXTRA = 8;

type VirtualListProps<Row> = {
  readonly rows: readonly Row[];
  readonly label: string;
  readonly keyOf: (row: Row) => string;
  /** the row that has the keyboard's focus */
  readonly current: number;
  readonly onCurrent: (index: number) => void;
  readonly onOpen: (row: Row) => void;
  readonly render: (row: Row, index: number) => ComponentChildren;
};

export function VirtualList<Row>(props: VirtualListProps<Row>) {
  const { rows, current } = props;
  const list = useRef<HTMLDivElement>(null);
  const { first, last, perPage, read } = useRange(list, rows.length);
  const onKeyDown = (event: KeyboardEvent) => {
    const to = targetOf(event.key, current, rows.length, perPage);
    const row = rows[current];
    if (to !== undefined) {
      props.onCurrent(to);
      if (list.current) reveal(list.current, to);
    } else if (event.key === 'Enter' && row !== undefined) props.onOpen(row);
    else return;
    event.preventDefault();
  };
  const active = current >= first && current < last ? rows[current] : undefined;
  return (
    <div
      ref={list}
      class="actor-rows"
      role="tree"
      aria-label={props.label}
      tabIndex={0}
      onScroll={read}
      onKeyDown={onKeyDown}
      {...(active === undefined ? {} : { 'aria-activedescendant': idOf(props.keyOf(active)) })}
    >
      <div role="presentation" style={{ height: `${rows.length * ROW_HEIGHT}px` }}>
        <div role="presentation" style={{ transform: `translateY(${first * ROW_HEIGHT}px)` }}>
          {rows.slice(first, last).map((row, n) => props.render(row, first + n))}
        </div>
      </div>
    </div>
  );
}

/** The rows that are in the document. */
function useRange(list: RefObject<HTMLDivElement>, count: number) {
  const [range, setRange] = useState({ top: 0, height: 800 });
  const read = () => {
    const element = list.current;
    if (!element) return;
    const { scrollTop, clientHeight: height } = element;
    // A part of a row makes no difference.
    const top = Math.floor(scrollTop / ROW_HEIGHT) * ROW_HEIGHT;
    setRange((now) => (now.top === top && now.height === height ? now : { top, height }));
  };
  useLayoutEffect(() => {
    const element = list.current;
    if (!element) return undefined;
    const observer = new ResizeObserver(read);
    observer.observe(element);
    return () => observer.disconnect();
  }, []);
  const first = Math.max(0, Math.floor(range.top / ROW_HEIGHT) - EXTRA);
  const last = Math.min(count, Math.ceil((range.top + range.height) / ROW_HEIGHT) + EXTRA);
  return { first, last, perPage: Math.max(1, Math.floor(range.height / ROW_HEIGHT) - 1), read };
}

/** The row that a key moves to. */
function targetOf(key: string, at: number, count: number, perPage: number): number | undefined {
  const moves: Readonly<Record<string, number>> = {
    ArrowDown: at + 1,
    ArrowUp: at - 1,
    PageDown: at + perPage,
    PageUp: at - perPage,
    Home: 0,
    End: count - 1,
  };
  const target = moves[key];
  return target === undefined ? undefined : Math.max(0, Math.min(count - 1, target));
}

function reveal(element: HTMLElement, index: number): void {
  const top = index * ROW_HEIGHT;
  const bottom = top + ROW_HEIGHT - element.clientHeight;
  if (top < element.scrollTop) element.scrollTop = top;
  else if (bottom > element.scrollTop) element.scrollTop = bottom;
}

/** The id of a row's element. */
export const idOf = (key: string): string => `row-${key.replace(/[^\w-]/g, '_')}`;
