/** Runs that begin under a standing lease of the agent, and a lease that is not good any more. */
import { describe, expect, it } from 'vitest';
import { LEASE_REVOKED } from '../../../actors/session/effect-types.ts';
import type { CallModelInput } from '../../../actors/session/types.ts';
import { address } from '../../../protocols/address.ts';
import type { AgentSettings } from '../../../protocols/agent.ts';
import { answer, Driven, settings } from './driven.ts';

const agent = address('default', 'agent', 'main');
const unlimited: AgentSettings = { ...settings, runsMax: 0 };
const revoked = {
  code: 'CONFLICT',
  message: 'the lease was revoked',
  details: { reason: LEASE_REVOKED },
} as const;

const admission = (runId: string, more: object) =>
  ({ type: 'agent.admitted', runId, lease: 0, settings: unlimited, ...more }) as const;

/** A session whose first run has ended, and left it a lease. */
const withLease = () => {
  const session = new Driven();
  session.receive('r1');
  session.send(admission('r1', { standing: 'l1' }), agent);
  session.done('model', answer([]));
  return session;
};
const tellsOf = ({ tells }: { tells: readonly { event: { type: string } }[] }) =>
  tells.map(({ event }) => event.type);
const callOf = (session: Driven) => session.started.get('model') as CallModelInput;

describe('a session with a standing lease', () => {
  it('calls the model in the turn of the message, without asking the agent', () => {
    const session = withLease();
    const said = session.receive('r2');
    expect(tellsOf(said)).toEqual([]);
    expect(said.events).toMatchObject([{ phase: 'start', runId: 'r2' }]);
    expect(said.entries).toMatchObject([{ type: 'user', runId: 'r2' }]);
    expect(callOf(session)).toMatchObject({
      runId: 'r2',
      settings: unlimited,
      assemble: { standing: { agent, id: 'l1' } },
    });
  });

  it('ends the run in the next turn, and reports what it used', () => {
    const session = withLease();
    session.receive('r2');
    const said = session.done('model', answer([]));
    expect(session.state).toBe('idle');
    expect(said.tells).toMatchObject([
      { to: agent, event: { type: 'agent.release', runId: 'r2' } },
    ]);
    expect(said.tells[0]!.event).not.toHaveProperty('lease');
  });

  it('asks for admission when the lease is not good any more, and begins with new settings', () => {
    const session = withLease();
    session.receive('r2');
    const asked = session.fail('model', revoked);
    expect(session.state).toEqual({ running: 'admitting' });
    expect(asked.tells).toMatchObject([{ event: { type: 'agent.admit', runId: 'r2' } }]);
    const limited = { ...unlimited, runsMax: 1 };
    const begun = session.send(admission('r2', { settings: limited, lease: 9 }), agent);
    expect(begun.events, 'its start was published').toEqual([]);
    expect(callOf(session)).toMatchObject({ runId: 'r2', settings: limited });
    expect(callOf(session).assemble).not.toHaveProperty('standing');
    session.done('model', answer([]));
    expect(tellsOf(session.receive('r3')), 'its lease is gone').toEqual(['agent.admit']);
  });

  it('ends with the refusal of an agent that is retired', () => {
    const session = withLease();
    session.receive('r2');
    session.fail('model', revoked);
    const error = { code: 'FORBIDDEN', message: 'the agent is retired' };
    session.send({ type: 'agent.refused', runId: 'r2', error }, agent);
    expect(session.state).toBe('idle');
    expect(session.rows.get('r2')).toMatchObject({ status: 'error', error });
  });

  it('checks the lease again when its first call did not get that far', () => {
    const session = withLease();
    session.receive('r2');
    session.fail('model', { code: 'UNAVAILABLE', message: 'the journals could not be read' });
    session.fire('retryBackoff');
    expect(session.started.get('prompt')).toMatchObject({ standing: { agent, id: 'l1' } });
    session.fail('prompt', revoked);
    expect(session.state).toEqual({ running: 'admitting' });
  });

  it('does not check the lease in later calls, and the run continues', () => {
    const session = withLease();
    session.receive('r2');
    const assembled = { digest: 'd', replyHooks: false };
    session.done('model', { assembled, failure: { code: 'UNAVAILABLE', message: 'busy' } });
    session.fire('retryBackoff');
    expect(callOf(session)).not.toHaveProperty('assemble');
    expect(session.context.run).not.toHaveProperty('standing');
  });
});
