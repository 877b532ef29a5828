/**
 * kill -9 of the real program in the moment when parents are reset and deleted, while three of
 * their subagents go on and two wait: each subagent has the one end that the policy gives it, none
 * is left behind, and who takes over reads each result once.
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { afterAll, expect, test } from 'vitest';
import type { GatewayClient } from '../../cli/client/gateway-client.ts';
import { eventually } from '../runtime/eventually.ts';
import { connectTo } from './conversations.ts';
import { addressOf, HeldTalk, rest, type Rows, rowsOf } from './held-talk.ts';
import { freePort, kill, type Program, startProgram } from './program.ts';
import { openDead, type Stored } from './stored.ts';
import { accountOfRows, atRest, tellingOf } from './talk-account.ts';

/** Of the agent: it takes over what is left to it. */
const MAIN = 'agent:main:main';
/** By session, what becomes of its subagents. */
const ROOTS = {
  'agent:main:reset': 'reset',
  'agent:main:killed': 'cascade',
  'agent:main:adopted': 'adopt',
  'agent:main:detached': 'detach',
} as const;
type Root = keyof typeof ROOTS;
const KEYS = Object.keys(ROOTS) as readonly Root[];
const NESTED = 'agent:main:nested';
/** The kill comes so long after the requests went out, at most. */
const KILL_WITHIN_MS = [0, 40, 120];

const folder = mkdtempSync(join(tmpdir(), 'troupe-held-orphans-'));
let running: Program | undefined;
let stored: Stored | undefined;
let held: HeldTalk | undefined;

afterAll(async () => {
  if (running) await kill(running);
  await stored?.close();
  await held?.model.close();
  rmSync(folder, { recursive: true, force: true });
});

/** A second time it finds nothing to do, or does the same again. */
const leave = (client: GatewayClient): Promise<unknown> =>
  Promise.all([
    ...KEYS.map((key) => {
      const how = ROOTS[key];
      return how === 'reset'
        ? client.request('sessions.reset', { key })
        : client.request('sessions.delete', { key, orphans: how });
    }),
    client.request('sessions.delete', { key: NESTED, orphans: 'cascade' }),
  ]);

const statusesIn = (rows: Rows, root: string): readonly string[] =>
  rows.subagents
    .filter((row) => row.root === root)
    .map(({ status }) => status)
    .toSorted();

const FIVE = ['reserved', 'reserved', 'running', 'running', 'running'];
const WANTED: Readonly<Record<Root, readonly string[]>> = {
  'agent:main:reset': Array<string>(5).fill('killed'),
  'agent:main:killed': Array<string>(5).fill('killed'),
  'agent:main:adopted': Array<string>(5).fill('completed'),
  'agent:main:detached': ['completed', 'completed', 'completed', 'killed', 'killed'],
};

async function accountOfOrphans(rows: Rows, dead: Stored): Promise<void> {
  accountOfRows(rows);
  for (const root of KEYS)
    expect({ root, ends: statusesIn(rows, root) }).toEqual({ root, ends: WANTED[root] });
  expect(statusesIn(rows, NESTED)).toEqual(['killed', 'killed']);
  const taken = await dead.entriesOf(addressOf(MAIN));
  for (const { id, root, reported } of rows.subagents) {
    const times = { id, root, times: tellingOf(id, taken).length };
    expect(times).toEqual({ id, root, times: root === 'agent:main:adopted' ? 1 : 0 });
    expect(reported).toBeDefined();
  }
  for (const { sessionKey, startedAt } of rows.subagents)
    if (startedAt !== undefined) await atRest(sessionKey, dead);
  for (const key of [MAIN, 'agent:main:reset']) await atRest(key, dead);
}

test.each(KILL_WITHIN_MS)(
  'subagents whose parent goes while all are killed within %d ms end as the policy has it',
  { timeout: 120_000 },
  async (within) => {
    const data = join(folder, String(within));
    held = await HeldTalk.open();
    held.configure(data);
    const port = await freePort();
    running = await startProgram(data, port);
    const { url } = running;
    const client = await connectTo(url);
    await held.plant(client, 'three', KEYS);
    await held.plant(client, 'free', [NESTED]);
    await eventually(async () => {
      const rows = await rowsOf(url);
      for (const root of KEYS) expect(statusesIn(rows, root)).toEqual(FIVE);
      expect(statusesIn(rows, NESTED)).toEqual(['running', 'running']);
    });
    const leaving = leave(client).catch(() => {});
    await pause(within);
    await kill(running);
    client.close();
    await leaving;

    running = await startProgram(data, port);
    const again = await connectTo(url);
    await leave(again);
    held.model.letGo();
    const rows = await rest(again, url);
    again.close();
    await kill(running);

    stored = await openDead(data);
    await accountOfOrphans(rows, stored);
    await stored.close();
    await held.model.close();
  },
);
