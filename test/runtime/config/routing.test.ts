/**
 * Which agent and session a message goes to: the order of the rules, and keys that never collide.
 */
import { createHash } from 'node:crypto';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { AccountRef, ChatRef, ChannelSender } from '../../../protocols/channel.ts';
import { DM_SCOPES, type DmScope, parseSessionKey } from '../../../protocols/session-key.ts';
import { type Config, routeByTable } from '../../../runtime/config/index.ts';
import { load } from './folder.ts';

const main: AccountRef = { channel: 'telegram', account: 'main' };
const dm = (id: string, more: Partial<ChannelSender> = {}) => ({
  chat: { kind: 'dm', id } as ChatRef,
  sender: { id, ...more },
});
const inGroup = (id: string, more: Partial<ChatRef> = {}, sender = '7') => ({
  chat: { kind: 'group', id, ...more } as ChatRef,
  sender: { id: sender },
});

const AGENTS = `agents: [{ id: 'first' }, { id: 'standard', default: true }, { id: 'a' }, { id: 'b' },
  { id: 'c' }, { id: 'd' }, { id: 'e' }, { id: 'f' }, { id: 'g' }, { id: 'h' }]`;
const TABLE = `{ ${AGENTS}, routing: {
  default: { agent: 'h' },
  telegram: {
    accounts: { work: { agent: 'a', requireMention: false } },
    groups: { '-100': { agent: 'b' }, '*': { agent: 'd', requireMention: true } },
    guilds: { acme: { agent: 'c' }, '*': { agent: 'e' } },
    '42': { agent: 'f' }, '@Boss': { agent: 'f' }, '+849': { agent: 'f' },
    '*': { agent: 'g' },
  },
  discord: { guilds: { '*': { agent: 'e' } } },
} }`;

describe('the table', () => {
  const byTable = (of: AccountRef, message: Parameters<typeof routeByTable>[2]) =>
    routeByTable(load(`{ agents: ${TABLE} }`).config, of, message);
  const agentAndRule = (of: AccountRef, message: Parameters<typeof routeByTable>[2]) => {
    const { agentId, rule } = byTable(of, message);
    return [agentId, rule];
  };

  it.each([
    [
      'an account before a group',
      { ...main, account: 'work' },
      inGroup('-100'),
      'a',
      'account work',
    ],
    [
      'a group by its id before its guild',
      main,
      inGroup('-100', { guild: 'acme' }),
      'b',
      'group -100',
    ],
    [
      'a guild by its id before any group',
      main,
      inGroup('-5', { guild: 'acme' }),
      'c',
      'guild acme',
    ],
    ['any group before any guild', main, inGroup('-5', { guild: 'x' }), 'd', 'group *'],
    [
      'any guild before the sender',
      { ...main, channel: 'discord' },
      inGroup('5', { guild: 'x' }),
      'e',
      'guild *',
    ],
    ['a sender by id', main, dm('42'), 'f', 'sender 42'],
    ['a sender by user name', main, dm('9', { username: 'boss' }), 'f', 'sender @Boss'],
    ['a sender by telephone number', main, dm('849'), 'f', 'sender +849'],
    ['the rest of the channel', main, dm('8', { username: '*' }), 'g', 'telegram *'],
    ['the default of the table', { ...main, channel: 'slack' }, dm('42'), 'h', 'default'],
    [
      'the default for a channel that is named default',
      { ...main, channel: 'default' },
      dm('agent'),
      'h',
      'default',
    ],
  ])('chooses %s', (_, of, message, agent, rule) => {
    expect(agentAndRule(of, message)).toEqual([agent, rule]);
  });

  it('says whether the rule that matched needs a mention', () => {
    const needs = (of: AccountRef, message: Parameters<typeof routeByTable>[2]) =>
      byTable(of, message).requireMention;
    expect(needs({ ...main, account: 'work' }, inGroup('-100'))).toBe(false);
    expect(needs(main, inGroup('-5'))).toBe(true);
    expect(needs(main, inGroup('-100'))).toBeUndefined();
  });

  it('falls back to the default agent, then to the first one', () => {
    const ruleOf = (text: string) => {
      const { agentId, rule } = routeByTable(load(text).config, main, dm('1'));
      return [agentId, rule];
    };
    expect(ruleOf(`{ agents: { ${AGENTS} } }`)).toEqual(['standard', 'default agent']);
    expect(ruleOf("{ agents: { list: [{ id: 'x' }, { id: 'y' }] } }")).toEqual([
      'x',
      'first agent',
    ]);
    expect(ruleOf('{}')).toEqual(['main', 'first agent']);
  });

  it('has no names that a sender could use to match an inherited property', () => {
    for (const id of ['constructor', '__proto__', 'toString', 'accounts', 'groups'])
      expect(agentAndRule(main, dm(id, { username: id }))).toEqual(['g', 'telegram *']);
  });
});

const scoped = (dmScope: DmScope, links = '{}'): Config =>
  load(`{ session: { dmScope: '${dmScope}', identityLinks: ${links}, mainKey: 'home' } }`).config;
const keyIn = (config: Config, message: Parameters<typeof routeByTable>[2], of = main) =>
  routeByTable(config, of, message).sessionKey;

describe('the session key', () => {
  it('follows dmScope', () => {
    expect(DM_SCOPES.map((scope) => keyIn(scoped(scope), dm('42')))).toEqual([
      'agent:main:home',
      'agent:main:dm:42',
      'agent:main:telegram:dm:42',
      'agent:main:telegram:main:dm:42',
    ]);
  });

  it('names groups and topics', () => {
    const config = scoped('main');
    expect(keyIn(config, inGroup('-100'))).toBe('agent:main:telegram:group:-100');
    expect(keyIn(config, inGroup('-100', { thread: '7' }))).toBe(
      'agent:main:telegram:group:-100:topic:7',
    );
  });

  it('joins the channels of a person by identity links, in every scope but main', () => {
    const links = "{ alice: ['telegram:42', 'discord:77', 'whatsapp:+849'] }";
    const discord = { channel: 'discord', account: 'main' };
    const perPeer = scoped('per-peer', links);
    expect(keyIn(perPeer, dm('42'))).toBe('agent:main:dm:alice');
    expect(keyIn(perPeer, dm('77'), discord)).toBe('agent:main:dm:alice');
    expect(keyIn(perPeer, dm('849'), { ...main, channel: 'whatsapp' })).toBe('agent:main:dm:alice');
    expect(keyIn(perPeer, dm('77'))).toBe('agent:main:dm:77');
    expect(keyIn(scoped('per-channel-peer', links), dm('42'))).toBe('agent:main:telegram:dm:alice');
    expect(keyIn(scoped('main', links), dm('42'))).toBe('agent:main:home');
  });

  it('never takes a sender for a person whose name it uses as its id', () => {
    const config = scoped('per-peer', "{ alice: ['telegram:42'] }");
    const webhook = { channel: 'webhook', account: 'main' };
    expect(keyIn(config, dm('alice'), webhook)).toBe('agent:main:dm:webhook%3Aalice');
    expect(keyIn(config, dm('webhook:alice'))).toBe('agent:main:dm:telegram%3Awebhook%3Aalice');
    expect(keyIn(config, dm('\ud800'))).not.toBe(keyIn(config, dm('\ud801')));
  });

  const DIGEST_OF_NOTHING = `~${createHash('sha256').digest('hex')}`;
  const id = fc.oneof(
    fc.constantFrom('alice', 'alic', 'telegram:42', '', DIGEST_OF_NOTHING, '42', '+42'),
    fc.string({ unit: 'binary', maxLength: 200 }),
    fc.string({
      unit: fc.constantFrom('%', ':', '\u0085', 'ễ', '\ud800', '\ud801', 'a'),
      maxLength: 300,
    }),
  );
  const account = fc.record({
    channel: fc.constantFrom('telegram', 'discord', 'dm', 'group', 'main'),
    account: fc.constantFrom('main', 'dm', 'group', 'work'),
  });
  const message = fc.record({
    of: account,
    kind: fc.constantFrom('dm', 'group' as const),
    id,
    sender: id,
    thread: fc.option(id, { nil: undefined }),
  });
  type Message = {
    of: AccountRef;
    kind: string;
    id: string;
    sender: string;
    thread: string | undefined;
  };
  const FIELDS: (keyof Message)[] = ['of', 'kind', 'id', 'sender', 'thread'];
  const LINKED: Record<string, string> = { 'telegram:42': 'alice', 'discord:42': 'alice' };

  /** What must differ, independent of how keys are made. */
  const identityOf = (
    scope: DmScope,
    { of, kind, id: group, sender, thread }: Message,
  ): unknown[] => {
    if (kind === 'group') return ['group', of.channel, group, thread ?? null];
    if (scope === 'main') return ['main'];
    const person = LINKED[`${of.channel}:${sender}`];
    const peer = person === undefined ? ['id', sender] : ['person', person];
    if (scope === 'per-peer') return ['dm', ...peer];
    const place = scope === 'per-channel-peer' ? [of.channel] : [of.channel, of.account];
    return ['dm', ...place, ...peer];
  };

  it.each(DM_SCOPES)('is shared exactly by what belongs together (%s)', (scope) => {
    const config = scoped(scope, "{ alice: ['telegram:42', 'discord:42'] }");
    const keyOf = ({ of, kind, id: group, sender, thread }: Message) =>
      keyIn(
        config,
        {
          chat: { kind, id: group, ...(thread === undefined ? {} : { thread }) } as ChatRef,
          sender: { id: sender },
        },
        of,
      );
    fc.assert(
      fc.property(message, message, fc.subarray(FIELDS), (one, rest, fields) => {
        // similar messages, which are more likely to collide
        const other = { ...one, ...Object.fromEntries(fields.map((key) => [key, rest[key]])) };
        const belong =
          JSON.stringify(identityOf(scope, one)) === JSON.stringify(identityOf(scope, other));
        // ids that were made unambiguous by their channel differ between channels
        const isQualified = (text: string) => text.includes(':') || text === 'alice';
        fc.pre(!(belong && scope === 'per-peer' && isQualified(one.sender)));
        expect(keyOf(one) === keyOf(other)).toBe(belong);
        expect(parseSessionKey(keyOf(one)).type).toBe(
          one.kind === 'dm'
            ? scope === 'main'
              ? 'main'
              : 'dm'
            : one.thread === undefined
              ? 'group'
              : 'topic',
        );
      }),
      { numRuns: 2_000 },
    );
  });
});
