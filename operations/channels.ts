/**
 * Channels: the accounts of messengers, as their actors know them. The configuration has the
 * settings.
 */
import { Type } from '@sinclair/typebox';
import {
  type AccountRef,
  accountKey,
  channelAddress,
  type ChannelRow,
  CHANNELS_INDEX,
} from '../protocols/channel.ts';
import { TroupeError } from '../protocols/errors.ts';
import { askActor } from './ask-actor.ts';
import { defineOperation, ObjectOf, type OperationContext, type Resource } from './operation.ts';
import { rowsOf } from './rows.ts';
import { ago, oneLine, table } from './text.ts';

const Account = Type.String({
  pattern: '^[a-z0-9][a-z0-9_-]{0,31}:[a-z0-9][a-z0-9_-]{0,31}$',
  description: 'The account, as telegram:main',
});

/** @throws TroupeError NOT_FOUND */
export function accountNamed({ system, tenant }: OperationContext, account: string): AccountRef {
  const row = system.index.get<ChannelRow>(CHANNELS_INDEX, tenant, account);
  if (row) return row;
  const message = `there is no account ${account}: \`troupe channels\` lists those there are`;
  throw new TroupeError('NOT_FOUND', message);
}

const list = defineOperation({
  name: 'channels.list',
  scope: 'tenant',
  summary: 'List the accounts of messengers with their connections',
  params: Type.Object({}),
  result: Type.Object({ channels: Type.Array(ObjectOf<ChannelRow>()) }),
  errors: [],
  http: {
    method: 'GET',
    path: '/v1/channels',
    operationId: 'listChannels',
    responses: { 200: 'Every account that was ever configured' },
  },
  cli: {
    command: 'channels list',
    examples: ['troupe channels', 'troupe channels list --json'],
    print: ({ channels: rows }) => listText(rows, Date.now()),
  },
  async run({ system, tenant }) {
    const found: ChannelRow[] = [];
    for await (const row of rowsOf<ChannelRow>(system.index, CHANNELS_INDEX, tenant))
      found.push(row);
    return { channels: found };
  },
});

const restart = defineOperation({
  name: 'channels.restart',
  scope: 'tenant',
  summary: 'Connect an account again, now and with a new series of attempts',
  params: Type.Object({ account: Account }),
  result: Type.Object({ restarted: Type.Boolean() }),
  errors: ['NOT_FOUND', 'CONFLICT', 'DEADLINE_EXCEEDED'],
  http: {
    method: 'POST',
    path: '/v1/channels/{account}/restart',
    operationId: 'restartChannel',
    responses: { 200: 'The account connects' },
  },
  cli: {
    command: 'channels restart',
    args: ['account'],
    examples: ['troupe channels restart telegram:main'],
    print: (_, { account }) => `${account} connects again\n`,
  },
  run: (context, { account }) =>
    askActor<{ restarted: boolean }>(
      context,
      channelAddress(context.tenant, accountNamed(context, account)),
      { type: 'channel.restart' },
      { name: `account ${account}` },
    ),
});

export const channels: Resource = { name: 'channels', operations: [list, restart] };

function listText(rows: readonly ChannelRow[], now: number): string {
  if (rows.length === 0) return 'no account is configured: docs/channels.md shows how to add one\n';
  const head = ['account', 'state', 'since', 'name', 'in', 'out', 'reconnects', 'refused'];
  const errors = rows
    .filter(({ lastError, state }) => lastError !== undefined && state !== 'stopped')
    .map((row) => `${accountKey(row)}: ${oneLine(row.lastError ?? '')}\n`);
  return (
    table(
      head,
      rows.map((row) => cells(row, now)),
    ) + errors.join('')
  );
}

const cells = (row: ChannelRow, now: number): string[] => [
  accountKey(row),
  row.state,
  `${ago(now - Date.parse(row.since))} ago`,
  row.name ?? '',
  counted(row.inbound, row.lastInboundAt, now),
  counted(row.outbound, row.lastOutboundAt, now),
  String(row.reconnects),
  Object.entries(row.refused)
    .map(([rule, times]) => `${rule} ${times}`)
    .join(', '),
];

const counted = (times: number, lastAt: string | undefined, now: number): string =>
  lastAt === undefined ? String(times) : `${times} (${ago(now - Date.parse(lastAt))} ago)`;
