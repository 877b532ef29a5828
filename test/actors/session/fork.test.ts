import { describe, expect, it } from 'vitest';
import { startOf } from '../../../actors/session/fork.ts';
import { exploreRandomly } from '../../charts/coverage.ts';
import { answer, Driven } from './driven.ts';
import { forkedAlways, forkOf, FROM } from './forked.ts';
import { exploration } from './walk.ts';

describe('the fork of a session', () => {
  it('is idle and free of work after every step of random sessions', { timeout: 180_000 }, () => {
    expect(exploreRandomly({ ...exploration, ledger: () => forkedAlways }, 30)).toBe(30);
  });

  it('says that a run was cut off, and how one ended whose outcome was known', () => {
    const session = new Driven();
    session.begin('r1');
    const { entries } = forkOf(session.context);
    expect(entries).toMatchObject([
      { type: 'run.end', runId: 'r1', status: 'aborted', error: { code: 'CANCELLED' } },
      { type: 'fork', from: FROM },
    ]);
    session.done('model', { ...answer([]), assembled: { digest: 'd', replyHooks: true } });
    expect(session.state).toEqual({ running: 'replying' });
    expect(forkOf(session.context).entries[0]).toMatchObject({ type: 'run.end', status: 'ok' });
  });

  it('processes what arrived while it was copied, and is refused when it exists', () => {
    const fork = new Driven('agent:main:fork');
    fork.send({ type: 'session.fork', from: FROM });
    expect(fork.receive('r1').answers).toMatchObject([{ result: { queued: true } }]);
    const again = fork.send({ type: 'session.fork', from: FROM });
    expect(again.answers).toMatchObject([{ error: { code: 'CONFLICT' } }]);
    fork.done('copying', { start: startOf(new Driven().context), entries: [] });
    fork.admit('r1');
    fork.done('model', answer([]));
    expect(fork.rows.get('r1')?.status).toBe('ok');
  });

  it('that cannot be copied does not exist, and what waited ends as aborted', () => {
    const fork = new Driven('agent:main:fork');
    fork.send({ type: 'session.fork', from: FROM });
    fork.receive('r1');
    const { answers } = fork.fail('copying', { code: 'NOT_FOUND', message: 'not kept' });
    expect(answers[0]).toMatchObject({ error: { code: 'NOT_FOUND' } });
    expect(fork.rows.get('r1')?.status).toBe('aborted');
    expect(fork.state).toBe('closed');
  });

  it.each([
    ['session.reset', 'idle'],
    ['session.close', 'closed'],
  ])('answers who asked for it when %s comes first', (type, state) => {
    const fork = new Driven('agent:main:fork');
    fork.send({ type: 'session.fork', from: FROM });
    expect(fork.send({ type }).answers[0]).toMatchObject({ error: { code: 'CANCELLED' } });
    expect(fork.state).toBe(state);
    expect(fork.context.forkedFrom).toEqual(type === 'session.reset' ? undefined : FROM);
  });
});
