/**
 * Sessions of subagents that have not begun, have ended, or are deleted. Such a session accepts no
 * message without a grant, and it does not use a returned grant again.
 */
import { describe, expect, it } from 'vitest';
import { address } from '../../../protocols/address.ts';
import { spawnLimits, spawnOf } from './bonds-walk.ts';
import { answer, call, Driven, resultOf, type Said } from './driven.ts';
import { terms } from './terms-of-test.ts';

const CHILD = 'agent:scout:subagent:u1';
const subagent = address('default', 'subagent', 'u1');
const conversation = address('default', 'conversation', 'c1');
const schedule = address('default', 'schedule', 'job-1');
const origin = { kind: 'agent', sessionKey: 'agent:other:main', ids: ['c1'] };
const ofAgent = { origin, lineage: { hops: 1, visited: [], left: 9 }, notify: true };
const granted = { terms: terms({ tokens: 50_000, spawns: 5 }), notify: true };

const task = (session: Driven) => session.receive('sub-u1', granted, subagent);
const codeOf = (said: { answers: readonly { error?: { code: string } }[] }) =>
  said.answers[0]?.error?.code;

/** A session whose only run has ended with nothing open. */
function ended(): Driven {
  const session = new Driven(CHILD);
  task(session);
  session.admit('sub-u1');
  session.done('model', answer([]));
  return session;
}

describe('a session of a subagent that has not begun', () => {
  it.each([
    ['a client', {}, undefined],
    ['an agent', ofAgent, conversation],
    ['a schedule', {}, schedule],
  ])('does not start by a message of %s, and accepts its own task afterwards', (_, more, from) => {
    const session = new Driven(CHILD);
    expect(codeOf(session.receive('r1', { ...more, queue: 'interrupt' }, from))).toBe('NOT_FOUND');
    expect(session.context).toMatchObject({ run: null, queue: [], sessionId: '' });
    task(session);
    expect(session.context).toMatchObject({ terms: granted.terms, run: { runId: 'sub-u1' } });
  });

  it('refuses a client that forged its key', () => {
    const { answers } = new Driven(CHILD).receive('r1');
    expect(answers).toMatchObject([{ error: { code: 'NOT_FOUND' } }]);
    expect(answers[0]!.error!.message).toContain('troupe subagents list');
  });
});

describe('a session whose subagent has ended', () => {
  it('ignores agents and schedules, because its grant has returned', () => {
    const session = ended();
    session.receive('m1', ofAgent, conversation);
    session.receive('m2', {}, schedule);
    expect(session.context).toMatchObject({ run: null, queue: [], isOver: true });
  });

  it('answers users with the rest of its grant, and spawns no subagent', () => {
    const session = ended();
    session.begin('r1');
    session.done('model', answer([call('a')]));
    const { answers, tells } = session.send(spawnOf('c1', 'r1'));
    expect(answers).toMatchObject([{ result: { status: 'refused', rule: 'ended' } }]);
    expect(tells).toEqual([]);
    session.send({ type: 'session.reset' });
    expect(session.context).toMatchObject({ isOver: true, run: null });
  });

  it('that was killed ignores messages that arrive before its last run has ended', () => {
    const session = new Driven(CHILD);
    task(session);
    session.admit('sub-u1');
    session.send({ type: 'session.kill', reason: 'killed' }, subagent);
    session.receive('m1', ofAgent, conversation);
    expect(session.context.queue).toEqual([]);
  });

  it('is not over while it waits for the end of its own subagents', () => {
    const session = new Driven(CHILD);
    task(session);
    session.admit('sub-u1');
    session.done('model', answer([call('a')]));
    session.send(spawnOf('c1', 'sub-u1', { limits: { ...spawnOf('', '').limits, depthMax: 3 } }));
    session.done('tools', [{ callId: 'a', name: 'look', result: 'x', isError: false }]);
    session.done('model', answer([]));
    expect(session.context.isOver).toBeUndefined();
    session.receive('m1', ofAgent, conversation);
    expect(session.context.run?.runId).toBe('m1');
  });
});

describe('a session of a subagent that waits for its own subagents', () => {
  /** Its run has ended. A subagent that it started is active, or its report is not read yet. */
  function waiting(onParentReset: 'cascade' | 'detach' = 'cascade'): Driven {
    const session = new Driven(CHILD);
    task(session);
    session.admit('sub-u1');
    session.done('model', answer([call('a')]));
    const limits = { ...spawnLimits, depthMax: 3, onParentReset };
    session.send(spawnOf('c1', 'sub-u1', { limits }));
    session.done('tools', [resultOf('a')]);
    session.done('model', answer([]));
    expect(session.context.isOver).toBeUndefined();
    return session;
  }
  const endIn = ({ tells }: Said) => tells.filter(({ event }) => event.type === 'run.ended');
  const abortReport = (message: string) => [
    { to: subagent, event: { status: 'aborted', open: 0, error: { message } } },
  ];

  it('notifies its subagent of its deletion, which would otherwise wait for a timeout', () => {
    const session = waiting();
    expect(endIn(session.send({ type: 'session.close' }))).toMatchObject(
      abortReport('its session was deleted'),
    );
  });

  it('notifies it when a reset leaves no active work', () => {
    const session = waiting('detach');
    const said = session.send({ type: 'session.reset' });
    expect(endIn(said)).toMatchObject(abortReport('its session was reset'));
    expect(session.context.isOver).toBe(true);
    expect(endIn(session.send({ type: 'session.close' }))).toEqual([]);
    expect(endIn(waiting().send({ type: 'session.reset' }))).toEqual([]);
  });

  it('notifies it when an abort removes the message of the next run', () => {
    const session = new Driven(CHILD);
    task(session);
    session.admit('sub-u1', { queue: { mode: 'collect' } });
    session.receive('r2');
    session.done('model', answer([]));
    expect([session.state, session.context.isOver]).toEqual(['collecting', undefined]);
    expect(endIn(session.send({ type: 'session.abort' }))).toMatchObject(
      abortReport('the waiting messages were aborted'),
    );
  });
});

describe('a session without any message', () => {
  it('is not listed after an abort', () => {
    const { answers, rows } = ((said: Said) => ({
      answers: said.answers,
      rows: said.rows('sessions'),
    }))(new Driven().send({ type: 'session.abort' }));
    expect([answers, rows]).toMatchObject([[{ result: { aborted: [] } }], []]);
  });

  it('still accepts the task of its subagent after a reset', () => {
    const session = new Driven(CHILD);
    session.send({ type: 'session.reset' });
    expect(codeOf(session.receive('r1'))).toBe('NOT_FOUND');
    task(session);
    expect(session.context.run).toMatchObject({ runId: 'sub-u1' });
  });
});
