/** One actor: its chart lit live, why it waits, and its turns. */
import { useEffect, useState } from 'preact/hooks';
import { type ChartState, statesOf } from '../../charts/chart.ts';
import type { PublishedChart } from '../../charts/published.ts';
import { linkToView } from '../routes.ts';
import { ChartView } from '../charts/chart-view.tsx';
import { ActorEffects } from './actor-effects.tsx';
import { linkTo } from '../chat/agents-talk.ts';
import { related } from '../chat/related-strings.ts';
import { forkAndOpen, forkText } from '../chat/fork.tsx';
import { Action } from '../operations/action.tsx';
import { ActorOrders } from './actor-orders.tsx';
import { type LiveActor, ActorWatch, type ShownActor } from './actor-watch.ts';
import { type ActorsGateway, chartOf } from './gateway.ts';
import { strings } from './strings.ts';
import { times } from './times.ts';
import { turnsOfLastMinute } from './rates.ts';
import { isTroubled, stateText } from './tree-rows.ts';
import { TurnList } from './turn-list.tsx';
import { SendEvent } from './send-event.tsx';
import { timerName, whyItWaits } from './why-it-waits.ts';

/** Follows an actor for as long as it is shown. @param reading another number reads it again */
export function useActor(
  gateway: ActorsGateway,
  actor: string | undefined,
  reading = 0,
): LiveActor | undefined {
  const [live, setLive] = useState<LiveActor>();
  useEffect(() => {
    if (actor === undefined) return undefined;
    const watch = new ActorWatch(gateway, actor, setLive);
    return () => watch.end();
  }, [gateway, actor, reading]);
  return live?.actor === actor ? live : undefined;
}

/** The chart of a machine, once it is read; undefined where there is none. */
export function useChart(
  gateway: ActorsGateway,
  machine: string | undefined,
): PublishedChart | undefined {
  const [chart, setChart] = useState<{ machine: string; published: PublishedChart }>();
  useEffect(() => {
    let isShown = true;
    if (machine !== undefined)
      chartOf(gateway, machine).then(
        (published) => isShown && setChart({ machine, published }),
        () => {},
      );
    return () => {
      isShown = false;
    };
  }, [gateway, machine]);
  return chart?.machine === machine ? chart?.published : undefined;
}

type ActorViewProps = {
  readonly gateway: ActorsGateway;
  readonly actor: string;
  /** shows the last turn up to this time, epoch milliseconds */
  readonly at?: number | undefined;
  readonly onBack: () => void;
};

export const ActorView = ({ gateway, actor, at, onBack }: ActorViewProps) => {
  const [reading, setReading] = useState(0);
  const live = useActor(gateway, actor, reading);
  const published = useChart(gateway, live?.view?.machine);
  const [shown, setShown] = useState<number>();
  const [chosen, setChosen] = useState<string>();
  useEffect(() => {
    setShown(undefined);
    setChosen(undefined);
  }, [actor]);
  const { view, turns = [], missed = 0, error } = live ?? {};
  const hasTurns = turns.length > 0;
  useEffect(() => {
    if (at !== undefined) setShown(turns.findLast((turn) => turn.at <= at)?.turn);
  }, [actor, at, hasTurns]);
  const past = shown === undefined ? undefined : turns.find(({ turn }) => turn === shown);
  const turn = past ?? turns.at(-1);
  const value = past ? (past.state ?? past.before) : view?.state;
  const state = chosen === undefined || !published ? undefined : stateAt(published, chosen);
  return (
    <article class="actor" aria-label={actor}>
      <Head
        {...{ gateway, actor, view, onBack }}
        isPast={past !== undefined}
        onOrdered={() => setReading(reading + 1)}
      />
      {error !== undefined && (
        <p class="trouble failed" role="alert">
          {error}
        </p>
      )}
      <div class="actor-body">
        <div class="actor-chart">
          {published && (
            <ChartView
              key={published.type}
              published={published}
              value={value}
              turn={turn}
              chosen={chosen}
              onChoose={setChosen}
            />
          )}
        </div>
        <div class="actor-facts">
          {state && <StateFacts state={state} published={published!} />}
          {view && (
            <Facts {...{ gateway, view, published }} onDone={() => setReading(reading + 1)} />
          )}
          <Turns
            {...{ gateway, actor, turn, turns, missed, shown }}
            onShow={setShown}
            onErased={() => setReading(reading + 1)}
          />
        </div>
      </div>
    </article>
  );
};

type TurnsProps = Pick<ActorViewProps, 'gateway' | 'actor'> &
  Pick<LiveActor, 'turns' | 'missed'> & {
    readonly turn: LiveActor['turns'][number] | undefined;
    readonly shown: number | undefined;
    readonly onShow: (turn: number | undefined) => void;
    onErased(this: void): void;
  };

const Turns = (props: TurnsProps) => {
  const { gateway, actor, turn, turns, missed, shown, onShow, onErased } = props;
  return (
    <section>
      <h3>{strings.turns}</h3>
      <p class="muted">{strings.turnsPerMinute(turnsOfLastMinute(turns, Date.now()))}</p>
      {turn && (
        <div class="actor-orders">
          <ForkHere {...{ gateway, actor }} turn={turn.turn} />
          <Action
            label={strings.eraseHistory}
            kind="danger"
            asks="sure"
            run={() => gateway.operate('actors.eraseHistory', { actor })}
            onDone={onErased}
          />
        </div>
      )}
      <TurnList turns={turns} missed={missed} shown={shown} onShow={onShow} />
    </section>
  );
};

/** A session can be forked at the turn that is shown. */
const ForkHere = ({
  gateway,
  actor,
  turn,
}: Pick<ActorViewProps, 'gateway' | 'actor'> & { turn: number }) =>
  /^[^/]+\/session\//.test(actor) ? (
    <Action
      key={`${actor} ${turn}`}
      label={related.forkHere}
      run={() => forkAndOpen((...request) => gateway.request(...request), { key: actor, turn })}
      onDone={() => {}}
    />
  ) : null;

type HeadProps = ActorViewProps & {
  readonly view: ShownActor | undefined;
  readonly isPast: boolean;
  readonly onOrdered: () => void;
};

const Head = ({ gateway, actor, view, isPast, onBack, onOrdered }: HeadProps) => (
  <header class="actor-head">
    <button type="button" class="actor-back" onClick={onBack}>
      ← {strings.back}
    </button>
    <h2>{actor.split('/').slice(1).join(' / ')}</h2>
    {view && <Status view={view} />}
    {isPast && <span class="tag">{strings.past}</span>}
    {view && <ActorOrders key={actor} gateway={gateway} view={view} onDone={onOrdered} />}
  </header>
);

const stateAt = ({ chart }: PublishedChart, path: string): ChartState | undefined =>
  [...statesOf(chart.root)].find((state) => state.path === path);

const Status = ({ view }: { view: ShownActor }) => (
  <>
    <span class={`tag ${isTroubled(view) ? 'bad' : view.status === 'active' ? 'good' : ''}`}>
      {strings.states[view.status] ?? view.status}
    </span>
    <code class="actor-state">{stateText(view.state)}</code>
  </>
);

type FactsProps = {
  readonly gateway: ActorsGateway;
  readonly view: ShownActor;
  readonly published: PublishedChart | undefined;
  readonly onDone: () => void;
};

const Facts = ({ gateway, view, published, onDone }: FactsProps) => {
  const reasons = whyItWaits(view, published?.chart, Date.now(), { texts: strings, times });
  const { accepts, timers, supervisor, machine, shard, waits = [] } = view;
  return (
    <>
      <section>
        <h3>{strings.waits}</h3>
        <ul class="reasons">
          {reasons.map((reason) => (
            <li key={reason}>{reason}</li>
          ))}
        </ul>
        {waits.some(({ kind }) => kind === 'approval') && (
          <a href={linkToView('approvals')}>{strings.showApprovals}</a>
        )}
      </section>
      <List title={strings.accepts} items={accepts} />
      <ActorEffects gateway={gateway} view={view} onDone={onDone} />
      <List
        title={strings.timers}
        items={timers.map(
          ({ event, due }) => `${timerName(event)} ${times.until(due - Date.now())}`,
        )}
      />
      {view.forkedFrom && (
        <p>
          <a href={linkTo(view.forkedFrom.key)}>{forkText(view.forkedFrom)}</a>
        </p>
      )}
      <List title={strings.machine} items={[machine]} />
      <List title={strings.supervisor} items={supervisor === undefined ? [] : [supervisor]} />
      <List
        title={strings.shard}
        items={[shard.node === undefined ? String(shard.shard) : `${shard.shard} · ${shard.node}`]}
      />
      <SendEvent key={view.actor} gateway={gateway} view={view} />
    </>
  );
};

const StateFacts = ({ state, published }: { state: ChartState; published: PublishedChart }) => {
  const edges = published.chart.edges.filter(({ from }) => from === state.path);
  return (
    <section class="state-facts">
      <h3>{state.path || state.key}</h3>
      {state.description !== undefined && <p>{state.description}</p>}
      <List title={strings.runs} items={state.invokes} />
      <List
        title={strings.goes}
        items={edges.map(({ to, labels }) => `${to || published.type}: ${labels.join(', ')}`)}
      />
      <List title={strings.handles} items={state.handles} />
      <List title={strings.defers} items={state.defers} />
    </section>
  );
};

const List = ({ title, items }: { title: string; items: readonly string[] }) =>
  items.length === 0 ? null : (
    <section>
      <h3>{title}</h3>
      <ul class="codes">
        {items.map((item) => (
          <li key={item}>
            <code>{item}</code>
          </li>
        ))}
      </ul>
    </section>
  );
