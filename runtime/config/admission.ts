/**
 * Admission: whether a message of a messenger may reach an agent, by the policy of its account.
 * Pure. The first rule that refuses is named; only `dm.pairing` is answered to the sender.
 *
 * Direct messages: the policy, then the sender. Groups: the policy, the list of groups, the list of
 * senders, then whether the message mentions the account. The approval of a sender by a pairing
 * code holds for direct messages only.
 */
import type { Admission, AdmissionRule, InboundMessage } from '../../protocols/channel.ts';
import { isSenderId } from './routing.ts';
import type { AccountPolicy } from './schema/channels.ts';
import type { Immutable } from './schema/fields.ts';

type Policy = Immutable<AccountPolicy>;
export type AdmittedMessage = Pick<InboundMessage, 'chat' | 'sender' | 'mentionsAccount'>;

export type AdmissionFacts = {
  /** an operator approved the sender for this account */
  readonly isApproved: boolean;
  /** of the routing rule that matched; the entry of the group in the account comes first */
  readonly requireMention?: boolean | undefined;
};

export function admit(
  message: AdmittedMessage,
  policy: Policy,
  { isApproved, requireMention }: AdmissionFacts,
): Admission {
  const rule =
    message.chat.kind === 'dm'
      ? refusalOfDm(message.sender.id, policy, isApproved)
      : refusalInGroup(message, policy, requireMention);
  return rule === undefined ? { pass: true } : { pass: false, rule };
}

function refusalOfDm(
  senderId: string,
  { dmPolicy, allowFrom }: Policy,
  isApproved: boolean,
): AdmissionRule | undefined {
  if (dmPolicy === 'disabled') return 'dm.disabled';
  if (dmPolicy === 'open' || lists(allowFrom, senderId)) return undefined;
  if (dmPolicy === 'allowlist') return 'dm.allowlist';
  return isApproved ? undefined : 'dm.pairing';
}

function refusalInGroup(
  { chat, sender, mentionsAccount }: AdmittedMessage,
  policy: Policy,
  ofRoute: boolean | undefined,
): AdmissionRule | undefined {
  if (policy.groupPolicy === 'disabled') return 'group.disabled';
  const group = [chat.id, chat.guild, '*'].flatMap((id) =>
    id !== undefined && Object.hasOwn(policy.groups, id) ? [policy.groups[id]!] : [],
  )[0];
  if (group === undefined && policy.groupPolicy === 'allowlist') return 'group.list';
  const senders = group?.allowFrom ?? policy.groupAllowFrom;
  if (senders.length > 0 && !lists(senders, sender.id)) return 'group.sender';
  const needsMention = group?.requireMention ?? ofRoute ?? policy.requireMention;
  return needsMention && !mentionsAccount ? 'group.mention' : undefined;
}

const lists = (ids: readonly string[], senderId: string): boolean =>
  ids.some((id) => id === '*' || isSenderId(id, senderId));

/** Whether more than one person may write in direct messages, now or after a pairing. */
export const admitsMany = ({ enabled, dmPolicy, allowFrom }: Policy): boolean => {
  if (!enabled || dmPolicy === 'disabled') return false;
  return dmPolicy !== 'allowlist' || allowFrom.length > 1 || allowFrom.includes('*');
};
