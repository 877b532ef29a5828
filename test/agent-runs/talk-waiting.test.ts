/**
 * Calls that wait for their subagent, and the result when the waiting run is aborted, exceeds its
 * time, or its session is reset: it is reported once or not at all, as the policy determines.
 */
import { expect, it } from 'vitest';
import { sessionAddress } from '../../actors/index.ts';
import { eventually } from '../runtime/eventually.ts';
import {
  gate,
  heardBy,
  play,
  says,
  settled,
  subagentsOf,
  type Turn,
  wants,
} from './scripted-agents.ts';
import type { Installation } from './installation.ts';

const MAIN = 'agent:main:main';
const REPORTS = '[Results of subagents]';
const FOUND = 'The apples are seven.';

/** The run of the main session waits for a subagent that works until the gate opens. */
async function waiting(config: Readonly<Record<string, unknown>> = {}) {
  const { opened, open } = gate();
  const played = await play(
    'anthropic-messages',
    async (turn: Turn) => {
      if (turn.isSubagent) {
        await opened;
        return says(FOUND);
      }
      if (turn.said.startsWith(REPORTS)) return says('Seven apples.');
      if (turn.said !== 'count') return says('yes');
      if (turn.results.length > 0) return says(`I read: ${String(turn.results[0]!['result'])}`);
      return wants(['sessions_spawn', { task: 'count the apples', label: 'apples', wait: true }]);
    },
    config,
  );
  return { ...played, open };
}
const runs = (troupe: Installation) =>
  eventually(() => expect(subagentsOf(troupe)).toMatchObject([{ status: 'running' }]));
const say = async ({ system }: Installation, event: { type: string }) => {
  const principal = { sub: 'ada', roles: ['operator'] };
  const answer = await system.ask(sessionAddress('default', MAIN), event, {
    principal,
    timeoutMs: 20_000,
  });
  expect(answer).toMatchObject({ kind: 'answered' });
};
/** How often requests to models contain the finding; each conversation counts once. */
const readings = async (troupe: Installation): Promise<number> => {
  const entries = await troupe.transcript(MAIN);
  const read = entries.filter((one) => one.type === 'user' || one.type === 'tool');
  return JSON.stringify(read).split(FOUND).length - 1;
};

it('a run that is aborted while it waits gets the result once, by a report', async () => {
  const { troupe, open } = await waiting();
  const runId = await troupe.send(MAIN, 'count');
  await runs(troupe);
  await say(troupe, { type: 'session.abort' });
  expect(await troupe.rowAtEnd(runId)).toMatchObject({ status: 'aborted' });
  open();
  const heard = await eventually(async () => {
    const found = await heardBy(troupe, MAIN);
    expect(found).toHaveLength(2);
    return found;
  });
  expect(heard[1]!.text.startsWith(REPORTS)).toBe(true);
  const { subagents } = await settled(troupe);
  expect(subagents).toMatchObject([{ status: 'completed', reported: 'followup' }]);
  expect(await readings(troupe)).toBe(1);
  expect((await troupe.run(MAIN, 'and?')).row.text).toBe('yes');
  expect(await readings(troupe)).toBe(1);
});

it('a run that times out while it waits leaves the result to the next run, once', async () => {
  const { troupe, open } = await waiting();
  const runId = await troupe.send(MAIN, 'count', { timeoutMs: 3_000 });
  await runs(troupe);
  expect(await troupe.rowAtEnd(runId)).toMatchObject({ status: 'timeout' });
  open();
  await eventually(async () => expect(await heardBy(troupe, MAIN)).toHaveLength(2));
  await settled(troupe);
  expect(await readings(troupe)).toBe(1);
});

it('a subagent that times out answers the waiting call with its status', async () => {
  const { troupe, open } = await waiting({
    agents: { spawnDefaults: { sandbox: { timeout: 1_500 } } },
  });
  const { row } = await troupe.run(MAIN, 'count');
  open();
  expect(row.status).toBe('ok');
  const { subagents } = await settled(troupe);
  expect(subagents).toMatchObject([{ status: 'timedOut', reported: 'waited' }]);
  expect(subagents[0]!.reason).toContain('1.5 s');
  expect(await heardBy(troupe, MAIN)).toHaveLength(1);
  expect(await readings(troupe)).toBe(0);
});

it('a session that is reset while it waits ends its subagent and gets no report', async () => {
  const { troupe, open } = await waiting();
  const runId = await troupe.send(MAIN, 'count');
  await runs(troupe);
  await say(troupe, { type: 'session.reset' });
  expect(await troupe.rowAtEnd(runId)).toMatchObject({ status: 'aborted' });
  const { subagents } = await settled(troupe);
  open();
  expect(subagents).toMatchObject([{ status: 'killed' }]);
  expect((await troupe.run(MAIN, 'and?')).row.text).toBe('yes');
  expect(await readings(troupe)).toBe(0);
  expect((await heardBy(troupe, MAIN)).map(({ origin }) => origin)).toEqual([undefined, undefined]);
});

it('a session that is reset under adopt gets the result once', async () => {
  const { troupe, open } = await waiting({ agents: { spawnDefaults: { onParentReset: 'adopt' } } });
  await troupe.send(MAIN, 'count');
  await runs(troupe);
  await say(troupe, { type: 'session.reset' });
  open();
  await eventually(async () => expect(await readings(troupe)).toBe(1));
  const { subagents } = await settled(troupe);
  expect(subagents).toMatchObject([{ status: 'completed', reported: 'followup' }]);
  expect((await heardBy(troupe, MAIN)).at(-1)!.text.startsWith(REPORTS)).toBe(true);
});

it('a session that is reset under detach lets the subagent end without a report', async () => {
  const { troupe, open } = await waiting({
    agents: { spawnDefaults: { onParentReset: 'detach' } },
  });
  await troupe.send(MAIN, 'count');
  await runs(troupe);
  await say(troupe, { type: 'session.reset' });
  open();
  const { subagents } = await settled(troupe);
  expect(subagents).toMatchObject([{ status: 'completed' }]);
  expect(await readings(troupe)).toBe(0);
});
