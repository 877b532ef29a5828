/**
 * OpenClaw's bindings as rules of `agents.routing`: a message goes to the agent that OpenClaw would
 * have chosen, or the report says that it does not.
 */
import fc from 'fast-check';
import { expect, it } from 'vitest';
import { type FoundBinding, routingOf } from '../../installation/openclaw/bindings.ts';
import { agentsIn } from '../../installation/openclaw/config-file.ts';
import { proposalOf } from '../../installation/openclaw/config-proposal.ts';
import type { Fields } from '../../installation/openclaw/found.ts';
import type { ChatRef } from '../../protocols/channel.ts';
import { routeByTable } from '../../runtime/config/index.ts';
import { load } from '../runtime/config/folder.ts';

type Match = {
  readonly channel: string;
  readonly accountId?: string;
  readonly peer?: { readonly kind: string; readonly id: string };
  readonly guildId?: string;
};
type Binding = { readonly agentId: string; readonly match: Match };
type Message = {
  account: string;
  kind: 'dm' | 'group';
  group: string;
  sender: string;
  guild?: string;
};

const AGENTS = ['main', 'a', 'b', 'c'];
const list = AGENTS.map((id) => ({ id }));

/** OpenClaw's choice: the most specific tier that has a match, and the first binding in it. */
function chosenThere(bindings: readonly Binding[], message: Message): string {
  const { account, kind, group, sender, guild } = message;
  const own = bindings.filter(
    ({ match: { accountId = 'default' } }) => accountId === '*' || accountId === account,
  );
  const isPeer = ({ match: { peer } }: Binding, id: string) =>
    peer?.id === id && (peer.kind === 'direct') === (kind === 'dm');
  const tiers = [
    (one: Binding) => isPeer(one, kind === 'dm' ? sender : group),
    (one: Binding) => isPeer(one, '*'),
    ({ match }: Binding) => kind === 'group' && guild !== undefined && match.guildId === guild,
    ({ match }: Binding) => isCoarse(match) && match.accountId !== '*',
    ({ match }: Binding) => isCoarse(match) && match.accountId === '*',
  ];
  for (const tier of tiers) {
    const found = own.find(tier);
    if (found) return found.agentId;
  }
  return 'main';
}
const isCoarse = ({ peer, guildId }: Match) => peer === undefined && guildId === undefined;

function chosenHere(rules: Fields, message: Message): string {
  const { account, kind, group, sender, guild } = message;
  const { config } = load(JSON.stringify({ agents: { list, routing: rules } }));
  const chat = (
    kind === 'dm' ? { kind, id: sender } : { kind, id: group, ...(guild ? { guild } : {}) }
  ) as ChatRef;
  return routeByTable(config, { channel: 'discord', account }, { chat, sender: { id: sender } })
    .agentId;
}

const binding = fc.record({
  agentId: fc.constantFrom(...AGENTS),
  match: fc.record(
    {
      channel: fc.constant('discord'),
      accountId: fc.constantFrom('default', 'work', '*'),
      peer: fc.record({
        kind: fc.constantFrom('direct', 'group', 'channel'),
        id: fc.constantFrom('1', '2', '*'),
      }),
      guildId: fc.constant('g'),
    },
    { requiredKeys: ['channel'] },
  ),
});
const message = fc.record(
  {
    account: fc.constantFrom('default', 'work'),
    kind: fc.constantFrom<'dm' | 'group'>('dm', 'group'),
    group: fc.constantFrom('1', '2', '3'),
    sender: fc.constantFrom('1', '2', '3'),
    guild: fc.constant('g'),
  },
  { requiredKeys: ['account', 'kind', 'group', 'sender'] },
);
const configOf = (bindings: readonly Binding[], accounts: readonly string[]) => ({
  agents: { list },
  bindings,
  channels: { discord: { accounts: Object.fromEntries(accounts.map((name) => [name, {}])) } },
});

it('a message goes to the agent that OpenClaw would choose, unless a row says otherwise', () => {
  let compared = 0;
  fc.assert(
    fc.property(
      fc.array(binding, { maxLength: 5 }),
      fc.constantFrom<readonly string[]>(['default'], ['default', 'work']),
      fc.array(message, { minLength: 1, maxLength: 4 }),
      (bindings, accounts, messages) => {
        const config = configOf(bindings, accounts);
        const { rules, bindings: rows } = routingOf(config, agentsIn(config));
        expect(rows).toHaveLength(bindings.length);
        // A later binding of the same messages has no effect in OpenClaw either.
        if (rows.some(({ note }) => note !== undefined && note !== EARLIER)) return;
        const isKnown = (account: string) =>
          accounts.includes(account) || bindings.some(({ match }) => match.accountId === account);
        for (const one of messages.filter(({ account }) => isKnown(account))) {
          compared++;
          expect(chosenHere(rules, one)).toBe(chosenThere(bindings, one));
        }
      },
    ),
    { numRuns: 300 },
  );
  expect(compared).toBeGreaterThan(100);
}, 60_000);
const EARLIER = 'an earlier binding decides';

const rowsOf = (bindings: readonly object[], more: Fields = {}): readonly FoundBinding[] => {
  const config = { agents: { list: [{ id: 'main' }, { id: 'Work' }] }, bindings, ...more };
  return proposalOf(config).bindings;
};
const match = (more: object) => ({ agentId: 'Work', match: { channel: 'telegram', ...more } });

it('maps each form, with agents and accounts in lower case', () => {
  const { config } = proposalOf({
    agents: { list: [{ id: 'main' }, { id: 'Work' }] },
    bindings: [
      match({ peer: { kind: 'group', id: -100 } }),
      match({ peer: { kind: 'direct', id: '42' } }),
      { agentId: 'Work', match: { channel: 'discord', guildId: '7', accountId: 'Two' } },
      { agentId: 'Work', match: { channel: 'slack', teamId: 'T1' } },
      { agentId: 'Work', match: { channel: 'whatsapp', accountId: '*' } },
    ],
    channels: { discord: { accounts: { One: {}, Two: {} } } },
  });
  expect(config).toMatchObject({
    agents: {
      routing: {
        telegram: {
          groups: { '-100': { agent: 'work' }, '*': { agent: 'main' } },
          42: { agent: 'work' },
        },
        discord: { guilds: { 7: { agent: 'work' } }, accounts: { one: { agent: 'main' } } },
        slack: { guilds: { T1: { agent: 'work' } } },
        whatsapp: { '*': { agent: 'work' } },
      },
    },
    channels: { discord: { accounts: { one: { enabled: false } } } },
  });
});

it.each([
  ['roles', match({ guildId: '7', roles: ['admin'] }), 'roles'],
  ['a topic', match({ peer: { kind: 'group', id: '-100:topic:7' } }), 'one topic'],
  ['another channel', { agentId: 'work', match: { channel: 'signal' } }, 'signal is not built in'],
  ['an ACP program', { ...match({}), type: 'acp' }, 'ACP'],
  ['an unknown agent', { agentId: 'none', match: { channel: 'slack' } }, 'no agent none'],
  ['nothing', {}, 'is missing'],
])('leaves out a binding of %s, and says why', (_, one, reason) => {
  expect(rowsOf([one])).toMatchObject([{ note: expect.stringContaining(reason) as string }]);
  expect(rowsOf([one])[0]).not.toHaveProperty('path');
});

it('a rule of an account comes first here, so what it hides is left out', () => {
  const rows = rowsOf([
    match({ accountId: 'a' }),
    match({ accountId: 'b' }),
    match({ accountId: '*', peer: { kind: 'group', id: '1' } }),
  ]);
  expect(rows.map(({ path }) => path?.join('.'))).toEqual([
    'telegram.accounts.a',
    'telegram.accounts.b',
    undefined,
  ]);
  expect(rows[2]!.note).toContain('account a, b has a rule of its own');
});
