/** Whether a message may reach an agent, and the rule that refuses it. */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { ADMISSION_RULES } from '../../../protocols/channel.ts';
import { admit } from '../../../runtime/config/index.ts';
import { load } from './folder.ts';

const policyOf = (text: string) =>
  load(`{ channels: { telegram: { accounts: { main: { token: 't', ${text} } } } } }`).config
    .channels.telegram!.accounts['main']!;
type Policy = Parameters<typeof admit>[1];
type Message = Parameters<typeof admit>[0];

const noneApproved = { isApproved: false };
const dm = (id: string): Message => ({
  chat: { kind: 'dm', id },
  sender: { id },
  mentionsAccount: false,
});
const inGroup = (
  id: string,
  more: { guild?: string; from?: string; mention?: boolean } = {},
): Message => ({
  chat: { kind: 'group', id, ...(more.guild === undefined ? {} : { guild: more.guild }) },
  sender: { id: more.from ?? '7' },
  mentionsAccount: more.mention ?? false,
});
const ruleOf = (
  text: string,
  message: Message,
  facts: Parameters<typeof admit>[2] = noneApproved,
) => {
  const admission = admit(message, policyOf(text), facts);
  return admission.pass ? 'pass' : admission.rule;
};

describe('a direct message', () => {
  it.each([
    ['', 'dm.pairing'],
    ["allowFrom: ['42']", 'pass'],
    ["allowFrom: ['+42']", 'pass'],
    ["allowFrom: ['*']", 'pass'],
    ["allowFrom: ['4', '421']", 'dm.pairing'],
    ["dmPolicy: 'allowlist'", 'dm.allowlist'],
    ["dmPolicy: 'allowlist', allowFrom: ['42']", 'pass'],
    ["dmPolicy: 'open'", 'pass'],
    ["dmPolicy: 'disabled', allowFrom: ['42', '*']", 'dm.disabled'],
  ])('of 42 with { %s }: %s', (text, expected) => {
    expect(ruleOf(text, dm('42'))).toBe(expected);
  });

  it('of an approved sender passes only while the policy is pairing', () => {
    const facts = { isApproved: true };
    expect(ruleOf('', dm('42'), facts)).toBe('pass');
    expect(ruleOf("dmPolicy: 'allowlist'", dm('42'), facts)).toBe('dm.allowlist');
    expect(ruleOf("dmPolicy: 'disabled'", dm('42'), facts)).toBe('dm.disabled');
  });
});

describe('a message in a group', () => {
  it.each([
    ['', inGroup('-1', { mention: true }), 'group.list'],
    [
      "groupPolicy: 'disabled', groups: { '*': {} }",
      inGroup('-1', { mention: true }),
      'group.disabled',
    ],
    ["groups: { '-1': {} }", inGroup('-1'), 'group.mention'],
    ["groups: { '-1': {} }", inGroup('-1', { mention: true }), 'pass'],
    ["groups: { '-1': { requireMention: false } }", inGroup('-1'), 'pass'],
    ["groups: { '-1': { requireMention: false }, '*': {} }", inGroup('-2'), 'group.mention'],
    ['groups: { acme: { requireMention: false } }', inGroup('-1', { guild: 'acme' }), 'pass'],
    ["groupPolicy: 'open', requireMention: false", inGroup('-1'), 'pass'],
    [
      "groupPolicy: 'open', groupAllowFrom: ['8']",
      inGroup('-1', { mention: true }),
      'group.sender',
    ],
    [
      "groupPolicy: 'open', groupAllowFrom: ['8']",
      inGroup('-1', { from: '8', mention: true }),
      'pass',
    ],
    [
      "groups: { '-1': { allowFrom: ['9'] } }, groupAllowFrom: ['8']",
      inGroup('-1', { from: '8', mention: true }),
      'group.sender',
    ],
  ])('with { %s }', (text, message, expected) => {
    expect(ruleOf(text, message)).toBe(expected);
  });

  it('is not admitted by a pairing, which is for direct messages', () => {
    const facts = { isApproved: true };
    expect(ruleOf("groupPolicy: 'open', groupAllowFrom: ['8']", inGroup('-1'), facts)).toBe(
      'group.sender',
    );
  });

  it('needs a mention as the group says, else the route, else the account', () => {
    const withRoute = (text: string, requireMention: boolean) =>
      ruleOf(text, inGroup('-1'), { ...noneApproved, requireMention });
    expect(withRoute("groups: { '-1': {} }", false)).toBe('pass');
    expect(withRoute("groups: { '-1': { requireMention: true } }", false)).toBe('group.mention');
    expect(withRoute("groups: { '-1': {} }, requireMention: false", true)).toBe('group.mention');
  });
});

describe('every policy', () => {
  const id = fc.constantFrom('1', '2', '*', '+1', 'g', 'h', 'w');
  const ids = fc.array(id, { maxLength: 3 });
  const policy = fc.record<Policy>({
    enabled: fc.constant(true),
    streaming: fc.constant('off'),
    mediaBytesMax: fc.constant(0),
    dmPolicy: fc.constantFrom('pairing', 'allowlist', 'open', 'disabled'),
    allowFrom: ids,
    groupPolicy: fc.constantFrom('allowlist', 'open', 'disabled'),
    groups: fc.dictionary(
      id,
      fc.record({ requireMention: fc.boolean(), allowFrom: ids }, { requiredKeys: [] }),
    ),
    groupAllowFrom: ids,
    requireMention: fc.boolean(),
  });
  const message: fc.Arbitrary<Message> = fc.record({
    chat: fc.record(
      { kind: fc.constantFrom('dm' as const, 'group' as const), id, guild: id },
      { requiredKeys: ['kind', 'id'] },
    ),
    sender: fc.record({ id: fc.constantFrom('1', '2', 'g') }),
    mentionsAccount: fc.boolean(),
  }) as never;
  const approved = fc.boolean();
  const rank = (pass: boolean) => (pass ? 1 : 0);

  it('refuses with a rule of the kind of the chat, and never when it is closed', () => {
    fc.assert(
      fc.property(policy, message, approved, (by, from, known) => {
        const admission = admit(from, by, { isApproved: known });
        if (!admission.pass) {
          expect(ADMISSION_RULES).toContain(admission.rule);
          expect(admission.rule.startsWith(`${from.chat.kind}.`)).toBe(true);
        }
        const closed = { ...by, dmPolicy: 'disabled', groupPolicy: 'disabled' } as const;
        expect(admit(from, closed, { isApproved: known }).pass).toBe(false);
      }),
    );
  });

  it('admits no less when a sender is added to a list or approved, or mentions the account', () => {
    fc.assert(
      fc.property(policy, message, approved, (by, from, known) => {
        const before = rank(admit(from, by, { isApproved: known }).pass);
        const allows = { ...by, allowFrom: [...by.allowFrom, from.sender.id] };
        const more = [
          admit(from, allows, { isApproved: known }),
          admit(from, by, { isApproved: true }),
          admit({ ...from, mentionsAccount: true }, by, { isApproved: known }),
        ];
        for (const { pass } of more) expect(rank(pass)).toBeGreaterThanOrEqual(before);
      }),
    );
  });

  it('admits a sender that no list names only if the chat is open to all', () => {
    fc.assert(
      fc.property(policy, message, (by, from) => {
        const stranger = { ...from, sender: { id: 'stranger' } };
        if (!admit(stranger, by, noneApproved).pass) return;
        const lists = [
          by.allowFrom,
          by.groupAllowFrom,
          ...Object.values(by.groups).map((g) => g.allowFrom ?? []),
        ];
        const isOpen =
          from.chat.kind === 'dm'
            ? by.dmPolicy === 'open' || by.allowFrom.includes('*')
            : lists.some((list) => list.length === 0 || list.includes('*'));
        expect(isOpen).toBe(true);
      }),
    );
  });
});
