/**
 * Conversations: exchanges of messages between agents. Operators list them, read their turns and
 * end them. Reads use committed rows and activate no actor; only the conversation actor decides
 * whether it ends.
 */
import { Type } from '@sinclair/typebox';
import {
  conversationAddress,
  type ConversationRow,
  conversationRowKey,
  CONVERSATIONS_INDEX,
  type ConversationTurn,
} from '../protocols/conversation.ts';
import { TroupeError } from '../protocols/errors.ts';
import { askActor } from './ask-actor.ts';
import { defineOperation, ObjectOf, type OperationContext, type Resource } from './operation.ts';
import { ago, table } from './text.ts';

const LISTED_MAX = 1_000;
const SCANNED = ['id', 'requester', 'target', 'createdAt'] as const;
type ScannedRow = Pick<ConversationRow, (typeof SCANNED)[number]>;

const Row = ObjectOf<ConversationRow>();
const id = Type.String({ description: 'Id of the conversation' });

const list = defineOperation({
  name: 'conversations.list',
  scope: 'tenant',
  summary: 'List open conversations and those of the last 28 hours, newest first',
  params: Type.Object({
    session: Type.Optional(
      Type.String({ description: 'Only conversations with this session key on either side' }),
    ),
  }),
  result: Type.Object({ conversations: Type.Array(Row) }),
  errors: ['INVALID_ARGUMENT'],
  http: {
    method: 'GET',
    path: '/v1/conversations',
    operationId: 'listConversations',
    responses: { 200: 'At most 1,000, the newest first' },
  },
  cli: {
    command: 'conversations list',
    flags: { session: '--session <key>' },
    examples: ['troupe conversations --session agent:coder:main'],
    print: ({ conversations }) => listText(conversations, Date.now()),
  },
  run: async (context, { session }) => ({
    conversations: await newest(
      context,
      ({ requester, target }) =>
        session === undefined || requester === session || target === session,
    ),
  }),
});

const show = defineOperation({
  name: 'conversations.show',
  scope: 'tenant',
  summary: 'Show one conversation with its turns, their runs and how they ended',
  params: Type.Object({ id }),
  result: Row,
  errors: ['INVALID_ARGUMENT', 'NOT_FOUND'],
  http: {
    method: 'GET',
    path: '/v1/conversations/{id}',
    operationId: 'getConversation',
    responses: { 200: 'The conversation' },
  },
  cli: { command: 'conversations show', args: ['id'], print: (row) => conversationText(row) },
  run: async (context, params) => {
    const [row] = await newest(context, (one) => one.id === params.id);
    if (row) return row;
    throw new TroupeError(
      'NOT_FOUND',
      `there is no conversation ${params.id}: \`troupe conversations list\` lists them`,
    );
  },
});

const end = defineOperation({
  name: 'conversations.end',
  scope: 'tenant',
  gatewayScope: 'operator.write',
  summary: 'End a conversation: no more turns start; a running turn finishes',
  params: Type.Object({ id }),
  result: Type.Object({ ended: Type.Boolean() }),
  errors: ['INVALID_ARGUMENT', 'NOT_FOUND', 'DEADLINE_EXCEEDED'],
  http: {
    method: 'POST',
    path: '/v1/conversations/{id}/end',
    operationId: 'endConversation',
    responses: { 200: 'False when the conversation had already ended' },
  },
  cli: {
    command: 'conversations end',
    args: ['id'],
    print: ({ ended }, params) =>
      ended ? `${params.id} has no more turns\n` : `${params.id} had already ended\n`,
  },
  run: (context, params) =>
    askActor<{ ended: boolean }>(
      context,
      conversationAddress(context.tenant, params.id),
      { type: 'conversation.end' },
      { name: `conversation ${params.id}` },
    ),
});

export const conversations: Resource = {
  name: 'conversations',
  operations: [list, show, end],
};

/** The newest rows that match; reads the other fields of a row only when it is listed. */
async function newest(
  { system: { index }, tenant }: OperationContext,
  matches: (row: ScannedRow) => boolean,
): Promise<ConversationRow[]> {
  const found: ScannedRow[] = [];
  await index.scan<ConversationRow, keyof ScannedRow>(
    CONVERSATIONS_INDEX,
    tenant,
    { fields: SCANNED },
    (row) => {
      if (matches(row)) found.push(row);
    },
  );
  return found
    .toSorted((a, b) => b.createdAt - a.createdAt)
    .slice(0, LISTED_MAX)
    .map((row) => conversationRowKey(row.requester, row.id))
    .map((key) => index.get<ConversationRow>(CONVERSATIONS_INDEX, tenant, key))
    .filter((row) => row !== undefined);
}

function listText(rows: readonly ConversationRow[], now: number): string {
  if (rows.length === 0) return 'there are no conversations between agents\n';
  const cells = rows.map((row) => [
    row.id,
    row.status === 'ended' ? `ended: ${row.end}` : row.status,
    `${ago(now - row.createdAt)} ago`,
    row.requester,
    row.target,
    String(row.turns.length),
    row.text,
  ]);
  return table(['conversation', 'state', 'begun', 'from', 'to', 'turns', 'message'], cells);
}

function conversationText(row: ConversationRow): string {
  const { requester, requesterRunId, target, delivered, text, turns } = row;
  const head =
    `${row.id}, ${stateOf(row)}\n  ${requester} (run ${requesterRunId}) to ${target}, ` +
    `${delivered ? 'delivered' : 'not delivered'}\n  ${text}\n\n`;
  return head + table(['turn', 'session', 'run', 'state', 'took'], turns.map(turnCells));
}

const stateOf = ({ status, end: outcome, reason }: ConversationRow): string =>
  status !== 'ended' || outcome === undefined
    ? status
    : `${status}: ${outcome}${reason === undefined ? '' : ` (${reason})`}`;

const turnCells = ({ turn, sessionKey, runId, at, ...ended }: ConversationTurn): string[] => [
  String(turn),
  sessionKey,
  runId,
  ended.skipped ? 'silent' : (ended.status ?? 'awaited'),
  ended.endedAt === undefined ? '' : ago(ended.endedAt - at),
];
