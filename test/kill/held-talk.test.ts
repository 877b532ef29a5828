/**
 * kill -9 of the real program while subagents and exchanges stand in each state of their charts,
 * three of one parent in flight: each result is read once, each turn begun once, each exchange
 * announced once, and nothing is left behind.
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, test } from 'vitest';
import { eventually } from '../runtime/eventually.ts';
import { connectTo } from './conversations.ts';
import { areKept, HeldTalk, killSubagent, rest, STATES, statesOf } from './held-talk.ts';
import { freePort, kill, type Program, startProgram } from './program.ts';
import { openDead, type Stored } from './stored.ts';
import { account } from './talk-account.ts';

const folder = mkdtempSync(join(tmpdir(), 'troupe-held-talk-'));
const data = join(folder, 'data');
let running: Program | undefined;
let stored: Stored | undefined;
let held: HeldTalk | undefined;

afterAll(async () => {
  if (running) await kill(running);
  await stored?.close();
  await held?.model.close();
  rmSync(folder, { recursive: true, force: true });
});

test('agents that were killed in each state of an exchange and of a subagent lose nothing', {
  timeout: 180_000,
}, async () => {
  held = await HeldTalk.open();
  held.configure(data);
  const port = await freePort();
  running = await startProgram(data, port);
  const client = await connectTo(running.url);
  await held.greet(client, 0);
  await held.begin(client, 0);
  const rows = await eventually(() => areKept(held!, running!.url, 0));
  const { id } = rows.subagents.find(({ label }) => label === 'doomed-1')!;
  // its answer may die with the program
  const killing = killSubagent(running.url, id).catch(() => {});
  await kill(running);
  await killing;
  client.close();

  stored = await openDead(data);
  const states = await statesOf(rows, stored);
  expect(states).toEqual({ ...STATES, 'doomed-1': states['doomed-1'] });
  await stored.close();
  stored = undefined;

  held.model.letGo();
  running = await startProgram(data, port);
  const again = await connectTo(running.url);
  await killSubagent(running.url, id);
  await held.end(again);
  const after = await rest(again, running.url);
  again.close();
  await kill(running);

  stored = await openDead(data);
  await account(after, stored, [0]);
});
