/**
 * Session lookup: finds the session that a tool names by a key or a label. All tools that access
 * another session use it.
 *
 * Boundary: reads committed rows and activates no actor.
 *
 * Invariants:
 *  1. A session that may not be listed is not found by its label, and its key is forbidden; both
 *     whether it exists or not.
 *  2. An answer contains no name of a session that may not be listed.
 */
import { parseSessionKey } from '../../../protocols/session-key.ts';
import type { SessionRow } from '../../../protocols/session.ts';
import type { Index } from '../../../runtime/index.ts';
import { judge, type Talked, type Talker, type TalkRules } from '../../policy/talk.ts';

/** A key, or a label with an agent to search (default all); never both. */
export type SessionName = {
  readonly sessionKey?: string;
  readonly label?: string;
  readonly agentId?: string;
};

export type FoundSession =
  | { readonly status: 'found'; readonly row: SessionRow }
  /** by key: the session may not be accessed; the answer does not reveal whether it exists */
  | { readonly status: 'forbidden'; readonly error: string; readonly rule: string }
  /** `agentId` is set for a key that the caller may access: that agent has no such session */
  | { readonly status: 'not_found'; readonly error: string; readonly agentId?: string }
  /** several sessions have the label, or several labels begin with it; names at most 10 */
  | {
      readonly status: 'ambiguous';
      readonly error: string;
      readonly candidates: readonly SessionCandidate[];
    }
  /** neither a key nor a label, or both */
  | { readonly status: 'invalid'; readonly error: string };
export type SessionCandidate = {
  readonly sessionKey: string;
  readonly label?: string;
};

/** The check for every row of a scan. */
export type SeenSession = Talked & Pick<SessionRow, 'sessionKey' | 'label'>;

const CANDIDATES_MAX = 10;

/** The session of a key, or of a label: an exact match, otherwise a unique prefix. */
export async function findSession(
  index: Index,
  tenant: string,
  name: SessionName,
  who: Talker,
  rules: TalkRules,
): Promise<FoundSession> {
  const { sessionKey, label } = name;
  if ((sessionKey === undefined) === (label === undefined))
    return { status: 'invalid', error: 'pass either sessionKey or label' };
  return sessionKey === undefined
    ? byLabel(index, tenant, { label: label!, ...name }, who, rules)
    : byKey(index.get<SessionRow>('sessions', tenant, sessionKey), sessionKey, who, rules);
}

function byKey(
  row: SessionRow | undefined,
  sessionKey: string,
  who: Talker,
  rules: TalkRules,
): FoundSession {
  const parts = parseSessionKey(sessionKey);
  // A key of another form does not name its agent, so only an existing row can be checked.
  const agentId = parts.type === 'other' ? row?.agentId : parts.agentId;
  const error = `there is no session ${JSON.stringify(sessionKey)}: sessions_list shows those that you can reach`;
  if (agentId === undefined) return { status: 'not_found', error };
  const verdict = judge(rules, who, row ?? { agentId, sessionKey }, 'list');
  if (verdict.allowed)
    return row ? { status: 'found', row } : { status: 'not_found', error, agentId };
  if (parts.type === 'other') return { status: 'not_found', error };
  return {
    status: 'forbidden',
    rule: verdict.rule,
    error: `you may not access session ${sessionKey} (${verdict.rule}): ${verdict.why}`,
  };
}

/** Candidates of one kind: their number, and the first ones in key order. */
type Group = { count: number; first: SeenSession[] };

async function byLabel(
  index: Index,
  tenant: string,
  { label, agentId }: { readonly label: string; readonly agentId?: string },
  who: Talker,
  rules: TalkRules,
): Promise<FoundSession> {
  const exact: Group = { count: 0, first: [] };
  const begins: Group = { count: 0, first: [] };
  await index.scan<SessionRow, 'sessionKey' | 'agentId' | 'spawnedBy' | 'label'>(
    'sessions',
    tenant,
    { fields: ['sessionKey', 'agentId', 'spawnedBy', 'label'] },
    (row) => {
      if (row.label === undefined || !row.label.startsWith(label)) return;
      if (agentId !== undefined && row.agentId !== agentId) return;
      if (judge(rules, who, row, 'list').allowed) add(row.label === label ? exact : begins, row);
    },
  );
  const { count, first } = exact.count > 0 ? exact : begins;
  const of = agentId === undefined ? '' : ` of agent ${agentId}`;
  const which = `label ${JSON.stringify(label)}${of}`;
  if (count > 1) {
    const candidates = first.map((one) => ({ sessionKey: one.sessionKey, label: one.label }));
    const error = `${count} sessions match ${which}: use the sessionKey of one of them`;
    return { status: 'ambiguous', error, candidates };
  }
  const row = first[0] && index.get<SessionRow>('sessions', tenant, first[0].sessionKey);
  if (row) return { status: 'found', row };
  const error = `no session that you can reach matches ${which}: sessions_list shows those that you can reach`;
  return { status: 'not_found', error };
}

/** Limits the number of kept candidates. */
function add(group: Group, row: SeenSession): void {
  group.count++;
  group.first.push(row);
  group.first.sort((a, b) => (a.sessionKey < b.sessionKey ? -1 : 1));
  group.first.splice(CANDIDATES_MAX);
}
