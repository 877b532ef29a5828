/**
 * Agents with one slot each on the real statecharts, with their sessions, subagents and
 * conversations. Messages arrive in any order, workers die, and calls are repeated or come late. No
 * timeout resolves a deadlock: an actor that waits for a timer other than those named here waits
 * forever.
 */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { AgentContext } from '../../../actors/agent/types.ts';
import type { ConversationContext } from '../../../actors/conversation/types.ts';
import type { SubagentContext } from '../../../actors/subagent/types.ts';
import type { Address } from '../../../protocols/address.ts';
import type { Message } from '../../../protocols/statechart.ts';
import type { OrphanPolicy, SpawnLimits } from '../../../protocols/subagent.ts';
import { subagentAddress } from '../../../protocols/subagent.ts';
import { converseOf, spawnLimits, spawnOf, spawnTerms } from './bonds-walk.ts';
import { type Chance, Crowd, type Wish } from './crowd.ts';

/** Two sessions of one agent, and one of another. */
const PEOPLE = ['agent:a:main', 'agent:a:dm:ada', 'agent:b:main'];
const FOREVER = 1e12;
const MESSAGES_MAX = 12;
/** The number of random histories; an environment variable raises it to thousands. */
const RUNS = Number(process.env['TROUPE_TEST_SOCIETIES'] ?? 24);
const limits: SpawnLimits = {
  ...spawnLimits,
  depthMax: 3,
  concurrentMax: 2,
  perSessionMax: 8,
  perTreeMax: 12,
  tokensPerTree: 40_000,
  messagesMax: MESSAGES_MAX,
};

/**
 * The timer of a stopped subagent whose session a user deleted meanwhile, and of a subagent whose
 * end overtook the message that another session has adopted it.
 */
const TIMERS = ['quiet', 'stopPatience', 'pauseBeforeRetelling'];

type Picks = () => number;

/** Spawns and messages to any session, with and without waiting. */
const wishes =
  (crowd: Crowd, pick: Picks, policy: OrphanPolicy): Wish =>
  ({ sessionKey, runId, callId }) => {
    const isWaiting = pick() % 2 === 0;
    if (pick() % 2 === 0)
      return spawnOf(`s-${callId}`, runId, {
        callId,
        wait: isWaiting,
        reportBack: pick() % 4 !== 0,
        terms: { ...spawnTerms, admitBy: 'a', tokens: [1_000, 5_000, 20_000][pick() % 3]! },
        limits: { ...limits, onParentReset: policy },
      });
    const keys = crowd.sessions().map((one) => one.sessionKey);
    const others = [...PEOPLE, ...keys].filter((key) => key !== sessionKey);
    return converseOf(`t-${callId}`, runId, {
      callId,
      target: others[pick() % others.length],
      waitMs: isWaiting ? FOREVER : 0,
      turns: pick() % 3,
      limits: { hopsMax: 6, messagesMax: MESSAGES_MAX },
    });
  };

const contextsOf = <T>(crowd: Crowd, type: Parameters<Crowd['of']>[0]): T[] =>
  crowd.of(type).map(({ snapshot }) => snapshot.context as T);

/** How often an agent has read each end: as a call's result, or in a report. */
function readCounts(crowd: Crowd): Map<string, number> {
  const counts = new Map<string, number>();
  for (const { entry } of crowd.entries) {
    const inReports = entry.type === 'user' ? entry.text.matchAll(/^Task: task of (.+)$/gm) : [];
    const ids = entry.type === 'tool' ? (entry.ends ?? []) : [...inReports].map(([, id]) => id!);
    for (const id of ids) counts.set(id, (counts.get(id) ?? 0) + 1);
  }
  return counts;
}

/** The invariants after each step. */
function check(crowd: Crowd): void {
  for (const { leases } of contextsOf<AgentContext>(crowd, 'agent'))
    expect(leases.reduce((sum, [, runs]) => sum + runs, 0)).toBeLessThanOrEqual(crowd.slots!);
  for (const { sessionKey, books, children = [] } of crowd.sessions()) {
    const { tokens = 0, spawns = 0 } = books ?? {};
    expect(Math.min(tokens, spawns), `budget of ${sessionKey}`).toBeGreaterThanOrEqual(0);
    const placed = children.filter(({ going, lost, apart }) => going && !lost && !apart);
    expect(placed.length, `active subagents of ${sessionKey}`).toBeLessThanOrEqual(
      limits.concurrentMax,
    );
  }
}

/** Takes steps until only timeouts remain. */
function settle(crowd: Crowd, pick: Picks, policy: OrphanPolicy, others: () => Chance[]): void {
  let calls = 18;
  let rare = 24;
  const thinks = () => (calls > 0 && pick() % 2 === 0 ? (calls -= 2) && 2 : 0);
  const isRare = ({ name }: Chance) => name === 'once more' || name === 'tools, too late';
  for (let steps = 0; steps < 8_000; steps++) {
    const all = [...crowd.chances(wishes(crowd, pick, policy), thinks), ...others()];
    const chances = rare > 0 ? all : all.filter((one) => !isRare(one));
    const chosen = chances[pick() % Math.max(1, chances.length)];
    if (chosen && isRare(chosen)) rare--;
    if (!chosen && !crowd.fire(TIMERS)) return;
    chosen?.go();
    if (rare > 0 && pick() % 16 === 0) crowd.restart(anyOf([...crowd.actors.keys()], pick));
    check(crowd);
  }
  throw new Error('the sessions never become idle');
}
const anyOf = <T>(list: readonly T[], pick: Picks): T => list[pick() % list.length]!;

const property = (runs: number, test: (pick: Picks) => void) =>
  fc.assert(
    fc.property(fc.infiniteStream(fc.nat(10_000)), (stream) => {
      test(() => stream.next().value as number);
    }),
    { numRuns: runs },
  );

const begin = (slots: number): Crowd => {
  const crowd = new Crowd(slots);
  for (const key of PEOPLE)
    crowd.say(key, { type: 'session.receive', runId: `first of ${key}`, text: 'go' });
  return crowd;
};

/** Everything is reported, answered and returned. */
function expectRest(crowd: Crowd): void {
  for (const session of crowd.sessions()) {
    const { run, queue, children = [], reports = [], awaited = [], waits = [] } = session;
    const open = [run, ...queue, ...children, ...reports, ...awaited, ...waits].filter(Boolean);
    expect(open, `open in ${session.sessionKey}`).toEqual([]);
  }
  for (const { snapshot } of crowd.of('subagent'))
    expect(snapshot.value).toHaveProperty('reported');
  for (const { snapshot } of crowd.of('conversation')) {
    expect(snapshot.value).toBe('ended');
    expect((snapshot.context as ConversationContext).answered).toBe(true);
  }
  for (const { leases, waiting } of contextsOf<AgentContext>(crowd, 'agent'))
    expect([...leases, ...waiting]).toEqual([]);
}

/** No turn of a conversation starts twice, and no announcement. */
function expectOneOfEachTurn(crowd: Crowd): void {
  const begun = crowd.entries.flatMap(({ entry }) =>
    entry.type === 'user' && entry.of === undefined ? [entry.runId] : [],
  );
  const talks = begun.filter((runId) => runId.startsWith('talk-'));
  expect(new Set(talks).size).toBe(talks.length);
}

describe('agents that talk and spawn, each with one slot', () => {
  it('become idle, with each result reported once and complete budgets', {
    timeout: 180_000,
  }, () => {
    const seen = { read: 0, talks: 0 };
    property(RUNS, (pick) => {
      const crowd = begin(1);
      settle(crowd, pick, 'cascade', () => []);
      expectRest(crowd);
      expectOneOfEachTurn(crowd);
      const counts = readCounts(crowd);
      for (const { id, reportedBy } of contextsOf<SubagentContext>(crowd, 'subagent'))
        expect(counts.get(id) ?? 0, `${id}: ${reportedBy}`).toBe(reportedBy === 'silent' ? 0 : 1);
      for (const key of PEOPLE) {
        const { books } = crowd.context(key);
        if (!books) continue;
        const { inputTokens, outputTokens } = books.below.usage;
        expect(books.tokens + inputTokens + outputTokens).toBe(limits.tokensPerTree);
        expect(books.spawns + books.below.spawned).toBe(limits.perTreeMax);
      }
      const talks = crowd.of('conversation').length;
      expect(talks).toBeLessThanOrEqual(PEOPLE.length * MESSAGES_MAX);
      seen.read += counts.size;
      seen.talks += talks;
    });
    expect(Math.min(seen.read, seen.talks)).toBeGreaterThan(RUNS);
  });

  it.each<OrphanPolicy>(['cascade', 'adopt', 'detach'])(
    'become idle and report each end at most once, whatever users do meanwhile: %s',
    { timeout: 180_000 },
    (policy) => {
      property(RUNS / 2, (pick) => {
        const crowd = begin(1);
        let left = 6;
        const tell = (name: string, at: Address | string, event: Message): Chance => ({
          name,
          go: () => {
            left--;
            if (at.startsWith('agent:')) crowd.say(at, event);
            else crowd.tell(at as Address, event);
          },
        });
        settle(crowd, pick, policy, () => {
          if (left === 0 || pick() % 4 > 0) return [];
          const keys = crowd.sessions().map(({ sessionKey }) => sessionKey);
          const key = anyOf([...PEOPLE, ...keys], pick);
          const one = contextsOf<SubagentContext>(crowd, 'subagent')[pick() % 4];
          const at = one && subagentAddress('default', one.id);
          return [
            tell('abort', key, { type: 'session.abort' }),
            tell('reset', key, { type: 'session.reset' }),
            tell('close', key, { type: 'session.close' }),
            tell('say', PEOPLE[pick() % 3]!, {
              type: 'session.receive',
              runId: `more ${left}`,
              text: 'go on',
            }),
            ...(at ? [tell('kill', at, { type: 'subagent.kill', reason: 'enough' })] : []),
            ...(at ? [tell('steer', at, { type: 'subagent.steer', text: 'hurry' })] : []),
          ];
        });
        expectRest(crowd);
        expectOneOfEachTurn(crowd);
        const twice = [...readCounts(crowd)].filter(([, times]) => times > 1);
        expect(twice).toEqual([]);
      });
    },
  );
});
