/**
 * kill -9 of the real program while sessions are reset and deleted. Each of them has three running
 * subagents and two that wait for a slot. Each subagent has the one end that the policy for orphans
 * gives it, and the session that adopts them reads each result once.
 */
import { setTimeout as pause } from 'node:timers/promises';
import { expect, onTestFinished, test } from 'vitest';
import type { GatewayClient } from '../../../client/gateway-client.ts';
import { eventually } from '../../runtime/eventually.ts';
import { checkIdle, checkRows, textsAbout } from './agent-checks.ts';
import { addressOf, HeldAgents, rest, type Rows, rowsOf } from './held-agents.ts';
import type { Stored } from '../stored.ts';
import { TestProgram } from '../test-program.ts';

/** The main session of the agent, which adopts subagents. */
const MAIN = 'agent:main:main';
/** What happens to the subagents of each session. */
const ROOTS = {
  'agent:main:reset': 'reset',
  'agent:main:killed': 'cascade',
  'agent:main:adopted': 'adopt',
  'agent:main:detached': 'detach',
} as const;
type Root = keyof typeof ROOTS;
const KEYS = Object.keys(ROOTS) as readonly Root[];
const NESTED = 'agent:main:nested';
/** Time from the requests to the kill. */
const KILL_WITHIN_MS = [0, 40, 120];

const program = new TestProgram();

/** Resets and deletes the sessions. A repeat has no further effect. */
const endParents = (client: GatewayClient): Promise<unknown> =>
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

async function checkOrphans(rows: Rows, dead: Stored): Promise<void> {
  checkRows(rows);
  for (const root of KEYS)
    expect({ root, ends: statusesIn(rows, root) }).toEqual({ root, ends: WANTED[root] });
  expect(statusesIn(rows, NESTED)).toEqual(['killed', 'killed']);
  const taken = await dead.entriesOf(addressOf(MAIN));
  for (const { id, root, reported } of rows.subagents) {
    const times = { id, root, times: textsAbout(id, taken).length };
    expect(times).toEqual({ id, root, times: root === 'agent:main:adopted' ? 1 : 0 });
    expect(reported).toBeDefined();
  }
  for (const { sessionKey, startedAt } of rows.subagents)
    if (startedAt !== undefined) await checkIdle(sessionKey, dead);
  for (const key of [MAIN, 'agent:main:reset']) await checkIdle(key, dead);
}

test.each(KILL_WITHIN_MS)(
  'subagents end by the policy for orphans when the program is killed %d ms after their parents end',
  { timeout: 120_000 },
  async (within) => {
    const held = await HeldAgents.open();
    onTestFinished(() => held.model.close());
    await program.clear();
    held.configure(program.data);
    await program.start();
    const client = await program.connect();
    await held.plant(client, 'three', KEYS);
    await held.plant(client, 'free', [NESTED]);
    await eventually(async () => {
      const rows = await rowsOf(program.url);
      for (const root of KEYS) expect(statusesIn(rows, root)).toEqual(FIVE);
      expect(statusesIn(rows, NESTED)).toEqual(['running', 'running']);
    });
    const ending = endParents(client).catch(() => {});
    await pause(within);
    await program.kill();
    await ending;

    await program.start();
    const again = await program.connect();
    await endParents(again);
    held.model.release();
    const rows = await rest(again, program.url);
    await checkOrphans(rows, await program.killAndOpenStore());
  },
);
