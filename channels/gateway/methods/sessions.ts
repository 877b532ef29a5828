/** `sessions.list`, from committed rows; no session is woken (RT14). */
import { TroupeError } from '../../../protocols/errors.ts';
import {
  SESSIONS_LIST_LIMIT,
  SESSIONS_LIST_LIMIT_MAX,
  type SessionsListParams,
  type SessionsListResult,
  type SessionsListRow,
} from '../../../protocols/gateway/index.ts';
import type { RunStatus, SessionRow } from '../../../protocols/session.ts';
import type { Door } from '../door.ts';
import { SESSIONS_READ_MAX } from '../limits.ts';
import { mainSessionKey } from '../session-key.ts';
import { type MethodTable, published } from './method.ts';
import type { Request } from './request.ts';

/** Where clients are told the sessions are kept. */
export const SESSIONS_PATH = 'troupe';

/** All sessions in key order, at most SESSIONS_READ_MAX. */
export const readSessions = ({ system, tenant }: Door): readonly SessionRow[] =>
  system.index
    .list<SessionRow>('sessions', tenant, { limit: SESSIONS_READ_MAX })
    .map(({ value }) => value);

/** @throws TroupeError NOT_FOUND when no session has this id */
export const keyOfSessionId = (door: Door, sessionId: string): string => {
  const found = readSessions(door).find((row) => row.sessionId === sessionId);
  if (found) return found.sessionKey;
  throw new TroupeError('NOT_FOUND', `no session has the id "${sessionId.slice(0, 80)}"`);
};

export const newestFirst = (rows: readonly SessionRow[]): readonly SessionRow[] =>
  rows.toSorted((a, b) => b.updatedAt - a.updatedAt);

const sessionsList = ({ door }: Request, params: SessionsListParams): SessionsListResult => {
  const now = door.clock.wallMs();
  const all = readSessions(door);
  const fitting = newestFirst(all.filter((row) => fits(row, params, now)));
  const { offset = 0 } = params;
  const limit = Math.min(params.limit ?? SESSIONS_LIST_LIMIT, SESSIONS_LIST_LIMIT_MAX);
  const shown = fitting.slice(offset, offset + limit);
  const next = offset + shown.length;
  const hasMore = next < fitting.length || all.length === SESSIONS_READ_MAX;
  const model = modelParts(
    door.names.agents.find(({ id }) => id === door.names.defaultAgentId)?.model,
  );
  return {
    ts: now,
    path: SESSIONS_PATH,
    count: shown.length,
    totalCount: fitting.length,
    hasMore,
    nextOffset: next < fitting.length ? next : null,
    defaults: {
      modelProvider: model.modelProvider ?? null,
      model: model.model ?? null,
      contextTokens: null,
    },
    sessions: shown.map((row) => listRow(door, row, params)),
  };
};

const fits = (row: SessionRow, params: SessionsListParams, now: number): boolean => {
  const { agentId, activeMinutes, search } = params;
  if (agentId !== undefined && row.agentId !== agentId) return false;
  if (activeMinutes !== undefined && row.updatedAt < now - activeMinutes * 60_000) return false;
  // Nothing is archived.
  if (params.archived === true) return false;
  if (params.spawnedBy !== undefined && row.spawnedBy !== params.spawnedBy) return false;
  if (params.label !== undefined && row.label !== params.label) return false;
  if (search === undefined || search === '') return true;
  const text = `${row.sessionKey} ${row.label ?? ''} ${row.lastMessage ?? ''}`.toLowerCase();
  return text.includes(search.toLowerCase());
};

const listRow = (door: Door, row: SessionRow, params: SessionsListParams): SessionsListRow => {
  const running = row.status === 'running';
  const last = row.runId === undefined ? undefined : door.runs.row(row.runId);
  return {
    key: row.sessionKey,
    kind: row.sessionKey.includes(':group:') ? 'group' : 'direct',
    sessionId: row.sessionId,
    agentId: row.agentId,
    ...relationsOf(row),
    isMain: row.sessionKey === mainSessionKey(door.names, row.agentId),
    updatedAt: row.updatedAt,
    lastActivityAt: row.updatedAt,
    ...(running ? { status: 'running' } : last ? { status: STATUSES[last.status] } : {}),
    hasActiveRun: running,
    activeRunIds: running && row.runId !== undefined ? [row.runId] : [],
    ...(row.runId ? { lastRunId: row.runId } : {}),
    ...modelParts(row.model),
    inputTokens: row.usage.inputTokens,
    outputTokens: row.usage.outputTokens,
    totalTokens: row.usage.inputTokens + row.usage.outputTokens,
    ...(row.contextTokens === undefined ? {} : { contextTokens: row.contextTokens }),
    ...(params.includeLastMessage && row.lastMessage
      ? { lastMessagePreview: row.lastMessage }
      : {}),
    ...(params.includeDerivedTitles && row.lastMessage ? { derivedTitle: row.lastMessage } : {}),
  };
};

/** What it is called, where its people are, and of a subagent's session who started it. */
const relationsOf = ({ label, channel, spawnedBy }: SessionRow) => ({
  ...(label === undefined ? {} : { label, displayName: label }),
  ...(channel === undefined ? {} : { channel }),
  ...(spawnedBy === undefined ? {} : { spawnedBy, parentSessionKey: spawnedBy }),
});

const STATUSES = {
  queued: 'queued',
  running: 'running',
  ok: 'done',
  error: 'failed',
  aborted: 'killed',
  timeout: 'timeout',
} as const satisfies Record<RunStatus, SessionsListRow['status']>;

/** `provider/model` in its two parts. */
export const modelParts = (
  model: string | undefined,
): { modelProvider?: string; model?: string } => {
  if (!model) return {};
  const slash = model.indexOf('/');
  return slash < 0
    ? { model }
    : { modelProvider: model.slice(0, slash), model: model.slice(slash + 1) };
};

export const sessionTable: MethodTable = [published('sessions.list', sessionsList)];
