/** Calls: what agents called on MCP servers and A2A agents, and the run that called. */
import { linkTo, shortKey } from '../../chat/agents-talk.ts';
import { linkToView } from '../../routes.ts';
import { stateChoice, stateColumn, timeColumn } from '../columns.tsx';
import type { ListDefinition } from '../list-view.tsx';
import { Facts, Part, Text, Time } from '../pane.tsx';
import { StatePill } from '../state-pill.tsx';
import { strings } from '../strings.ts';
import { CalledServers, PROTOCOLS } from './called-servers.tsx';

const own = strings.calls;
const STATES = ['starting', 'running', 'cancelling', 'done', 'failed', 'cancelled', 'unknown'];

/** The fields of a row of `calls.list` that the page uses. */
type Call = {
  readonly id: string;
  readonly kind: string;
  readonly server: string;
  readonly name: string;
  readonly class: string;
  readonly state: string;
  readonly caller: {
    readonly agentId: string;
    readonly sessionKey: string;
    readonly runId: string;
  };
  readonly startedAt: number;
  readonly endedAt?: number;
  readonly status?: string;
  readonly error?: { readonly message: string };
};

const serverOf = ({ kind, server }: Call): string => `${server} (${PROTOCOLS[kind] ?? kind})`;

export const calls: ListDefinition<Call> = {
  icon: 'calls',
  title: own.title,
  choices: [stateChoice('state', STATES)],
  read: async ({ workspace }) =>
    (await workspace.operate<{ calls: readonly Call[] }>('calls.list')).calls,
  matches: ({ state }, params) => (params['state'] ?? state) === state,
  idOf: ({ id }) => id,
  titleOf: ({ name }) => name,
  columns: [
    { name: own.called, text: ({ name }) => name },
    { name: own.server, text: serverOf },
    { name: strings.session, text: ({ caller }) => shortKey(caller.sessionKey) },
    {
      name: strings.error,
      text: ({ error, status }) => error?.message ?? status ?? '',
      width: 'minmax(0, 2fr)',
    },
    timeColumn(strings.started, ({ startedAt }) => startedAt),
    stateColumn(({ state }) => state),
  ],
  empty: own.empty,
  above: (_, { workspace }) => <CalledServers workspace={workspace} />,
  details: (call) => (
    <>
      <StatePill state={call.state} />
      <div class="buttons">
        <a class="button" href={linkToView('runs', { item: call.caller.runId })}>
          {strings.showRun}
        </a>
        <a class="button" href={linkTo(call.caller.sessionKey)}>
          {strings.openConversation}
        </a>
      </div>
      {call.error !== undefined && (
        <Part title={strings.error}>
          <Text text={call.error.message} />
        </Part>
      )}
      <Part title={strings.details}>
        <Facts
          facts={[
            [own.server, serverOf(call)],
            [own.called, call.name],
            [strings.agent, call.caller.agentId],
            [strings.session, call.caller.sessionKey],
            [own.class, own.classes[call.class]],
            [strings.started, <Time key="started" at={call.startedAt} />],
            [strings.ended, call.endedAt && <Time key="ended" at={call.endedAt} />],
          ]}
        />
      </Part>
    </>
  ),
};
