/** `troupe conversations`: messages between agents, and what followed from them (AA4). */
import type { ConversationRow, ConversationTurn } from '../protocols/conversation.ts';
import { defined } from '../protocols/defined.ts';
import { exitCodes } from './exit.ts';
import { gatewayHttp } from './gateway-http.ts';
import type { ClientOptions } from './options.ts';
import { ago, printJson, table } from './output.ts';

export type ConversationOptions = ClientOptions & { readonly tenant?: string };
export type ConversationsOptions = ConversationOptions & { readonly session?: string };

export async function list(options: ConversationsOptions): Promise<number> {
  const http = await gatewayHttp(options);
  const { session } = options;
  const listed = await http<{ conversations: readonly ConversationRow[] }>({
    method: 'GET',
    path: `/v1/conversations${queryOf(options, session === undefined ? {} : { session })}`,
  });
  const { conversations } = listed;
  const now = Date.now();
  if (options.json) printJson(listed);
  else if (conversations.length === 0) process.stdout.write('no agents talk with each other\n');
  else {
    const head = ['conversation', 'state', 'begun', 'from', 'to', 'turns', 'message'];
    process.stdout.write(
      table(
        head,
        conversations.map((row) => cells(row, now)),
      ),
    );
  }
  return exitCodes.ok;
}

export async function show(id: string, options: ConversationOptions): Promise<number> {
  const http = await gatewayHttp(options);
  const row = await http<ConversationRow>({ method: 'GET', path: pathOf(id, options) });
  if (options.json) printJson(row);
  else {
    const { requester, requesterRunId, target, delivered, text } = row;
    process.stdout.write(
      `${row.id}, ${stateOf(row)}\n  ${requester} (run ${requesterRunId}) to ${target}, ` +
        `${delivered ? 'delivered' : 'not delivered'}\n  ${text}\n\n`,
    );
    process.stdout.write(
      table(['turn', 'session', 'run', 'state', 'took'], row.turns.map(turnCells)),
    );
  }
  return exitCodes.ok;
}

export async function end(id: string, options: ConversationOptions): Promise<number> {
  const http = await gatewayHttp(options);
  const answer = await http<{ ended: boolean }>({
    method: 'POST',
    path: pathOf(id, options, '/end'),
  });
  if (options.json) printJson(answer);
  else
    process.stdout.write(answer.ended ? `${id} has no more turns\n` : `${id} had ended before\n`);
  return exitCodes.ok;
}

const pathOf = (id: string, options: ConversationOptions, more = ''): string =>
  `/v1/conversations/${encodeURIComponent(id)}${more}${queryOf(options)}`;

function queryOf({ tenant }: ConversationOptions, more: Record<string, string> = {}): string {
  const query = new URLSearchParams({ ...more, ...defined({ tenant }) });
  return query.size === 0 ? '' : `?${query.toString()}`;
}

const stateOf = ({ status, end: why, reason }: ConversationRow): string =>
  status !== 'ended' || why === undefined
    ? status
    : `${status}: ${why}${reason === undefined ? '' : ` (${reason})`}`;

const cells = (row: ConversationRow, now: number): string[] => [
  row.id,
  row.status === 'ended' ? `ended: ${row.end}` : row.status,
  `${ago(now - row.createdAt)} ago`,
  row.requester,
  row.target,
  String(row.turns.length),
  row.text,
];

const turnCells = ({ turn, sessionKey, runId, at, ...ended }: ConversationTurn): string[] => [
  String(turn),
  sessionKey,
  runId,
  ended.skipped ? 'silent' : (ended.status ?? 'awaited'),
  ended.endedAt === undefined ? '' : ago(ended.endedAt - at),
];
