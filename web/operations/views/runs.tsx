/** Runs: the newest agent loops, and everything that one of them caused. */
import type { RunRow } from '../../../protocols/session.ts';
import { shortKey } from '../../chat/agents-talk.ts';
import { timeAgo } from '../../times.ts';
import { type ListDefinition, ListView } from '../list-view.tsx';
import { durationText } from '../run/geometry.ts';
import { RunView } from '../run/run-view.tsx';
import { StatePill } from '../state-pill.tsx';
import { strings } from '../strings.ts';
import { wordOf } from '../tones.ts';
import type { ViewProps } from '../view-props.ts';

const own = strings.runs;
const STATES = ['queued', 'running', 'ok', 'error', 'aborted', 'timeout'];

const tookMs = ({ startedAt, endedAt }: RunRow): number | undefined =>
  startedAt === undefined || endedAt === undefined ? undefined : endedAt - startedAt;
const tokensOf = ({ usage }: RunRow): number =>
  usage === undefined ? 0 : usage.inputTokens + usage.outputTokens;

const runs: ListDefinition<RunRow> = {
  icon: 'runs',
  title: own.title,
  choices: [
    {
      name: 'status',
      label: strings.state,
      options: [['', strings.anyState], ...STATES.map((state) => [state, wordOf(state)] as const)],
    },
  ],
  read: async ({ workspace }) =>
    (await workspace.operate<{ runs: readonly RunRow[] }>('runs.list')).runs,
  matches: ({ status }, params) => [undefined, status].includes(params['status'] as never),
  idOf: ({ runId }) => runId,
  titleOf: ({ runId }) => runId,
  columns: [
    { name: own.run, text: ({ runId }) => runId.slice(0, 13), width: '9rem' },
    {
      name: strings.session,
      text: ({ sessionKey }) => shortKey(sessionKey),
      width: 'minmax(0, 1.5fr)',
    },
    {
      name: strings.result,
      text: ({ text = '', error }) => error?.message ?? text,
      width: 'minmax(0, 2.5fr)',
    },
    {
      name: own.tokens,
      text: (row) => strings.number(tokensOf(row)),
      order: tokensOf,
      width: '6rem',
    },
    {
      name: strings.took,
      text: (row) => (tookMs(row) === undefined ? '' : durationText(tookMs(row)!)),
      order: (row) => tookMs(row) ?? 0,
      width: '6rem',
    },
    {
      name: strings.started,
      text: ({ acceptedAt }) => timeAgo(acceptedAt),
      order: ({ acceptedAt }) => acceptedAt,
      width: '8rem',
    },
    {
      name: strings.state,
      text: ({ status }) => wordOf(status),
      show: ({ status }) => <StatePill state={status} />,
      width: '7rem',
    },
  ],
  empty: own.empty,
  details: () => null,
};

export const Runs = (props: ViewProps) => {
  const { item } = props.route.params;
  if (item !== undefined) return <RunView key={item} {...props} runId={item} />;
  return <ListView {...props} definition={runs} />;
};
