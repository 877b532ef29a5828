/**
 * Session keys of OpenClaw, and the keys of the same conversations here. OpenClaw distinguishes
 * groups from channels and topics from threads, and calls a direct message `direct` (formerly
 * `dm`):
 *
 *   agent:{agentId}:{rest}:direct:{peer}             → dm
 *   agent:{agentId}:{channel}:channel|room:{id}      → group
 *   …:group|channel:{id}:thread|topic:{threadId}     → topic
 *
 * It writes keys in lower case, with ids of agents and peers, except groups of Signal and rooms of
 * Matrix; older versions kept the case of some. Ids of Slack are in upper case, so they are written
 * so here, as the channel does.
 */
import { formatSessionKey, parseSessionKey, type SessionKeyParts } from './session-key.ts';

const THREADS = new Set(['thread', 'topic']);
const GROUPS = new Set(['group', 'channel', 'room']);
const DIRECT = new Set(['direct', 'dm']);
const OWN = new Set(['cron', 'hook', 'node', 'subagent']);
/** Ids of groups that differ only in case are different groups. */
const CASE_SENSITIVE = new Set(['signal', 'matrix']);
const AGENT_ID_CHARACTERS_MAX = 63;

/** The id of an agent as OpenClaw uses it: in lower case, with `-` for other characters. */
export const agentIdOfOpenClaw = (id: string): string =>
  id
    .trim()
    .toLowerCase()
    .replaceAll(/[^a-z0-9_-]+/g, '-')
    .replaceAll(/^-+|-+$/g, '')
    .slice(0, AGENT_ID_CHARACTERS_MAX) || 'main';

/**
 * The key of the same conversation here; undefined where no form here means the same.
 * @throws TroupeError INVALID_ARGUMENT for a key that is too long
 */
export function keyOfOpenClaw(key: string): string | undefined {
  const parts = partsOf(inOwnCase(key.split(':')));
  return parts && formatSessionKey(withServiceIds(parts));
}

/**
 * As `keyOfOpenClaw`, in the case in which it is written: sessions that earlier versions imported,
 * or clients created, have such keys.
 */
export function keyAsWritten(key: string): string | undefined {
  const parts = partsOf(key.split(':'));
  return parts && formatSessionKey(parts);
}

/**
 * A key of a form that exists here, as a client of OpenClaw may write it: with an agent in upper
 * case, or an id of Slack in lower case.
 */
export const inCaseHere = (parts: Exclude<SessionKeyParts, { type: 'other' }>): string =>
  formatSessionKey(withServiceIds({ ...parts, agentId: parts.agentId.toLowerCase() }));

/**
 * The key under which an import stores the session: that of the same conversation, else the words
 * of OpenClaw's key as the name of a session of the agent. `agentId` is for keys without an agent.
 * @throws TroupeError INVALID_ARGUMENT for a key that is too long, or an empty one
 */
export function importedKey(key: string, agentId: string): string {
  const full = /^agent:/i.test(key) ? key : `agent:${agentId}:${key}`;
  const known = keyOfOpenClaw(full);
  if (known !== undefined) return known;
  const [, agent = agentId, ...rest] = inOwnCase(full.split(':'));
  return formatSessionKey({ type: 'main', agentId: agent, mainKey: rest.join(':') });
}

/** The words of a key in the case in which OpenClaw stores them now. */
function inOwnCase(words: readonly string[]): readonly string[] {
  const [head = '', agentId = '', ...rest] = words.map((word) => word.toLowerCase());
  const [channel = '', kind = ''] = rest;
  const isOpaque = CASE_SENSITIVE.has(channel) && GROUPS.has(kind);
  const ids = isOpaque ? [channel, kind, ...words.slice(4)] : rest;
  return [head, agentId && agentIdOfOpenClaw(agentId), ...ids];
}

/**
 * Ids as the service writes them; only those that are not names of channels, which have no digit.
 */
function withServiceIds<P extends SessionKeyParts>(parts: P): P {
  if (!('channel' in parts) || parts.channel !== 'slack') return parts;
  const id = (text: string) =>
    /^(?=.*\d)[cdguw][a-z0-9]{7,}$/.test(text) ? text.toUpperCase() : text;
  if (parts.type === 'dm') return { ...parts, peerId: id(parts.peerId) };
  return 'groupId' in parts ? { ...parts, groupId: id(parts.groupId) } : parts;
}

function partsOf([head, agentId, ...rest]: readonly string[]): SessionKeyParts | undefined {
  if (head !== 'agent' || !agentId || rest.length === 0 || !rest.every(Boolean)) return undefined;
  const [first = '', second = ''] = rest;
  if (rest.length === 1) return { type: 'main', agentId, mainKey: first };
  if (rest.length === 2 && OWN.has(first)) {
    const own = parseSessionKey(`agent:${agentId}:${first}:${second}`);
    return own.type === 'other' ? undefined : own;
  }
  return directOf(agentId, rest) ?? groupOf(agentId, rest);
}

/** Ids of peers and groups may contain colons, as those of Matrix do. */
function directOf(agentId: string, rest: readonly string[]): SessionKeyParts | undefined {
  const at = rest.findIndex((word) => DIRECT.has(word));
  if (at < 0 || at > 2 || isThread(rest)) return undefined;
  const peerId = rest.slice(at + 1).join(':');
  const [channel, accountId] = rest.slice(0, at);
  if (peerId === '') return undefined;
  return {
    type: 'dm',
    agentId,
    peerId,
    ...(channel === undefined ? {} : { channel }),
    ...(accountId === undefined ? {} : { accountId }),
  };
}

function groupOf(agentId: string, rest: readonly string[]): SessionKeyParts | undefined {
  const [channel = '', kind = '', ...ids] = rest;
  if (!GROUPS.has(kind) || ids.length === 0) return undefined;
  if (!isThread(rest)) return { type: 'group', agentId, channel, groupId: ids.join(':') };
  const groupId = ids.slice(0, -2).join(':');
  const threadId = ids.at(-1) ?? '';
  return groupId === '' ? undefined : { type: 'topic', agentId, channel, groupId, threadId };
}

const isThread = (rest: readonly string[]): boolean =>
  rest.length >= 3 && THREADS.has(rest.at(-2) ?? '');
