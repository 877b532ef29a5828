/**
 * `sessions.describe`, `.get`, `.resolve`, `.preview`, `.search`, `.usage.timeseries`,
 * `.branches.list`, `.groups.list`: from committed rows and transcripts; no session is woken
 * (RT14).
 */
import { address } from '../../../../protocols/address.ts';
import { defined } from '../../../../protocols/defined.ts';
import { TroupeError } from '../../../../protocols/errors.ts';
import type {
  ChatMessage,
  SessionsBranchesListParams,
  SessionsDescribeParams,
  SessionsGetParams,
  SessionsPreviewParams,
  SessionsPreviewResult,
  SessionsResolveParams,
  SessionsResolveResult,
  SessionsUsageTimeseriesParams,
} from '../../../../protocols/gateway/index.ts';
import type { SessionEntry, SessionRow } from '../../../../protocols/session.ts';
import type { TenantGateway } from '../../tenant/tenant-gateway.ts';
import {
  HISTORY_LIMIT,
  HISTORY_TEXT_CHARACTERS_MAX,
  PREVIEWS_MAX,
  USAGE_POINTS_MAX,
} from '../../limits.ts';
import { sessionListRow } from '../../sessions/session-list-row.ts';
import { readLast, readMessages } from '../../sessions/transcript.ts';
import { type MethodTable, published } from '../method.ts';
import type { Request } from '../request.ts';
import { sessionRow } from './session-row.ts';
import { sessionsSearch } from './session-search.ts';
import { newestFirst, readSessions } from './sessions.ts';

const sessionsDescribe = ({ door }: Request, params: SessionsDescribeParams) => {
  const row = sessionRow(door, params.key);
  return { session: row ? sessionListRow(door, row, params) : null };
};

const sessionsGet = async ({ door }: Request, params: SessionsGetParams) => {
  const key = params.key ?? params.sessionKey;
  if (key === undefined) throw new TroupeError('INVALID_ARGUMENT', '/key is missing');
  if (params.sessionKey !== undefined && params.sessionKey !== key)
    throw new TroupeError('INVALID_ARGUMENT', '/sessionKey: /key names another session');
  const row = sessionRow(door, key, params.agentId);
  if (row === undefined) return { messages: [] };
  const { messages } = await readMessages(door, row.sessionKey, {
    limit: params.limit ?? HISTORY_LIMIT,
    offset: 0,
    maxChars: HISTORY_TEXT_CHARACTERS_MAX,
  });
  return { messages };
};

/** @throws TroupeError INVALID_ARGUMENT for none or several names; NOT_FOUND */
const sessionsResolve = ({ door }: Request, params: SessionsResolveParams) => {
  const { key, sessionId, label, shortId } = params;
  if ([key, sessionId, label, shortId].filter((name) => name !== undefined).length !== 1) {
    throw new TroupeError('INVALID_ARGUMENT', 'give one of key, sessionId, label, shortId');
  }
  const named = meant(door, params).filter(
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

const meant = (door: TenantGateway, params: SessionsResolveParams): readonly SessionRow[] => {
  const { key, sessionId, label, shortId } = params;
  if (key !== undefined) {
    const row = sessionRow(door, key, params.agentId);
    return row ? [row] : [];
  }
  return readSessions(door).filter(
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
  { door }: Request,
  { keys, limit = 12, maxChars = 240 }: SessionsPreviewParams,
): Promise<SessionsPreviewResult> => {
  const previews: SessionsPreviewResult['previews'] = [];
  for (const key of keys.slice(0, PREVIEWS_MAX)) {
    const row = sessionRow(door, key);
    if (row === undefined) {
      previews.push({ key, status: 'missing', items: [] });
      continue;
    }
    const page = { limit: Math.min(limit, 100), offset: 0, maxChars };
    const { messages } = await readMessages(door, row.sessionKey, page);
    const items = messages.flatMap(previewOf);
    previews.push({ key, status: items.length > 0 ? 'ok' : 'empty', items });
  }
  return { ts: door.clock.wallMs(), previews };
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

/** One point per model call of the last entries. */
const usageTimeseries = async ({ door }: Request, params: SessionsUsageTimeseriesParams) => {
  const row = sessionRow(door, params.key, params.agentId);
  if (row === undefined) {
    throw new TroupeError('NOT_FOUND', `no session found: ${params.key.slice(0, 80)}`);
  }
  const entries = await readLast(door, row.sessionKey, USAGE_POINTS_MAX);
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

const branchesList = async ({ door }: Request, params: SessionsBranchesListParams) => {
  const row = sessionRow(door, params.sessionKey, params.agentId);
  if (row === undefined) return { branches: [] };
  const actor = address(door.tenant, 'session', row.sessionKey);
  const last = await door.system.transcripts.last(actor);
  if (last === 0) return { branches: [] };
  return {
    branches: [
      {
        leafEntryId: String(last),
        headline: row.lastMessage ?? '',
        messageCount: await door.counts.total(door, actor, last),
        updatedAt: new Date(row.updatedAt).toISOString(),
        active: true,
      },
    ],
  };
};

const groupsList = ({ door }: Request) => {
  const names = new Set(readSessions(door).flatMap(({ category }) => category ?? []));
  const groups = [...names].sort().map((name, position) => ({ name, position }));
  return { groups, sectionOrder: groups.map(({ name }) => name) };
};

export const sessionReadTable: MethodTable = [
  published('sessions.describe', sessionsDescribe),
  published('sessions.get', sessionsGet),
  published('sessions.resolve', sessionsResolve),
  published('sessions.preview', sessionsPreview),
  published('sessions.search', sessionsSearch),
  published('sessions.usage.timeseries', usageTimeseries),
  published('sessions.branches.list', branchesList),
  published('sessions.groups.list', groupsList),
];
