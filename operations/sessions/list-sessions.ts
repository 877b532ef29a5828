/** Lists sessions from committed rows, in the shape of OpenClaw's clients. */
import { TroupeError } from '../../protocols/errors.ts';
import {
  SESSIONS_LIST_LIMIT,
  SESSIONS_LIST_LIMIT_MAX,
  type SessionsListParams,
  type SessionsListResult,
} from '../../protocols/gateway/index.ts';
import type { RunRow, SessionRow } from '../../protocols/session.ts';
import type { SessionRows } from './find-session.ts';
import { modelParts, sessionListRow } from './session-list-row.ts';

/** Sessions that one list reads; `hasMore` reports that there are more. */
const SESSIONS_READ_MAX = 10_000;

/** The storage path that clients receive; sessions are not stored as files. */
export const SESSIONS_PATH = 'troupe';

/** All sessions in key order, at most SESSIONS_READ_MAX. */
export const readSessions = ({
  system,
  tenant,
}: Omit<SessionRows, 'names'>): readonly SessionRow[] =>
  system.index
    .list<SessionRow>('sessions', tenant, { limit: SESSIONS_READ_MAX })
    .map(({ value }) => value);

/** @throws TroupeError NOT_FOUND when no session has this id */
export const keyOfSessionId = (scope: Omit<SessionRows, 'names'>, sessionId: string): string => {
  const found = readSessions(scope).find((row) => row.sessionId === sessionId);
  if (found) return found.sessionKey;
  throw new TroupeError('NOT_FOUND', `no session has the id "${sessionId.slice(0, 80)}"`);
};

export const newestFirst = (rows: readonly SessionRow[]): readonly SessionRow[] =>
  rows.toSorted((a, b) => b.updatedAt - a.updatedAt);

export const runsOf = ({ system, tenant }: Omit<SessionRows, 'names'>) => ({
  row: (runId: string) => system.index.get<RunRow>('runs', tenant, runId),
});

/** Pinned sessions before all others; otherwise the order is kept. */
const pinnedFirst = (rows: readonly SessionRow[]): readonly SessionRow[] =>
  rows.toSorted((a, b) => Number(b.pinned ?? false) - Number(a.pinned ?? false));

/** @param now epoch milliseconds */
export const listSessions = (
  context: SessionRows,
  params: SessionsListParams,
  now: number,
): SessionsListResult => {
  const runs = runsOf(context);
  const all = readSessions(context);
  const known = new Set(context.names.agents.map(({ id }) => id));
  const rows = params.configuredAgentsOnly ? all.filter(({ agentId }) => known.has(agentId)) : all;
  const fitting = pinnedFirst(newestFirst(rows.filter((row) => matches(row, params, now))));
  const { offset = 0 } = params;
  const limit = Math.min(params.limit ?? SESSIONS_LIST_LIMIT, SESSIONS_LIST_LIMIT_MAX);
  const shown = fitting.slice(offset, offset + limit);
  const next = offset + shown.length;
  const hasMore = next < fitting.length || all.length === SESSIONS_READ_MAX;
  const model = modelParts(
    context.names.agents.find(({ id }) => id === context.names.defaultAgentId)?.model,
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
    sessions: shown.map((row) => sessionListRow({ names: context.names, runs }, row, params)),
  };
};

const matches = (row: SessionRow, params: SessionsListParams, now: number): boolean => {
  const { agentId, activeMinutes, search } = params;
  if (agentId !== undefined && row.agentId !== agentId) return false;
  if (activeMinutes !== undefined && row.updatedAt < now - activeMinutes * 60_000) return false;
  if (params.archived !== 'all' && (row.archived ?? false) !== (params.archived ?? false)) {
    return false;
  }
  if (params.spawnedBy !== undefined && row.spawnedBy !== params.spawnedBy) return false;
  if (params.requireLastInteraction === true && row.messages === 0) return false;
  if (params.label !== undefined && row.label !== params.label) return false;
  if (search === undefined || search === '') return true;
  const text =
    `${row.sessionKey} ${row.label ?? ''} ${row.category ?? ''} ${row.title ?? ''} ${row.lastMessage ?? ''}`.toLowerCase();
  return text.includes(search.toLowerCase());
};
