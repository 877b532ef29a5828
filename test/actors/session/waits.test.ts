/** Messages between sessions, and waits that would never end. */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { address } from '../../../protocols/address.ts';
import { CONVERSATIONS_PER_RUN_MAX, conversationAddress } from '../../../protocols/conversation.ts';
import { answeredOf, converseOf, spawnLimits, spawnOf } from './bonds-walk.ts';
import { Crowd, type Wish } from './crowd.ts';
import { answer, call, Driven, resultOf, type Said } from './driven.ts';

const other = address('default', 'session', 'agent:other:main');
const acting = (): Driven => {
  const session = new Driven();
  session.begin('r1');
  session.done('model', answer([call('a')]));
  return session;
};
const types = (said: Said) => said.tells.map(({ event }) => event.type);
const result = (said: Said) => said.answers[0]?.result as Record<string, unknown> | undefined;

describe('a message to another session', () => {
  it('begins a conversation with a share of the remaining messages, and a probe', () => {
    const session = acting();
    const said = session.send(converseOf('t1', 'r1'));
    expect(types(said)).toEqual(['conversation.begin', 'session.probe']);
    expect(said.tells[0]?.event).toMatchObject({
      requester: 'agent:main:main',
      lineage: { hops: 1, visited: ['agent:main:main'], left: 49 },
    });
    expect(session.context.run?.lineage?.left).toBe(150);
  });

  it('is answered when its conversation has an answer, once', () => {
    const session = acting();
    session.send(converseOf('t1', 'r1'));
    const said = session.send(answeredOf('t1'), conversationAddress('default', 't1'));
    expect(result(said)).toMatchObject({ status: 'ok', reply: 'yes' });
    expect(session.context.waits).toBeUndefined();
    const late = session.send(answeredOf('t1'), conversationAddress('default', 't1'));
    expect(late.answers).toEqual([]);
  });

  it('is sent once, however often its call is made', () => {
    const session = acting();
    session.send(converseOf('t1', 'r1'));
    expect(types(session.send(converseOf('t1', 'r1')))).toEqual([]);
    session.send(answeredOf('t1'), conversationAddress('default', 't1'));
    const again = session.send(converseOf('t1', 'r1'));
    expect(types(again)).toEqual([]);
    expect(result(again)).toMatchObject({ status: 'accepted', delivered: true });
  });

  it('that could not be begun is refused, also when its call is made again', () => {
    const session = acting();
    session.send(converseOf('t1', 'r1'));
    const error = { code: 'UNREGISTERED', message: 'no worker knows conversations' };
    const refusal = { type: 'refused', to: 'm', message: 'conversation.begin', error };
    const said = session.send(refusal, conversationAddress('default', 't1'));
    expect(result(said)).toMatchObject({ status: 'refused', delivered: false, error });
    expect(session.context.waits).toBeUndefined();
    expect(result(session.send(converseOf('t1', 'r1')))).toMatchObject({ status: 'refused' });
  });

  it('is refused to the session itself, to one on the way here, past a limit, and too late', () => {
    const session = acting();
    const reason = (more: object, runId = 'r1') =>
      result(session.send(converseOf('t1', runId, more)))?.['reason'];
    expect(reason({ target: 'agent:main:main' })).toBe('loop');
    expect(reason({ limits: { hopsMax: 0, messagesMax: 9 } })).toBe('hops');
    expect(reason({ limits: { hopsMax: 9, messagesMax: 0 } })).toBe('messages');
    expect(reason({}, 'r0')).toBe('run-ended');
    const many = { hopsMax: 16, messagesMax: 10_000_000_000 };
    for (let n = 0; n < CONVERSATIONS_PER_RUN_MAX; n++)
      session.send(converseOf(`m${n}`, 'r1', { waitMs: 0, limits: many }));
    expect(reason({ limits: many })).toMatch(/^(conversations|messages)$/);
  });

  it('is not waited for any more when its call has a result, or its run has ended', () => {
    const session = acting();
    session.send(converseOf('t1', 'r1'));
    session.done('tools', [resultOf('a', 'too late')]);
    expect(session.context.waits).toBeUndefined();
    session.done('model', answer([call('b')]));
    session.send(converseOf('t2', 'r1', { callId: 'b' }));
    const said = session.send({ type: 'session.abort' });
    expect(said.answers.map(({ result: one }) => one)).toContainEqual(
      expect.objectContaining({ conversationId: 't2', reason: 'run-ended' }),
    );
    expect(session.context.waits).toBeUndefined();
  });
});

describe('a probe', () => {
  const probe = (origin: string, path: string[] = []) => ({
    type: 'session.probe',
    origin,
    id: 'p1',
    path,
  });

  it('that reaches a session waiting for its origin closes the cycle', () => {
    const session = acting();
    session.send(converseOf('t1', 'r1'));
    const said = session.send(probe('agent:other:main'), other);
    expect(said.tells).toMatchObject([{ to: other, event: { type: 'session.cycle', id: 'p1' } }]);
  });

  it('is forwarded along waits, once, and not in a cycle of its own', () => {
    const session = acting();
    session.send(converseOf('t1', 'r1'));
    const said = session.send(probe('agent:x:main'), other);
    expect(said.tells).toMatchObject([{ to: other, event: { path: ['agent:main:main'] } }]);
    expect(session.send(probe('agent:x:main'), other).tells).toEqual([]);
    const seen = { ...probe('agent:x:main', ['agent:other:main']), id: 'p2' };
    expect(session.send(seen, other).tells).toEqual([]);
  });

  it('is forwarded to a subagent whose end is awaited', () => {
    const session = acting();
    session.send(spawnOf('c1', 'r1', { wait: true }));
    session.send(spawnOf('c2', 'r1'));
    const said = session.send(probe('agent:x:main'), other);
    expect(said.tells.map(({ to }) => to)).toEqual([
      address('default', 'session', 'agent:coder:subagent:c1'),
    ]);
  });

  it('that returned to its origin ends the wait in its conversation', () => {
    const session = acting();
    session.send(converseOf('t1', 'r1'));
    const said = session.send({ type: 'session.cycle', id: 't1', path: [] }, other);
    expect(said.tells).toMatchObject([
      { to: conversationAddress('default', 't1'), event: { reason: 'wait-cycle' } },
    ]);
  });
});

describe('sessions that wait for each other', () => {
  const keys = ['a', 'b', 'c', 'd', 'e'].map((id) => `agent:${id}:main`);
  const FOREVER = 1e12;

  /** No timeout resolves a deadlock here. */
  const wishes = (pick: () => number): Wish => {
    return ({ sessionKey, runId, callId }) => {
      const target = keys[pick() % keys.length]!;
      if (pick() % 4 === 0 && !sessionKey.includes('subagent'))
        return spawnOf(`s-${callId}`, runId, { callId, wait: true, limits: spawnLimits });
      return converseOf(`t-${callId}`, runId, { callId, target, waitMs: FOREVER, turns: 0 });
    };
  };

  it('are all answered in the end, whatever the order of things and however they wait', {
    timeout: 120_000,
  }, () => {
    let circles = 0;
    fc.assert(
      fc.property(fc.infiniteStream(fc.nat(1_000)), (stream) => {
        let calls = 12;
        const pick = () => stream.next().value as number;
        const crowd = new Crowd();
        keys.forEach((key, n) =>
          crowd.say(key, { type: 'session.receive', runId: `r${n}`, text: 'go' }),
        );
        const thinks = () => (calls-- > 0 ? 1 + (pick() % 2) : 0);
        for (let steps = 0; steps < 4_000; steps++) {
          const chances = crowd
            .chances(wishes(pick), thinks)
            .filter(({ name }) => name !== 'once more' && name !== 'tools, too late');
          if (chances.length === 0 && !crowd.fire(['quiet'])) break;
          chances[pick() % Math.max(1, chances.length)]?.go();
        }
        const busy = crowd.sessions().filter(({ run, queue }) => run !== null || queue.length > 0);
        expect(busy.map(({ sessionKey, waits }) => [sessionKey, waits])).toEqual([]);
        circles += crowd.entries.filter(
          ({ entry }) => entry.type === 'tool' && entry.result.includes('wait-cycle'),
        ).length;
      }),
      { numRuns: 60 },
    );
    expect(circles, 'circles that were closed').toBeGreaterThan(10);
  });
});
