/**
 * kill -9 of the real program while subagents and conversations are in each state of their
 * statecharts, three subagents of one parent among them. Each result is read once, each turn starts
 * once, each conversation is announced once, and nothing remains open.
 */
import { afterAll, expect, test } from 'vitest';
import { eventually } from '../../runtime/eventually.ts';
import { checkAll } from './agent-checks.ts';
import { areHeld, HeldAgents, killSubagent, rest, STATES, statesOf } from './held-agents.ts';
import { TestProgram } from '../test-program.ts';

const program = new TestProgram();
let held: HeldAgents | undefined;
afterAll(() => held?.model.close());

test('subagents and conversations killed in each state of their statecharts lose nothing', {
  timeout: 180_000,
}, async () => {
  held = await HeldAgents.open();
  held.configure(program.data);
  await program.start();
  const client = await program.connect();
  await held.greet(client, 0);
  await held.begin(client, 0);
  const rows = await eventually(() => areHeld(held!, program.url, 0));
  const { id } = rows.subagents.find(({ label }) => label === 'doomed-1')!;
  // The kill may come before the response.
  const killing = killSubagent(program.url, id).catch(() => {});
  const stored = await program.killAndOpenStore();
  await killing;
  const states = await statesOf(rows, stored);
  expect(states).toEqual({ ...STATES, 'doomed-1': states['doomed-1'] });

  held.model.release();
  await program.start();
  const again = await program.connect();
  await killSubagent(program.url, id);
  await held.end(again);
  const after = await rest(again, program.url);
  await checkAll(after, await program.killAndOpenStore(), [0]);
});
