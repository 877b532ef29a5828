/** Runs that another agent's run caused. The run that waits for them may hold the last slot. */
import { describe, expect, it } from 'vitest';
import { agentMachine } from '../../actors/agent/machine.ts';
import { address } from '../../protocols/address.ts';
import type { AgentRow, AgentSettings } from '../../protocols/agent.ts';
import type { Message, Project, Tell } from '../../protocols/statechart.ts';
import { initialState, type Live, step } from '../../runtime/statechart/host.ts';
import { requestsOf } from '../charts/coverage.ts';

const self = address('default', 'agent', 'main');
const poor: Partial<AgentSettings> = { tokensPerDay: 10 };

/** An agent that a test drives turn by turn; each call returns the messages to sessions. */
function agentWith(more?: Partial<AgentSettings>) {
  const meta = { id: 'm0', now: 1_000, self };
  let now = 1_000;
  let row: AgentRow | undefined;
  let live: Live = initialState(
    agentMachine,
    { self, tenant: 'default', key: 'main', now: 1_000 },
    meta,
  ).live;
  const take = (event: Message) => {
    const from = address('default', 'session', `of-${String(event['runId'])}`);
    const about = { id: `m${++now}`, now, self, from };
    const made = step(agentMachine, live, { event: { ...event, meta: about } }, now);
    live = made.live;
    for (const { value } of requestsOf<Project>(made.requests, 'project')) row = value as AgentRow;
    return requestsOf<Tell>(made.requests, 'tell').map(({ event: sent }) => sent);
  };
  const settings: AgentSettings = {
    agentId: 'main',
    timeoutMs: 1_000,
    runsMax: 1,
    tokensPerDay: 0,
    ...more,
  };
  if (more) take({ type: 'agent.configure', settings });
  return {
    take,
    admit: (runId: string) => take({ type: 'agent.admit', runId }),
    nested: (runId: string) => take({ type: 'agent.admit', runId, nested: true }),
    release: (runId: string, lease: number, inputTokens = 0) =>
      take({ type: 'agent.release', runId, lease, usage: { inputTokens, outputTokens: 0 } }),
    row: () => row,
  };
}

const admitted = (runId: string, lease: unknown = 0) => ({
  type: 'agent.admitted',
  runId,
  lease,
});

describe('a nested run', () => {
  it('is admitted immediately by an agent without a free slot, before waiting runs', () => {
    const agent = agentWith({});
    const [first] = agent.admit('r1');
    expect(agent.admit('r2')).toEqual([]);
    expect(agent.nested('n1')).toMatchObject([admitted('n1')]);
    expect(agent.nested('n2')).toMatchObject([admitted('n2')]);
    expect(agent.row()).toMatchObject({ running: 1, waiting: 1 });
    expect(agent.release('n1', 0, 7)).toEqual([]);
    expect(agent.take({ type: 'agent.return', runId: 'n2', lease: 0 })).toEqual([]);
    expect(agent.row()).toMatchObject({ running: 1, waiting: 1, tokensToday: 7 });
    const lease = first?.['lease'] as number;
    expect(lease).toBeGreaterThan(0);
    expect(agent.release('r1', lease)).toMatchObject([admitted('r2', lease)]);
  });

  it('is admitted even when it already waits for a slot, once its request says that it is nested', () => {
    const agent = agentWith({ tenant: { runsMax: 1 }, runsMax: 2 });
    agent.admit('r1');
    expect(agent.admit('r2')).toMatchObject([{ type: 'budget.take', runId: 'r2' }]);
    expect(agent.nested('r2')).toMatchObject([admitted('r2')]);
    expect(agent.take({ type: 'budget.taken', runId: 'r2' })).toEqual([]);
    expect(agent.release('r2', 0)).toMatchObject([{ type: 'budget.release', runId: 'r2' }]);
    agent.take({ type: 'agent.pause' });
    agent.admit('r3');
    expect(agent.nested('r3')).toEqual([]);
    expect(agent.take({ type: 'agent.resume' })).toMatchObject([admitted('r3')]);
  });

  it('uses none of the slots shared by all agents', () => {
    const agent = agentWith({ tenant: { runsMax: 1 } });
    expect(agent.admit('r1')).toMatchObject([{ type: 'budget.take', runId: 'r1' }]);
    expect(agent.nested('n1')).toMatchObject([admitted('n1')]);
    expect(agent.release('n1', 0, 3)).toMatchObject([
      { type: 'budget.release', runId: 'n1', usage: { inputTokens: 3 } },
    ]);
  });

  it('is refused by an agent that is unknown, retired or over its budget', () => {
    expect(agentWith().nested('n1')).toMatchObject([{ error: { code: 'NOT_FOUND' } }]);
    const spent = agentWith(poor);
    const [first] = spent.admit('r1');
    spent.release('r1', first?.['lease'] as number, 10);
    expect(spent.nested('n1')).toMatchObject([{ error: { code: 'RATE_LIMIT_EXCEEDED' } }]);
    const retired = agentWith({});
    retired.take({ type: 'agent.retire' });
    expect(retired.nested('n1')).toMatchObject([{ error: { code: 'FORBIDDEN' } }]);
  });

  it('waits while the agent is paused, and then goes before runs that need a slot', () => {
    const agent = agentWith({});
    agent.admit('r1');
    agent.admit('r2');
    agent.take({ type: 'agent.pause' });
    expect([agent.admit('r3'), agent.nested('n1'), agent.nested('n1')]).toEqual([[], [], []]);
    expect(agent.row()).toMatchObject({ status: 'paused', waiting: 3 });
    expect(agent.take({ type: 'agent.resume' })).toMatchObject([admitted('n1')]);
    expect(agent.row()).toMatchObject({ status: 'active', running: 1, waiting: 2 });
  });

  it('that waited for a paused agent is refused when the budget was exhausted meanwhile', () => {
    const agent = agentWith(poor);
    const [first] = agent.admit('r1');
    agent.take({ type: 'agent.pause' });
    agent.nested('n1');
    agent.release('r1', first?.['lease'] as number, 10);
    expect(agent.take({ type: 'agent.resume' })).toMatchObject([
      { type: 'agent.refused', runId: 'n1', error: { code: 'RATE_LIMIT_EXCEEDED' } },
    ]);
  });
});
