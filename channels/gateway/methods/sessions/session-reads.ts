/**
 * `sessions.list`, `.describe`, `.get`, `.resolve`, `.preview`, `.search`, `.usage.timeseries`,
 * `.branches.list`, `.groups.list`: read committed rows and transcripts, and activate no session.
 */
import type { Clock } from '../../../../runtime/index.ts';
import type { SessionScope } from '../../tenant/tenant-scope.ts';
import type { LiveRuns } from '../../streams/live-runs.ts';
import { address } from '../../../../protocols/address.ts';
import { defined } from '../../../../protocols/defined.ts';
import { TroupeError } from '../../../../protocols/errors.ts';
import type {
  ChatMessage,
  SessionsBranchesListParams,
  SessionsDescribeParams,
  SessionsGetParams,
  SessionsListParams,
  SessionsPreviewParams,
  SessionsPreviewResult,
  SessionsResolveParams,
  SessionsResolveResult,
  SessionsUsageTimeseriesParams,
} from '../../../../protocols/gateway/index.ts';
import type { SessionEntry, SessionRow } from '../../../../protocols/session.ts';
import {
  HISTORY_LIMIT,
  HISTORY_TEXT_CHARACTERS_MAX,
  PREVIEWS_MAX,
  USAGE_POINTS_MAX,
} from '../../limits.ts';
import { sessionListRow } from '../../../../operations/sessions/session-list-row.ts';
import { readLast, readMessages, type TranscriptScope } from '../../sessions/transcript.ts';
import { type MethodTable, published } from '../method.ts';
import type { Request } from '../request.ts';
import { sessionRow } from '../../../../operations/sessions/find-session.ts';
import { sessionsSearch } from './session-search.ts';
import {
  listSessions,
  newestFirst,
  readSessions,
} from '../../../../operations/sessions/list-sessions.ts';

/** What reading sessions and their transcripts needs. */
export type SessionReadContext = SessionScope &
  TranscriptScope & { readonly runs: Pick<LiveRuns, 'row'>; readonly clock: Clock };

const sessionsList = ({ context }: Request<SessionReadContext>, params: SessionsListParams) =>
  listSessions(context, params, context.clock.wallMs());

const sessionsDescribe = (
  { context }: Request<SessionReadContext>,
  params: SessionsDescribeParams,
) => {
  const row = sessionRow(context, params.key);
  return { session: row ? sessionListRow(context, row, params) : null };
};

const sessionsGet = async ({ context }: Request<SessionReadContext>, params: SessionsGetParams) => {
  const key = params.key ?? params.sessionKey;
  if (key === undefined) throw new TroupeError('INVALID_ARGUMENT', '/key is missing');
  if (params.sessionKey !== undefined && params.sessionKey !== key)
    throw new TroupeError('INVALID_ARGUMENT', '/sessionKey: /key names another session');
  const row = sessionRow(context, key, params.agentId);
  if (row === undefined) return { messages: [] };
  const { messages } = await readMessages(context, row.sessionKey, {
    limit: params.limit ?? HISTORY_LIMIT,
    offset: 0,
    maxChars: HISTORY_TEXT_CHARACTERS_MAX,
  });
  return { messages };
};

/** @throws TroupeError INVALID_ARGUMENT unless exactly one name is given; NOT_FOUND */
const sessionsResolve = (
  { context }: Request<SessionReadContext>,
  params: SessionsResolveParams,
) => {
  const { key, sessionId, label, shortId } = params;
  if ([key, sessionId, label, shortId].filter((name) => name !== undefined).length !== 1) {
    throw new TroupeError('INVALID_ARGUMENT', 'pass exactly one of key, sessionId, label, shortId');
  }
  const named = matchingRows(context, params).filter(
    (row) =>
      (params.agentId === undefined || row.agentId === params.agentId) &&
      (params.spawnedBy === undefined || row.spawnedBy === params.spawnedBy),
  );
  const like = params.slugHint?.toLowerCase();
  const hinted = named.filter(({ label: name }) => like && slugOf(name ?? '') === like);
  const found = hinted.length === 1 ? hinted : named;
  const [first] = found;
  if (first === undefined) {
    if (params.allowMissing) return { ok: false } satisfies SessionsResolveResult;
    const name = (key ?? sessionId ?? label ?? shortId ?? '').slice(0, 80);
    throw new TroupeError('NOT_FOUND', `no session found: ${name}`);
  }
  if (found.length > 1) {
    return { ok: false, candidates: newestFirst(found).slice(0, 10).map(resolved) };
  }
  return { ok: true, ...resolved(first) } satisfies SessionsResolveResult;
};

const matchingRows = (
  context: SessionReadContext,
  params: SessionsResolveParams,
): readonly SessionRow[] => {
  const { key, sessionId, label, shortId } = params;
  if (key !== undefined) {
    const row = sessionRow(context, key, params.agentId);
    return row ? [row] : [];
  }
  return readSessions(context).filter(
    (row) =>
      (sessionId !== undefined && row.sessionId === sessionId) ||
      (label !== undefined && row.label === label) ||
      (shortId !== undefined && row.sessionId.startsWith(shortId)),
  );
};

const slugOf = (label: string): string =>
  label
    .toLowerCase()
    .replace(/[^\p{L}\p{N}]+/gu, '-')
    .replace(/^-|-$/g, '');

const resolved = ({ sessionKey: key, agentId, label }: SessionRow) => ({
  key,
  agentId,
  ...defined({ displayName: label }),
});

const sessionsPreview = async (
  { context }: Request<SessionReadContext>,
  { keys, limit = 12, maxChars = 240 }: SessionsPreviewParams,
): Promise<SessionsPreviewResult> => {
  const previews: SessionsPreviewResult['previews'] = [];
  for (const key of keys.slice(0, PREVIEWS_MAX)) {
    const row = sessionRow(context, key);
    if (row === undefined) {
      previews.push({ key, status: 'missing', items: [] });
      continue;
    }
    const page = { limit: Math.min(limit, 100), offset: 0, maxChars };
    const { messages } = await readMessages(context, row.sessionKey, page);
    const items = messages.flatMap(previewOf);
    previews.push({ key, status: items.length > 0 ? 'ok' : 'empty', items });
  }
  return { ts: context.clock.wallMs(), previews };
};

const ROLES: Readonly<Record<string, 'user' | 'assistant' | 'tool' | 'system'>> = {
  user: 'user',
  assistant: 'assistant',
  toolResult: 'tool',
  system: 'system',
};

const previewOf = ({ role, content }: ChatMessage) => {
  const text = textOf(content);
  return text === '' ? [] : [{ role: ROLES[role] ?? ('other' as const), text }];
};

export const textOf = (content: ChatMessage['content']): string =>
  typeof content === 'string'
    ? content
    : content
        .map(({ text = '' }) => text)
        .join('\n')
        .trim();

/** One point per model call among the last transcript entries. */
const usageTimeseries = async (
  { context }: Request<SessionReadContext>,
  params: SessionsUsageTimeseriesParams,
) => {
  const row = sessionRow(context, params.key, params.agentId);
  if (row === undefined) {
    throw new TroupeError('NOT_FOUND', `no session found: ${params.key.slice(0, 80)}`);
  }
  const entries = await readLast(context, row.sessionKey, USAGE_POINTS_MAX);
  let cumulativeTokens = 0;
  let cumulativeCost = 0;
  const points = entries.flatMap(({ entry }) => {
    const said = entry as SessionEntry;
    if (said.type !== 'assistant' || said.usage === undefined) return [];
    const { inputTokens: input, outputTokens: output, costUsd: cost = 0 } = said.usage;
    cumulativeTokens += input + output;
    cumulativeCost += cost;
    const total = { totalTokens: input + output, cost, cumulativeTokens, cumulativeCost };
    return [{ timestamp: said.at, input, output, cacheRead: 0, cacheWrite: 0, ...total }];
  });
  return { sessionId: row.sessionId, points };
};

const branchesList = async (
  { context }: Request<SessionReadContext>,
  params: SessionsBranchesListParams,
) => {
  const row = sessionRow(context, params.sessionKey, params.agentId);
  if (row === undefined) return { branches: [] };
  const actor = address(context.tenant, 'session', row.sessionKey);
  const last = await context.system.transcripts.last(actor);
  if (last === 0) return { branches: [] };
  return {
    branches: [
      {
        leafEntryId: String(last),
        headline: row.lastMessage ?? '',
        messageCount: await context.counts.total(context.system, actor, last),
        updatedAt: new Date(row.updatedAt).toISOString(),
        active: true,
      },
    ],
  };
};

const groupsList = ({ context }: Request<SessionReadContext>) => {
  const names = new Set(readSessions(context).flatMap(({ category }) => category ?? []));
  const groups = [...names].sort().map((name, position) => ({ name, position }));
  return { groups, sectionOrder: groups.map(({ name }) => name) };
};

export const sessionReadTable: MethodTable<SessionReadContext> = [
  published('sessions.list', sessionsList),
  published('sessions.describe', sessionsDescribe),
  published('sessions.get', sessionsGet),
  published('sessions.resolve', sessionsResolve),
  published('sessions.preview', sessionsPreview),
  published('sessions.search', sessionsSearch),
  published('sessions.usage.timeseries', usageTimeseries),
  published('sessions.branches.list', branchesList),
  published('sessions.groups.list', groupsList),
];
