/** Plugins: code of others that runs in processes of its own. */
import { Type } from '@sinclair/typebox';
import { type PluginRow, PluginRowSchema } from '../protocols/plugin.ts';
import { defineOperation, type Resource } from './operation.ts';
import { ago, oneLine, table } from './text.ts';

const Rows = Type.Object({
  plugins: Type.Array(PluginRowSchema),
  now: Type.Integer({ description: 'Epoch milliseconds' }),
});

const list = defineOperation({
  name: 'plugins.list',
  scope: 'installation',
  summary: 'List the plugins of this process with their states',
  params: Type.Object({}),
  result: Rows,
  errors: [],
  http: {
    method: 'GET',
    path: '/v1/plugins',
    operationId: 'listPlugins',
    responses: { 200: 'By id; those that do not run among them' },
  },
  cli: {
    command: 'plugins list',
    examples: ['troupe plugins list', 'troupe plugins list --json'],
    print: printRows,
    isFailure: ({ plugins }) => plugins.some(({ state }) => FAULTY.includes(state)),
  },
  run: ({ plugins, now }) => ({ plugins: [...plugins.rows()], now: now() }),
});

const FAULTY: readonly PluginRow['state'][] = ['invalid', 'backing-off', 'circuit-open'];

const restart = defineOperation({
  name: 'plugins.restart',
  scope: 'installation',
  summary: 'End the process of a plugin, and start its present code',
  params: Type.Object({
    id: Type.String({ minLength: 1, maxLength: 64, description: 'Id of the plugin' }),
  }),
  result: PluginRowSchema,
  errors: ['NOT_FOUND', 'UNAVAILABLE'],
  http: {
    method: 'POST',
    path: '/v1/plugins/{id}/restart',
    operationId: 'restartPlugin',
    responses: { 200: 'It runs' },
  },
  cli: {
    command: 'plugins restart',
    args: ['id'],
    examples: ['troupe plugins restart postage'],
    print: ({ id, state }) => `${id}: ${state}\n`,
  },
  async run({ plugins }, { id }) {
    await plugins.restart(id);
    return plugins.rows().find((one) => one.id === id)!;
  },
});

export const plugins: Resource = { name: 'plugins', operations: [list, restart] };

function printRows({ plugins: rows, now }: { plugins: PluginRow[]; now: number }): string {
  if (rows.length === 0) return 'no plugins\n';
  const head = ['plugin', 'version', 'state', 'since', 'restarts', 'memory', 'declares', 'error'];
  return table(
    head,
    rows.map((row) => cellsOf(row, now)),
  );
}

const cellsOf = (row: PluginRow, now: number): string[] => [
  row.id,
  row.version ?? '',
  stateText(row, now),
  ago(now - row.since),
  String(row.restarts),
  row.memoryBytes === undefined ? '' : `${Math.round(row.memoryBytes / 1_048_576)} MiB`,
  [...row.tools, ...row.hooks, ...row.providers.map((id) => `${id}/*`), ...row.channels].join(' '),
  row.lastError === undefined
    ? ''
    : `${ago(now - row.lastError.at)} ago: ${oneLine(row.lastError.message)}`,
];

const stateText = ({ state, nextStartAt }: PluginRow, now: number): string => {
  const words = state.replace('-', ' ');
  return nextStartAt === undefined ? words : `${words}, starts in ${ago(nextStartAt - now)}`;
};
