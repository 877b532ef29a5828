/**
 * Limits on what agents may spawn, in a whole installation with concurrent spawns: no sequence
 * exceeds a limit, every refusal is a row that names its rule, and all subagents end.
 */
import fc from 'fast-check';
import { expect, it } from 'vitest';
import { defined } from '../../protocols/defined.ts';
import type { RunRow, SessionRow } from '../../protocols/session.ts';
import type { SubagentRow } from '../../protocols/subagent.ts';
import { eventually } from '../runtime/eventually.ts';
import type { Plan } from '../servers/scripted-server.ts';
import type { Installation } from './installation.ts';
import {
  gate,
  play,
  resultsOf,
  rowsOf,
  type Said,
  says,
  settled,
  subagentsOf,
  type Turn,
  wants,
} from './scripted-agents.ts';

const MAIN = 'agent:main:main';
const REPORTS = '[Results of subagents]';

/**
 * The script of an agent: it spawns these subagents, one answer of calls after another, and then
 * answers.
 */
type Work = {
  /** its position in the tree: the parent's position, a dot, its number */
  readonly name?: string;
  readonly rounds?: readonly (readonly Work[])[];
  readonly wait?: boolean;
  /** of each model call; the input is 11 more */
  readonly outputTokens?: number;
  readonly maxTokens?: number;
};

const spawnOf = (work: Work) => {
  const { wait = false, maxTokens } = work;
  const args = { task: JSON.stringify(work), wait, ...(maxTokens ? { maxTokens } : {}) };
  return ['sessions_spawn', args] as const;
};
/** Each script of a tree by its name. */
const named = (work: Work, name = 'w'): Work => {
  const rounds = work.rounds?.map((round, r) =>
    round.map((one, n) => named(one, `${name}.${r}-${n}`)),
  );
  return { ...work, name, ...defined({ rounds }) };
};
const workOf = ({ parts }: Turn): Work =>
  JSON.parse(parts.find(({ text }) => text.startsWith('{'))!.text) as Work;

/** An agent with a script, as JSON; each round is one answer with several calls. */
function worker({ said, parts }: Turn): Plan {
  const given = parts.findLastIndex(({ kind, text }) => kind === 'said' && text.startsWith('{'));
  const { rounds = [], outputTokens = 7 } = JSON.parse(parts[given]!.text) as Work;
  const usage = { inputTokens: 11, outputTokens };
  const done = parts.slice(given + 1).filter(({ kind }) => kind === 'answer').length;
  const last = said.startsWith(REPORTS) ? 'NO_REPLY' : `done after round ${done}`;
  const plan = rounds[done] ? wants(...rounds[done].map(spawnOf)) : says(last);
  return { ...plan, usage } as Plan;
}

const openLists = { allowlist: ['read', 'sessions_spawn'], denylist: [] };
const limited = (spawnDefaults: object, sandbox: object = {}) => ({
  agents: { spawnDefaults: { ...spawnDefaults, sandbox: { ...openLists, ...sandbox } } },
});
const isRefused = ({ status }: SubagentRow): boolean => status === 'refused';

/**
 * All refusals that any session received. Each is a row, and each row was received, unless a run of
 * the session was ended during its calls.
 */
async function refusalsOf(troupe: Installation): Promise<readonly Said[]> {
  const all: Said[] = [];
  for (const { sessionKey } of rowsOf<SessionRow>(troupe, 'sessions')) {
    const results = await resultsOf(troupe, sessionKey);
    const ended = results.filter(({ status }) => status === 'refused');
    const rows = subagentsOf(troupe).filter((row) => isRefused(row) && row.parent === sessionKey);
    const runs = rowsOf<RunRow>(troupe, 'runs').filter((row) => row.sessionKey === sessionKey);
    const reasons = rows.map(({ reason }) => reason);
    expect(reasons).toEqual(expect.arrayContaining(ended.map(({ error }) => error)));
    if (runs.every(({ status }) => status === 'ok')) expect(ended).toHaveLength(rows.length);
    else expect(ended.length).toBeLessThanOrEqual(rows.length);
    all.push(...ended);
  }
  return all;
}

/**
 * No agent has more active subagents than its limit. A subagent that received the slot of another
 * one calls its model after the last call of the other one, so the order of requests shows which
 * were active at the same time.
 */
function expectPlaces(turns: readonly Turn[], places: number): void {
  const names = turns.map((turn) => workOf(turn).name!);
  const spans = [...new Set(names)].map((name) => ({
    parent: name.slice(0, Math.max(0, name.lastIndexOf('.'))),
    from: names.indexOf(name),
    to: names.lastIndexOf(name),
  }));
  for (const { parent, from } of spans.filter(({ parent: of }) => of !== '')) {
    const beside = spans.filter(
      (one) => one.parent === parent && one.from <= from && one.to >= from,
    );
    expect(beside.length, `at work under ${parent}`).toBeLessThanOrEqual(places);
  }
}

it('three subagents run, twenty wait, the twenty-fourth is refused', async () => {
  const hold = gate();
  const works = Array.from({ length: 26 }, (_, n): Work => ({ maxTokens: 1_000 + n }));
  const { troupe, turns } = await play('anthropic-messages', async (turn) => {
    if (turn.isSubagent) await hold.opened;
    return worker(turn);
  });
  await troupe.run(MAIN, JSON.stringify(named({ rounds: [works] })));
  await eventually(() => expect(turns().filter(({ isSubagent }) => isSubagent)).toHaveLength(3));
  const before = subagentsOf(troupe);
  const count = (status: string) => before.filter((row) => row.status === status).length;
  expect([count('running'), count('reserved'), count('refused')]).toEqual([3, 20, 3]);
  const refused = await refusalsOf(troupe);
  expect(refused.map(({ rule }) => rule)).toEqual(['waiting', 'waiting', 'waiting']);
  hold.open();
  const { subagents } = await settled(troupe);
  const done = subagents.filter((row) => !isRefused(row));
  expect(done.map(({ status }) => status)).toEqual(Array.from({ length: 23 }, () => 'completed'));
  expectPlaces(turns(), 3);
});

it.each<[string, object, object, Work, number]>([
  ['depth', { maxSpawnDepth: 1 }, {}, {}, 2],
  ['perSession', { maxSpawnsPerSession: 2 }, {}, {}, 1],
  ['perTree', { maxSpawnsPerTree: 1 }, {}, {}, 1],
  ['tokens', { maxTokensPerTree: 5_000 }, { maxTokens: 4_500 }, {}, 1],
  ['cost', { maxCostPerTreeUsd: 0.002, maxCostUsd: 0.0015 }, {}, {}, 1],
])('a spawn past %s is refused, and the row says which limit', async (rule, limits, sandbox) => {
  const { troupe } = await play('anthropic-messages', worker, limited(limits, sandbox));
  const works = Array.from({ length: 3 }, (): Work => ({}));
  await troupe.run(MAIN, JSON.stringify(named({ rounds: [works] })));
  await settled(troupe);
  const refused = await refusalsOf(troupe);
  expect(refused.length).toBeGreaterThan(0);
  for (const one of refused) expect(one['rule']).toBe(rule);
  const rows = subagentsOf(troupe).filter(isRefused);
  for (const { reason, tokens, endedAt } of rows) {
    expect(reason).toContain('agents.spawnDefaults.');
    expect([tokens, endedAt === undefined]).toEqual([0, false]);
  }
});

it('an endless subagent is stopped by its turn, token and time limits', async () => {
  const forever = (turn: Turn): Plan => {
    if (!turn.isSubagent) return worker(turn);
    const { outputTokens = 7 } = JSON.parse(turn.said) as Work;
    const args = { path: `page-${turn.request}.txt` };
    const usage = { inputTokens: 11, outputTokens };
    return { ...wants(['read', args]), usage } as Plan;
  };
  const ends = async (spawnDefaults: object, sandbox: object, work: Work) => {
    const { troupe, turns } = await play(
      'anthropic-messages',
      forever,
      limited(spawnDefaults, sandbox),
    );
    await troupe.run(MAIN, JSON.stringify(named({ rounds: [[{ wait: true, ...work }]] })));
    const { subagents } = await settled(troupe);
    const asked = turns().filter(({ isSubagent }) => isSubagent).length;
    return { row: subagents[0]!, asked };
  };
  const turns = await ends({ maxTurns: 4 }, {}, {});
  expect(turns.asked).toBe(4);
  expect(turns.row).toMatchObject({ status: 'failed', reported: 'waited' });
  const tokens = await ends({}, {}, { maxTokens: 2_000, outputTokens: 900 });
  // three calls of 911 exceed 2,000: the limit is exceeded by one call at most
  expect(tokens.asked).toBe(3);
  expect(tokens.row).toMatchObject({ status: 'failed', tokens: 2_000 });
});

const LIMITS = {
  maxSpawnDepth: 3,
  maxConcurrentSpawns: 2,
  maxSpawnsPerSession: 7,
  maxSpawnsPerTree: 12,
  maxTokensPerTree: 30_000,
  maxCostPerTreeUsd: 0.1,
};
const CALL_TOKENS_MAX = 2_511;

const leaf = fc.record({
  wait: fc.boolean(),
  outputTokens: fc.integer({ min: 1, max: 2_500 }),
  maxTokens: fc.integer({ min: 1_000, max: 9_000 }),
});
const tree = (inner: fc.Arbitrary<Work>) =>
  fc.record({
    wait: fc.boolean(),
    outputTokens: fc.integer({ min: 1, max: 2_500 }),
    rounds: fc.array(fc.array(inner, { minLength: 2, maxLength: 6 }), {
      minLength: 1,
      maxLength: 2,
    }),
  });
const works: fc.Arbitrary<Work> = tree(fc.oneof(leaf, tree(fc.oneof(leaf, tree(leaf)))));

const tokensOf = ({ usage }: SubagentRow): number =>
  (usage?.inputTokens ?? 0) + (usage?.outputTokens ?? 0);

/** Checks every limit with the rows that are left at the end. */
function expectWithinLimits(rows: readonly SubagentRow[]): void {
  const started = rows.filter((row) => !isRefused(row));
  expect(started.length).toBeLessThanOrEqual(LIMITS.maxSpawnsPerTree);
  for (const row of started) {
    expect(row.depth).toBeLessThanOrEqual(LIMITS.maxSpawnDepth);
    expect(row.root).toBe(MAIN);
    // its own last call, and the last calls of its subagents, which continued at the same time
    const below = started.filter(({ parent }) => parent === row.sessionKey).length;
    expect(tokensOf(row)).toBeLessThan(row.tokens + (1 + below) * CALL_TOKENS_MAX);
  }
  const parents = new Set(started.map(({ parent }) => parent));
  for (const key of parents) {
    const children = started.filter(({ parent }) => parent === key);
    expect(children.length).toBeLessThanOrEqual(LIMITS.maxSpawnsPerSession);
  }
  const direct = started.filter(({ parent }) => parent === MAIN);
  const used = direct.reduce((sum, row) => sum + tokensOf(row), 0);
  const over = direct.reduce((sum, row) => sum + Math.max(0, tokensOf(row) - row.tokens), 0);
  expect(used).toBeLessThanOrEqual(LIMITS.maxTokensPerTree + over);
  const cost = direct.reduce((sum, { usage }) => sum + (usage?.costUsd ?? 0), 0);
  const overCost = started.length * ((CALL_TOKENS_MAX * 10) / 1e6);
  expect(cost).toBeLessThanOrEqual(LIMITS.maxCostPerTreeUsd + overCost);
}

it('no sequence of spawns, wherever they come from, exceeds a limit', {
  timeout: 90_000,
}, async () => {
  const config = limited(LIMITS, { maxTokens: 9_000 });
  const rules = new Set<string>();
  await fc.assert(
    fc.asyncProperty(works, async (work) => {
      const { troupe, turns } = await play('anthropic-messages', worker, config);
      const runId = await troupe.send(MAIN, JSON.stringify(named(work)));
      await troupe.rowAtEnd(runId);
      const { subagents } = await settled(troupe);
      expectWithinLimits(subagents);
      expectPlaces(turns(), LIMITS.maxConcurrentSpawns);
      for (const { rule } of await refusalsOf(troupe)) rules.add(String(rule));
      await troupe.stop();
    }),
    { numRuns: 8, interruptAfterTimeLimit: 40_000 },
  );
  expect(rules.size, 'ceilings were met').toBeGreaterThan(0);
});
