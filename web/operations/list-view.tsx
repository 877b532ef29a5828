/**
 * A view with a list: filters in the address, rows, and the details of the open row beside them.
 * The views of operations are definitions of such lists.
 */
import type { ComponentChildren } from 'preact';
import { useMemo } from 'preact/hooks';
import { Icon, type IconName } from '../icons.tsx';
import { linkToRoute, type Route } from '../routes.ts';
import { Pane } from './pane.tsx';
import { type Read, useReading } from './reading.ts';
import { type Column, Rows } from './rows.tsx';
import { strings } from './strings.ts';
import type { ViewProps } from './view-props.ts';

/** A choice that the request, or the list, is restricted by. */
export type Choice = {
  /** its parameter in the address */
  readonly name: string;
  readonly label: string;
  /** value and text; the first one is the default */
  readonly options: readonly (readonly [string, string])[];
};

export type ListDefinition<Row> = {
  readonly icon: IconName;
  /** name for screen readers */
  readonly title: string;
  readonly choices?: readonly Choice[];
  read(this: void, props: ViewProps, params: Route['params']): Promise<readonly Row[]>;
  /** each read is recorded in the audit log: the list is not read again by itself */
  readonly isAudited?: true;
  /** restricts by choices that the request does not know */
  matches?(this: void, row: Row, params: Route['params']): boolean;
  idOf(this: void, row: Row): string;
  titleOf(this: void, row: Row): string;
  readonly columns: readonly Column<Row>[];
  /** what an empty list means, and how it gets its first row */
  readonly empty: { readonly title: string; readonly text: string; readonly command?: string };
  details(this: void, row: Row, more: DetailProps): ComponentChildren;
  /** what an operator decides first, above the filters */
  above?(this: void, rows: readonly Row[], more: DetailProps): ComponentChildren;
  /** buttons beside the filters */
  tools?(this: void, more: DetailProps): ComponentChildren;
};

/** A reading without an interval. */
const NEVER = 0;

export type DetailProps = ViewProps & {
  /** reads the list again, after an action */
  again(this: void): void;
};

export const ListView = <Row,>(props: ViewProps & { definition: ListDefinition<Row> }) => {
  const { definition, route, go } = props;
  const { choices = [], idOf, title, isAudited = false } = definition;
  const { params, view } = route;
  const { item, find = '', sort, ...asked } = params;
  const reading = useReading(
    `${view} ${JSON.stringify(asked)}`,
    () => definition.read(props, params),
    isAudited ? NEVER : undefined,
  );
  const rows = useMemo(
    () => shownRows(definition, reading.value ?? [], params),
    [reading.value, find, sort, JSON.stringify(asked)],
  );
  const linkWith = (change: Route['params']) =>
    linkToRoute({ view, params: { ...params, ...change } });
  const open = reading.value?.find((row) => idOf(row) === item);
  const more = { ...props, again: reading.again };
  return (
    <main class="view" aria-label={title}>
      <div class="list">
        {definition.above?.(reading.value ?? [], more)}
        <Toolbar
          choices={choices}
          params={params}
          count={rows.length}
          onChange={(change) => go(linkWith(change), true)}
          onAgain={reading.again}
        >
          {definition.tools?.(more)}
        </Toolbar>
        <Failure reading={reading} />
        {rows.length > 0 ? (
          <List definition={definition} rows={rows} params={params} linkWith={linkWith} go={go} />
        ) : (
          <NoRows
            definition={definition}
            reading={reading}
            isFiltered={find !== '' || Object.keys(asked).length > 0}
          />
        )}
      </div>
      {item !== undefined && reading.value !== undefined && (
        <Pane
          title={open === undefined ? item : definition.titleOf(open)}
          onClose={() => go(linkWith({ item: '' }))}
        >
          {open === undefined ? (
            <p class="muted">{strings.itemGone}</p>
          ) : (
            definition.details(open, more)
          )}
        </Pane>
      )}
    </main>
  );
};

const List = <Row,>(props: {
  definition: ListDefinition<Row>;
  rows: readonly Row[];
  params: Route['params'];
  linkWith: (change: Route['params']) => string;
  go: ViewProps['go'];
}) => {
  const { definition, rows, params, linkWith, go } = props;
  const { columns, idOf, title } = definition;
  return (
    <>
      <Heads
        columns={columns}
        sort={params['sort']}
        onSort={(by) => go(linkWith({ sort: by }), true)}
      />
      <Rows
        label={title}
        columns={columns}
        rows={rows}
        idOf={idOf}
        open={params['item']}
        linkOf={(row) => linkWith({ item: idOf(row) })}
        onOpen={(row) => go(linkWith({ item: idOf(row) }))}
      />
    </>
  );
};

const NoRows = <Row,>(props: {
  definition: ListDefinition<Row>;
  reading: Read<readonly Row[]>;
  isFiltered: boolean;
}) => {
  const { definition, reading, isFiltered } = props;
  if (reading.value === undefined)
    return reading.error === undefined ? <p class="loading">{strings.loading}</p> : null;
  const text = isFiltered
    ? { title: strings.nothingMatches, text: strings.changeFilters }
    : definition.empty;
  return <Empty icon={definition.icon} {...text} />;
};

const shownRows = <Row,>(
  { columns, matches }: ListDefinition<Row>,
  rows: readonly Row[],
  params: Route['params'],
): readonly Row[] => {
  const { find = '', sort = '' } = params;
  const words = find.toLowerCase().split(/\s+/);
  const textOf = (row: Row) =>
    columns
      .map(({ text }) => text(row))
      .join(' ')
      .toLowerCase();
  const found = rows
    .filter((row) => matches?.(row, params) ?? true)
    .filter((row) => find === '' || words.every((word) => textOf(row).includes(word)));
  const by = columns.find(({ name }) => name === sort.replace(/^-/, ''));
  if (by === undefined) return found;
  const turn = sort.startsWith('-') ? -1 : 1;
  const compared = (a: Row, b: Row) =>
    by.order ? by.order(a) - by.order(b) : by.text(a).localeCompare(by.text(b));
  return found.toSorted((a, b) => turn * compared(a, b));
};

const Toolbar = (props: {
  choices: readonly Choice[];
  params: Route['params'];
  count: number;
  onChange: (change: Route['params']) => void;
  onAgain: () => void;
  children: ComponentChildren;
}) => {
  const { choices, params, count, onChange, onAgain, children } = props;
  return (
    <div class="toolbar" role="search">
      <label class="find">
        <Icon name="search" />
        <span class="hidden">{strings.find}</span>
        <input
          id="find"
          type="search"
          value={params['find'] ?? ''}
          placeholder={strings.find}
          onInput={({ currentTarget }) => onChange({ find: currentTarget.value })}
        />
      </label>
      {choices.map(({ name, label, options }) => (
        <select
          key={name}
          aria-label={label}
          title={label}
          value={params[name] ?? options[0]?.[0] ?? ''}
          onChange={({ currentTarget }) =>
            onChange({ [name]: currentTarget.value === options[0]?.[0] ? '' : currentTarget.value })
          }
        >
          {options.map(([value, text]) => (
            <option key={value} value={value}>
              {text}
            </option>
          ))}
        </select>
      ))}
      <span class="muted count" role="status">
        {strings.count(count)}
      </span>
      <button
        type="button"
        class="icon"
        aria-label={strings.readAgain}
        title={strings.readAgain}
        onClick={onAgain}
      >
        <Icon name="retry" />
      </button>
      {children}
    </div>
  );
};

const Heads = <Row,>(props: {
  columns: readonly Column<Row>[];
  sort: string | undefined;
  onSort: (by: string) => void;
}) => {
  const { columns, sort, onSort } = props;
  const tracks = columns.map(({ width = 'minmax(0, 1fr)' }) => width).join(' ');
  return (
    <div class="heads" style={{ gridTemplateColumns: tracks }}>
      {columns.map(({ name }) => {
        const isUp = sort === name;
        const isDown = sort === `-${name}`;
        return (
          <button
            key={name}
            type="button"
            title={strings.sortBy(name)}
            aria-pressed={isUp || isDown}
            onClick={() => onSort(isUp ? `-${name}` : isDown ? '' : name)}
          >
            {name}
            <span aria-hidden="true">{isUp ? ' ↑' : isDown ? ' ↓' : ''}</span>
          </button>
        );
      })}
    </div>
  );
};

export const Failure = ({ reading }: { reading: Read<unknown> }) =>
  reading.error === undefined ? null : (
    <p class="trouble failed" role="alert">
      {reading.error}{' '}
      <button type="button" class="quiet" onClick={reading.again}>
        {strings.tryAgain}
      </button>
    </p>
  );

export const Empty = (props: { icon: IconName; title: string; text: string; command?: string }) => (
  <div class="empty">
    <Icon name={props.icon} />
    <h2>{props.title}</h2>
    <p>{props.text}</p>
    {props.command !== undefined && <code>{props.command}</code>}
  </div>
);
