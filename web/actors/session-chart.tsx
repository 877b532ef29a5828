/**
 * The statechart of a session beside its conversation, lit while the answer streams; its subagents
 * can be shown instead.
 */
import { useEffect, useState } from 'preact/hooks';
import type { ActorSummary } from '../../protocols/actor-view.ts';
import type { SubagentRow } from '../../protocols/subagent.ts';
import { ChartView } from '../charts/chart-view.tsx';
import { useActor, useChart } from './actor-view.tsx';
import type { ActorsGateway } from './gateway.ts';
import { addActorStyle } from './looks.ts';
import { strings } from './strings.ts';

export type SessionChartProps = {
  readonly gateway: ActorsGateway;
  readonly sessionKey: string;
};

const AGAIN_MS = 2_000;

export const SessionChart = ({ gateway, sessionKey }: SessionChartProps) => {
  addActorStyle();
  const subagents = useSubagents(gateway, sessionKey);
  const [chosen, setChosen] = useState<string>();
  useEffect(() => setChosen(undefined), [sessionKey]);
  const shown = chosen ?? sessionKey;
  const tenant = useTenant(gateway);
  const live = useActor(gateway, tenant && `${tenant}/session/${shown}`);
  const published = useChart(gateway, live?.view?.machine);
  return (
    <section class="session-chart" aria-label={strings.chart}>
      {subagents.length > 0 && (
        <div class="session-chart-names" role="group" aria-label={strings.subagents}>
          <Name
            isShown={chosen === undefined}
            text={strings.session}
            onClick={() => setChosen(undefined)}
          />
          {subagents.map(({ key, name }) => (
            <Name key={key} isShown={chosen === key} text={name} onClick={() => setChosen(key)} />
          ))}
        </div>
      )}
      {published ? (
        <ChartView
          key={shown}
          published={published}
          value={live?.view?.state}
          turn={live?.turns.at(-1)}
          isSmall
        />
      ) : (
        <p class="muted">{strings.notYet}</p>
      )}
    </section>
  );
};

const Name = (props: { isShown: boolean; text: string; onClick: () => void }) => (
  <button type="button" aria-pressed={props.isShown} title={props.text} onClick={props.onClick}>
    {props.text}
  </button>
);

/** The tenant of the connection, which addresses begin with. */
function useTenant(gateway: ActorsGateway): string | undefined {
  const [tenant, setTenant] = useState<string>();
  useEffect(() => {
    let timer: ReturnType<typeof setTimeout> | undefined;
    let isShown = true;
    const read = async () => {
      type Answer = { readonly actors: readonly ActorSummary[] };
      const { actors } = await gateway
        .operate<Answer>('actors.list', { limit: 1 })
        .catch((): Answer => ({ actors: [] }));
      if (!isShown) return;
      if (actors[0]) setTenant(actors[0].actor.split('/')[0]);
      else timer = setTimeout(() => void read(), AGAIN_MS);
    };
    void read();
    return () => {
      isShown = false;
      clearTimeout(timer);
    };
  }, [gateway]);
  return tenant;
}

type Subagent = { readonly key: string; readonly name: string };

/** The subagents of a session, running ones and those that ended lately, newest first. */
function useSubagents(gateway: ActorsGateway, session: string): readonly Subagent[] {
  const [found, setFound] = useState<readonly Subagent[]>([]);
  useEffect(() => {
    let timer: ReturnType<typeof setTimeout> | undefined;
    let isShown = true;
    const read = async () => {
      type Answer = { readonly subagents: readonly SubagentRow[] };
      const { subagents } = await gateway
        .operate<Answer>('subagents.list', { session, all: true })
        .catch((): Answer => ({ subagents: [] }));
      if (!isShown) return;
      setFound(subagents.slice(0, 12).map(nameOf));
      timer = setTimeout(() => void read(), AGAIN_MS);
    };
    setFound([]);
    void read();
    return () => {
      isShown = false;
      clearTimeout(timer);
    };
  }, [gateway, session]);
  return found;
}

const nameOf = ({ sessionKey, label, task }: SubagentRow): Subagent => ({
  key: sessionKey,
  name: label ?? task,
});
