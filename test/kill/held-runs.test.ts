/**
 * kill -9 of the real program while runs stand in each state of the session's chart, and the same
 * runs go on: one reply, the same run ids, what may run once ran once.
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { afterAll, expect, test } from 'vitest';
import { connectTo } from './conversations.ts';
import { HeldRuns, STATES } from './held-runs.ts';
import { freePort, kill, type Program, startProgram } from './program.ts';
import { openDead, type Stored } from './stored.ts';

const folder = mkdtempSync(join(tmpdir(), 'troupe-held-'));
const data = join(folder, 'data');
let running: Program | undefined;
let stored: Stored | undefined;
let held: HeldRuns | undefined;

afterAll(async () => {
  if (running) await kill(running);
  await stored?.close();
  await held?.model.close();
  rmSync(folder, { recursive: true, force: true });
});

test('runs that were killed in each state of the chart end once, as themselves', {
  timeout: 120_000,
}, async () => {
  held = await HeldRuns.open(folder);
  held.configure(data);
  const port = await freePort();
  running = await startProgram(data, port);
  const client = await connectTo(running.url);
  await held.begin(client);
  // what was seen outside is committed right after; the states below say whether it was
  await pause(1_000);
  await kill(running);
  client.close();

  stored = await openDead(data);
  expect(await held.states(stored)).toEqual(STATES);
  await stored.close();
  stored = undefined;

  held.letGo();
  running = await startProgram(data, port);
  const again = await connectTo(running.url);
  await held.end(again);
  again.close();
  await kill(running);

  stored = await openDead(data);
  await held.account(stored);
});

test('runs that were killed in the moment of their ends have one', {
  timeout: 120_000,
}, async () => {
  await stored?.close();
  stored = undefined;
  const port = await freePort();
  running = await startProgram(data, port);
  const client = await connectTo(running.url);
  await held!.hurry(client);
  await kill(running);
  client.close();

  running = await startProgram(data, port);
  const alive = running;
  const again = await connectTo(running.url);
  const told = await held!.accountOfHurried(again, async () => {
    await kill(alive);
    return (stored = await openDead(data));
  });
  expect(told).toBe(8);
  again.close();
});
