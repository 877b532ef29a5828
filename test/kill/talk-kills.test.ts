/**
 * kill -9 of the real program at random moments while trees of subagents and exchanges of agents go
 * on, and the account of all of them afterwards, as in held-talk.test.ts. `TROUPE_TALK_KILLS=100`
 * kills more often; a failing run prints its seed (`TROUPE_KILL_SEED`).
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { afterAll, expect, test } from 'vitest';
import { connectTo, randomOf } from './conversations.ts';
import { HeldTalk, killDoomed, rest } from './held-talk.ts';
import { freePort, kill, type Program, startProgram } from './program.ts';
import { openDead, type Stored } from './stored.ts';
import { account } from './talk-account.ts';

const KILLS = Number(process.env['TROUPE_TALK_KILLS'] ?? 10);
const SEED = Number(process.env['TROUPE_KILL_SEED'] ?? Math.floor(Math.random() * 2 ** 31));
/** Everything is begun once more every so many kills. */
const KILLS_PER_BEGIN = 4;
/** A kill comes so long after the program is ready, at most. */
const KILL_WITHIN_MS = 1_200;
/** Of the model, so that a kill finds something to hit. */
const THINK_MS = 60;

const folder = mkdtempSync(join(tmpdir(), 'troupe-talk-kills-'));
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

test(`agents that are killed ${KILLS} times at any moment lose nothing (seed ${SEED})`, {
  timeout: 180_000 + KILLS * 3_000,
}, async () => {
  const random = randomOf(SEED);
  held = await HeldTalk.open(THINK_MS);
  held.model.letGo();
  held.configure(data);
  const port = await freePort();
  running = await startProgram(data, port);
  const suffixes = Array.from({ length: Math.ceil(KILLS / KILLS_PER_BEGIN) }, (_, n) => n);
  let client = await connectTo(running.url);
  for (const suffix of suffixes) await held.greet(client, suffix);

  for (let round = 0; round < KILLS; round++) {
    const isToBegin = round % KILLS_PER_BEGIN === 0;
    // what the kill interrupts is repeated below
    if (isToBegin) void held.begin(client, round / KILLS_PER_BEGIN).catch(() => {});
    await pause(random() * KILL_WITHIN_MS);
    await kill(running);
    client.close();
    running = await startProgram(data, port);
    client = await connectTo(running.url);
  }
  await held.repeat(client);
  await held.end(client);
  await killDoomed(running.url);
  const rows = await rest(client, running.url);
  expect(rows.conversations).not.toEqual([]);
  client.close();
  await kill(running);

  stored = await openDead(data);
  await account(rows, stored, suffixes);
});
