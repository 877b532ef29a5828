/**
 * A parent that is reset or deleted while its subagents work. Some have a slot, some wait for one,
 * and some have subagents themselves. Each ends as the policy determines, and a census finds none
 * that is active.
 */
import { describe, expect, it } from 'vitest';
import { sessionAddress } from '../../actors/index.ts';
import { eventually } from '../runtime/eventually.ts';
import type { Installation } from './installation.ts';
import {
  gate,
  heardBy,
  play,
  says,
  type Script,
  settled,
  subagentsOf,
  wants,
} from './scripted-agents.ts';

const MAIN = 'agent:main:main';
const OTHER = 'agent:main:other';
const REPORTS = '[Results of subagents]';

/** Five subagents at once, three of them with a slot; the first one starts another subagent. */
async function tree(onParentReset: string) {
  const hold = gate();
  const script: Script = async ({ isSubagent, said, results }) => {
    if (said.startsWith(REPORTS)) return says('NO_REPLY');
    if (said === 'grow') {
      const five = [0, 1, 2, 3, 4].map((n) => ['sessions_spawn', { task: `task ${n}` }] as const);
      return results.length > 0 ? says('grown') : wants(...five);
    }
    if (said === 'task 0' && results.length === 0)
      return wants(['sessions_spawn', { task: 'below' }]);
    if (isSubagent) await hold.opened;
    return says(`done: ${said}`);
  };
  const sandbox = { allowlist: ['read', 'sessions_spawn'], denylist: [] };
  const config = {
    agents: {
      defaults: { sandbox: { mode: 'none' } },
      spawnDefaults: { onParentReset, maxSpawnDepth: 3, sandbox },
    },
  };
  const played = await play('anthropic-messages', script, config);
  const { troupe } = played;
  await troupe.run(OTHER, 'grow');
  await eventually(() => {
    const status = subagentsOf(troupe).map((row) => row.status);
    expect(status.filter((one) => one === 'running')).toHaveLength(4);
    expect(status.filter((one) => one === 'reserved')).toHaveLength(2);
  });
  return { ...played, open: hold.open };
}
const say = async ({ system }: Installation, type: string) => {
  const principal = { sub: 'ada', roles: ['operator'] };
  const answer = await system.ask(
    sessionAddress('default', OTHER),
    { type },
    { principal, timeoutMs: 20_000 },
  );
  expect(answer).toMatchObject({ kind: 'answered' });
};
const statuses = (troupe: Installation): readonly string[] =>
  subagentsOf(troupe)
    .map(({ status }) => status)
    .toSorted();
const reportsIn = async (troupe: Installation, key: string): Promise<string> =>
  (await heardBy(troupe, key))
    .filter(({ origin }) => origin?.kind === 'subagents')
    .map(({ text }) => text)
    .join('\n');

describe.each(['session.reset', 'session.close'])('after %s', (how) => {
  it('cascade kills all subagents and their subagents without a report', async () => {
    const { troupe, open } = await tree('cascade');
    await say(troupe, how);
    await settled(troupe);
    open();
    expect(statuses(troupe)).toEqual(Array.from({ length: 6 }, () => 'killed'));
    expect(await reportsIn(troupe, OTHER)).toBe('');
    expect(await reportsIn(troupe, MAIN)).toBe('');
  });

  it('adopt lets all end, and the new session gets one report of each', async () => {
    const { troupe, open } = await tree('adopt');
    await say(troupe, how);
    open();
    const adopter = how === 'session.reset' ? OTHER : MAIN;
    const ended = await eventually(async () => {
      const text = await reportsIn(troupe, adopter);
      for (const n of [0, 1, 2, 3, 4]) expect(text).toContain(`Task: task ${n}`);
      return text;
    });
    await settled(troupe);
    expect(statuses(troupe)).toEqual(Array.from({ length: 6 }, () => 'completed'));
    for (const n of [0, 1, 2, 3, 4]) expect(ended.split(`Task: task ${n}\n`)).toHaveLength(2);
    const other = how === 'session.reset' ? MAIN : OTHER;
    expect(await reportsIn(troupe, other)).toBe('');
  });

  it('detach lets active ones end and never starts waiting ones, without a report', async () => {
    const { troupe, open } = await tree('detach');
    await say(troupe, how);
    open();
    await settled(troupe);
    expect(statuses(troupe)).toEqual([
      ...Array.from({ length: 4 }, () => 'completed'),
      'killed',
      'killed',
    ]);
    expect(await reportsIn(troupe, OTHER)).toBe('');
    expect(await reportsIn(troupe, MAIN)).toBe('');
  });
});
