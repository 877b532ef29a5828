/** The states of a chart as a tree: for screen readers, and where a chart has no drawing. */
import { useRef } from 'preact/hooks';
import type { ChartState } from '../../charts/chart.ts';

type OutlineProps = {
  readonly root: ChartState;
  readonly name: string;
  readonly active: ReadonlySet<string>;
  readonly chosen: string | undefined;
  readonly onChoose: (path: string) => void;
};

export const Outline = (props: OutlineProps) => {
  const tree = useRef<HTMLUListElement>(null);
  const step = (by: number | 'first' | 'last') => {
    const items = [...(tree.current?.querySelectorAll<HTMLElement>('[role=treeitem]') ?? [])];
    const at = items.indexOf(document.activeElement as HTMLElement);
    const to = by === 'first' ? 0 : by === 'last' ? items.length - 1 : at + by;
    items[Math.max(0, Math.min(items.length - 1, to))]?.focus();
  };
  const onKeyDown = (event: KeyboardEvent) => {
    const move = ({ ArrowDown: 1, ArrowUp: -1, Home: 'first', End: 'last' } as const)[event.key];
    const path = (document.activeElement as HTMLElement | null)?.dataset['path'];
    if (move !== undefined) step(move);
    else if ((event.key === 'Enter' || event.key === ' ') && path !== undefined)
      props.onChoose(path);
    else return;
    event.preventDefault();
  };
  return (
    <ul ref={tree} class="chart-outline" role="tree" aria-label={props.name} onKeyDown={onKeyDown}>
      <Item state={props.root} {...props} />
    </ul>
  );
};

const Item = ({ state, ...props }: OutlineProps & { state: ChartState }) => {
  const { path, key, states, description } = state;
  return (
    <li
      role="treeitem"
      data-path={path}
      tabIndex={path === (props.chosen ?? '') ? 0 : -1}
      aria-current={props.active.has(path)}
      aria-selected={path === props.chosen}
      {...(states.length > 0 ? { 'aria-expanded': true } : {})}
    >
      <span title={description} onClick={() => props.onChoose(path)}>
        {key}
      </span>
      {states.length > 0 && (
        <ul role="group">
          {states.map((child) => (
            <Item key={child.path} {...props} state={child} />
          ))}
        </ul>
      )}
    </li>
  );
};
