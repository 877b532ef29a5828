/**
 * The actors of the tenant: a tree by type with search and filters, and the actor that is open.
 * What is open, searched and filtered is in the address of the page.
 */
import type { VNode } from 'preact';
import { useEffect, useMemo, useState } from 'preact/hooks';
import type { ActorSummary } from '../../protocols/actor-view.ts';
import { ActorList, type ActorListState, NO_ACTORS } from './actor-list.ts';
import { ActorView } from './actor-view.tsx';
import type { ActorsGateway } from './gateway.ts';
import { addActorStyle } from './looks.ts';
import { strings } from './strings.ts';
import {
  filtered,
  isTroubled,
  keyOf,
  rowsOf,
  shortState,
  stateText,
  type TreeRow,
  typeOf,
} from './tree-rows.ts';
import { idOf, ROW_HEIGHT, VirtualList } from './virtual-list.tsx';

/**
 * `item` is an address, and `at` the time of one of its turns; `q` is searched; `type` and `status`
 * filter.
 */
export type ActorsParams = Readonly<Record<string, string>>;

export type ActorsViewProps = {
  readonly gateway: ActorsGateway;
  readonly params: ActorsParams;
  /** `replace`: without a new entry in the history, for what is typed */
  readonly onParams: (params: ActorsParams, replace: boolean) => void;
};

export const ActorsView = ({ gateway, params, onParams }: ActorsViewProps) => {
  addActorStyle();
  const [list, setList] = useState<ActorListState>(NO_ACTORS);
  useEffect(() => {
    const reading = new ActorList(gateway, setList);
    return () => reading.end();
  }, [gateway]);
  const [replay, setReplay] = useState<VNode>();
  const openFile = async (input: HTMLInputElement) => {
    // A file that cannot be read, as one that is too large for a string, is no replay.
    const text = await input.files?.[0]?.text().catch(() => '');
    if (text === undefined) return;
    // So that the same file can be opened again.
    input.value = '';
    const { ReplayView } = await import('./replay-view.tsx');
    setReplay(<ReplayView key={Date.now()} text={text} onClose={() => setReplay(undefined)} />);
  };
  const { item } = params;
  const change = (name: string, value: string) =>
    onParams({ ...params, at: '', [name]: value }, name === 'q');
  return (
    <main class={item || replay ? 'actors has-open' : 'actors'}>
      <section class="actors-side" aria-label={strings.title}>
        <Filters list={list} params={params} onChange={change} />
        <Tree
          list={list}
          params={params}
          onOpen={(actor) => {
            setReplay(undefined);
            change('item', actor);
          }}
        />
        <label class="pick-file">
          {strings.openReplay}
          <input type="file" onChange={(event) => void openFile(event.currentTarget)} />
        </label>
      </section>
      {replay ??
        (item ? (
          <ActorView
            gateway={gateway}
            actor={item}
            at={params['at'] === undefined ? undefined : Number(params['at'])}
            onBack={() => change('item', '')}
          />
        ) : (
          <p class="actors-hint muted">{strings.choose}</p>
        ))}
    </main>
  );
};

type FiltersProps = {
  readonly list: ActorListState;
  readonly params: ActorsParams;
  readonly onChange: (name: string, value: string) => void;
};

const Filters = ({ list, params, onChange }: FiltersProps) => {
  const types = useMemo(() => [...new Set(list.actors.map(typeOf))], [list.actors]);
  const statuses = useMemo(
    () => [...new Set(list.actors.map(({ status }) => status))].sort(),
    [list.actors],
  );
  return (
    <div class="actors-filters" role="search">
      <input
        id="find"
        type="search"
        placeholder={strings.search}
        aria-label={strings.search}
        value={params['q'] ?? ''}
        onInput={(event) => onChange('q', event.currentTarget.value)}
      />
      <Choice
        name={strings.type}
        all={strings.allTypes}
        values={types}
        value={params['type'] ?? ''}
        onChange={(value) => onChange('type', value)}
      />
      <Choice
        name={strings.status}
        all={strings.allStatuses}
        values={statuses}
        value={params['status'] ?? ''}
        textOf={(status) => strings.states[status] ?? status}
        onChange={(value) => onChange('status', value)}
      />
    </div>
  );
};

const Choice = (props: {
  name: string;
  all: string;
  values: readonly string[];
  value: string;
  textOf?: (value: string) => string;
  onChange: (value: string) => void;
}) => {
  const { name, all, values, value, textOf = (text: string) => text, onChange } = props;
  // The chosen value stays selectable when no actor has it now.
  const offered = value === '' || values.includes(value) ? values : [...values, value];
  return (
    <select
      aria-label={name}
      value={value}
      onChange={(event) => onChange(event.currentTarget.value)}
    >
      <option value="">{all}</option>
      {offered.map((each) => (
        <option key={each} value={each}>
          {textOf(each)}
        </option>
      ))}
    </select>
  );
};

type TreeProps = {
  readonly list: ActorListState;
  readonly params: ActorsParams;
  readonly onOpen: (actor: string) => void;
};

const Tree = ({ list, params, onOpen }: TreeProps) => {
  const { actors, isWhole, isCut, error, rates } = list;
  const [toggled, setToggled] = useState<ReadonlySet<string>>(new Set());
  const [current, setCurrent] = useState(0);
  const { q: text = '', type = '', status = '' } = params;
  const found = useMemo(
    () => filtered(actors, { text, type, status }),
    [actors, text, type, status],
  );
  const rows = useMemo(
    () => rowsOf(found, toggled, text !== '' || type !== '' || status !== '', rates.perMinute),
    [found, toggled, text, type, status, rates],
  );
  const toggle = (name: string) => {
    const next = new Set(toggled);
    if (!next.delete(name)) next.add(name);
    setToggled(next);
  };
  const open = (row: TreeRow) => (row.kind === 'type' ? toggle(row.type) : onOpen(row.actor.actor));
  return (
    <>
      <p class="actors-count" role="status">
        {isWhole ? strings.count(found.length, actors.length) : strings.reading}
        {isCut && ` ${strings.cut(actors.length)}`}
      </p>
      {error !== undefined && (
        <p class="trouble failed" role="alert">
          {error}
        </p>
      )}
      {isWhole && found.length === 0 && <p class="muted actors-none">{strings.none}</p>}
      <VirtualList
        rows={rows}
        label={strings.title}
        keyOf={keyOfRow}
        current={Math.min(current, Math.max(0, rows.length - 1))}
        onCurrent={setCurrent}
        onOpen={open}
        render={(row, n) => (
          <Row
            key={keyOfRow(row)}
            row={row}
            isCurrent={n === current}
            isOpen={row.kind === 'actor' && row.actor.actor === params['item']}
            onClick={() => {
              setCurrent(n);
              open(row);
            }}
          />
        )}
      />
    </>
  );
};

const keyOfRow = (row: TreeRow): string => (row.kind === 'type' ? row.type : row.actor.actor);

type RowProps = {
  readonly row: TreeRow;
  readonly isCurrent: boolean;
  readonly isOpen: boolean;
  readonly onClick: () => void;
};

const Row = ({ row, isCurrent, isOpen, onClick }: RowProps) => {
  const shared = {
    id: idOf(keyOfRow(row)),
    role: 'treeitem' as const,
    style: { height: `${ROW_HEIGHT}px` },
    onClick,
  };
  const current = isCurrent ? ' current' : '';
  if (row.kind === 'type')
    return (
      <div
        {...shared}
        class={`actor-row of-type${current}`}
        aria-level={1}
        aria-expanded={row.isOpen}
      >
        <span aria-hidden="true">{row.isOpen ? '▾' : '▸'}</span>
        <b>{row.type}</b>
        <span class="muted">{row.count}</span>
        {row.troubled > 0 && <span class="tag bad">{strings.troubled(row.troubled)}</span>}
        {eventRate(row.perMinute)}
        {row.lag !== 0 && <span class="tag">{strings.inMailbox(row.lag)}</span>}
      </div>
    );
  return (
    <div
      {...shared}
      class={`actor-row${current}${isOpen ? ' open' : ''}`}
      aria-level={2}
      aria-posinset={row.position}
      aria-setsize={row.of}
      aria-selected={isOpen}
    >
      <ActorLine actor={row.actor} perMinute={row.perMinute} />
    </div>
  );
};

const eventRate = (perMinute: number) =>
  perMinute > 0 && <span class="muted">{strings.perMinute(perMinute)}</span>;

const ActorLine = ({ actor, perMinute }: { actor: ActorSummary; perMinute: number }) => (
  <>
    <i class={`dot ${isTroubled(actor) ? 'bad' : actor.status === 'active' ? 'good' : ''}`} />
    <span class="actor-key" title={actor.actor}>
      {keyOf(actor.actor)}
    </span>
    {eventRate(perMinute)}
    {actor.effects > 0 && <span class="muted">⚙{actor.effects}</span>}
    {actor.stashed > 0 && <span class="muted">⏸{actor.stashed}</span>}
    <code class="actor-state" title={stateText(actor.state)}>
      {shortState(actor.state)}
    </code>
  </>
);
