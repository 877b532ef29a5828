/** `sessions.search`: finds messages by words. Reads transcripts; there is no index. */
import type { TenantScope } from '../../tenant/tenant-scope.ts';
import type {
  SessionsSearchParams,
  SessionsSearchResult,
} from '../../../../protocols/gateway/index.ts';
import type { SessionEntry, SessionRow } from '../../../../protocols/session.ts';
import type { TranscriptEntry } from '../../../../runtime/index.ts';
import { SEARCH_MESSAGES_MAX, SEARCH_SESSIONS_MAX } from '../../limits.ts';
import { readLast } from '../../sessions/transcript.ts';
import type { Request } from '../request.ts';
import { newestFirst, readSessions } from '../../../../operations/sessions/list-sessions.ts';

const RESULTS = 10;
/** Characters of a snippet before the first match, and in total. */
const BEFORE = 60;
const SNIPPET = 240;

type Hit = SessionsSearchResult['results'][number];

/**
 * Finds messages that contain all words of the query, ordered by the number of matches, then newest
 * first. Reads the newest SEARCH_SESSIONS_MAX sessions, and the last SEARCH_MESSAGES_MAX entries of
 * each.
 */
export const sessionsSearch = async (
  { context }: Request<TenantScope>,
  { query, agentId, sessionKeys, limit = RESULTS }: SessionsSearchParams,
): Promise<SessionsSearchResult> => {
  const words = query.toLowerCase().split(/\s+/u).filter(Boolean);
  if (words.length === 0) return { results: [] };
  const fitting = newestFirst(readSessions(context)).filter(
    (row) =>
      (agentId === undefined || row.agentId === agentId) &&
      (sessionKeys === undefined || sessionKeys.includes(row.sessionKey)),
  );
  const hits: Hit[] = [];
  for (const row of fitting.slice(0, SEARCH_SESSIONS_MAX)) {
    const entries = await readLast(context, row.sessionKey, SEARCH_MESSAGES_MAX);
    hits.push(...entries.flatMap((entry) => hitIn(row, entry, words)));
  }
  const results = hits
    .toSorted((a, b) => b.score - a.score || b.timestamp - a.timestamp)
    .slice(0, limit);
  const truncated = hits.length > limit || fitting.length > SEARCH_SESSIONS_MAX;
  return { results, ...(truncated ? { truncated } : {}) };
};

const hitIn = (row: SessionRow, { position, entry }: TranscriptEntry, words: readonly string[]) => {
  const said = entry as SessionEntry;
  if (said.type !== 'user' && said.type !== 'assistant') return [];
  const text = said.text.toLowerCase();
  const counts = words.map((word) => text.split(word).length - 1);
  if (counts.includes(0)) return [];
  const first = Math.max(0, Math.min(...words.map((word) => text.indexOf(word))) - BEFORE);
  return [
    {
      sessionKey: row.sessionKey,
      sessionId: row.sessionId,
      messageId: String(position),
      role: said.type,
      timestamp: said.at,
      snippet: said.text.slice(first, first + SNIPPET),
      score: counts.reduce((sum, count) => sum + count, 0),
    },
  ];
};
