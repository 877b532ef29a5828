/** `troupe usage` as a process, against real rows behind real HTTP. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { setup } from 'xstate';
import { address } from '../../../protocols/address.ts';
import { AGENT_DAYS_INDEX, type AgentDay } from '../../../protocols/agent.ts';
import { BUDGET_KEY, type BudgetRow, BUDGETS_INDEX } from '../../../protocols/budget.ts';
import { type Delivered, hostActions, type Project } from '../../../protocols/statechart.ts';
import { createSystem, defineActor, openEmbedded } from '../../../runtime/index.ts';
import { scratchFolder, write } from '../../runtime/config/folder.ts';
import { eventually } from '../../runtime/eventually.ts';
import { SECRET, serveRoutes, testOperations } from '../../channels/http/operation-server.ts';
import { reservePort } from '../../servers/reserve-port.ts';
import { runProgram, startProgram } from '../program.ts';

/** Noon of a day that has ended for the rows of the previous day. */
const NOW = Date.parse('2026-03-02T12:00:00Z');
const [today, yesterday] = ['2026-03-02', '2026-03-01'];

/** Stores the rows that it receives. */
const keeper = setup({
  types: { events: {} as Delivered<{ type: 'keep'; row: Project }> },
  actions: hostActions,
}).createMachine({
  id: 'keeper',
  initial: 'here',
  states: {
    here: {
      on: {
        keep: {
          actions: [
            { type: 'project', params: ({ event }) => event.row },
            { type: 'reply', params: ({ event }) => ({ to: event.meta.reply, result: 'kept' }) },
          ],
        },
      },
    },
  },
});

async function openDoor(rows: readonly Project[]) {
  const path = mkdtempSync(join(tmpdir(), 'troupe-usage-'));
  const system = await createSystem({
    ...(await openEmbedded({ path, durability: 'process' })),
    actors: [defineActor({ type: 'keeper', version: 1, machine: keeper })],
    shards: 1,
  });
  for (const row of rows) {
    const principal = { sub: 'test', roles: [] };
    const to = address('default', 'keeper', 'one');
    const kept = await system.ask(to, { type: 'keep', row }, { principal, timeoutMs: 10_000 });
    expect(kept).toMatchObject({ kind: 'answered' });
  }
  onTestFinished(async () => {
    await system.stop();
    rmSync(path, { recursive: true, force: true });
  });
  const { url } = await serveRoutes(testOperations({ system, now: () => NOW }));
  return (token: string, ...args: string[]) =>
    runProgram(['usage', ...args, '--url', url.replace('http', 'ws'), '--token', token]);
}

const agent = (agentId: string, day: string, tokensToday: number, costTodayUsd?: number) => ({
  index: 'agents',
  key: agentId,
  value: {
    agentId,
    status: 'active',
    running: 1,
    waiting: 0,
    day,
    tokensToday,
    ...(costTodayUsd ? { costTodayUsd } : {}),
  },
});
const session = (agentId: string, name: string, inputTokens: number, costUsd?: number) => {
  const sessionKey = `agent:${agentId}:${name}`;
  const usage = { inputTokens, outputTokens: 1, ...(costUsd ? { costUsd } : {}) };
  return {
    index: 'sessions',
    key: sessionKey,
    value: { sessionKey, agentId, usage, updatedAt: 0 },
  };
};
const budget = (day: string): Project => {
  const value: BudgetRow = {
    status: 'spent',
    spent: 'tokensPerDay',
    ceilings: { tokensPerDay: 100, runsMax: 5 },
    day,
    tokensToday: 120,
    costTodayUsd: 0.5,
    running: 2,
    waiting: 1,
  };
  return { index: BUDGETS_INDEX, key: BUDGET_KEY, value };
};

it('troupe usage shows what agents used today and how near the limits are', async () => {
  const usage = await openDoor([
    agent('main', today, 120, 0.5),
    agent('old', yesterday, 9_999, 3),
    budget(today),
  ]);
  const { code, stdout } = await usage(SECRET);
  expect(code).toBe(0);
  expect(stdout).toMatch(/^AGENT +DAY \(UTC\) +TOKENS +COST +RUNNING +WAITING\n/);
  expect(stdout).toMatch(/main +2026-03-02 +120 +\$0\.50 +1 +0\n/);
  expect(stdout).toMatch(/old +2026-03-02 +0 +1 +0\n/);
  expect(stdout).toContain(
    'tokens today 120 of 100; cost today $0.50; runs 2 of 5, 1 waiting; exhausted',
  );
  const refused = await usage('another', '--json');
  expect(refused.code).not.toBe(0);
  expect(refused.stdout).not.toContain('2026');
});

it('troupe usage does not count the usage of an earlier day as that of today', async () => {
  const usage = await openDoor([agent('main', today, 1), budget(yesterday)]);
  const { stdout } = await usage(SECRET, '--json');
  const report = JSON.parse(stdout) as { budget: BudgetRow };
  expect(report.budget).toMatchObject({ status: 'open', day: today, tokensToday: 0 });
  expect(report.budget).not.toHaveProperty('spent');
});

it('troupe usage sums the days of all agents, each run once', async () => {
  const day = (agentId: string, on: string, tokens: number): Project => ({
    index: AGENT_DAYS_INDEX,
    key: `${on}/${agentId}`,
    value: { agentId, day: on, tokens, costUsd: 0.25 } satisfies AgentDay,
  });
  const usage = await openDoor([
    agent('main', today, 120),
    agent('old', yesterday, 30, 3),
    day('main', yesterday, 7),
    day('main', '2026-01-01', 1_000),
  ]);
  const { stdout } = await usage(SECRET, '--days', '3', '--json');
  expect(JSON.parse(stdout)).toMatchObject({
    days: [
      { day: '2026-02-28', tokens: 0, costUsd: 0 },
      { day: yesterday, tokens: 37, costUsd: 3.25 },
      { day: today, tokens: 120, costUsd: 0 },
    ],
  });
  const one = await usage(SECRET, '--agent', 'main', '--days', '2');
  expect(one.stdout).toMatch(/2026-03-01 +7 +\$0\.25\n2026-03-02 +120/);
});

it('troupe usage lists the sessions of an agent, largest first, and their sum', async () => {
  const usage = await openDoor([
    agent('main', today, 1),
    session('main', 'a', 10, 0.25),
    session('main', 'b', 20),
    session('main2', 'c', 1_000),
  ]);
  const { stdout } = await usage(SECRET, '--agent', 'main');
  expect(stdout).toMatch(/agent:main:b +.* 20 +1\nagent:main:a +.* 10 +1 +\$0\.25\n/);
  expect(stdout).toContain('total of 2 sessions: 32 tokens, $0.25\n');
  expect(stdout).not.toContain('main2');
  const one = await usage(SECRET, '--session', 'agent:main:a', '--json');
  expect(JSON.parse(one.stdout)).toMatchObject({
    agents: [{ agentId: 'main' }],
    sessions: [{ sessionKey: 'agent:main:a', usage: { inputTokens: 10, costUsd: 0.25 } }],
  });
});

it('troupe usage reports an unknown agent or session', async () => {
  const usage = await openDoor([]);
  for (const args of [
    ['--agent', 'unknown-agent'],
    ['--session', 'agent:main:nowhere'],
  ]) {
    const { code, stdout } = await usage(SECRET, ...args, '--json');
    expect(code).not.toBe(0);
    expect(JSON.parse(stdout)).toMatchObject({ error: { code: 'NOT_FOUND' } });
  }
});

it('a budget in the file stops the second run of the real program, and usage says so', async () => {
  const home = scratchFolder();
  const port = String(await reservePort());
  const config = write(home, 'troupe.json5', '{ budget: { tokensPerDay: 5 } }');
  const started = startProgram(['start', '--port', port, '--token', SECRET, '--config', config], {
    home,
  });
  await eventually(() => expect(started.stdout).toContain('http:'));
  const troupe = (...args: string[]) =>
    runProgram([...args, '--url', `ws://127.0.0.1:${port}`, '--token', SECRET]);
  expect(await troupe('agent', '-m', 'hello')).toMatchObject({ code: 0 });
  await eventually(async () => {
    const { stdout } = await troupe('usage');
    expect(stdout).toContain('exhausted (budget.tokensPerDay)');
  });
  const second = await troupe('agent', '-m', 'hello again', '--json');
  expect(second.code).not.toBe(0);
  expect(JSON.parse(second.stdout)).toMatchObject({
    error: { code: 'RATE_LIMIT_EXCEEDED', message: expect.stringContaining('budget.tokensPerDay') },
  });
}, 60_000);
