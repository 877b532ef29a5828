/**
 * The rules of the configuration: who may write to an account, and which session a message goes to.
 */
import { type Admission, type InboundMessage, type Route } from '../../protocols/channel.ts';
import { sessionKey } from '../../protocols/session-key.ts';
import { type Config, defaultAgent, tenantConfig } from '../../runtime/config/index.ts';
import type { AccountSettings } from './account-settings.ts';
import type { ChannelRules } from './open-account.ts';

export const configuredRules = (config: Config): ChannelRules => ({
  admit: ({ settings }, message, isApproved) =>
    message.chat.kind === 'dm'
      ? admitDirect(settings, message, isApproved)
      : admitGroup(settings, message),
  route: (of, message) => routeOf(tenantConfig(config, of.tenant), of, message),
});

const PASS: Admission = { pass: true };
type Settings = AccountSettings['settings'];

function admitDirect(
  { dmPolicy, allowFrom }: Settings,
  { sender }: InboundMessage,
  isApproved: boolean,
): Admission {
  if (dmPolicy === 'disabled') return { pass: false, rule: 'dm.disabled' };
  if (dmPolicy === 'open' || allowFrom.includes(sender.id)) return PASS;
  if (dmPolicy === 'allowlist') return { pass: false, rule: 'dm.allowlist' };
  return isApproved ? PASS : { pass: false, rule: 'dm.pairing' };
}

function admitGroup(
  settings: Settings,
  { chat, sender, mentionsAccount }: InboundMessage,
): Admission {
  const { groupPolicy, groups, groupAllowFrom, requireMention } = settings;
  const group = groups[chat.id] ?? groups['*'];
  if (groupPolicy === 'disabled') return { pass: false, rule: 'group.disabled' };
  if (groupPolicy === 'allowlist' && !group) return { pass: false, rule: 'group.list' };
  const senders = group?.allowFrom ?? groupAllowFrom;
  if (senders.length > 0 && !senders.includes(sender.id))
    return { pass: false, rule: 'group.sender' };
  const needsMention = group?.requireMention ?? requireMention;
  return needsMention && !mentionsAccount ? { pass: false, rule: 'group.mention' } : PASS;
}

function routeOf(
  config: Config,
  { channel, account: accountId }: AccountSettings,
  { chat, sender }: InboundMessage,
): Route {
  const agentId = defaultAgent(config).id;
  const { dmScope, mainKey } = config.session;
  const peer = { peerId: sender.id, channel, accountId, mainKey };
  const key =
    chat.kind === 'dm'
      ? sessionKey.dm(agentId, dmScope, peer)
      : chat.thread === undefined
        ? sessionKey.group(agentId, channel, chat.id)
        : sessionKey.topic(agentId, channel, chat.id, chat.thread);
  return { agentId, sessionKey: key, rule: 'default' };
}
