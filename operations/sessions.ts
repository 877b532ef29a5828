/**
 * Sessions: conversations with agents. Lists use committed rows and activate no actor; the session
 * actor resets, compacts and deletes itself. OpenClaw's methods `sessions.*` of the gateway run the
 * same functions (`operations/sessions`).
 */
import { Type } from '@sinclair/typebox';
import { defined } from '../protocols/defined.ts';
import { TroupeError } from '../protocols/errors.ts';
import type { SessionsListResult, SessionsListRow } from '../protocols/gateway/index.ts';
import type { ForkPoint } from '../protocols/session-fork.ts';
import { SESSIONS_LIST_LIMIT_MAX } from '../protocols/gateway/sessions.ts';
import { compactSession, deleteSession, resetSession } from './sessions/change-session.ts';
import { sessionRow } from './sessions/find-session.ts';
import { type Forked, type ForkScope, forkSession } from './sessions/fork-session.ts';
import { listSessions, runsOf } from './sessions/list-sessions.ts';
import {
  type Imported,
  importPage,
  type MovingScope,
  PAGE,
  readTranscript,
  SessionFactsSchema,
  type TranscriptPage,
} from './sessions/move-session.ts';
import { type SentFile, sentFile } from './sessions/sent-file.ts';
import { TranscriptEntrySchema } from './sessions/transcript-entry.ts';
import { sessionListRow } from './sessions/session-list-row.ts';
import { defineOperation, ObjectOf, type OperationContext, type Resource } from './operation.ts';
import { ago, oneLine, table } from './text.ts';

const ORPHANS = ['cascade', 'adopt', 'detach'] as const;
const Key = Type.String({ minLength: 1, description: 'Its key, from the list' });

const list = defineOperation({
  name: 'sessions.list',
  scope: 'tenant',
  summary: 'List the sessions, newest first',
  params: Type.Object({
    agent: Type.Optional(Type.String({ description: 'Only sessions of this agent' })),
    search: Type.Optional(
      Type.String({ description: 'Only sessions whose key, label or last message contains this' }),
    ),
    limit: Type.Optional(
      Type.Integer({
        minimum: 1,
        description: `Maximum number, at most ${SESSIONS_LIST_LIMIT_MAX}; default 100`,
      }),
    ),
    offset: Type.Optional(Type.Integer({ minimum: 0, description: 'Number of skipped sessions' })),
  }),
  result: ObjectOf<SessionsListResult>(),
  errors: ['INVALID_ARGUMENT'],
  http: {
    method: 'GET',
    path: '/v1/sessions',
    operationId: 'listSessions',
    responses: { 200: 'The sessions, pinned ones first' },
  },
  cli: {
    command: 'sessions list',
    connection: 'websocket',
    flags: { agent: '--agent <id>', search: '--search <text>' },
    examples: ['troupe sessions', 'troupe sessions --json --limit 10'],
    print: ({ sessions, ts }) => listText(sessions, ts),
  },
  run(context, { agent, search, limit, offset }) {
    const wanted = { includeLastMessage: true, ...defined({ agentId: agent, search }) };
    const now = context.now();
    return listSessions(scopeOf(context), { ...wanted, ...defined({ limit, offset }) }, now);
  },
});

/** The origin of forks is listed where there is one. */
function listText(rows: readonly SessionsListRow[], now: number): string {
  if (rows.length === 0) return 'no sessions; `troupe chat` starts one\n';
  const origins = rows.some(({ forkedFrom }) => forkedFrom) ? ['forked from'] : [];
  return table(
    ['session', 'status', 'active', 'model', 'tokens', 'last message', ...origins],
    rows.map((row) => [
      row.key,
      row.hasActiveRun ? 'running' : (row.status ?? 'idle'),
      row.updatedAt ? ago(now - row.updatedAt) : '',
      row.model ?? '',
      String((row.inputTokens ?? 0) + (row.outputTokens ?? 0)),
      oneLine(row.lastMessagePreview ?? '').slice(0, 40),
      ...origins.map(() => (row.forkedFrom ? forkText(row.forkedFrom) : '')),
    ]),
  );
}

const forkText = ({ key, turn }: ForkPoint): string => `${key} at turn ${turn}`;

const show = defineOperation({
  name: 'sessions.show',
  scope: 'tenant',
  summary: 'Show one session with its settings, model and tokens',
  params: Type.Object({ key: Key }),
  result: ObjectOf<SessionsListRow>(),
  errors: ['INVALID_ARGUMENT', 'NOT_FOUND'],
  http: {
    method: 'GET',
    path: '/v1/sessions/{key}',
    operationId: 'getSession',
    responses: { 200: 'The session' },
  },
  cli: {
    command: 'sessions show',
    args: ['key'],
    connection: 'websocket',
    examples: ['troupe sessions show agent:main:main'],
    print: (row) =>
      Object.entries(row)
        .map(([name, value]) => `${name.padEnd(22)}  ${oneLine(JSON.stringify(value))}\n`)
        .join(''),
  },
  run(context, { key }) {
    const scope = scopeOf(context);
    const row = sessionRow(scope, key);
    if (!row) throw new TroupeError('NOT_FOUND', `session ${key} does not exist`);
    const wanted = { includeLastMessage: true, includeDerivedTitles: true };
    return sessionListRow({ names: scope.names, runs: runsOf(scope) }, row, wanted);
  },
});

const remove = defineOperation({
  name: 'sessions.delete',
  scope: 'tenant',
  summary: 'Delete a session; its transcript is kept',
  params: Type.Object({
    key: Key,
    orphans: Type.Optional(
      Type.Union(
        ORPHANS.map((one) => Type.Literal(one)),
        { description: 'What happens to its subagents; default: as configured' },
      ),
    ),
  }),
  result: Type.Object({
    ok: Type.Boolean(),
    key: Type.String(),
    deleted: Type.Boolean({ description: 'False when there is no such session' }),
  }),
  errors: ['INVALID_ARGUMENT', 'DEADLINE_EXCEEDED'],
  http: {
    method: 'DELETE',
    path: '/v1/sessions/{key}',
    operationId: 'deleteSession',
    responses: { 200: 'Deleted, or it did not exist' },
  },
  cli: {
    command: 'sessions delete',
    args: ['key'],
    connection: 'websocket',
    flags: { orphans: '--orphans <how>' },
    examples: ['troupe sessions delete agent:main:trial'],
    print: ({ key, deleted }) =>
      deleted
        ? `${key} is deleted; its transcript is kept\n`
        : `session ${key} does not exist: nothing to delete\n`,
  },
  run: async (context, params) => ({ ok: true, ...(await deleteSession(asking(context), params)) }),
});

const reset = defineOperation({
  name: 'sessions.reset',
  scope: 'tenant',
  summary: 'Start a session over: its runs are aborted, and models no longer see earlier messages',
  params: Type.Object({
    key: Key,
    reason: Type.Optional(
      Type.String({ minLength: 1, maxLength: 200, description: 'The reason, which is recorded' }),
    ),
  }),
  result: Type.Object({ key: Type.String(), entry: Type.Object({ sessionId: Type.String() }) }),
  errors: ['INVALID_ARGUMENT', 'NOT_FOUND', 'DEADLINE_EXCEEDED'],
  http: {
    method: 'POST',
    path: '/v1/sessions/{key}/reset',
    operationId: 'resetSession',
    responses: { 200: 'The session with its new id' },
  },
  cli: {
    command: 'sessions reset',
    args: ['key'],
    connection: 'websocket',
    flags: { reason: '--reason <text>' },
    examples: ['troupe sessions reset agent:main:main'],
    print: ({ key, entry }) => `${key} starts over with the id ${entry.sessionId}\n`,
  },
  run: (context, params) => resetSession(asking(context), params),
});

const compact = defineOperation({
  name: 'sessions.compact',
  scope: 'tenant',
  summary: 'Replace the earlier messages of a session by a summary of its model',
  params: Type.Object({
    key: Key,
    instructions: Type.Optional(
      Type.String({ minLength: 1, maxLength: 4_096, description: 'What the summary must contain' }),
    ),
  }),
  result: Type.Object({
    key: Type.String(),
    compacted: Type.Boolean(),
    tokensBefore: Type.Integer(),
    tokensAfter: Type.Integer(),
  }),
  errors: ['INVALID_ARGUMENT', 'NOT_FOUND', 'CONFLICT', 'DEADLINE_EXCEEDED'],
  http: {
    method: 'POST',
    path: '/v1/sessions/{key}/compact',
    operationId: 'compactSession',
    responses: { 200: 'Compacted, or too short to compact' },
  },
  cli: {
    command: 'sessions compact',
    args: ['key'],
    connection: 'websocket',
    flags: { instructions: '--instructions <text>' },
    examples: ["troupe sessions compact agent:main:main --instructions 'keep the decisions'"],
    print: ({ key, compacted, tokensBefore, tokensAfter }) =>
      compacted
        ? `${key} is compacted from ${tokensBefore} to ${tokensAfter} tokens\n`
        : `${key} is too short to compact\n`,
  },
  run: (context, params) => compactSession(asking(context), params),
});

const fork = defineOperation({
  name: 'sessions.fork',
  scope: 'tenant',
  gatewayScope: 'operator.write',
  summary: 'Fork a session: a new session begins as this one was after one of its turns',
  params: Type.Object({
    key: Type.String({ minLength: 1, description: 'Its key, from the list, or its address' }),
    turn: Type.Integer({ minimum: 1, description: 'Number of the turn, from `actors.history`' }),
    as: Type.Optional(
      Type.String({ minLength: 1, description: 'Key of the new session; default a new one' }),
    ),
  }),
  result: ObjectOf<Forked>(),
  errors: ['INVALID_ARGUMENT', 'NOT_FOUND', 'CONFLICT', 'UNAVAILABLE', 'DEADLINE_EXCEEDED'],
  http: {
    method: 'POST',
    path: '/v1/sessions/{key}/fork',
    operationId: 'forkSession',
    responses: { 200: 'The new session' },
    isKeyed: true,
  },
  cli: {
    command: 'sessions fork',
    args: ['key'],
    connection: 'websocket',
    flags: { turn: '--turn <n>', as: '--as <key>' },
    examples: [
      'troupe actors history default/session/agent:main:main --limit 10',
      'troupe sessions fork agent:main:main --turn 1186',
      'troupe sessions fork agent:main:main --turn 1186 --as second-try',
    ],
    print: ({ key, copied, forkedFrom }) =>
      `${key} is a fork of ${forkText(forkedFrom)}, with ${copied} entries\n`,
  },
  run: (context, params) => forkSession(asking(context), params, context.idempotencyKey),
});

const file = defineOperation({
  name: 'sessions.file',
  scope: 'tenant',
  summary: 'Get a URL to download a file that an agent sent',
  params: Type.Object({
    key: Key,
    message: Type.Integer({ minimum: 1, description: 'Id of the message, from `chat.history`' }),
    hash: Type.String({ pattern: '^[0-9a-f]{64}$', description: 'SHA-256 of the file' }),
  }),
  result: ObjectOf<SentFile>(),
  errors: ['INVALID_ARGUMENT', 'NOT_FOUND', 'UNAVAILABLE'],
  http: {
    method: 'GET',
    path: '/v1/sessions/{key}/messages/{message}/files/{hash}',
    operationId: 'getSentFile',
    responses: { 200: 'The file with a signed URL, which is valid for 15 minutes at most' },
  },
  run: (context, params) => sentFile(context, params),
});

export const sessionTranscript = defineOperation({
  name: 'sessions.transcript',
  scope: 'tenant',
  summary: 'Get one page of the transcript of a session, for an export',
  params: Type.Object({
    key: Key,
    from: Type.Optional(
      Type.Integer({ minimum: 1, description: 'Position of the first entry; default 1' }),
    ),
  }),
  result: ObjectOf<TranscriptPage>(),
  errors: ['INVALID_ARGUMENT', 'NOT_FOUND'],
  http: {
    method: 'GET',
    path: '/v1/sessions/{key}/transcript',
    operationId: 'getTranscript',
    responses: { 200: 'Entries with their positions, and `next` unless they are the last' },
  },
  run: (context, params) => readTranscript(asking(context), params),
});

export const sessionImport = defineOperation({
  name: 'sessions.import',
  scope: 'tenant',
  summary: 'Append one page of an exported transcript to a new session',
  params: Type.Object({
    key: Type.String({ minLength: 1, description: 'Key of the new session' }),
    facts: Type.Object(SessionFactsSchema.properties, {
      description:
        'What the session is besides its transcript, as `sessions.transcript` returns it',
    }),
    from: Type.Integer({ minimum: 0, description: 'Number of entries before this page' }),
    entries: Type.Array(TranscriptEntrySchema, {
      maxItems: PAGE.entries,
      description: 'The entries; a compaction begins a page, and `keptFrom` counts entries from 1',
    }),
    isLast: Type.Boolean({ description: 'The session exists when its last page is stored' }),
    replace: Type.Optional(
      Type.Boolean({ description: 'With the first page: delete another session that has the key' }),
    ),
  }),
  result: ObjectOf<Imported>(),
  errors: ['INVALID_ARGUMENT', 'CONFLICT', 'UNAVAILABLE', 'DEADLINE_EXCEEDED'],
  http: {
    method: 'POST',
    path: '/v1/sessions/{key}/import',
    operationId: 'importSession',
    responses: { 200: 'How many entries of the session are stored' },
    bodyBytesMax: 4 * 2 ** 20,
  },
  run: (context, params) => importPage(asking(context), params),
});

const scopeOf = ({ system, tenant, agents }: OperationContext) => ({
  system,
  tenant,
  names: agents(tenant),
});

const asking = (context: OperationContext): ForkScope & MovingScope => ({
  ...scopeOf(context),
  principal: { sub: context.caller.sub, roles: ['operator'] },
});

export const sessions: Resource = {
  name: 'sessions',
  operations: [list, show, remove, reset, compact, fork, file, sessionTranscript, sessionImport],
};
