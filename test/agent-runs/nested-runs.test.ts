/**
 * Runs that wait for other runs of the same agent where only one slot exists. They end, because a
 * run that another run started needs no slot.
 */
import { expect, it } from 'vitest';
import type { AgentRow } from '../../protocols/agent.ts';
import { install } from './installation.ts';

const MAIN = 'agent:main:main';
const WEB = 'agent:main:web';

/** One run at a time, per agent and for all agents. */
const NARROW = { agents: { maxConcurrent: 1, defaults: { runsMax: 1 } } };

it('lets a run wait for an answer of its own agent', { timeout: 90_000 }, async () => {
  const troupe = await install({ config: NARROW });
  await troupe.run(WEB, 'hello');
  const send = { sessionKey: WEB, message: 'are you there?', timeoutSeconds: 60 };
  const { result } = await callOf(troupe, 'sessions_send', send);
  expect(result).toMatchObject({ status: 'ok', delivered: true, reply: expect.any(String) });
});

it('lets a run wait for a subagent of its own agent', { timeout: 90_000 }, async () => {
  const troupe = await install({ config: NARROW });
  const spawn = { task: 'say hello', wait: true };
  const { result } = await callOf(troupe, 'sessions_spawn', spawn);
  expect(result).toMatchObject({ status: 'completed', result: expect.any(String) });
  const row = troupe.system.index.get<AgentRow>('agents', 'default', 'main');
  expect(row).toMatchObject({ waiting: 0 });
});

/** A run of the main session with one tool call, and the result of the call. */
async function callOf(troupe: Awaited<ReturnType<typeof install>>, tool: string, args: object) {
  const runId = await troupe.send(MAIN, `call ${tool} ${JSON.stringify(args)}`);
  const row = await troupe.rowAtEnd(runId);
  expect(row).toMatchObject({ status: 'ok' });
  const entries = await troupe.transcript(MAIN);
  const called = entries.find((one) => one.runId === runId && one.type === 'tool');
  return { row, result: JSON.parse((called as { result: string }).result) as object };
}
