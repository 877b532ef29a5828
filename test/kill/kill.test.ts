/**
 * kill -9 of the running program at random moments under load, and a check of every message
 * afterwards. Each accepted message was answered exactly once, and a repeat received the first
 * result. `TROUPE_KILLS=100` sets the number of kills. A failing run prints its seed
 * (`TROUPE_KILL_SEED`).
 */
import { setTimeout as pause } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { account, Conversations, OWN_RUNS } from './conversations.ts';
import { randomOf } from '../random.ts';
import { TestProgram } from './test-program.ts';

const KILLS = Number(process.env['TROUPE_KILLS'] ?? 30);
const SEED = Number(process.env['TROUPE_KILL_SEED'] ?? Math.floor(Math.random() * 2 ** 31));
/** Longest time from ready to the kill: within answers of about 150 words. */
const KILL_WITHIN_MS = 600;

const program = new TestProgram(`{ ${OWN_RUNS} }`);

test(`the program loses and repeats no message under load and ${KILLS} kills (seed ${SEED})`, {
  timeout: 600_000,
}, async () => {
  const random = randomOf(SEED);
  const conversations = new Conversations(SEED, random);
  for (let round = 0; round < KILLS; round++) {
    await program.start();
    const loading = conversations.load(await program.connect());
    await pause(random() * KILL_WITHIN_MS);
    await program.kill();
    await loading;
  }
  await program.start();
  const client = await program.connect();
  await conversations.repeatUnanswered(client);
  expect(conversations.sent.length).toBeGreaterThan(KILLS);
  await account(client, conversations.sent);
});
