/** The commands that operators allowed for an agent, and rows that older versions stored. */
import { describe, expect, it } from 'vitest';
import { ALLOWED_CHARACTERS_MAX } from '../../../actors/agent/allowed.ts';
import { agentMachine } from '../../../actors/agent/machine.ts';
import { withCosts } from '../../../actors/agent/migrate.ts';
import { LEASE_GRACE_MS } from '../../../actors/agent/slots.ts';
import type { AgentContext } from '../../../actors/agent/types.ts';
import { address } from '../../../protocols/address.ts';
import { AGENT_DAYS_INDEX, ALLOWED_MAX, type AgentRow } from '../../../protocols/agent.ts';
import type { Message, Meta, Project, Reply } from '../../../protocols/statechart.ts';
import { checkRow } from '../../../runtime/statechart/check.ts';
import {
  initialState,
  type Live,
  load,
  save,
  type Step,
  step,
} from '../../../runtime/statechart/host.ts';
import { requestsOf } from '../../charts/coverage.ts';

const self = address('default', 'agent', 'main');
const own = address('default', 'session', 'agent:main:main');
const operator = { sub: 'ada', roles: ['operator'] };
const settings = { agentId: 'main', timeoutMs: 1_000, runsMax: 1, tokensPerDay: 0 };

class Agent {
  live: Live;
  #now = 1_000;

  constructor(live?: Live) {
    const meta = { id: 'm0', now: this.#now, self };
    const input = { self, tenant: 'default', key: 'main', now: this.#now };
    this.live = live ?? initialState(agentMachine, input, meta).live;
  }

  take(event: Message, about: Partial<Meta> = {}): Step {
    const id = `m${++this.#now}`;
    const meta = { id, now: this.#now, self, reply: { id }, ...about };
    const made = step(agentMachine, this.live, { event: { ...event, meta } }, this.#now);
    this.live = made.live;
    return made;
  }

  allow(pattern: string, about: Partial<Meta> = { from: own }): Reply {
    const made = this.take({ type: 'agent.allow', pattern, by: 'bo' }, about);
    return requestsOf<Reply>(made.requests, 'reply')[0]!;
  }

  get context(): AgentContext {
    return this.live.snapshot.context as AgentContext;
  }
}

const configured = () => {
  const agent = new Agent();
  agent.take({ type: 'agent.configure', settings });
  return agent;
};

describe('commands that operators allowed', () => {
  it('are kept with who allowed them, and shown in the row', () => {
    const agent = configured();
    const made = agent.take({ type: 'agent.allow', pattern: 'ls', by: 'bo' }, { from: own });
    const [row] = requestsOf<Project>(made.requests, 'project').map(
      ({ value }) => value as AgentRow,
    );
    expect(row?.allowed).toMatchObject([{ pattern: 'ls', by: 'bo' }]);
    agent.allow('git status', { principal: operator });
    expect(agent.context.allowed).toMatchObject([
      { pattern: 'ls', by: 'bo' },
      { pattern: 'git status', by: 'ada' },
    ]);
    agent.allow('ls');
    expect(agent.context.allowed.map(({ pattern }) => pattern)).toEqual(['git status', 'ls']);
  });

  it('replace the oldest ones, and the reply names the removed ones', () => {
    const agent = configured();
    for (let n = 0; n < ALLOWED_MAX; n++) agent.allow(`run ${n}`);
    expect(agent.allow('one more').result).toEqual({ allowed: ALLOWED_MAX, leftOut: ['run 0'] });
    const long = configured();
    const size = 1_000;
    const fits = Math.floor(ALLOWED_CHARACTERS_MAX / size);
    for (let n = 0; n < fits; n++) long.allow(String(n).padEnd(size, 'x'));
    const { result } = long.allow('y'.repeat(size));
    expect(result).toEqual({ allowed: fits, leftOut: ['0'.padEnd(size, 'x')] });
  });

  it.each<[string, Partial<Meta>]>([
    ['a message without a sender', {}],
    ['a person without the role', { principal: { sub: 'eve', roles: ['viewer'] } }],
    [
      'the session of another agent in the name of an operator',
      { from: address('default', 'session', 'agent:main2:main'), principal: operator },
    ],
    ['another tenant', { from: address('other', 'session', 'agent:main:main') }],
    ['another actor', { from: self, principal: operator }],
  ])('are not accepted from %s', (_, about) => {
    const agent = configured();
    expect(agent.allow('rm -rf', about).error).toMatchObject({ code: 'FORBIDDEN' });
    expect(agent.context.allowed).toEqual([]);
  });

  it('are patterns of a bounded length', () => {
    const agent = configured();
    for (const pattern of ['', '  ', 'x'.repeat(8_193)])
      expect(agent.allow(pattern).error).toMatchObject({ code: 'INVALID_ARGUMENT' });
    expect(agent.take({ type: 'agent.allow' }, { from: own }).outcome).not.toBe('failed');
    expect(new Agent().allow('ls').error).toMatchObject({ code: 'NOT_FOUND' });
  });
});

describe('money of a day', () => {
  it('is counted where a price is known, and refuses runs when it is spent', () => {
    const agent = new Agent();
    agent.take({ type: 'agent.configure', settings: { ...settings, costPerDayUsd: 1 } });
    const release = (costUsd?: number) =>
      agent.take({
        type: 'agent.release',
        runId: 'r0',
        usage: { inputTokens: 10, outputTokens: 1, ...(costUsd ? { costUsd } : {}) },
      });
    release();
    release(0.75);
    expect(agent.context).toMatchObject({ tokensToday: 22, costToday: 0.75 });
    const row = requestsOf<Project>(release(0.25).requests, 'project')[0]!.value as AgentRow;
    expect(row).toMatchObject({ costTodayUsd: 1 });
    const { requests } = agent.take({ type: 'agent.admit', runId: 'r1' }, { from: own });
    expect(JSON.stringify(requests)).toContain('costPerDayUsd');
    expect(agent.context.leases).toEqual([]);
  });

  it('is kept as a row of its own when a run ends on another day', () => {
    const agent = configured();
    const release = (at: string) =>
      agent.take(
        {
          type: 'agent.release',
          runId: 'r0',
          usage: { inputTokens: 10, outputTokens: 1, costUsd: 0.5 },
        },
        { now: Date.parse(at) },
      );
    const days = (at: string) =>
      requestsOf<Project>(release(at).requests, 'project').filter(
        ({ index }) => index === AGENT_DAYS_INDEX,
      );
    expect(days('2026-03-01T10:00:00Z')).toEqual([]);
    expect(days('2026-03-01T23:59:59Z')).toEqual([]);
    expect(days('2026-03-04T00:00:00Z')).toMatchObject([
      { key: '2026-03-01/main', value: { agentId: 'main', tokens: 22, costUsd: 1 } },
    ]);
    expect(agent.context).toMatchObject({ day: '2026-03-04', tokensToday: 11, costToday: 0.5 });
    // The row of an agent without a run today keeps its last day.
    const { requests } = agent.take(
      { type: 'agent.retire' },
      { now: Date.parse('2026-03-05T00:00:00Z'), principal: operator },
    );
    expect(requestsOf<Project>(requests, 'project')).toMatchObject([
      { value: { status: 'retired', day: '2026-03-04', tokensToday: 11 } },
    ]);
  });
});

describe('an agent that was stored by version 1', () => {
  it('keeps its slots and the tokens of its day', () => {
    const before = configured();
    before.take({ type: 'agent.admit', runId: 'r1' }, { from: own });
    const row = JSON.parse(JSON.stringify(save(before.live))) as ReturnType<typeof save>;
    const { costToday: _, allowed: __, tenantSpent: ___, ...rest } = row.snap.c as AgentContext;
    const { leases, ...old } = rest;
    const running = [{ runId: 'r1', at: 0 }];
    const migrated = withCosts({ ...row, snap: { ...row.snap, c: { ...old, running } } });
    expect(leases).toHaveLength(1);
    expect(checkRow(agentMachine, migrated)).toEqual([]);
    const agent = new Agent(load(agentMachine, migrated));
    agent.allow('ls');
    agent.take({
      type: 'agent.release',
      runId: 'r1',
      usage: { inputTokens: 1, outputTokens: 1, costUsd: 2 },
    });
    expect(agent.context).toMatchObject({ tokensToday: 2, costToday: 2 });
    // No run releases it; the slot becomes free when the run's time limit has passed.
    expect(agent.context.leases).toEqual([[settings.timeoutMs + LEASE_GRACE_MS, 1]]);
    expect(agent.context.allowed).toHaveLength(1);
  });
});
