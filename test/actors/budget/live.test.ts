/**
 * A budget of several agents on a running system: real store, real agents, restarts. The sessions
 * are minimal: they request a slot, record the answer, and release the slot on request.
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { setup } from 'xstate';
import { agentMachine } from '../../../actors/agent/machine.ts';
import { budgetMachine } from '../../../actors/budget/machine.ts';
import { rootMachine } from '../../../actors/root/machine.ts';
import { address } from '../../../protocols/address.ts';
import type { AgentRow, AgentSettings, TenantCeilings } from '../../../protocols/agent.ts';
import { type BudgetRow, BUDGETS_INDEX } from '../../../protocols/budget.ts';
import { defined } from '../../../protocols/defined.ts';
import type { ErrorData } from '../../../protocols/errors.ts';
import type { Usage } from '../../../protocols/session.ts';
import { type Delivered, hostActions, type Project } from '../../../protocols/statechart.ts';
import { ROOT } from '../../../protocols/supervision.ts';
import { createSystem, defineActor, openEmbedded, type System } from '../../../runtime/index.ts';
import { eventually } from '../../runtime/eventually.ts';

type Word = Delivered<
  | { type: 'begin'; agent: string; runId: string }
  | { type: 'end'; agent: string; runId: string; usage: Usage; lease: number }
  | { type: 'agent.admitted'; runId: string; lease: number }
  | { type: 'agent.refused'; runId: string; error: ErrorData }
>;
const about = ({ event }: { event: Word }): Project => ({
  index: 'answers',
  key: event.runId,
  value: {
    answer: event.type === 'agent.refused' ? event.error.message : event.type,
    lease: event.type === 'agent.admitted' ? event.lease : 0,
  },
});

const session = setup({ types: { events: {} as Word }, actions: hostActions }).createMachine({
  id: 'session',
  initial: 'here',
  states: {
    here: {
      on: {
        begin: {
          actions: {
            type: 'tell',
            params: ({ event }) => ({
              to: agentAt(event.agent),
              event: { type: 'agent.admit', runId: event.runId },
            }),
          },
        },
        end: {
          actions: {
            type: 'tell',
            params: ({ event }) => ({
              to: agentAt(event.agent),
              event: {
                type: 'agent.release',
                runId: event.runId,
                usage: event.usage,
                lease: event.lease,
              },
            }),
          },
        },
        'agent.admitted': { actions: { type: 'project', params: about } },
        'agent.refused': { actions: { type: 'project', params: about } },
      },
    },
  },
});

const agentAt = (id: string) => address('default', 'agent', id);
const actors = [
  defineActor({ type: 'root', version: 1, machine: rootMachine }),
  defineActor({ type: 'agent', version: 1, machine: agentMachine }),
  defineActor({ type: 'budget', version: 1, machine: budgetMachine }),
  defineActor({ type: 'session', version: 1, machine: session }),
];
const principal = { sub: 'test', roles: ['operator'] };

let path: string;
let system: System;
beforeEach(async () => {
  path = mkdtempSync(join(tmpdir(), 'troupe-budget-'));
  await open();
});
afterEach(async () => {
  await system.stop();
  rmSync(path, { recursive: true, force: true });
});
async function open(): Promise<void> {
  const ports = await openEmbedded({ path });
  system = await createSystem({ ...ports, actors, shards: 2, supervisor: ROOT });
}

async function configure(tenant: TenantCeilings | undefined, ...ids: string[]): Promise<void> {
  const agents = ids.map(
    (agentId): AgentSettings => ({
      agentId,
      timeoutMs: 60_000,
      runsMax: 100,
      tokensPerDay: 0,
      ...defined({ tenant }),
    }),
  );
  const answer = await system.ask(
    ROOT,
    { type: 'root.start', agents },
    { principal, timeoutMs: 20_000 },
  );
  expect(answer.kind).toBe('answered');
}

const tell = async (
  agent: string,
  event: { type: string; runId: string; usage?: Usage; lease?: number },
) =>
  expect(
    await system.tell(
      address('default', 'session', `agent:${agent}:main`),
      { ...event, agent },
      { principal },
    ),
  ).toMatchObject({ kind: 'accepted' });
const begin = (agent: string, runId: string) => tell(agent, { type: 'begin', runId });
const end = (agent: string, runId: string, inputTokens = 1) =>
  tell(agent, {
    type: 'end',
    runId,
    usage: { inputTokens, outputTokens: 0 },
    lease: answerTo(runId)?.lease ?? 0,
  });

type Answer = { readonly answer: string; readonly lease: number };
const answerTo = (runId: string) => system.index.get<Answer>('answers', 'default', runId);
const answered = (runId: string, answer: unknown) =>
  eventually(() => expect(answerTo(runId)?.answer).toEqual(answer));
const budget = () => system.index.get<BudgetRow>(BUDGETS_INDEX, 'default', 'tenant');
const agentRow = (id: string) => system.index.get<AgentRow>('agents', 'default', id);
const spent = expect.stringContaining('(budget.tokensPerDay)');

describe('the budget of a tenant', () => {
  it('has no actor without a configuration', async () => {
    await configure(undefined, 'a', 'b');
    await begin('a', 'r1');
    await answered('r1', 'agent.admitted');
    await end('a', 'r1');
    await eventually(() => expect(agentRow('a')).toMatchObject({ tokensToday: 1, running: 0 }));
    expect(budget()).toBeUndefined();
  });

  it('spent by one agent stops the others, names the limit, and survives a restart', async () => {
    await configure({ tokensPerDay: 100 }, 'a', 'b');
    await begin('a', 'r1');
    await begin('b', 'going');
    await answered('r1', 'agent.admitted');
    await answered('going', 'agent.admitted');
    await end('a', 'r1', 100);
    await eventually(() => expect(budget()).toMatchObject({ status: 'spent', tokensToday: 100 }));
    const isNotified = (id: string) =>
      eventually(() =>
        expect(system.inspect(agentAt(id))?.context).toMatchObject({ tenantSpent: { error: {} } }),
      );
    await isNotified('b');
    await begin('b', 'r2');
    await answered('r2', spent);
    await system.stop();
    await open();
    await configure({ tokensPerDay: 100 }, 'a', 'b');
    await begin('a', 'r3');
    await answered('r3', spent);
    // Runs that were active when the budget was spent end normally and are counted.
    await end('b', 'going', 5);
    await eventually(() =>
      expect(budget()).toMatchObject({ tokensToday: 105, spent: 'tokensPerDay' }),
    );
  });

  it('admits runs again when its limit is raised, and forgets a removed limit', async () => {
    await configure({ tokensPerDay: 1 }, 'a', 'b');
    await begin('a', 'r1');
    await answered('r1', 'agent.admitted');
    await end('a', 'r1');
    await eventually(() => expect(budget()).toMatchObject({ status: 'spent' }));
    await configure({ tokensPerDay: 1_000 }, 'a', 'b');
    await eventually(() => expect(budget()).toMatchObject({ status: 'open', tokensToday: 1 }));
    const isFree = (id: string) =>
      eventually(() =>
        expect(system.inspect(agentAt(id))?.context).toMatchObject({ tenantSpent: null }),
      );
    await isFree('a');
    await begin('a', 'r2');
    await answered('r2', 'agent.admitted');
    await configure(undefined, 'a', 'b');
    await eventually(() => expect(budget()).toMatchObject({ ceilings: {} }));
  });

  it('admits up to its limit of runs of all agents in order, also after a restart', async () => {
    await configure({ runsMax: 1 }, 'a', 'b');
    await begin('a', 'r1');
    await answered('r1', 'agent.admitted');
    await begin('b', 'r2');
    await eventually(() => expect(budget()).toMatchObject({ running: 1, waiting: 1 }));
    await begin('a', 'r3');
    await eventually(() => expect(budget()).toMatchObject({ running: 1, waiting: 2 }));
    expect([answerTo('r2'), answerTo('r3')]).toEqual([undefined, undefined]);
    await system.stop();
    await open();
    await end('a', 'r1');
    await answered('r2', 'agent.admitted');
    await eventually(() => expect(budget()).toMatchObject({ running: 1, waiting: 1 }));
    expect(answerTo('r3')).toBeUndefined();
    await end('b', 'r2');
    await answered('r3', 'agent.admitted');
    await end('a', 'r3');
    await eventually(() => expect(budget()).toMatchObject({ running: 0, waiting: 0 }));
  });
});
