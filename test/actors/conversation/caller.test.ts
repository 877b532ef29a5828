/** What the requester's session learns about its message, in every order of events. */
import { describe, expect, it } from 'vitest';
import { Driven } from './driven.ts';
import { TARGET } from './walk.ts';

const FULL = { code: 'RATE_LIMIT_EXCEEDED', message: 'the session is full' } as const;
const BROKEN = { code: 'UNAVAILABLE', message: 'no model answers' } as const;

describe('a caller that waits', () => {
  it('receives the reply and its duration', () => {
    const talk = new Driven().accept();
    talk.now += 1_234;
    expect(talk.end({ text: 'blue' }).results).toEqual([
      {
        conversationId: 'c1',
        runId: 'talk-c1-0',
        sessionKey: TARGET,
        status: 'ok',
        delivered: true,
        reply: 'blue',
        responseTime: 1_234,
      },
    ]);
  });

  it('receives the reply of a target whose acceptance has not arrived', () => {
    expect(new Driven().end().results).toMatchObject([{ status: 'ok', delivered: true }]);
  });

  it('times out while the target works, and the conversation continues', () => {
    const talk = new Driven({ waitMs: 700 }).accept().late('patience');
    expect(talk.results).toMatchObject([{ status: 'timeout', delivered: true, responseTime: 700 }]);
    expect(talk.end().state).toEqual({ replying: 'requesterTurn' });
    expect(talk.results).toHaveLength(1);
  });

  it('receives an unknown outcome when its time ends before an acceptance', () => {
    const talk = new Driven().late('patience');
    expect(talk.results).toMatchObject([{ status: 'accepted', delivered: false }]);
    expect(talk.accept().end().results).toHaveLength(1);
    expect(talk.row).toMatchObject({ delivered: true, status: 'replying' });
  });

  it('receives the error of the failed run of the target', () => {
    const talk = new Driven().accept().end({ status: 'error', text: '', error: BROKEN });
    expect(talk.results).toMatchObject([{ status: 'error', delivered: true, error: BROKEN }]);
    expect(talk.row).toMatchObject({ status: 'ended', end: 'failed', reason: BROKEN.message });
  });

  it('is notified that the run of the target was aborted', () => {
    const { results } = new Driven().accept().end({ status: 'aborted', text: '' });
    expect(results).toMatchObject([{ status: 'error', error: { code: 'CANCELLED' } }]);
  });

  it('receives an answer to several messages, after which no turn follows', () => {
    const talk = new Driven().accept().end({ joined: 'run-9', text: 'to all of you' });
    expect(talk.results).toMatchObject([{ status: 'ok', reply: 'to all of you' }]);
    expect(talk.row).toMatchObject({ status: 'ended', end: 'failed' });
    expect(talk.asked).toHaveLength(1);
  });

  it('receives no text as the reply of a target that refuses conversations', () => {
    const talk = new Driven().accept().end({ text: 'REPLY_SKIP' });
    expect(talk.results).toMatchObject([{ status: 'ok', reply: '' }]);
    expect(talk.row).toMatchObject({ status: 'ended', end: 'skipped' });
  });
});

describe('a caller that does not wait', () => {
  it('is answered as soon as the target has accepted the message', () => {
    const talk = new Driven({ waitMs: 0 });
    expect(talk.results).toEqual([]);
    expect(talk.accept().results).toMatchObject([{ status: 'accepted', delivered: true }]);
    expect(talk.end().results).toHaveLength(1);
  });

  it('receives an unknown outcome after ten seconds', () => {
    const talk = new Driven({ waitMs: 0 }).late('patience');
    expect(talk.results).toMatchObject([
      { status: 'accepted', delivered: false, responseTime: 10_000 },
    ]);
  });
});

describe('a caller whose message is refused', () => {
  it.each([0, 5_000])('receives the error of the target, waiting %i ms', (waitMs) => {
    const talk = new Driven({ waitMs }).refuse(FULL);
    expect(talk.results).toMatchObject([
      { status: 'refused', delivered: false, reason: FULL.message, error: FULL },
    ]);
    expect(talk.row).toMatchObject({ status: 'ended', end: 'refused', delivered: false });
  });
});

describe('a caller that is released', () => {
  const unwait = { type: 'conversation.unwait', reason: 'wait-cycle' };

  it('receives the reason at once when the target has accepted the message', () => {
    const { results } = new Driven().accept().send(unwait);
    expect(results).toMatchObject([{ status: 'accepted', delivered: true, reason: 'wait-cycle' }]);
  });

  it('receives the reason as soon as the target has accepted the message', () => {
    const talk = new Driven().send(unwait);
    expect(talk.results).toEqual([]);
    expect(talk.accept().results).toMatchObject([
      { status: 'accepted', delivered: true, reason: 'wait-cycle' },
    ]);
  });

  it('receives a refusal that arrives later', () => {
    expect(new Driven().send(unwait).refuse(FULL).results).toMatchObject([{ status: 'refused' }]);
  });

  it('receives the reason when its time ends before anything is known', () => {
    expect(new Driven().send(unwait).late('patience').results).toMatchObject([
      { status: 'accepted', delivered: false, reason: 'wait-cycle' },
    ]);
  });

  it('receives nothing more after its answer', () => {
    expect(new Driven({ waitMs: 0 }).accept().send(unwait).results).toHaveLength(1);
  });
});
