/** Forks of sessions that are stepped by hand; what a fork may have of its session. */
import { expect } from 'vitest';
import { startOf } from '../../../actors/session/fork.ts';
import type { SessionContext } from '../../../actors/session/types.ts';
import type { Ledger } from '../../charts/coverage.ts';
import { contextOf } from './account.ts';
import { Driven } from './driven.ts';

export const FROM = { key: 'agent:main:main', turn: 9 };
/** All that a fork may have, in addition to what a new session has. */
const CARRIED = ['own', 'settings', 'lastMessage', 'contextTokens', 'usedModel'] as const;

/** A fork of a session with this context, of whose transcript nothing is copied. */
export function forkOf(context: SessionContext): Driven {
  const fork = new Driven('agent:main:fork');
  const asked = fork.send({ type: 'session.fork', from: FROM });
  expect(asked.tells).toEqual([]);
  expect(fork.state).toBe('forking');
  const { tells, answers } = fork.done('copying', { start: startOf(context), entries: [] });
  expect(tells).toEqual([]);
  expect(answers).toMatchObject([{ result: { forkedFrom: FROM } }]);
  return fork;
}

/** Forks the session after each of its steps. */
export const forkedAlways: Ledger = {
  copy: () => forkedAlways,
  take: ({ step: { live } }) => checkFork(contextOf(live)),
};

function checkFork(session: SessionContext): void {
  if (session.fork) return;
  const fork = forkOf(session);
  expect(fork.state).toBe('idle');
  const fresh = new Driven('agent:main:fork').context;
  const other = Object.keys(fork.context).filter((name) => {
    const key = name as keyof SessionContext;
    return JSON.stringify(fork.context[key]) !== JSON.stringify(fresh[key]);
  });
  const own = ['sessionId', 'forkedFrom', 'length', 'updatedAt', 'fork'];
  expect([...CARRIED, ...own]).toEqual(expect.arrayContaining(other));
  expect([...fork.started.keys()]).toEqual(['copying']);
  const heard = fork.receive('next', { queue: 'steer' });
  expect(heard.answers).toMatchObject([{ result: { status: 'accepted' } }]);
  expect(heard.tells.map(({ event }) => event.type)).toEqual(['agent.admit']);
}
