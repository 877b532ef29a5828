/**
 * A list of rows that are links. Only the rows in view, and a few around them, are elements; so a
 * list of any length has a bounded cost per frame. Arrow keys, Home and End move the focus.
 */
import type { ComponentChildren } from 'preact';
import { useEffect, useLayoutEffect, useRef, useState } from 'preact/hooks';

export type Column<Row> = {
  readonly name: string;
  /** what is searched and sorted by */
  text(this: void, row: Row): string;
  /** default: the text */
  show?(this: void, row: Row): ComponentChildren;
  /** sorts by this number instead of the text */
  order?(this: void, row: Row): number;
  /** width on wide pages, as a track of a CSS grid */
  readonly width?: string;
};

const ROW_PX = 46;
/** On a narrow page a row has two lines. */
const NARROW_ROW_PX = 64;
const AROUND = 6;
const NARROW = matchMedia('(max-width: 56rem)');

export const Rows = <Row,>(props: {
  label: string;
  columns: readonly Column<Row>[];
  rows: readonly Row[];
  idOf: (row: Row) => string;
  open: string | undefined;
  linkOf: (row: Row) => string;
  onOpen: (row: Row) => void;
}) => {
  const { label, columns, rows, idOf, open, linkOf, onOpen } = props;
  const { box, first, last, px, focusOn } = useWindow(rows.length);
  const tracks = columns.map(({ width = 'minmax(0, 1fr)' }) => width).join(' ');
  const onKeyDown = (event: KeyboardEvent) => {
    const at = Number((event.target as HTMLElement).closest('li')?.ariaPosInSet ?? 0) - 1;
    const to = { ArrowDown: at + 1, ArrowUp: at - 1, Home: 0, End: rows.length - 1 }[event.key];
    if (to === undefined || event.altKey || rows[to] === undefined) return;
    event.preventDefault();
    focusOn(to);
  };
  return (
    <div class="rows" ref={box}>
      <ul aria-label={label} style={{ height: `${rows.length * px}px` }} onKeyDown={onKeyDown}>
        {rows.slice(first, last).map((row, index) => {
          const id = idOf(row);
          const at = first + index;
          return (
            <li
              key={id}
              aria-setsize={rows.length}
              aria-posinset={at + 1}
              style={{ top: `${at * px}px`, height: `${px}px` }}
            >
              <a
                href={linkOf(row)}
                aria-current={id === open ? 'true' : undefined}
                style={{ gridTemplateColumns: tracks }}
                onClick={(event) => {
                  if (event.ctrlKey || event.metaKey || event.shiftKey) return;
                  event.preventDefault();
                  onOpen(row);
                }}
              >
                {columns.map((column) => (
                  <span key={column.name} class="cell" data-name={column.name}>
                    {column.show?.(row) ?? column.text(row)}
                  </span>
                ))}
              </a>
            </li>
          );
        })}
      </ul>
    </div>
  );
};

/** The range of rows that are elements. */
const useWindow = (count: number) => {
  const box = useRef<HTMLDivElement>(null);
  const [seen, setSeen] = useState({ top: 0, height: 600 });
  const [isNarrow, setNarrow] = useState(NARROW.matches);
  const wanted = useRef<number>();
  const px = isNarrow ? NARROW_ROW_PX : ROW_PX;
  useEffect(() => {
    const element = box.current;
    if (element === null) return undefined;
    const look = () => setSeen({ top: element.scrollTop, height: element.clientHeight });
    const fit = () => setNarrow(NARROW.matches);
    const sizes = new ResizeObserver(look);
    sizes.observe(element);
    element.addEventListener('scroll', look, { passive: true });
    NARROW.addEventListener('change', fit);
    return () => {
      sizes.disconnect();
      element.removeEventListener('scroll', look);
      NARROW.removeEventListener('change', fit);
    };
  }, []);
  useLayoutEffect(() => {
    if (wanted.current === undefined) return;
    box.current?.querySelector<HTMLElement>(`[aria-posinset="${wanted.current + 1}"] a`)?.focus();
    wanted.current = undefined;
  });
  const focusOn = (at: number) => {
    wanted.current = at;
    const element = box.current;
    if (element === null) return;
    const [top, bottom] = [at * px, (at + 1) * px];
    if (top < element.scrollTop) element.scrollTop = top;
    else if (bottom > element.scrollTop + element.clientHeight)
      element.scrollTop = bottom - element.clientHeight;
    setSeen({ top: element.scrollTop, height: element.clientHeight });
  };
  const first = Math.max(0, Math.floor(seen.top / px) - AROUND);
  const last = Math.min(count, Math.ceil((seen.top + seen.height) / px) + AROUND);
  return { box, first, last, px, focusOn };
};
