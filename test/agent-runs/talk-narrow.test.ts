/**
 * Agents that wait for each other where only one run at a time is permitted. A run that another
 * agent's run caused needs no slot. Therefore every waiting agent is answered.
 */
import { expect, it } from 'vitest';
import type { AgentRow } from '../../protocols/agent.ts';
import { eventually } from '../runtime/eventually.ts';
import type { Installation } from './installation.ts';
import {
  gate,
  play,
  resultsOf,
  rowsOf,
  says,
  type Script,
  settled,
  wants,
} from './scripted-agents.ts';

const API = 'openai-completions';
const IDS = ['main', 'coder', 'carl'];
const mainOf = (id: string): string => `agent:${id}:main`;
/** One run at a time, per agent and for all of them together. */
const NARROW = {
  agents: {
    maxConcurrent: 1,
    defaults: { runsMax: 1 },
    agents: IDS.map((id, n) => ({ id, default: n === 0, subagents: { allowAgents: ['*'] } })),
  },
  tools: { agentToAgent: { enabled: true } },
};

/** No run has a slot or waits for one at the end. */
const expectFree = (troupe: Installation) =>
  eventually(() => {
    for (const { running, waiting } of rowsOf<AgentRow>(troupe, 'agents'))
      expect([running, waiting]).toEqual([0, 0]);
  });

it('a chain of three agents that wait for each other ends, and the first gets the answer', async () => {
  const next: Readonly<Record<string, string>> = { main: 'coder', coder: 'carl' };
  const script: Script = ({ agent, said, results }) => {
    if (said !== 'ask on') return says('REPLY_SKIP');
    if (results.length > 0) return says(`${agent}: ${String(results[0]!['reply'])}`);
    const to = next[agent];
    if (to === undefined) return says('here it ends');
    const args = { sessionKey: mainOf(to), message: 'ask on', timeoutSeconds: 3_600 };
    return wants(['sessions_send', args]);
  };
  const { troupe } = await play(API, script, NARROW);
  const { row } = await troupe.run(mainOf('main'), 'ask on');
  expect(row.text).toBe('main: coder: here it ends');
  await settled(troupe);
  await expectFree(troupe);
});

it('a run that waits for three subagents, each of which asks another agent, ends', async () => {
  const script: Script = ({ isSubagent, said, results, agent, isOfAgent }) => {
    if (agent === 'carl' && !isSubagent) return says(said === 'well?' ? 'well.' : 'REPLY_SKIP');
    if (isOfAgent) return says('REPLY_SKIP');
    if (said.startsWith('ask carl')) {
      if (results.length > 0) return says(String(results[0]!['reply']));
      return wants([
        'sessions_send',
        { sessionKey: mainOf('carl'), message: 'well?', timeoutSeconds: 3_600 },
      ]);
    }
    if (results.length > 0) return says(results.map(({ result }) => String(result)).join(' '));
    return wants(
      ...IDS.map(
        (id) => ['sessions_spawn', { task: `ask carl, ${id}`, agentId: id, wait: true }] as const,
      ),
    );
  };
  const sandbox = { mode: 'none', allowlist: ['sessions_send'], denylist: [] };
  const config = { ...NARROW, agents: { ...NARROW.agents, spawnDefaults: { sandbox } } };
  const { troupe } = await play(API, script, config);
  const { row } = await troupe.run(mainOf('main'), 'go');
  expect(row.text).toBe('well. well. well.');
  const { subagents } = await settled(troupe);
  expect(subagents.map(({ status }) => status)).toEqual(IDS.map(() => 'completed'));
  await expectFree(troupe);
});

it('two users’ runs that ask each other’s agents run in turn, and both end', async () => {
  const both = gate();
  let asked = 0;
  const script: Script = async ({ agent, said, results }) => {
    if (said === 'well?') return says('well.');
    if (said !== 'ask') return says('REPLY_SKIP');
    if (results.length > 0) return says(String(results[0]!['status']));
    // the first one continues although the second has no slot yet
    if (++asked === 1) both.open();
    await both.opened;
    const to = mainOf(agent === 'main' ? 'coder' : 'main');
    return wants(['sessions_send', { sessionKey: to, message: 'well?', timeoutSeconds: 3_600 }]);
  };
  const { troupe } = await play(API, script, NARROW);
  const keys = [mainOf('main'), mainOf('coder')];
  const runIds = await Promise.all(keys.map((key) => troupe.send(key, 'ask')));
  for (const runId of runIds) expect(await troupe.rowAtEnd(runId)).toMatchObject({ status: 'ok' });
  for (const key of keys)
    for (const { status, reason } of await resultsOf(troupe, key))
      expect(status === 'ok' || reason === 'wait-cycle').toBe(true);
  const { conversations } = await settled(troupe);
  for (const { turns } of conversations) expect(turns[0]).toMatchObject({ status: 'ok' });
  await expectFree(troupe);
});
