/**
 * kill -9 of the real program while runs are in each state of the session's statechart. The same
 * runs continue: one reply, the same run ids, and `once` effects run once.
 */
import { setTimeout as pause } from 'node:timers/promises';
import { afterAll, expect, test } from 'vitest';
import { HeldRuns, STATES } from './held-runs.ts';
import { TestProgram } from '../test-program.ts';

const program = new TestProgram();
let held: HeldRuns | undefined;
afterAll(() => held?.model.close());

test('runs killed in each state of the statechart end once under their ids', {
  timeout: 120_000,
}, async () => {
  held = await HeldRuns.open(program.folder);
  held.configure(program.data);
  await program.start();
  await held.begin(await program.connect());
  // A visible change is committed within this time; the states below confirm it.
  await pause(1_000);
  expect(await held.states(await program.killAndOpenStore())).toEqual(STATES);

  held.release();
  await program.start();
  await held.end(await program.connect());
  await held.account(await program.killAndOpenStore());
});

test('runs killed at the moment of their end have one end', { timeout: 120_000 }, async () => {
  await program.start();
  await held!.hurry(await program.connect());
  await program.kill();

  await program.start();
  const checked = await held!.accountOfHurried(await program.connect(), () =>
    program.killAndOpenStore(),
  );
  expect(checked).toBe(8);
});
