/** Subagents of one session by pure transitions: grants, slots, ends and outcomes. */
import { describe, expect, it } from 'vitest';
import { address } from '../../../protocols/address.ts';
import {
  type SpawnLimits,
  SPAWNS_WAITING_MAX,
  type SubagentReserve,
} from '../../../protocols/subagent.ts';
import { spawnTerms } from './bonds-walk.ts';
import { answer, call, Driven, resultOf } from './driven.ts';
import {
  limits,
  subagent,
  typesTo,
  tellIn,
  resultOfSpawn,
  acting,
  spawn,
  end,
  finish,
} from './parent.ts';

describe('a spawn', () => {
  it('is granted in one turn, and deducted from the budget', () => {
    const session = acting();
    const said = spawn(session, 'c1', { limits: { ...limits, tokensPerTree: 4_000 } });
    expect(resultOfSpawn(said)).toMatchObject({ status: 'accepted', tokens: 4_000, queued: false });
    const reserve = tellIn(said, 'subagent.reserve') as SubagentReserve;
    expect(reserve).toMatchObject({ hold: false, terms: { depth: 2, tokens: 4_000, spawns: 0 } });
    expect(reserve.lineage).toMatchObject({ hops: 1, visited: ['agent:main:main'], left: 50 });
    expect(session.context.books).toMatchObject({ tokens: 0, spawns: 9, started: 1 });
    expect(session.context.run?.lineage?.left).toBe(100);
  });

  it('is made once, however often its call is made', () => {
    const session = acting();
    const first = spawn(session, 'c1');
    const second = spawn(session, 'c1');
    expect(resultOfSpawn(second)).toEqual(resultOfSpawn(first));
    expect(second.tells).toEqual([]);
    expect(session.context.books?.started).toBe(1);
  });

  it.each<[string, Partial<SpawnLimits>, RegExp]>([
    ['depth', { depthMax: 1 }, /the limit is depth 1.*maxSpawnDepth/],
    ['hops', { hopsMax: 0 }, /0 messages and spawns.*maxHops/],
    ['perSession', { perSessionMax: 0 }, /maxSpawnsPerSession/],
    ['perTree', { perTreeMax: 0 }, /all 0 subagents.*maxSpawnsPerTree/],
    ['tokens', { tokensPerTree: 999 }, /999 tokens are left.*maxTokensPerTree/],
    ['cost', { costPerTreeUsd: 0.0001 }, /\$0\.0001 are left.*maxCostPerTreeUsd/],
  ])('past %s is refused with the limit and its number', (rule, narrow, words) => {
    const session = acting();
    const said = spawn(session, 'c1', { limits: { ...limits, ...narrow } });
    expect(resultOfSpawn(said)).toMatchObject({ status: 'refused', rule });
    expect(resultOfSpawn(said).error).toMatch(words);
    expect(said.tells).toEqual([]);
    expect(said.rows('subagents')[0]?.value).toMatchObject({ status: 'refused', depth: 2 });
    expect(session.context.children).toBeUndefined();
    expect(session.context.books).toBeUndefined();
  });

  it('of a run that has ended is refused', () => {
    const session = acting();
    finish(session);
    expect(resultOfSpawn(spawn(session, 'c1'))).toMatchObject({ rule: 'run-ended' });
  });

  it('waits for a place, so many may, and who waits longest gets the next', () => {
    const session = acting();
    for (let n = 1; n <= 2 + SPAWNS_WAITING_MAX; n++)
      expect(resultOfSpawn(spawn(session, `c${n}`, withTokens(1_000))).queued).toBe(n > 2);
    expect(resultOfSpawn(spawn(session, 'one more', withTokens(1_000)))).toMatchObject({
      rule: 'waiting',
    });
    const said = end(session, 'c1');
    expect(typesTo(said, 'c3')).toEqual(['subagent.go']);
    expect(session.context.children?.filter(({ going }) => going)).toHaveLength(2);
  });

  it('queues behind the waiting ones, also when more slots were granted meanwhile', () => {
    const session = acting();
    for (const id of ['c1', 'c2', 'c3', 'c4']) spawn(session, id);
    const said = spawn(session, 'c5', { limits: { ...limits, concurrentMax: 3 } });
    expect(typesTo(said, 'c3')).toEqual(['subagent.go']);
    expect(resultOfSpawn(said)).toMatchObject({ queued: true });
    expect(typesTo(said, 'c5')).toEqual(['subagent.reserve']);
  });

  it('without a cost limit is granted half of the remaining budget', () => {
    const session = acting();
    const paid = { limits: { ...limits, costPerTreeUsd: 8 } };
    const grants = ['c1', 'c2'].map((id) => tellIn(spawn(session, id, paid), 'subagent.reserve'));
    expect(grants).toMatchObject([{ terms: { costUsd: 4 } }, { terms: { costUsd: 2 } }]);
  });
});

const withTokens = (tokens: number) => ({
  terms: { ...spawnTerms, tokens },
  limits: { ...limits, perTreeMax: 100, perSessionMax: 100 },
});

describe('the end of a subagent', () => {
  it('returns what was not used', () => {
    const session = acting();
    spawn(session, 'c1');
    end(session, 'c1');
    expect(session.context.books).toMatchObject({
      tokens: limits.tokensPerTree - 100,
      below: { usage: { inputTokens: 70, outputTokens: 30 }, spawned: 1 },
    });
  });

  it('answers the waiting call, and is reported nowhere else', () => {
    const session = acting();
    expect(spawn(session, 'c1', { wait: true }).answers).toEqual([]);
    const said = end(session, 'c1');
    expect(said.answers[0]?.result).toMatchObject({
      status: 'completed',
      result: 'findings of c1',
      tokensUsed: 100,
      duration: 1_000,
    });
    expect(tellIn(said, 'subagent.heard')).toMatchObject({ how: 'waited' });
    session.done('tools', [{ ...resultOf('a', 'c1 says: "accepted"'), ends: ['c1'] }]);
    const last = session.done('model', answer([]));
    expect(tellIn(last, 'subagent.report')).toBeUndefined();
    expect(session.state).toBe('idle');
  });

  it('that answered a call of a dead worker answers the repeated call', () => {
    const session = acting();
    spawn(session, 'c1', { wait: true });
    end(session, 'c1');
    const again = spawn(session, 'c1', { wait: true });
    expect(typesTo(again, 'c1')).toEqual(['subagent.report']);
    const said = end(session, 'c1', { again: true });
    expect(said.answers[0]?.result).toMatchObject({ status: 'completed' });
    expect(session.context.reports).toBeUndefined();
    expect(end(session, 'c1', { again: true }).answers).toEqual([]);
  });

  it('that answered a call which has another result becomes a report', () => {
    const session = acting();
    spawn(session, 'c1', { wait: true });
    end(session, 'c1');
    const said = session.done('tools', [resultOf('a', 'DEADLINE_EXCEEDED: {"childSession":"c1"}')]);
    expect(typesTo(said, 'c1')).toEqual(['subagent.report']);
    end(session, 'c1', { again: true });
    expect(session.context.reports).toMatchObject([{ id: 'c1' }]);
  });

  it('is reported when the run that waited for it has ended', () => {
    const session = acting();
    spawn(session, 'c1', { wait: true });
    const said = session.send({ type: 'session.abort' });
    expect(said.answers).toMatchObject([
      { result: { aborted: ['r1'] } },
      { result: { status: 'accepted' } },
    ]);
    expect(session.state).toBe('idle');
    end(session, 'c1');
    expect(session.context.run?.origin).toMatchObject({ kind: 'subagents', ids: ['c1'] });
  });

  it('steers the active run without skipping its calls', () => {
    const session = new Driven();
    session.begin('r1');
    session.done('model', answer([call('a', { parallel: false }), call('b')]));
    spawn(session, 'c1');
    expect(tellIn(end(session, 'c1'), 'subagent.heard')).toMatchObject({ how: 'steer' });
    session.done('tools', [resultOf('a')]);
    expect(session.context.run?.planned).toMatchObject([{ id: 'b' }]);
    const said = session.done('tools', [resultOf('b')]);
    expect(said.entries.at(-1)).toMatchObject({ type: 'user', origin: { ids: ['c1'] } });
    expect(session.context.reports).toBeUndefined();
  });

  it('starts a run when no other one is active', () => {
    const session = acting();
    spawn(session, 'c1');
    finish(session);
    const said = end(session, 'c1');
    expect(tellIn(said, 'subagent.heard')).toMatchObject({ how: 'followup' });
    expect(said.entries[0]).toMatchObject({
      type: 'user',
      text: expect.stringContaining('findings of c1') as string,
    });
  });

  it('is collected with those of others that end soon after, for five seconds at most', () => {
    const session = acting();
    for (const id of ['c1', 'c2', 'c3']) spawn(session, id);
    finish(session);
    end(session, 'c1');
    expect(session.state).toBe('collecting');
    expect(tellIn(end(session, 'c2'), 'subagent.heard')).toMatchObject({ how: 'collect' });
    expect(session.state).toBe('collecting');
    session.fire('quiet');
    expect(session.context.run?.origin?.ids).toEqual(['c1', 'c2']);
  });

  it('of an unknown subagent changes nothing', () => {
    const session = new Driven();
    const said = end(session, 'c9');
    expect(tellIn(said, 'subagent.heard')).toMatchObject({ how: 'unknown' });
    expect(session.state).toBe('idle');
  });
});

describe('a subagent that could not be begun', () => {
  const refusal = (message: string) => ({
    type: 'refused',
    to: 'm',
    message,
    error: { code: 'UNREGISTERED', message: 'no worker knows subagents' },
  });

  it('returns its grant, and is reported like any other end', () => {
    const session = acting();
    spawn(session, 'c1');
    session.send(refusal('subagent.go'), subagent('c1'));
    expect(session.context.children).toHaveLength(1);
    session.send(refusal('subagent.reserve'), subagent('c1'));
    expect(session.context.children).toBeUndefined();
    expect(session.context.books).toMatchObject({ tokens: limits.tokensPerTree });
    expect(session.context.reports).toMatchObject([{ id: 'c1', outcome: 'refused' }]);
    session.done('tools', [resultOf('a')]);
    expect(session.entries.at(-1)).toMatchObject({
      text: expect.stringContaining('not started (no worker knows subagents)') as string,
    });
  });

  it('starts the run that reads it if none is active, and answers the waiting call', () => {
    const idle = acting();
    spawn(idle, 'c1');
    finish(idle);
    idle.send(refusal('subagent.reserve'), subagent('c1'));
    expect(idle.context.run?.origin?.ids).toEqual(['c1']);
    const waiting = acting();
    spawn(waiting, 'c1', { wait: true });
    const said = waiting.send(refusal('subagent.reserve'), subagent('c1'));
    expect(said.answers[0]?.result).toMatchObject({ status: 'refused', tokensUsed: 0 });
  });
});

describe('subagents that are killed, or lose their parent', () => {
  it('are killed one by one or together, those that wait as well', () => {
    const session = acting();
    for (const id of ['c1', 'c2', 'c3']) spawn(session, id);
    expect(session.send({ type: 'session.kill', id: 'c2' }).answers[0]?.result).toEqual({
      killed: ['c2'],
    });
    const said = session.send({ type: 'session.kill', reason: 'enough' });
    expect(said.answers[0]?.result).toEqual({ killed: ['c1', 'c2', 'c3'] });
    expect(tellIn(said, 'subagent.kill')).toMatchObject({ reason: 'enough' });
  });

  it('are killed by a reset, and their ends are not reported', () => {
    const session = acting();
    spawn(session, 'c1');
    const said = session.send({ type: 'session.reset' });
    expect(typesTo(said, 'c1')).toEqual(['subagent.kill']);
    expect(tellIn(end(session, 'c1'), 'subagent.heard')).toMatchObject({ how: 'silent' });
    expect(session.state).toBe('idle');
  });

  it('remain with a reset session that adopts them', () => {
    const session = acting();
    spawn(session, 'c1', { limits: { ...limits, onParentReset: 'adopt' } });
    session.send({ type: 'session.reset' });
    end(session, 'c1');
    expect(session.context.run?.origin?.ids).toEqual(['c1']);
  });

  it('are not reported when they are detached, and waiting ones are killed', () => {
    const session = acting();
    const detach = { limits: { ...limits, concurrentMax: 1, onParentReset: 'detach' as const } };
    spawn(session, 'c1', detach);
    spawn(session, 'c2', detach);
    const said = session.send({ type: 'session.reset' });
    expect(typesTo(said, 'c1')).toEqual(['subagent.move']);
    expect(typesTo(said, 'c2').toSorted()).toEqual(['subagent.kill', 'subagent.move']);
    expect(session.context.children).toBeUndefined();
  });

  it('go with the session that is deleted', () => {
    const session = acting();
    spawn(session, 'c1');
    const said = session.send({ type: 'session.close' });
    expect(typesTo(said, 'c1')).toEqual(['subagent.kill', 'subagent.move']);
    expect(session.state).toBe('closed');
  });

  it('are adopted by another session as far as it has room', () => {
    const session = new Driven();
    const children = Array.from({ length: 66 }, (_, n) => ({
      id: `c${n}`,
      sessionKey: `agent:a:subagent:c${n}`,
      reportBack: true,
      timeoutMs: 1_000,
      ...(n === 1 ? { waits: true } : {}),
    }));
    const said = session.send(
      { type: 'session.adopt', children },
      address('default', 'session', 'agent:main:web'),
    );
    expect(session.context.children).toHaveLength(64);
    expect(said.tells.map(({ to }) => to)).toEqual([subagent('c64'), subagent('c65')]);
  });

  it('free their place when they are long past their time, and may end later still', () => {
    const session = acting();
    spawn(session, 'c1', { limits: { ...limits, concurrentMax: 1 } });
    session.pass(300_000 + 600_001);
    const said = spawn(session, 'c2', { limits: { ...limits, concurrentMax: 1 } });
    expect(resultOfSpawn(said)).toMatchObject({ status: 'accepted', queued: false });
    end(session, 'c1');
    expect(session.context.reports).toMatchObject([{ id: 'c1' }]);
  });
});
