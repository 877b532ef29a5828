import { describe, expect, it } from 'vitest';
import { answer, call, Driven, resultOf } from './driven.ts';

const thinking = { running: { working: 'thinking' } };

describe('a message that arrives during a run', () => {
  it('joins it at the next boundary of a tool, and the calls that have not begun are skipped', () => {
    const session = new Driven();
    session.begin('r1');
    session.done('model', answer([call('a', { class: 'keyed' }), call('b')]));
    session.receive('r2');
    const { entries, events } = session.done('keyed', [resultOf('a')]);
    expect(entries.map((entry) => ('callId' in entry ? entry.result : entry))).toEqual([
      'done',
      'Skipped: a new message arrived',
      expect.objectContaining({ type: 'user', runId: 'r1', of: 'r2', text: 'text of r2' }),
    ]);
    expect(events).toContainEqual(expect.objectContaining({ stream: 'steer', of: 'r2' }));
    expect(session.state).toEqual(thinking);
    expect(session.rows.get('r2')).toMatchObject({ status: 'running', joined: 'r1' });
    const end = session.done('model', answer([]));
    expect(end.events.map(({ runId, stream }) => [runId, stream])).toEqual([
      ['r1', 'lifecycle'],
      ['r2', 'lifecycle'],
    ]);
    expect(session.rows.get('r2')).toMatchObject({ status: 'ok', joined: 'r1', text: 'so it is' });
    expect(session.rows.get('r2')?.usage).toBeUndefined();
  });

  it('becomes a run of its own when the run ends first', () => {
    const session = new Driven();
    session.begin('r1');
    session.receive('r2');
    session.done('model', answer([]));
    expect(session.context.run).toMatchObject({ runId: 'r2', joined: [] });
  });

  it('waits for its own run when it is to follow up', () => {
    const session = new Driven();
    session.begin('r1');
    session.receive('r2', { queue: 'followup' });
    session.done('model', answer([call('a')]));
    session.done('tools', [resultOf('a')]);
    expect(session.context.run).toMatchObject({ runId: 'r1', joined: [] });
    session.done('model', answer([]));
    expect(session.context.run?.runId).toBe('r2');
  });

  it('aborts the run and starts at once in mode interrupt', () => {
    const session = new Driven();
    session.begin('r1');
    session.receive('r2', { queue: 'followup' });
    session.receive('r3', { queue: 'interrupt' });
    expect(session.rows.get('r1')?.status).toBe('aborted');
    expect(session.context.run?.runId).toBe('r3');
    expect(session.rows.get('r2')?.status).toBe('queued');
  });

  it('is one run with all that is collected, each under who said it, after a quiet while', () => {
    const session = new Driven();
    session.begin('r1', { queue: { byChannel: { irc: 'collect' }, debounceMs: 700 } });
    session.receive('r2', { channel: 'irc', sender: 'Ada' });
    session.done('model', answer([]));
    expect(session.state).toBe('collecting');
    session.receive('r3', { channel: 'irc', sender: 'Bob' });
    expect(session.state).toBe('collecting');
    const { entries } = session.fire('quiet');
    expect(entries).toMatchObject([
      { type: 'user', runId: 'r2', text: 'Ada: text of r2\n\n---\n\nBob: text of r3' },
    ]);
    expect(session.rows.get('r3')).toMatchObject({ status: 'running', joined: 'r2' });
  });

  it('that arrives before the mode of the agent uses its own mode', () => {
    const session = new Driven();
    session.receive('r1');
    session.receive('r2');
    session.receive('r3', { channel: 'irc' });
    session.receive('r4', { queue: 'steer' });
    session.admit('r1', { queue: { mode: 'followup', byChannel: { irc: 'collect' } } });
    const modes = session.context.queue.map(({ runId, mode }) => `${runId} ${mode}`);
    expect(modes).toEqual(['r2 followup', 'r3 collect', 'r4 followup']);
    expect(session.context.run?.joined).toEqual([]);
  });

  it.each(['steer', 'followup'] as const)(
    'before the model request has its own run and reply (%s)',
    (queue) => {
      const session = new Driven();
      session.receive('r1', { queue });
      session.receive('r2', { queue });
      session.receive('r3', { queue });
      session.admit('r1', {});
      expect(session.context.run?.joined).toEqual([]);
      for (const runId of ['r2', 'r3']) {
        session.done('model', answer([]));
        expect(session.context.run?.runId).toBe(runId);
        session.admit(runId, {});
      }
      session.done('model', answer([]));
      for (const runId of ['r1', 'r2', 'r3'])
        expect(session.rows.get(runId)).toMatchObject({ status: 'ok' });
      expect([...session.rows.values()].filter((row) => 'joined' in (row as object))).toEqual([]);
    },
  );

  it('goes by the message, then the session, then the channel, then the agent', () => {
    const session = new Driven();
    session.begin('r1', { queue: { mode: 'followup', byChannel: { irc: 'collect' } } });
    session.receive('r2');
    session.receive('r3', { channel: 'irc' });
    session.send({ type: 'session.set', queue: 'steer' });
    session.receive('r4', { channel: 'irc' });
    session.receive('r5', { queue: 'followup' });
    const modes = session.context.queue.map(({ runId, mode }) => `${runId} ${mode}`);
    expect(modes).toEqual(['r2 followup', 'r3 collect', 'r4 steer', 'r5 followup']);
  });
});

describe('more messages than may wait', () => {
  const followup = { queue: 'followup' };

  it('fold the oldest into a line of the next run, and end with it', () => {
    const session = new Driven();
    session.begin('r1', { queue: { cap: 1 } });
    session.receive('r2', { ...followup, sender: 'Ada' });
    session.receive('r3', followup);
    const { entries } = session.done('model', answer([]));
    expect(entries.at(-1)).toMatchObject({ type: 'user', runId: 'r3' });
    expect(session.entries.at(-1)).toMatchObject({
      text: expect.stringMatching(
        /1 earlier messages[^]*- Ada: text of r2[^]*text of r3/,
      ) as string,
    });
    session.admit('r3', { queue: { cap: 1 } });
    session.done('model', answer([]));
    expect(session.rows.get('r2')).toMatchObject({ status: 'ok', joined: 'r3' });
  });

  // The schema accepted up to 1,000, and the session counted to 100.
  it('wait up to the largest setting', () => {
    const session = new Driven();
    session.begin('r1', { queue: { cap: 300, overflow: 'refuse' } });
    for (let n = 2; n <= 301; n++) session.receive(`r${n}`, followup);
    expect(session.rows.get('r301')).toMatchObject({ status: 'queued' });
    session.receive('r302', followup);
    expect(session.rows.get('r302')).not.toMatchObject({ status: 'queued' });
  });

  it('leave the words of the oldest out when that is wanted', () => {
    const session = new Driven();
    session.begin('r1', { queue: { cap: 1, overflow: 'old' } });
    session.receive('r2', followup);
    session.receive('r3', followup);
    session.done('model', answer([]));
    expect(JSON.stringify(session.entries.at(-1))).not.toContain('text of r2');
    expect(session.rows.get('r2')).toMatchObject({ status: 'running', joined: 'r3' });
  });

  it('refuse the newest when that is wanted', () => {
    const session = new Driven();
    session.begin('r1', { queue: { cap: 1, overflow: 'refuse' } });
    session.receive('r2', followup);
    const { answers } = session.receive('r3', followup);
    expect(answers).toMatchObject([{ error: { code: 'RATE_LIMIT_EXCEEDED' } }]);
    expect(session.context.queue.map(({ runId }) => runId)).toEqual(['r2']);
  });
});

describe('a reset', () => {
  it('ends active and waiting runs, and starts another session id', () => {
    const session = new Driven();
    session.begin('r1');
    session.receive('r2', { queue: 'followup' });
    session.send({ type: 'session.set', thinking: 'high' });
    const before = session.context.sessionId;
    const { answers, entries } = session.send({ type: 'session.reset' });
    expect([session.rows.get('r1')?.status, session.rows.get('r2')?.status]).toEqual([
      'aborted',
      'aborted',
    ]);
    const { sessionId } = answers[0]!.result as { sessionId: string };
    expect(sessionId).not.toBe(before);
    expect(entries.map(({ type }) => type)).toEqual(['run.end', 'reset']);
    expect(session.context).toMatchObject({ sessionId, own: {}, digest: null, queue: [] });
    // The first call may have run the hooks for the session's start.
    expect(session.state).toBe('parting');
    session.done('farewell', null);
    expect(session.state).toBe('idle');
  });
});

describe('a conversation that a user has compacted', () => {
  const shortened = (inputTokens: number) => ({
    compacted: inputTokens > 0,
    summary: 'they spoke',
    keptFrom: 3,
    tokensBefore: 900,
    tokensAfter: 100,
    usage: { inputTokens, outputTokens: 0 },
  });
  const compactedFor = (inputTokens: number) => {
    const session = new Driven();
    session.begin('r1');
    session.done('model', answer([]));
    session.send({ type: 'session.compact' });
    return session.done('compaction', shortened(inputTokens)).tells;
  };

  it('is paid for: the agent counts what the model took for it', () => {
    const usage = { inputTokens: 700, outputTokens: 0 };
    expect(compactedFor(700)).toMatchObject([{ event: { type: 'agent.release', usage } }]);
    expect(compactedFor(0)).toEqual([]);
  });
});
