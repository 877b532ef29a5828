/**
 * kill -9 of the running program at random moments under load, again and again, and an account of
 * every message afterwards: what was accepted was answered exactly once, what was repeated got the
 * first result. `TROUPE_KILLS=100` kills more often; a failing run prints its seed
 * (`TROUPE_KILL_SEED`).
 */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, test } from 'vitest';
import { account, connectTo, Conversations, OWN_RUNS, randomOf } from './conversations.ts';
import { freePort, kill, type Program, startProgram } from './program.ts';

const KILLS = Number(process.env['TROUPE_KILLS'] ?? 30);
const SEED = Number(process.env['TROUPE_KILL_SEED'] ?? Math.floor(Math.random() * 2 ** 31));
/**
 * A kill comes so long after the program was ready, at most: in the middle of answers of about 150
 * words.
 */
const KILL_WITHIN_MS = 600;

const data = mkdtempSync(join(tmpdir(), 'troupe-kill-'));
writeFileSync(join(data, 'troupe.json5'), `{ ${OWN_RUNS} }`);
let running: Program | undefined;

afterAll(async () => {
  if (running) await kill(running);
  rmSync(data, { recursive: true, force: true });
});

test(`${KILLS} kills -9 under load lose nothing and double nothing (seed ${SEED})`, {
  timeout: 600_000,
}, async () => {
  const random = randomOf(SEED);
  const port = await freePort();
  const conversations = new Conversations(SEED, random);
  for (let round = 0; round < KILLS; round++) {
    running = await startProgram(data, port);
    const client = await connectTo(running.url);
    const loading = conversations.load(client);
    await new Promise((resolve) => setTimeout(resolve, random() * KILL_WITHIN_MS));
    await kill(running);
    running = undefined;
    await loading;
    client.close();
  }
  running = await startProgram(data, port);
  const client = await connectTo(running.url);
  await conversations.repeatUnanswered(client);
  expect(conversations.sent.length).toBeGreaterThan(KILLS);
  await account(client, conversations.sent);
  client.close();
});
