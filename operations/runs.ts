/** Runs: the turns of agents, over all sessions of a tenant, from committed rows. */
import { type Static, Type } from '@sinclair/typebox';
import { defined } from '../protocols/defined.ts';
import type { RunRow, RunStatus } from '../protocols/session.ts';
import { agentOf } from './sessions/session-key.ts';
import { defineOperation, type Resource } from './operation.ts';
import { ago, oneLine, table } from './text.ts';

const LISTED_MAX = 1_000;
const LISTED = 100;

const Run = Type.Object({
  runId: Type.String(),
  sessionKey: Type.String(),
  agentId: Type.Optional(Type.String()),
  status: Type.String({ description: 'queued, running, ok, error, aborted or timeout' }),
  acceptedAt: Type.Integer({ description: 'Epoch milliseconds, as all times' }),
  startedAt: Type.Optional(Type.Integer()),
  endedAt: Type.Optional(Type.Integer()),
  durationMs: Type.Optional(
    Type.Integer({ description: 'From its start to its end, or until now' }),
  ),
  model: Type.Optional(Type.String()),
  inputTokens: Type.Integer(),
  outputTokens: Type.Integer(),
  costUsd: Type.Optional(Type.Number({ description: 'If all prices are known' })),
  error: Type.Optional(Type.Object({ code: Type.String(), message: Type.String() })),
  joined: Type.Optional(Type.String({ description: 'The message joined this run' })),
});
type Run = Static<typeof Run>;

const FIELDS = [
  'runId',
  'sessionKey',
  'status',
  'acceptedAt',
  'startedAt',
  'endedAt',
  'model',
  'usage',
  'error',
  'joined',
] as const satisfies readonly (keyof RunRow)[];
type Listed = Pick<RunRow, (typeof FIELDS)[number]>;

const STATES = {
  open: ['queued', 'running'],
  ended: ['ok', 'error', 'aborted', 'timeout'],
  failed: ['error', 'timeout'],
} as const satisfies Record<string, readonly RunStatus[]>;

const list = defineOperation({
  name: 'runs.list',
  scope: 'tenant',
  summary: 'List open runs and those of the last 28 hours, newest first',
  params: Type.Object({
    state: Type.Optional(
      Type.Union(
        [Type.Literal('open'), Type.Literal('ended'), Type.Literal('failed'), Type.Literal('all')],
        { default: 'all', description: 'Only runs in this state' },
      ),
    ),
    session: Type.Optional(Type.String({ description: 'Only runs of this session key' })),
    agent: Type.Optional(Type.String({ description: 'Only runs of this agent' })),
    before: Type.Optional(
      Type.Integer({
        minimum: 1,
        description: 'Only runs that were accepted before, epoch milliseconds',
      }),
    ),
    limit: Type.Optional(
      Type.Integer({
        minimum: 1,
        maximum: LISTED_MAX,
        description: `Maximum number; default ${LISTED}`,
      }),
    ),
  }),
  result: Type.Object({
    runs: Type.Array(Run),
    next: Type.Optional(
      Type.Integer({ description: 'There may be more runs: those with this as `before`' }),
    ),
  }),
  errors: ['INVALID_ARGUMENT'],
  http: {
    method: 'GET',
    path: '/v1/runs',
    operationId: 'listRuns',
    responses: { 200: 'The runs, newest first' },
  },
  cli: {
    command: 'runs list',
    connection: 'websocket',
    flags: {
      state: '--state <state>',
      session: '--session <key>',
      agent: '--agent <id>',
      before: '--before <ms>',
    },
    examples: ['troupe runs', 'troupe runs --state failed --agent main', 'troupe trace <run>'],
    print: ({ runs }) => listText(runs, Date.now()),
  },
  async run({ system, tenant, now }, { state = 'all', limit = LISTED, ...filter }) {
    const states: readonly string[] | undefined = state === 'all' ? undefined : STATES[state];
    const newest = new Newest(limit);
    await system.index.scan<RunRow, keyof Listed>('runs', tenant, { fields: FIELDS }, (row) => {
      if (states && !states.includes(row.status)) return;
      if (filter.session !== undefined && row.sessionKey !== filter.session) return;
      if (filter.agent !== undefined && agentOf(row.sessionKey) !== filter.agent) return;
      if (filter.before !== undefined && row.acceptedAt >= filter.before) return;
      newest.add(row);
    });
    const rows = newest.sorted();
    const last = rows.length === limit ? rows.at(-1)?.acceptedAt : undefined;
    return { runs: rows.map((row) => runOf(row, now())), ...defined({ next: last }) };
  },
});

/** The newest rows of many, in memory for twice as many. */
class Newest {
  readonly #limit: number;
  #rows: Listed[] = [];

  constructor(limit: number) {
    this.#limit = limit;
  }

  add(row: Listed): void {
    this.#rows.push(row);
    if (this.#rows.length >= 2 * this.#limit) this.#rows = this.sorted();
  }

  sorted(): Listed[] {
    return this.#rows
      .toSorted((a, b) => b.acceptedAt - a.acceptedAt || (a.runId < b.runId ? -1 : 1))
      .slice(0, this.#limit);
  }
}

function runOf({ usage, error, ...row }: Listed, now: number): Run {
  const { startedAt, endedAt, sessionKey } = row;
  const durationMs = startedAt === undefined ? undefined : (endedAt ?? now) - startedAt;
  return {
    ...row,
    ...defined({ agentId: agentOf(sessionKey), durationMs, costUsd: usage?.costUsd }),
    inputTokens: usage?.inputTokens ?? 0,
    outputTokens: usage?.outputTokens ?? 0,
    ...(error ? { error: { code: error.code, message: error.message } } : {}),
  };
}

const listText = (runs: readonly Run[], now: number): string =>
  runs.length === 0
    ? 'no runs\n'
    : table(
        ['run', 'session', 'status', 'accepted', 'took', 'model', 'tokens', 'cost', 'error'],
        runs.map((run) => [
          run.runId,
          run.sessionKey,
          run.joined === undefined ? run.status : `${run.status}, joined`,
          `${ago(now - run.acceptedAt)} ago`,
          run.durationMs === undefined ? '' : ago(run.durationMs),
          run.model ?? '',
          String(run.inputTokens + run.outputTokens),
          run.costUsd === undefined ? '' : `$${run.costUsd.toFixed(4)}`,
          oneLine(run.error?.message ?? '').slice(0, 60),
        ]),
      );

export const runs: Resource = { name: 'runs', operations: [list] };
