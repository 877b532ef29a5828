/**
 * Whole trees of sessions and subagents on the real statecharts, in any interleaving: no limit is
 * exceeded, grants return, each end is reported once, and no work remains open.
 */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { SessionContext } from '../../../actors/session/types.ts';
import type { OrphanPolicy, SpawnLimits } from '../../../protocols/subagent.ts';
import { spawnLimits, spawnOf, spawnTerms } from './bonds-walk.ts';
import { type Chance, Crowd, type Wish } from './crowd.ts';

const ROOT = 'agent:main:main';
const limits: SpawnLimits = {
  ...spawnLimits,
  depthMax: 3,
  concurrentMax: 2,
  perSessionMax: 6,
  perTreeMax: 12,
  tokensPerTree: 40_000,
  costPerTreeUsd: 8,
};
/** Tokens of one model call, by which a subagent may exceed its grant. */
const CALL_TOKENS = 5;

type Picks = () => number;

const tokensOf = ({ usage }: SessionContext) => usage.inputTokens + usage.outputTokens;

/** Spawns with and without waiting and reporting, with grants from none to half of the tree. */
const wishes =
  (pick: Picks, policy: OrphanPolicy): Wish =>
  ({ runId, callId }) =>
    spawnOf(`s-${callId}`, runId, {
      callId,
      wait: pick() % 3 === 0,
      reportBack: pick() % 4 !== 0,
      terms: { ...spawnTerms, tokens: [1_000, 5_000, 20_000][pick() % 3]! },
      limits: { ...limits, onParentReset: policy },
    });

/** The invariants after each step. */
function check(crowd: Crowd): void {
  for (const session of crowd.sessions()) {
    const { sessionKey, books, children = [], terms } = session;
    const placed = children.filter(({ going, lost }) => going && !lost);
    expect(placed.length, `active subagents of ${sessionKey}`).toBeLessThanOrEqual(
      limits.concurrentMax,
    );
    expect(terms?.depth ?? 1).toBeLessThanOrEqual(limits.depthMax);
    if (!books) continue;
    const { tokens, spawns, started, costUsd = 0 } = books;
    expect(Math.min(tokens, spawns, costUsd), `budget of ${sessionKey}`).toBeGreaterThanOrEqual(0);
    expect(started).toBeLessThanOrEqual(limits.perSessionMax);
    const held = children.filter(({ apart }) => !apart);
    const granted = held.reduce((sum, child) => sum + child.tokens, tokens);
    const ceiling = terms?.tokens ?? limits.tokensPerTree;
    if (!books.renewed) expect(granted).toBeLessThanOrEqual(ceiling);
  }
  const counts = readCounts(crowd);
  expect([...counts].filter(([, times]) => times > 1)).toEqual([]);
}

/** How often an agent has read the end of each subagent: as a call's result, or in a report. */
function readCounts(crowd: Crowd): Map<string, number> {
  const counts = new Map<string, number>();
  const count = (id: string) => counts.set(id, (counts.get(id) ?? 0) + 1);
  for (const { entry } of crowd.entries) {
    if (entry.type === 'user' && entry.origin?.kind === 'subagents')
      entry.origin.ids.forEach(count);
    if (entry.type !== 'tool' || !entry.result.startsWith('{')) continue;
    const { status, childSessionKey } = JSON.parse(entry.result) as Record<string, string>;
    if (status !== 'accepted' && childSessionKey) count(childSessionKey.split(':').at(-1)!);
  }
  return counts;
}

/** Takes steps until none is possible. */
function settle(crowd: Crowd, pick: Picks, policy: OrphanPolicy, others: () => Chance[]): void {
  let calls = 16;
  const thinks = () => (calls > 0 && pick() % 2 === 0 ? (calls -= 2) && 2 : 0);
  let repeats = 24;
  for (let steps = 0; steps < 6_000; steps++) {
    const isRare = ({ name }: Chance) => name === 'once more' || name === 'tools, too late';
    const all = [...crowd.chances(wishes(pick, policy), thinks), ...others()];
    const chances = repeats > 0 ? all : all.filter((one) => !isRare(one));
    const chosen = chances[pick() % Math.max(1, chances.length)];
    if (chosen && isRare(chosen)) repeats--;
    if (!chosen && !crowd.fire(['quiet'])) return;
    chosen?.go();
    check(crowd);
  }
  throw new Error('the sessions never become idle');
}

const property = (runs: number, test: (pick: Picks) => void) =>
  fc.assert(
    fc.property(fc.infiniteStream(fc.nat(10_000)), (stream) => {
      test(() => stream.next().value as number);
    }),
    { numRuns: runs },
  );

/** All have ended and are reported, and no session runs, waits or owes anything. */
function expectRest(crowd: Crowd): void {
  for (const { snapshot } of crowd.of('subagent'))
    expect(snapshot.value).toHaveProperty('reported');
  for (const session of crowd.sessions()) {
    const { run, queue, children = [], reports = [], awaited = [], waits = [] } = session;
    const open = [run, ...queue, ...children, ...reports, ...awaited, ...waits].filter(Boolean);
    expect(open).toEqual([]);
  }
}

describe('a tree of subagents', () => {
  it('exceeds no limit, reports each end once, and gets all unused grants back', {
    timeout: 120_000,
  }, () => {
    let started = 0;
    property(60, (pick) => {
      const crowd = new Crowd();
      crowd.say(ROOT, { type: 'session.receive', runId: 'r1', text: 'go' });
      settle(crowd, pick, 'cascade', () => []);
      expectRest(crowd);
      const subagents = crowd.sessions().filter(({ terms }) => terms);
      const used = subagents.reduce((sum, session) => sum + tokensOf(session), 0);
      for (const session of subagents)
        expect(tokensOf(session)).toBeLessThanOrEqual(session.terms!.tokens + CALL_TOKENS);
      const { books } = crowd.context(ROOT);
      if (!books) return;
      started += subagents.length;
      expect(books.tokens + used).toBe(limits.tokensPerTree);
      expect(books.costUsd).toBe(limits.costPerTreeUsd);
      expect(books.below.spawned).toBe(subagents.length);
      expect(books.spawns + subagents.length).toBe(limits.perTreeMax);
      const counts = readCounts(crowd);
      for (const { snapshot } of crowd.of('subagent')) {
        const { id, reportedBy } = snapshot.context as { id: string; reportedBy: string };
        expect(counts.get(id) ?? 0, `${id}: ${reportedBy}`).toBe(reportedBy === 'silent' ? 0 : 1);
      }
    });
    expect(started, 'subagents of all trees').toBeGreaterThan(100);
  });

  it.each<OrphanPolicy>(['cascade', 'adopt', 'detach'])(
    'leaves no open work, however its sessions are killed, stopped and reset: %s',
    { timeout: 120_000 },
    (policy) => {
      property(40, (pick) => {
        const crowd = new Crowd();
        crowd.say(ROOT, { type: 'session.receive', runId: 'r0', text: 'go' });
        let interventions = 6;
        const say = (name: string, event: { type: string; [field: string]: unknown }): Chance => ({
          name,
          go: () => {
            interventions--;
            crowd.say(ROOT, event);
          },
        });
        settle(crowd, pick, policy, () =>
          interventions === 0 || pick() % 4 > 0
            ? []
            : [
                say('kill', { type: 'session.kill' }),
                say('abort', { type: 'session.abort' }),
                say('reset', { type: 'session.reset' }),
                say('go on', {
                  type: 'session.receive',
                  runId: `r${interventions}`,
                  text: 'go on',
                }),
              ],
        );
        expectRest(crowd);
        expect(interventions).toBeGreaterThanOrEqual(0);
      });
    },
  );
});
