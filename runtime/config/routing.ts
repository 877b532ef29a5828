/**
 * Routing: which agent and which session a message of a messenger goes to, by the table of the
 * configuration. Pure. Channels and `troupe config route` use this function and no other one. The
 * hook `routeMessage` may choose another agent afterwards (agent/hooks/route-message.ts).
 *
 * Invariants:
 *  1. The first rule that matches decides: account, group or guild (by id, then `*`), sender, the
 *     channel's `*`, `routing.default`, the default agent.
 *  2. Two direct messages share a session only if `session.dmScope` says so: the parts of a key are
 *     injective (`personOf`, `keyPart`), whatever ids a service or a webhook sends.
 */
import { createHash } from 'node:crypto';
import type { AccountRef, InboundMessage, Route } from '../../protocols/channel.ts';
import { sessionKey } from '../../protocols/session-key.ts';
import { agentsOf } from './agents.ts';
import type { ChannelRouting, RouteRule } from './schema/agents.ts';
import type { Immutable } from './schema/fields.ts';
import type { Config } from './schema/schema.ts';

/** The parts of a message that decide where it goes. */
export type RoutedMessage = Pick<InboundMessage, 'chat' | 'sender'>;
export type TableRoute = Route & {
  /** of the rule that matched; absent: as the account says */
  readonly requireMention?: boolean;
};

/** By the table `agents.routing`. @param config as the tenant of the account has it */
export function routeByTable(
  config: Config,
  account: AccountRef,
  message: RoutedMessage,
): TableRoute {
  const { agent, rule, requireMention } = matched(config, account, message);
  return {
    agentId: agent,
    sessionKey: keyOf(config, agent, account, message),
    rule,
    ...(requireMention === undefined ? {} : { requireMention }),
  };
}

// ---- the agent

type Match = RouteRule & { readonly rule: string };

function matched(config: Config, account: AccountRef, message: RoutedMessage): Match {
  const { default: others, ...channels } = config.agents.routing;
  const rules = own(channels, account.channel);
  return (
    (rules && inChannel(rules, account, message)) ?? found('default', others) ?? standard(config)
  );
}

function inChannel(
  rules: Immutable<ChannelRouting>,
  { channel, account }: AccountRef,
  { chat, sender }: RoutedMessage,
): Match | undefined {
  const { accounts, guilds, groups } = rules;
  const guild = chat.guild === undefined ? undefined : guilds;
  const group = chat.kind === 'group' ? groups : undefined;
  return (
    found(`account ${account}`, own(accounts, account)) ??
    found(`group ${chat.id}`, own(group, chat.id)) ??
    found(`guild ${chat.guild}`, own(guild, chat.guild ?? '')) ??
    found('group *', own(group, '*')) ??
    found('guild *', own(guild, '*')) ??
    bySender(rules, sender) ??
    found(`${channel} *`, rules['*'])
  );
}

/** Keys of a channel's rules that name no sender. */
const OTHER_KEYS = new Set(['accounts', 'guilds', 'groups', '*']);

/** An id matches before a user name, which its owner can change. */
function bySender(
  rules: Immutable<ChannelRouting>,
  { id, username }: RoutedMessage['sender'],
): Match | undefined {
  const isRule = (key: string) => !OTHER_KEYS.has(key) && Object.hasOwn(rules, key);
  const isName = (key: string) =>
    isRule(key) && key.replace(/^@/, '').toLowerCase() === username?.toLowerCase();
  const byId = [id, `+${id}`].find(isRule);
  const key = byId ?? (username === undefined ? undefined : Object.keys(rules).find(isName));
  return key === undefined ? undefined : found(`sender ${key}`, rules[key]);
}

/** Whether a configured id names the sender; a telephone number may begin with `+`. */
export const isSenderId = (configured: string, id: string): boolean =>
  configured === id || configured === `+${id}`;

function standard(config: Config): Match {
  const agents = agentsOf(config);
  const chosen = agents.find((agent) => agent.default === true);
  const rule = chosen ? 'default agent' : 'first agent';
  return { agent: (chosen ?? agents[0]!).id, rule };
}

const found = (rule: string, route: RouteRule | undefined): Match | undefined =>
  route && { ...route, rule };

const own = <T>(map: Readonly<Record<string, T>> | undefined, key: string): T | undefined =>
  map && Object.hasOwn(map, key) ? map[key] : undefined;

// ---- the session

function keyOf(
  { session }: Config,
  agentId: string,
  { channel, account }: AccountRef,
  { chat, sender }: RoutedMessage,
): string {
  const { dmScope, mainKey, identityLinks } = session;
  if (chat.kind === 'dm') {
    const peerId = keyPart(personOf(identityLinks, channel, sender.id));
    return sessionKey.dm(agentId, dmScope, { peerId, channel, accountId: account, mainKey });
  }
  const group = keyPart(chat.id);
  return chat.thread === undefined
    ? sessionKey.group(agentId, channel, group)
    : sessionKey.topic(agentId, channel, group, keyPart(chat.thread));
}

/**
 * The name that `session.identityLinks` gives the sender, else its id. An id that could be read as
 * a name, or as an id of another channel, is preceded by its channel.
 */
function personOf(links: Config['session']['identityLinks'], channel: string, id: string): string {
  const peer = `${channel}:${id}`;
  const linked = Object.keys(links).find((name) =>
    links[name]?.some((one) => one === peer || one === `${channel}:+${id}`),
  );
  if (linked !== undefined) return linked;
  return id.includes(':') || Object.hasOwn(links, id) ? peer : id;
}

/**
 * Bytes of an id in a key. Two of them, with an agent, a channel and an account, fit into a key.
 */
const PART_BYTES_MAX = 144;
/** More than the longest escape of a character of a key. */
const ESCAPED = '%00%00';

/** The id, or a digest of one that a session key cannot contain. No id equals a digest. */
function keyPart(id: string): string {
  const bytes = Buffer.byteLength(id.replaceAll(/[%:\p{Cc}]/gu, ESCAPED));
  const isPlain = id !== '' && !id.startsWith('~') && !/\p{Surrogate}/u.test(id);
  if (isPlain && bytes <= PART_BYTES_MAX) return id;
  return `~${createHash('sha256').update(id, 'utf16le').digest('hex')}`;
}
