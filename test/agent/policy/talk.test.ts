/**
 * Access to the sessions of other agents: generated configurations against the table of
 * docs/agent-talk.md. The test reads rows, order and marks from that table and contains only the
 * meaning of each row. A difference between code and docs fails the test.
 */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  type Access,
  type AgentTalk,
  type HistoryLevel,
  judge,
  type Talked,
  type Talker,
  type TalkRules,
} from '../../../agent/policy/talk.ts';
import { NO_TALK } from '../../servers/talk-rules.ts';

type World = { readonly rules: TalkRules; readonly who: Talker; readonly what: Talked };

/** The decision of a row about a case: `no`, `yes`, or none. */
type Meaning = {
  readonly row: RegExp;
  readonly says: (world: World) => 'no' | 'yes' | undefined;
  /** the key that a refusal names; none for rows that only allow */
  readonly place?: (world: World) => string;
  /** changes an allowed case so that only this row refuses it */
  readonly closed?: (open: World) => World;
};

const said = (no: boolean) => (no ? 'no' : undefined);
const has = (list: readonly string[] | undefined, id: string) =>
  list === undefined || list.includes('*') || list.includes(id);
/** Only own properties: `constructor` of the prototype is not a key of the configuration. */
const own = <T>(of: Readonly<Record<string, T>>, key: string): T | undefined =>
  Object.entries(of).find(([name]) => name === key)?.[1];
const word = ({ rules }: World, id: string): AgentTalk => own(rules.agents, id) ?? {};
const levelOf = (world: World): HistoryLevel => {
  const levels = word(world, world.what.agentId).historyAccess ?? {};
  return own(levels, world.who.agentId) ?? own(levels, '*') ?? 'none';
};
const isNear = ({ who, what }: World) =>
  what.sessionKey === who.sessionKey || what.spawnedBy === who.sessionKey;

const changed = (world: World, rules: Partial<TalkRules>): World => ({
  ...world,
  rules: { ...world.rules, ...rules },
});
const withWord = (world: World, id: string, talk: AgentTalk): World =>
  changed(world, { agents: { ...world.rules.agents, [id]: { ...word(world, id), ...talk } } });

const MEANINGS: readonly Meaning[] = [
  {
    row: /^sandboxed session, visibility `spawned`/,
    says: (world) =>
      said(world.who.sandboxed && world.rules.visibility === 'spawned' && !isNear(world)),
    place: () => 'agents.defaults.sandbox.sessionToolsVisibility',
    closed: (open) =>
      changed(
        { ...open, who: { ...open.who, sandboxed: true } },
        {
          visibility: 'spawned',
        },
      ),
  },
  {
    row: /^a session that the caller spawned, or the caller's own/,
    says: (world) => (isNear(world) ? 'yes' : undefined),
  },
  {
    row: /^same agent/,
    says: ({ who, what }) => (who.agentId === what.agentId ? 'yes' : undefined),
  },
  {
    row: /^`tools\.agentToAgent\.enabled`/,
    says: ({ rules }) => said(!rules.enabled),
    place: () => 'tools.agentToAgent.enabled',
    closed: (open) => changed(open, { enabled: false }),
  },
  {
    row: /^`tools\.agentToAgent\.allow`/,
    says: ({ rules, who, what }) =>
      said(
        rules.allow !== undefined &&
          !rules.allow.some(({ from, to }) => has([from], who.agentId) && has([to], what.agentId)),
      ),
    place: () => 'tools.agentToAgent.allow',
    // An entry for the other direction alone is not enough.
    closed: (open) => changed(open, { allow: [{ from: open.what.agentId, to: open.who.agentId }] }),
  },
  {
    row: /^`a2a\.allowOutgoing` of the acting agent/,
    says: (world) => said(!has(word(world, world.who.agentId).allowOutgoing, world.what.agentId)),
    place: ({ who }) => `agents.agents[${who.agentId}].a2a.allowOutgoing`,
    closed: (open) => withWord(open, open.who.agentId, { allowOutgoing: [open.who.agentId] }),
  },
  {
    row: /^`a2a\.allowIncoming` of the other agent/,
    says: (world) => said(!has(word(world, world.what.agentId).allowIncoming, world.who.agentId)),
    place: ({ what }) => `agents.agents[${what.agentId}].a2a.allowIncoming`,
    closed: (open) => withWord(open, open.what.agentId, { allowIncoming: [] }),
  },
  {
    row: /^`a2a\.historyAccess` of the other agent, by reader, then `\*`; default none/,
    says: (world) => said(levelOf(world) === 'none'),
    place: ({ what }) => `agents.agents[${what.agentId}].a2a.historyAccess`,
    closed: (open) =>
      withWord(open, open.what.agentId, {
        historyAccess: { '*': 'full', [open.who.agentId]: 'none' },
      }),
  },
  {
    row: /^`subagents\.allowAgents` of the acting agent; default itself/,
    says: (world) => {
      const { who, what } = world;
      return said(!has(word(world, who.agentId).allowAgents ?? [who.agentId], what.agentId));
    },
    place: ({ who }) => `agents.agents[${who.agentId}].subagents.allowAgents`,
    closed: (open) => withWord(open, open.who.agentId, { allowAgents: [open.who.agentId] }),
  },
];

const ACCESSES: readonly Access[] = ['list', 'history', 'send', 'spawn'];
type Row = Meaning & { readonly text: string; readonly marks: Readonly<Record<Access, string>> };

/** The table as in the docs, each row with its meaning. */
function table(): readonly Row[] {
  const file = join(import.meta.dirname, '../../../docs/agent-talk.md');
  const lines = readFileSync(file, 'utf8').split('\n');
  const cells = (line: string) =>
    line
      .split('|')
      .slice(1, -1)
      .map((cell) => cell.trim());
  const head = lines.findIndex((line) => line.startsWith('| rule | list |'));
  expect(cells(lines[head]!)).toEqual(['rule', ...ACCESSES]);
  const end = lines.findIndex((line, at) => at > head && !line.startsWith('|'));
  return lines.slice(head + 2, end).map((line) => {
    const [text = '', ...marks] = cells(line);
    const meant = MEANINGS.filter(({ row }) => row.test(text));
    expect(meant, `what this row means: ${text}`).toHaveLength(1);
    const byAccess = ACCESSES.map((access, at) => [access, marks[at] ?? '']);
    return { ...meant[0]!, text, marks: Object.fromEntries(byAccess) as Row['marks'] };
  });
}
const ROWS = table();

/** The row of the table that refuses, or undefined. */
function byTheTable(world: World, access: Access): Row | undefined {
  for (const row of ROWS) {
    const says = row.marks[access] ? row.says(world) : undefined;
    if (says === 'yes') return undefined;
    if (says === 'no') return row;
  }
  return undefined;
}

/** How much of a history may be read, if it may be read. */
const levelByTheTable = (world: World): HistoryLevel =>
  isNear(world) || world.who.agentId === world.what.agentId ? 'full' : levelOf(world);

// ---- generated configurations

/** `zed` is configured nowhere; `constructor` is an id like any other. */
const ids = fc.constantFrom('ann', 'bob', 'constructor', 'zed');
const list = fc.option(fc.uniqueArray(fc.constantFrom('ann', 'bob', 'constructor', '*')), {
  nil: undefined,
});
const levels = fc.constantFrom<HistoryLevel>('none', 'summary', 'full');
const given = <T extends object>(value: T): T =>
  Object.fromEntries(Object.entries(value).filter(([, one]) => one !== undefined)) as T;

const talk: fc.Arbitrary<AgentTalk> = fc
  .record({
    allowIncoming: list,
    allowOutgoing: list,
    historyAccess: fc.option(
      fc.dictionary(fc.constantFrom('ann', 'bob', 'constructor', '*'), levels, {
        noNullPrototype: true,
      }),
      { nil: undefined },
    ),
    allowAgents: list,
  })
  .map((value) => given(value) as AgentTalk);

const ends = fc.constantFrom('ann', 'bob', 'constructor', '*');
const rules: fc.Arbitrary<TalkRules> = fc
  .record({
    enabled: fc.oneof({ weight: 3, arbitrary: fc.constant(true) }, fc.constant(false)),
    allow: fc.option(fc.array(fc.record({ from: ends, to: ends }), { maxLength: 4 }), {
      nil: undefined,
    }),
    visibility: fc.constantFrom('spawned' as const, 'all' as const),
    agents: fc.record({ ann: talk, bob: talk, constructor: talk }, { requiredKeys: [] }),
  })
  .map((value) => given({ ...NO_TALK, ...value }) as unknown as TalkRules);

const worlds: fc.Arbitrary<World> = fc
  .record({
    rules,
    from: ids,
    to: ids,
    sandboxed: fc.boolean(),
    kin: fc.constantFrom('none', 'none', 'spawned by it', 'spawned by another', 'its own'),
    hasKey: fc.boolean(),
  })
  .map(({ rules: all, from, to, sandboxed, kin, hasKey }) => {
    const who = { agentId: from, sessionKey: `agent:${from}:main`, sandboxed };
    if (kin === 'its own')
      return { rules: all, who, what: { agentId: from, sessionKey: who.sessionKey } };
    const what: Talked = {
      agentId: to,
      ...(hasKey ? { sessionKey: `agent:${to}:web` } : {}),
      ...(kin === 'spawned by it' ? { spawnedBy: who.sessionKey } : {}),
      ...(kin === 'spawned by another' ? { spawnedBy: `agent:${from}:other` } : {}),
    };
    return { rules: all, who, what };
  });

describe('the policy', () => {
  it('decides thousands of generated configurations as the table in the docs does', () => {
    const seen = new Map<string, number>();
    const count = (what: string) => seen.set(what, (seen.get(what) ?? 0) + 1);
    fc.assert(
      fc.property(worlds, fc.constantFrom(...ACCESSES), (world, access) => {
        const verdict = judge(world.rules, world.who, world.what, access);
        const row = byTheTable(world, access);
        if (row) {
          expect(verdict).toMatchObject({ allowed: false, rule: row.place!(world) });
          count(`${access}: ${row.text}`);
        } else {
          const level = access === 'history' ? levelByTheTable(world) : 'full';
          expect(verdict).toEqual({ allowed: true, level });
          count(`${access}: ${level}`);
        }
      }),
      { seed: 6, numRuns: 20_000 },
    );
    const refusals = ROWS.flatMap(({ text, marks }) =>
      ACCESSES.filter((access) => marks[access] === '×').map((access) => `${access}: ${text}`),
    );
    const rare = [...refusals, ...ACCESSES.map((access) => `${access}: full`), 'history: summary']
      .map((what) => [what, seen.get(what) ?? 0] as const)
      .filter(([, times]) => times < 20);
    expect(rare, 'cases that the generator rarely creates').toEqual([]);
  });

  const open: World = {
    rules: {
      ...NO_TALK,
      enabled: true,
      visibility: 'all',
      agents: { ann: { allowAgents: ['*'] }, bob: { historyAccess: { '*': 'full' } } },
    },
    who: { agentId: 'ann', sessionKey: 'agent:ann:main', sandboxed: false },
    what: { agentId: 'bob', sessionKey: 'agent:bob:main' },
  };
  const cases = ROWS.flatMap((row) =>
    ACCESSES.filter((access) => row.marks[access] === '×').map((access) => ({
      row: row.text.replaceAll('`', ''),
      access,
      closed: row.closed,
      place: row.place,
    })),
  );

  it.each(ACCESSES)('allows %s in an open configuration', (access) => {
    expect(judge(open.rules, open.who, open.what, access)).toEqual({
      allowed: true,
      level: 'full',
    });
  });

  it.each(cases)('refuses $access when only this rule refuses it: $row', (one) => {
    const { rules: closed, who, what } = one.closed!(open);
    expect(judge(closed, who, what, one.access)).toMatchObject({
      allowed: false,
      rule: one.place!(open),
      why: expect.stringMatching(/; (add|set|give|'all' lets)/),
    });
  });

  it('has no rule that the table lacks', () => {
    expect(MEANINGS.map(({ row }) => ROWS.filter(({ text }) => row.test(text)).length)).toEqual(
      MEANINGS.map(() => 1),
    );
    for (const { text, marks, place } of ROWS) {
      const used = Object.values(marks).join('');
      expect(used, `marks of: ${text}`).toMatch(place ? /^×+$/ : /^✓+$/);
    }
  });

  it('prefers the entry for one reader to the entry for all others', () => {
    const level = (historyAccess: AgentTalk['historyAccess'] & object) => {
      const { rules: all, who, what } = withWord(open, 'bob', { historyAccess });
      const verdict = judge(all, who, what, 'history');
      return verdict.allowed ? verdict.level : 'none';
    };
    expect(level({ ann: 'none', '*': 'full' })).toBe('none');
    expect(level({ ann: 'summary', '*': 'full' })).toBe('summary');
    expect(level({ cid: 'full', '*': 'summary' })).toBe('summary');
    expect(level({ cid: 'full' })).toBe('none');
  });
});
