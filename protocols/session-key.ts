/**
 * Session keys: which conversation a message belongs to.
 *
 *   agent:{agentId}:{mainKey}                                   main
 *   agent:{agentId}:dm:{peerId}                                 dm, scope per-peer
 *   agent:{agentId}:{channel}:dm:{peerId}                       dm, scope per-channel-peer
 *   agent:{agentId}:{channel}:{accountId}:dm:{peerId}           dm, scope per-account-channel-peer
 *   agent:{agentId}:{channel}:group:{groupId}                   group
 *   agent:{agentId}:{channel}:group:{groupId}:topic:{threadId}  topic
 *   agent:{agentId}:subagent:{id}   agent:{agentId}:cron:{jobId}
 *   agent:{agentId}:hook:{id}       agent:{agentId}:node:{nodeId}
 *
 * Escaping: within a part, `%` becomes `%25`, `:` becomes `%3A`, and a control character the `%XX`
 * of its UTF-8 bytes; nothing else is escaped. A part therefore contains no `:`, and the number of
 * parts and the literals between them determine the form. Each key is unambiguous:
 * `formatSessionKey(parseSessionKey(k))` is `k`.
 */
import { TroupeError } from './errors.ts';

/** How direct messages share sessions. `main` (default): all use the agent's main session. */
export const DM_SCOPES = [
  'main',
  'per-peer',
  'per-channel-peer',
  'per-account-channel-peer',
] as const;
export type DmScope = (typeof DM_SCOPES)[number];

export const DEFAULT_MAIN_KEY = 'main';
export const DEFAULT_ACCOUNT_ID = 'default';
/** A session key is the key of an address, with the same limit. */
export const SESSION_KEY_BYTES_MAX = 512;

export type SessionKeyParts =
  | { readonly type: 'main'; readonly agentId: string; readonly mainKey: string }
  | {
      readonly type: 'dm';
      readonly agentId: string;
      readonly peerId: string;
      readonly channel?: string;
      /** only with a channel */
      readonly accountId?: string;
    }
  | {
      readonly type: 'group';
      readonly agentId: string;
      readonly channel: string;
      readonly groupId: string;
    }
  | {
      readonly type: 'topic';
      readonly agentId: string;
      readonly channel: string;
      readonly groupId: string;
      readonly threadId: string;
    }
  | {
      readonly type: 'subagent' | 'cron' | 'hook' | 'node';
      readonly agentId: string;
      readonly id: string;
    }
  /** a key of another format, kept unchanged */
  | { readonly type: 'other'; readonly key: string };

/** The sender of a direct message, as identified by the channel. */
export type DmPeer = {
  readonly peerId: string;
  readonly channel: string;
  /** of the channel; default `default` */
  readonly accountId?: string;
  /** default `main` */
  readonly mainKey?: string;
};

/**
 * Creates keys of sessions. Every function throws TroupeError INVALID_ARGUMENT for an empty part or
 * a key that is too long.
 *
 * @example
 * ```ts
 * import { sessionKey } from 'troupe/agents';
 *
 * assert.equal(sessionKey.group('helper', 'telegram', '42'), 'agent:helper:telegram:group:42');
 * ```
 */
export const sessionKey = {
  main: (agentId: string, mainKey: string = DEFAULT_MAIN_KEY) =>
    formatSessionKey({ type: 'main', agentId, mainKey }),

  dm: (agentId: string, scope: DmScope, peer: DmPeer): string => {
    const { peerId, channel, accountId = DEFAULT_ACCOUNT_ID, mainKey = DEFAULT_MAIN_KEY } = peer;
    switch (scope) {
      case 'main':
        return formatSessionKey({ type: 'main', agentId, mainKey });
      case 'per-peer':
        return formatSessionKey({ type: 'dm', agentId, peerId });
      case 'per-channel-peer':
        return formatSessionKey({ type: 'dm', agentId, channel, peerId });
      case 'per-account-channel-peer':
        return formatSessionKey({ type: 'dm', agentId, channel, accountId, peerId });
    }
  },

  group: (agentId: string, channel: string, groupId: string) =>
    formatSessionKey({ type: 'group', agentId, channel, groupId }),
  topic: (agentId: string, channel: string, groupId: string, threadId: string) =>
    formatSessionKey({ type: 'topic', agentId, channel, groupId, threadId }),
  /** `agentId` is the child's */
  subagent: (agentId: string, id: string) => formatSessionKey({ type: 'subagent', agentId, id }),
  cron: (agentId: string, jobId: string) => formatSessionKey({ type: 'cron', agentId, id: jobId }),
  hook: (agentId: string, id: string) => formatSessionKey({ type: 'hook', agentId, id }),
  node: (agentId: string, nodeId: string) =>
    formatSessionKey({ type: 'node', agentId, id: nodeId }),
} as const;

/** @throws TroupeError INVALID_ARGUMENT for an empty part or a key over SESSION_KEY_BYTES_MAX */
export const formatSessionKey = (parts: SessionKeyParts): string => {
  const key = parts.type === 'other' ? parts.key : join('agent', parts.agentId, ...tailOf(parts));
  const bytes = Buffer.byteLength(key, 'utf8');
  if (bytes > SESSION_KEY_BYTES_MAX) {
    throw invalid(
      `a session key has at most ${SESSION_KEY_BYTES_MAX} bytes, this one ${bytes}: ${key.slice(0, 80)}…`,
    );
  }
  return key;
};

const tailOf = (parts: Exclude<SessionKeyParts, { type: 'other' }>): readonly string[] => {
  switch (parts.type) {
    case 'main':
      return [parts.mainKey];
    case 'dm': {
      const { channel, accountId, peerId } = parts;
      if (accountId !== undefined && channel === undefined) {
        throw invalid(`a direct message of account ${accountId} needs its channel`);
      }
      return [
        ...(channel === undefined ? [] : [channel]),
        ...(accountId === undefined ? [] : [accountId]),
        'dm',
        peerId,
      ];
    }
    case 'group':
      return [parts.channel, 'group', parts.groupId];
    case 'topic':
      return [parts.channel, 'group', parts.groupId, 'topic', parts.threadId];
    case 'subagent':
    case 'cron':
    case 'hook':
    case 'node':
      return [parts.type, parts.id];
  }
};

/** Never throws: an unknown form or an invalid escape returns `other`. */
export const parseSessionKey = (key: string): SessionKeyParts => {
  const [head, agentId, ...tail] = key.split(':').map(unescapePart);
  const known = head === 'agent' && agentId ? readTail(agentId, tail) : undefined;
  return known ?? { type: 'other', key };
};

/** An undefined or empty part never occurs in a valid key. */
const readTail = (
  agentId: string,
  tail: readonly (string | undefined)[],
): SessionKeyParts | undefined => {
  const [first, second, third, fourth, fifth] = tail;
  if (!first || !tail.every(Boolean)) return undefined;
  if (tail.length === 1) return { type: 'main', agentId, mainKey: first };
  if (!second) return undefined;
  if (tail.length === 2) {
    if (first === 'dm') return { type: 'dm', agentId, peerId: second };
    return isOwn(first) ? { type: first, agentId, id: second } : undefined;
  }
  if (!third) return undefined;
  if (tail.length === 3) {
    if (second === 'dm') return { type: 'dm', agentId, channel: first, peerId: third };
    return second === 'group'
      ? { type: 'group', agentId, channel: first, groupId: third }
      : undefined;
  }
  if (tail.length === 4 && third === 'dm' && fourth) {
    return { type: 'dm', agentId, channel: first, accountId: second, peerId: fourth };
  }
  if (tail.length === 5 && second === 'group' && fourth === 'topic' && fifth) {
    return { type: 'topic', agentId, channel: first, groupId: third, threadId: fifth };
  }
  return undefined;
};

const isOwn = (word: string): word is 'subagent' | 'cron' | 'hook' | 'node' =>
  word === 'subagent' || word === 'cron' || word === 'hook' || word === 'node';

/** The kinds that `sessions_list` reports. */
export const SESSION_KINDS = ['main', 'group', 'cron', 'hook', 'node', 'other'] as const;
export type SessionKind = (typeof SESSION_KINDS)[number];

/** @param mainKey the configured main key; a main form with another one returns `other` */
export const sessionKind = (
  parts: SessionKeyParts,
  mainKey: string = DEFAULT_MAIN_KEY,
): SessionKind => {
  switch (parts.type) {
    case 'main':
      return parts.mainKey === mainKey ? 'main' : 'other';
    case 'group':
    case 'topic':
      return 'group';
    case 'cron':
    case 'hook':
    case 'node':
      return parts.type;
    case 'dm':
    case 'subagent':
    case 'other':
      return 'other';
  }
};

const RESERVED = /[%:\u0000-\u001f\u007f-\u009f]/g;
/** No row or message can contain one. */
const LONE_SURROGATE = /\p{Surrogate}/u;
const RESERVED_ONCE = new RegExp(RESERVED.source);

const escapePart = (part: string): string =>
  part.replace(RESERVED, (character) => hexOf(character));

const hexOf = (character: string): string => {
  let escaped = '';
  for (const byte of Buffer.from(character, 'utf8')) {
    escaped += `%${byte.toString(16).toUpperCase().padStart(2, '0')}`;
  }
  return escaped;
};

/** undefined when `escapePart` never creates this text */
const unescapePart = (escaped: string): string | undefined => {
  if (LONE_SURROGATE.test(escaped)) return undefined;
  if (!escaped.includes('%')) return RESERVED_ONCE.test(escaped) ? undefined : escaped;
  try {
    const part = decodeURIComponent(escaped);
    return escapePart(part) === escaped ? part : undefined;
  } catch {
    return undefined; // a `%` that begins no UTF-8 escape: not of our making
  }
};

const join = (...parts: readonly string[]): string => {
  for (const part of parts) {
    if (part === '') throw invalid(`a part of the session key ${parts.join(':')} is empty`);
    if (LONE_SURROGATE.test(part)) throw invalid('a part of a session key has a lone surrogate');
  }
  return parts.map(escapePart).join(':');
};

const invalid = (message: string) => new TroupeError('INVALID_ARGUMENT', message);
