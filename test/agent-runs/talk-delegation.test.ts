/**
 * Tasks for three subagents at once, with models behind real providers' protocols: how the results
 * return, what the report contains, and that the user sees one answer and none of the messages
 * between agents.
 */
import { describe, expect, it } from 'vitest';
import type { RunEvent } from '../../protocols/session.ts';
import { eventually } from '../runtime/eventually.ts';
import type { ServedApi } from '../servers/model-server.ts';
import {
  gate,
  heardBy,
  play,
  resultsOf,
  says,
  type Script,
  settled,
  subagentsOf,
  type Turn,
  wants,
} from './scripted-agents.ts';

const MAIN = 'agent:main:main';
const APIS: readonly ServedApi[] = ['anthropic-messages', 'openai-responses', 'openai-completions'];
const TOWNS = ['Rome', 'Oslo', 'Lima'];
const REPORTS = '[Results of subagents]';

const taskOf = (town: string) => `find the weather of ${town}`;
const findingOf = (town: string) => `In ${town} it is ${town.length * 5} degrees.`;
const townOf = ({ said }: Turn): string => TOWNS.find((town) => said.includes(town))!;
const spawnsAll = (more: object = {}) =>
  wants(
    ...TOWNS.map(
      (town) => ['sessions_spawn', { task: taskOf(town), label: town, ...more }] as const,
    ),
  );

/**
 * The report contains status, findings, numbers and instructions for each of these subagents, once.
 */
function expectReportsOf(text: string, towns: readonly string[]): void {
  expect(text.startsWith(REPORTS)).toBe(true);
  for (const town of towns) {
    expect(text.split(`"${town}": completed`)).toHaveLength(2);
    expect(text.split(findingOf(town))).toHaveLength(2);
    expect(text).toContain(`Task: ${taskOf(town)}`);
  }
  const stats = text.match(/^Stats: \d+\.\d s, 18 tokens, \$0\.0001$/gm);
  expect(stats).toHaveLength(towns.length);
  expect(text).toContain('sum it up for them in your own voice');
  expect(text).toContain('Reply NO_REPLY when nothing needs saying.');
}

describe.each(APIS)('three subagents at once on %s', (api) => {
  it('are reported to the active run, and the user reads one answer', async () => {
    const all = gate();
    const { troupe, turns } = await play(api, async (turn) => {
      if (turn.isSubagent) return says(findingOf(townOf(turn)));
      if (turn.said.startsWith(REPORTS)) return says('Warm in Rome, mild in Oslo and Lima.');
      if (turn.results.length === 0) return spawnsAll();
      // it is still answering when they end
      await all.opened;
      return wants(['clock', {}]);
    });
    const runId = await troupe.send(MAIN, 'how is the weather?');
    await eventually(() => expect(turns().filter((turn) => turn.isSubagent)).toHaveLength(3));
    await eventually(() => {
      const ended = troupe.events(MAIN).filter((one) => one.stream === 'subagent');
      expect(ended.filter(({ phase }) => phase === 'end')).toHaveLength(3);
    });
    all.open();
    const received = await troupe.end(MAIN, runId);
    expect(received.row).toMatchObject({
      status: 'ok',
      text: 'Warm in Rome, mild in Oslo and Lima.',
    });
    const { subagents } = await settled(troupe);
    expect(subagents.map(({ status, reported }) => [status, reported])).toEqual(
      TOWNS.map(() => ['completed', 'steer']),
    );
    const heard = await heardBy(troupe, MAIN);
    expect(heard.map(({ origin }) => origin?.kind)).toEqual([undefined, 'subagents']);
    expectReportsOf(heard[1]!.text, TOWNS);
    // one run, one answer to the user
    expect(received.events.filter((one) => one.stream === 'lifecycle')).toHaveLength(2);
  });

  it('are reported in one message after the run, which starts one new run', async () => {
    const all = gate();
    const { troupe } = await play(
      api,
      async (turn) => {
        if (turn.isSubagent) {
          await all.opened;
          return says(findingOf(townOf(turn)));
        }
        if (turn.said.startsWith(REPORTS)) return says('It is warm in Rome.');
        return turn.results.length === 0 ? spawnsAll() : says('I have sent three to look.');
      },
      { messages: { queue: { debounceMs: 1_500 } } },
    );
    const received = await troupe.run(MAIN, 'how is the weather?');
    expect(received.row.text).toBe('I have sent three to look.');
    all.open();
    const { subagents } = await settled(troupe);
    expect(subagents.map(({ status }) => status)).toEqual(TOWNS.map(() => 'completed'));
    // what subagents publish under a run that has ended is no event of the run itself
    const ofRun = ({ runId }: RunEvent) => runId === received.row.runId;
    await eventually(() =>
      expect(troupe.events(MAIN).findLast(ofRun)).toMatchObject({
        stream: 'subagent',
        phase: 'end',
      }),
    );
    expect((await troupe.end(MAIN, received.row.runId)).events).toEqual(received.events);
    const heard = await eventually(async () => {
      const found = await heardBy(troupe, MAIN);
      expect(found).toHaveLength(2);
      return found;
    });
    expect(heard[1]).toMatchObject({ origin: { kind: 'subagents', sessionKey: MAIN } });
    expectReportsOf(heard[1]!.text, TOWNS);
    const second = await troupe.end(MAIN, heard[1]!.runId);
    expect(second.row).toMatchObject({ status: 'ok', text: 'It is warm in Rome.' });
    expect(second.events[0]).toMatchObject({ phase: 'start', origin: { kind: 'subagents' } });
  });

  it('can be awaited by their calls, each with its own result', async () => {
    const { troupe, turns } = await play(api, (turn) => {
      if (turn.isSubagent) return says(findingOf(townOf(turn)));
      if (turn.results.length === 0) return spawnsAll({ wait: true });
      return says(turn.results.map(({ result }) => String(result)).join(' '));
    });
    const received = await troupe.run(MAIN, 'how is the weather?');
    expect(received.row.text).toBe(TOWNS.map(findingOf).join(' '));
    expect(await resultsOf(troupe, MAIN)).toMatchObject(
      TOWNS.map((town) => ({
        status: 'completed',
        result: findingOf(town),
        tokensUsed: 18,
        duration: expect.any(Number) as number,
      })),
    );
    const { subagents } = await settled(troupe);
    expect(subagents.map(({ reported }) => reported)).toEqual(TOWNS.map(() => 'waited'));
    expect(await heardBy(troupe, MAIN)).toHaveLength(1);
    // one call that delegates, three at work, one that summarizes
    expect(turns()).toHaveLength(5);
  });
});

it('a subagent that ends alone after the run is reported by a follow-up', async () => {
  const { opened, open } = gate();
  const { troupe } = await play('anthropic-messages', async (turn) => {
    if (turn.isSubagent) {
      await opened;
      return says(findingOf('Rome'));
    }
    if (turn.said.startsWith(REPORTS)) return says('Rome is warm.');
    if (turn.results.length > 0) return says('One is on its way.');
    return wants(['sessions_spawn', { task: taskOf('Rome'), label: 'Rome' }]);
  });
  await troupe.run(MAIN, 'how is Rome?');
  open();
  const heard = await eventually(async () => {
    const found = await heardBy(troupe, MAIN);
    expect(found).toHaveLength(2);
    return found;
  });
  expectReportsOf(heard[1]!.text, ['Rome']);
  const { subagents } = await settled(troupe);
  expect(subagents).toMatchObject([{ status: 'completed', reported: 'followup' }]);
});

it('a failure is reported with its reason, beside the successful results', async () => {
  const { troupe } = await play('anthropic-messages', (turn) => {
    if (turn.isSubagent && townOf(turn) === 'Oslo')
      return { kind: 'refuse', status: 400, type: 'invalid_request_error', message: 'no Oslo' };
    if (turn.isSubagent) return says(findingOf(townOf(turn)));
    if (turn.results.length === 0) return spawnsAll({ wait: true });
    return says('done');
  });
  await troupe.run(MAIN, 'how is the weather?');
  const results = await resultsOf(troupe, MAIN);
  expect(results.map(({ status }) => status)).toEqual(['completed', 'failed', 'completed']);
  expect(results[1]!['error']).toContain('no Oslo');
  const { subagents } = await settled(troupe);
  expect(subagents.find(({ label }) => label === 'Oslo')?.reason).toContain('no Oslo');
});

it('messages of a subagent to other agents are not part of its findings', async () => {
  const { opened, open } = gate();
  const script: Script = async ({ agent, isSubagent, isOfAgent, results }) => {
    if (agent === 'coder') return says('you are welcome');
    if (isOfAgent) return says('thank you, coder');
    if (isSubagent && results.length === 0)
      return wants(['sessions_send', { sessionKey: 'agent:coder:main', message: 'any news?' }]);
    if (isSubagent) {
      await opened;
      return says('It is warm.');
    }
    if (results.length > 0) return says(`It found: ${String(results[0]!['result'])}`);
    return wants(['sessions_spawn', { task: 'ask around', wait: true }]);
  };
  const sandbox = { mode: 'none', allowlist: ['sessions_send'], denylist: [] };
  const { troupe } = await play('anthropic-messages', script, {
    agents: {
      agents: [{ id: 'main', default: true }, { id: 'coder' }],
      spawnDefaults: { sandbox },
    },
    tools: { agentToAgent: { enabled: true } },
  });
  const runId = await troupe.send(MAIN, 'look');
  // the coder's answer can be replied to before the work is done
  await eventually(() => {
    const [child] = subagentsOf(troupe);
    expect(troupe.sessionRow(child!.sessionKey)?.pending).toBe(1);
  });
  open();
  expect((await troupe.end(MAIN, runId)).row.text).toBe('It found: It is warm.');
  const { conversations } = await settled(troupe);
  expect(conversations[0]!.turns.length).toBeGreaterThan(1);
});
