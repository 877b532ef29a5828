/** Runs: the newest agent loops, and everything that one of them caused. */
import { shortKey } from '../../chat/agents-talk.ts';
import { stateChoice, stateColumn, timeColumn } from '../columns.tsx';
import { type ListDefinition, ListView } from '../list-view.tsx';
import { durationText } from '../run/geometry.ts';
import { RunView } from '../run/run-view.tsx';
import { strings } from '../strings.ts';
import type { ViewProps } from '../view-props.ts';

const own = strings.runs;
const STATES = ['queued', 'running', 'ok', 'error', 'aborted', 'timeout'];

/** The fields of a row of `runs.list` that the page uses. */
type Run = {
  readonly runId: string;
  readonly sessionKey: string;
  readonly status: string;
  readonly acceptedAt: number;
  readonly durationMs?: number;
  readonly model?: string;
  readonly inputTokens: number;
  readonly outputTokens: number;
  readonly costUsd?: number;
  readonly error?: { readonly message: string };
};

const LISTED_MAX = 1_000;

const tokensOf = ({ inputTokens, outputTokens }: Run): number => inputTokens + outputTokens;

const runs: ListDefinition<Run> = {
  icon: 'runs',
  title: own.title,
  choices: [stateChoice('status', STATES)],
  read: async ({ workspace }) =>
    (await workspace.operate<{ runs: readonly Run[] }>('runs.list', { limit: LISTED_MAX })).runs,
  matches: ({ status }, params) => (params['status'] ?? status) === status,
  idOf: ({ runId }) => runId,
  titleOf: ({ runId }) => runId,
  columns: [
    { name: own.run, text: ({ runId }) => runId.slice(0, 13), width: '9rem' },
    {
      name: strings.session,
      text: ({ sessionKey }) => shortKey(sessionKey),
      width: 'minmax(0, 1.5fr)',
    },
    { name: own.model, text: ({ model = '' }) => model, width: 'minmax(0, 1.5fr)' },
    {
      name: strings.error,
      text: ({ error }) => error?.message ?? '',
      width: 'minmax(0, 2fr)',
    },
    {
      name: own.tokens,
      text: (row) => strings.number(tokensOf(row)),
      order: tokensOf,
      width: '6rem',
    },
    {
      name: own.cost,
      text: ({ costUsd }) => (costUsd === undefined ? '' : strings.usd(costUsd)),
      order: ({ costUsd = 0 }) => costUsd,
      width: '5rem',
    },
    {
      name: strings.took,
      text: (row) => (row.durationMs === undefined ? '' : durationText(row.durationMs)),
      order: ({ durationMs = 0 }) => durationMs,
      width: '6rem',
    },
    timeColumn(strings.started, ({ acceptedAt }) => acceptedAt),
    stateColumn(({ status }) => status),
  ],
  empty: own.empty,
  details: () => null,
};

export const Runs = (props: ViewProps) => {
  const { item } = props.route.params;
  if (item !== undefined) return <RunView key={item} {...props} runId={item} />;
  return <ListView {...props} definition={runs} />;
};
