/**
 * Standing leases in a whole installation: no run begins under one once its agent is paused,
 * retired or limited.
 */
import { describe, expect, it } from 'vitest';
import { agentAddress, sessionAddress } from '../../actors/index.ts';
import type { AgentRow } from '../../protocols/agent.ts';
import { eventually } from '../runtime/eventually.ts';
import { type Installation, install } from './installation.ts';

const PERSON = { sub: 'ada', roles: ['operator'] };
const MAIN = 'agent:main:main';

const rowOf = ({ system }: Installation) => system.index.get<AgentRow>('agents', 'default', 'main');

/** Sends an event to the agent and waits until the agent's row shows the status. */
async function set(troupe: Installation, type: string, status: AgentRow['status']) {
  await troupe.system.tell(agentAddress('default', 'main'), { type }, { principal: PERSON });
  await eventually(() => expect(rowOf(troupe)).toMatchObject({ status }));
}

/** A run has been admitted, so its session has a lease if the agent gives any. */
async function admitted(config: object = {}): Promise<Installation> {
  const troupe = await install({ config });
  await troupe.run(MAIN, 'Good morning.');
  return troupe;
}
const inspected = ({ system }: Installation) => system.inspect(sessionAddress('default', MAIN))!;
const contextOf = (troupe: Installation) => inspected(troupe).context;

describe('an agent without limits', () => {
  it('gives its session the lease that its row shows, and counts what runs under it use', async () => {
    const troupe = await admitted();
    const { standing, tokensToday } = rowOf(troupe)!;
    expect(contextOf(troupe)).toMatchObject({ standing });
    await troupe.run(MAIN, 'And now?');
    await eventually(() => expect(rowOf(troupe)!.tokensToday).toBeGreaterThan(tokensToday));
    expect(rowOf(troupe)).toMatchObject({ standing, running: 0, waiting: 0 });
  });

  it('starts no run once its row says that it is paused, and continues when it is resumed', async () => {
    const troupe = await admitted();
    await set(troupe, 'agent.pause', 'paused');
    expect(rowOf(troupe)).not.toHaveProperty('standing');
    const runId = await troupe.send(MAIN, 'Are you there?');
    await eventually(() => expect(rowOf(troupe)).toMatchObject({ waiting: 1 }));
    expect(inspected(troupe).value).toEqual({ running: 'admitting' });
    const said = await troupe.transcript(MAIN);
    expect(said.filter(({ runId: of }) => of === runId)).toMatchObject([{ type: 'user' }]);
    await set(troupe, 'agent.resume', 'active');
    expect(await troupe.rowAtEnd(runId)).toMatchObject({ status: 'ok' });
  });

  it('refuses every run once it is retired', async () => {
    const troupe = await admitted();
    await set(troupe, 'agent.retire', 'retired');
    const runId = await troupe.send(MAIN, 'Are you there?');
    const row = await troupe.rowAtEnd(runId);
    expect(row).toMatchObject({ status: 'error', error: { code: 'FORBIDDEN' } });
  });

  it('gives new settings to the next run', async () => {
    const troupe = await admitted();
    const { context } = troupe.system.inspect(agentAddress('default', 'main'))!;
    const { settings } = context as { settings: object };
    const event = { type: 'agent.configure', settings: { ...settings, tokensPerDay: 1 } };
    await troupe.system.ask(agentAddress('default', 'main'), event, {
      principal: PERSON,
      timeoutMs: 20_000,
    });
    const row = await troupe.rowAtEnd(await troupe.send(MAIN, 'Are you there?'));
    expect(row).toMatchObject({ error: { message: expect.stringContaining('tokensPerDay') } });
  });
});

describe('an agent with a limit or a budget', () => {
  it.each([
    { agents: { defaults: { runsMax: 5 } } },
    { agents: { defaults: { tokensPerDay: 9_999_999 } } },
    { agents: { defaults: { costPerDayUsd: 100 } } },
    { agents: { maxConcurrent: 5 } },
    { budget: { tokensPerDay: 9_999_999 } },
  ])('admits each run: %j', async (config) => {
    const troupe = await admitted(config);
    expect(rowOf(troupe)).not.toHaveProperty('standing');
    expect(contextOf(troupe)).not.toHaveProperty('standing');
  });
});
