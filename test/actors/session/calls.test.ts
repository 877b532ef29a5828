import { describe, expect, it } from 'vitest';
import { approvalAddress } from '../../../protocols/approval.ts';
import { answer, call, Driven, resultOf } from './driven.ts';

const question = { command: 'make clean', detail: 'on the host', pattern: 'make *', forMs: 9_000 };
const callsOf = (input: unknown) =>
  (input as { calls: { id: string }[] }).calls.map(({ id }) => id);

const asking = () => {
  const session = new Driven();
  session.begin('r1');
  const { tells, events } = session.done('model', answer([call('a', { question }), call('b')]));
  const { approvalId } = events.find((event) => 'approvalId' in event) as { approvalId: string };
  const decide = (result: object) =>
    session.send(
      { type: 'reply', to: 'm', result: { decided_at: '', decided_by: 'ada', ...result } },
      approvalAddress('default', approvalId),
    );
  return { session, tells, decide, approvalId };
};

describe('the calls of one answer', () => {
  it('run together as far as they may be repeated side by side, and the others one by one', () => {
    const session = new Driven();
    session.begin('r1');
    session.done(
      'model',
      answer([
        call('a'),
        call('b'),
        call('c', { class: 'once', parallel: false }),
        call('d', { refused: 'The policy says no.' }),
        call('e', { parallel: false }),
      ]),
    );
    expect(callsOf(session.started.get('tools'))).toEqual(['a', 'b']);
    session.done('tools', [resultOf('a'), resultOf('b')]);
    expect(callsOf(session.started.get('once'))).toEqual(['c']);
    const { entries } = session.done('once', [resultOf('c')]);
    expect(entries).toMatchObject([
      { callId: 'c' },
      { callId: 'd', result: 'The policy says no.', isError: true },
    ]);
    expect(callsOf(session.started.get('tools'))).toEqual(['e']);
  });

  it('are published from their start also when they do not run', () => {
    const session = new Driven();
    session.begin('r1');
    const refused = call('a', { refused: 'The policy says no.', args: { path: 'x' } });
    const { events } = session.done('model', answer([refused, call('b')]));
    expect(events).toMatchObject([
      { stream: 'tool', phase: 'start', callId: 'a', args: { path: 'x' } },
      { stream: 'tool', phase: 'end', callId: 'a', result: 'The policy says no.', isError: true },
    ]);
    // the effect of b has published its start
    expect(session.fail('tools', { code: 'UNAVAILABLE', message: 'gone' }).events).toMatchObject([
      { stream: 'tool', phase: 'end', callId: 'b', isError: true },
    ]);
  });

  it('beyond the 32nd do not run, and each has a result that says so', () => {
    const session = new Driven();
    session.begin('r1');
    const refused = 'Not run: too many.';
    const ids = Array.from({ length: 500 }, (_, n) => `c${n}`);
    const { entries } = session.done(
      'model',
      answer(ids.map((id, n) => call(id, n < 32 ? {} : { refused }))),
    );
    expect(entries.slice(1)).toMatchObject(
      ids.slice(32).map((callId) => ({ type: 'tool', callId, result: refused, isError: true })),
    );
    expect(callsOf(session.started.get('tools'))).toEqual(ids.slice(0, 32));
    session.done(
      'tools',
      ids.slice(0, 32).map((id) => resultOf(id)),
    );
    expect(session.state).toEqual({ running: { working: 'thinking' } });
    expect(session.started.get('model')).toMatchObject({ entries: 502 });
  });

  it('that fail as a whole are results that the model reads', () => {
    const session = new Driven();
    session.begin('r1');
    session.done('model', answer([call('a')]));
    const { entries } = session.fail('tools', { code: 'UNAVAILABLE', message: 'no folder' });
    expect(entries).toMatchObject([
      { callId: 'a', isError: true, result: 'The call failed: UNAVAILABLE: no folder' },
    ]);
    expect(session.state).toEqual({ running: { working: 'thinking' } });
  });
});

describe('a call that needs an approval', () => {
  it('runs when it is allowed', () => {
    const { session, tells, decide } = asking();
    expect(tells).toMatchObject([{ ask: true, event: { type: 'approval.ask', forMs: 9_000 } }]);
    const { tells: after } = decide({ state: 'allowed', decision: 'allow-once' });
    expect(after).toEqual([]);
    expect(callsOf(session.started.get('tools'))).toEqual(['a', 'b']);
  });

  it('bug: promised more time than its run has', () => {
    const long = { ...question, forMs: 1_800_000 };
    const timeOf = (waitMs: number) => {
      const session = new Driven();
      session.receive('r1');
      session.pass(waitMs);
      session.admit('r1');
      session.pass(30_000);
      const { tells } = session.done('model', answer([call('a', { question: long })]));
      return (tells[0]!.event as unknown as { forMs: number }).forMs;
    };
    // Of 100 s, 30 s have passed. The time before the admission does not count.
    for (const waitMs of [0, 95_000]) {
      expect(timeOf(waitMs)).toBeGreaterThan(69_000);
      expect(timeOf(waitMs)).toBeLessThanOrEqual(70_000);
    }
  });

  it('bug: after the machine had slept, the time for the decision was over at once', () => {
    const session = new Driven();
    session.begin('r1');
    // The time limit does not count the sleep, so the run continues.
    session.pass(200_000);
    const { tells } = session.done('model', answer([call('a', { question })]));
    expect(tells).toMatchObject([{ event: { forMs: 9_000 } }]);
  });

  it('needs no further approval when it is always allowed', () => {
    const { decide } = asking();
    const { tells } = decide({ state: 'allowed', decision: 'allow-always' });
    expect(tells).toMatchObject([{ event: { type: 'agent.allow', pattern: 'make *', by: 'ada' } }]);
  });

  it('does not run when it is denied, and the model receives who denied it', () => {
    const { session, decide } = asking();
    const { entries } = decide({ state: 'denied', decision: 'deny', why: 'too early' });
    expect(entries).toMatchObject([
      { callId: 'a', isError: true, result: expect.stringMatching(/ada denied it: too early/) },
    ]);
    expect(callsOf(session.started.get('tools'))).toEqual(['b']);
  });

  it('leaves no open question when the run is aborted, and a late answer changes nothing', () => {
    const { session, decide, approvalId } = asking();
    const { tells } = session.send({ type: 'session.abort' });
    expect(tells).toContainEqual(
      expect.objectContaining({
        to: approvalAddress('default', approvalId),
        event: expect.objectContaining({ type: 'approval.withdraw' }) as object,
      }),
    );
    decide({ state: 'allowed', decision: 'allow-once' });
    expect(session.started.has('tools')).toBe(false);
    expect(session.state).toBe('idle');
  });

  it('is withdrawn when a user sends a message, which the model receives first', () => {
    const { session, decide, approvalId } = asking();
    const { tells, entries } = session.receive('r2');
    expect(tells).toEqual([
      {
        to: approvalAddress('default', approvalId),
        event: { type: 'approval.withdraw', why: 'a new message arrived' },
      },
    ]);
    expect(entries).toMatchObject([
      { callId: 'a', result: 'Skipped: a new message arrived' },
      { callId: 'b', result: 'Skipped: a new message arrived' },
      { type: 'user', of: 'r2' },
    ]);
    expect(session.state).toEqual({ running: { working: 'thinking' } });
    decide({ state: 'expired' });
    expect(session.started.has('tools')).toBe(false);
  });

  it('remains open when a message arrives that is not for this run', () => {
    const { session, decide } = asking();
    session.receive('r2', { queue: 'followup' });
    decide({ state: 'allowed', decision: 'allow-once' });
    expect(callsOf(session.started.get('tools'))).toEqual(['a', 'b']);
  });

  it('has a question of its own each time, even when a provider repeats the ids of its calls', () => {
    const { session, decide, approvalId } = asking();
    decide({ state: 'denied', decision: 'deny' });
    session.done('tools', [resultOf('b')]);
    const { events } = session.done('model', answer([call('a', { question })]));
    const again = events.find((event) => 'approvalId' in event) as { approvalId: string };
    expect(again.approvalId).not.toBe(approvalId);
  });
});

describe('a ceiling', () => {
  const endOf = (session: Driven) => session.rows.get('r1')!;

  it.each([
    ['turnsMax', { turnsMax: 1 }],
    ['tokensPerRun', { tokensPerRun: 5 }],
    ['tokensPerSession', { tokensPerSession: 4 }],
    ['costPerRunUsd', { costPerRunUsd: 0.5 }],
    ['costPerSessionUsd', { costPerSessionUsd: 0.5 }],
  ])('%s ends the run before another model call, and says so', (limit, limits) => {
    const session = new Driven();
    session.begin('r1', { limits });
    const usage = { inputTokens: 3, outputTokens: 2, costUsd: 0.6 };
    session.done('model', answer([call('a')], { usage }));
    session.done('tools', [resultOf('a')]);
    expect(endOf(session)).toMatchObject({
      status: 'error',
      error: { code: 'RATE_LIMIT_EXCEEDED', details: { limit } },
    });
  });

  it('on identical calls warns the model first, and ends the run at twice as many', () => {
    const session = new Driven();
    session.begin('r1', { limits: { identicalCallsMax: 2 } });
    const same = answer([call('s')]);
    for (let n = 0; n < 2; n++) {
      session.done('model', same);
      session.done('tools', [resultOf('s')]);
    }
    const { entries } = session.done('model', same);
    expect(entries).toMatchObject([
      { type: 'assistant' },
      { type: 'tool', isError: true, result: expect.stringMatching(/^Not run: the last 2 calls/) },
    ]);
    session.done('model', same);
    session.done('model', same);
    expect(endOf(session).error).toMatchObject({ details: { limit: 'identicalCallsMax' } });
  });

  it('on identical calls does not count those whose result was another one', () => {
    const session = new Driven();
    session.begin('r1', { limits: { identicalCallsMax: 2 } });
    for (let n = 0; n < 6; n++) {
      session.done('model', answer([call('s')]));
      session.done('tools', [resultOf('s', `${n} percent`)]);
    }
    expect(session.context.run?.calls).toBe(6);
  });
});
