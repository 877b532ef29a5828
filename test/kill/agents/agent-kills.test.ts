/**
 * kill -9 of the real program at random moments while subagents and conversations run, and a check
 * of all of them afterwards, as in held-agents.test.ts. `TROUPE_TALK_KILLS=100` sets the number of
 * kills. A failing run prints its seed (`TROUPE_KILL_SEED`).
 */
import { setTimeout as pause } from 'node:timers/promises';
import { afterAll, expect, test } from 'vitest';
import { checkAll } from './agent-checks.ts';
import { randomOf } from '../../random.ts';
import { HeldAgents, killDoomed, rest } from './held-agents.ts';
import { TestProgram } from '../test-program.ts';

const KILLS = Number(process.env['TROUPE_TALK_KILLS'] ?? 10);
const SEED = Number(process.env['TROUPE_KILL_SEED'] ?? Math.floor(Math.random() * 2 ** 31));
/** All work starts once more after this many kills. */
const KILLS_PER_BEGIN = 4;
/** Longest time from ready to the kill. */
const KILL_WITHIN_MS = 1_200;
/** Delay of the model's answers, so that a kill interrupts requests. */
const THINK_MS = 60;

const program = new TestProgram();
let held: HeldAgents | undefined;
afterAll(() => held?.model.close());

test(`subagents and conversations lose nothing under ${KILLS} kills (seed ${SEED})`, {
  timeout: 180_000 + KILLS * 3_000,
}, async () => {
  const random = randomOf(SEED);
  held = await HeldAgents.open(THINK_MS);
  held.model.release();
  held.configure(program.data);
  await program.start();
  const suffixes = Array.from({ length: Math.ceil(KILLS / KILLS_PER_BEGIN) }, (_, n) => n);
  let client = await program.connect();
  for (const suffix of suffixes) await held.greet(client, suffix);

  for (let round = 0; round < KILLS; round++) {
    const isToBegin = round % KILLS_PER_BEGIN === 0;
    // `repeat` below sends again what the kill interrupts.
    if (isToBegin) void held.begin(client, round / KILLS_PER_BEGIN).catch(() => {});
    await pause(random() * KILL_WITHIN_MS);
    await program.kill();
    await program.start();
    client = await program.connect();
  }
  await held.repeat(client);
  await held.end(client);
  await killDoomed(program.url);
  const rows = await rest(client, program.url);
  expect(rows.conversations).not.toEqual([]);
  await checkAll(rows, await program.killAndOpenStore(), suffixes);
});
