/**
 * Conversations and subagents between agents in a whole installation with the offline model: what
 * the calling model reads, what the other agents did, and which messages users receive.
 */
import { expect, it } from 'vitest';
import type { ConversationRow } from '../../protocols/conversation.ts';
import { CONVERSATIONS_INDEX } from '../../protocols/conversation.ts';
import type { SessionEntry } from '../../protocols/session.ts';
import { type SubagentRow, SUBAGENTS_INDEX } from '../../protocols/subagent.ts';
import { eventually } from '../runtime/eventually.ts';
import { type Installation, install } from './installation.ts';

const MAIN = 'agent:main:main';
const CODER = 'agent:coder:main';

const crew = (main: object = {}, more: object = {}) => ({
  agents: { agents: [{ id: 'main', default: true, ...main }, { id: 'coder' }] },
  tools: { agentToAgent: { enabled: true } },
  ...more,
});

type Said = Record<string, unknown>;
/** The results of a run's tool calls, in order. */
async function results(troupe: Installation, key: string, runId?: string): Promise<Said[]> {
  const entries = await troupe.transcript(key);
  return entries
    .filter((one): one is Extract<SessionEntry, { type: 'tool' }> => one.type === 'tool')
    .filter((one) => runId === undefined || one.runId === runId)
    .map(({ result }) => {
      const json = result.replace(/^<tool_result[^\n]*\n/, '').replace(/\n<\/tool_result>$/, '');
      return JSON.parse(json) as Said;
    });
}
const rowsOf = <Row>({ system }: Installation, index: string): Row[] =>
  system.index.list<Row>(index, 'default').map(({ value }) => value);

/** Waits until no subagent and no conversation is active. */
const settled = (troupe: Installation) =>
  eventually(() => {
    const conversations = rowsOf<ConversationRow>(troupe, CONVERSATIONS_INDEX);
    expect(conversations.filter(({ status }) => status !== 'ended')).toEqual([]);
    const subagents = rowsOf<SubagentRow>(troupe, SUBAGENTS_INDEX);
    expect(subagents.filter(({ reported }) => reported === undefined)).toEqual([]);
    return { conversations, subagents };
  });

it('an agent asks another and reports its answer', async () => {
  const troupe = await install({ config: crew() });
  const { row } = await troupe.run(MAIN, 'ask coder to say hello there');
  expect(row.text).toBe('coder answered: hello there');
  const { conversations } = await settled(troupe);
  expect(conversations).toMatchObject([{ requester: MAIN, target: CODER, delivered: true }]);
  expect(await results(troupe, MAIN)).toMatchObject([
    { status: 'ok', delivered: true, reply: 'hello there', response: 'hello there' },
  ]);
});

it('agents reply to each other for the requested number of turns', async () => {
  const troupe = await install({ config: crew() });
  await troupe.run(MAIN, 'ask coder: what do you think of tea? [[turns:3]]');
  const { conversations } = await settled(troupe);
  const [{ turns } = { turns: [] }] = conversations;
  // the fourth reply ends the conversation
  expect(turns.map(({ turn, skipped = false }) => [turn, skipped])).toEqual([
    [0, false],
    [1, false],
    [2, false],
    [3, false],
    [4, true],
  ]);
});

it('agents cannot reach each other by default, and the model reads which key forbids it', async () => {
  const config = crew({}, { tools: { agentToAgent: { enabled: false } } });
  const troupe = await install({ config });
  const { row } = await troupe.run(MAIN, 'ask coder to say hello');
  expect(row.text).toMatch(/^coder gave no answer: /);
  expect(await results(troupe, MAIN)).toMatchObject([
    { status: 'forbidden', rule: 'tools.agentToAgent.enabled', delivered: false },
  ]);
  expect(troupe.sessionRow(CODER)).toBeUndefined();
});

it('a message without waiting is accepted immediately and answered after the run', async () => {
  const troupe = await install({ config: crew() });
  const args = { sessionKey: CODER, message: 'say hello', timeoutSeconds: 0 };
  await troupe.run(MAIN, `call sessions_send ${JSON.stringify(args)}`);
  expect(await results(troupe, MAIN)).toMatchObject([{ status: 'accepted' }]);
  const { conversations } = await settled(troupe);
  expect(conversations).toMatchObject([
    { delivered: true, turns: [{ turn: 0, status: 'ok' }, {}] },
  ]);
});

it('a chain of messages is cut where it returns to a visited session', async () => {
  const troupe = await install({ config: crew() });
  await troupe.run(MAIN, 'ask coder to: ask main to: say hello');
  await settled(troupe);
  expect(await results(troupe, CODER)).toMatchObject([
    { status: 'refused', reason: 'loop', delivered: false, sessionKey: MAIN },
  ]);
});

it('a call waits for its subagent and returns its findings', async () => {
  const troupe = await install({ config: crew() });
  const task = 'say five of them';
  const call = { task, label: 'count', wait: true, tools: ['clock', 'write'] };
  const { row } = await troupe.run(MAIN, `call sessions_spawn ${JSON.stringify(call)}`);
  expect(row.text).toBe('main answered: five of them');
  expect(await results(troupe, MAIN)).toMatchObject([
    {
      status: 'completed',
      result: 'five of them',
      cut: [{ tool: 'clock' }, { tool: 'write' }],
    },
  ]);
  const { subagents } = await settled(troupe);
  expect(subagents).toMatchObject([
    { status: 'completed', label: 'count', parent: MAIN, reported: 'waited' },
  ]);
});

it('subagents work concurrently, and one summary contains their results', async () => {
  const troupe = await install({ config: crew() });
  const call = (label: string) =>
    `call sessions_spawn ${JSON.stringify({ task: `say ${label} is done`, label })}`;
  const labels = ['one', 'two', 'three'];
  await troupe.run(MAIN, labels.map(call).join(' and '));
  const { subagents } = await settled(troupe);
  expect(subagents.map(({ status }) => status)).toEqual(labels.map(() => 'completed'));
  const ended = await eventually(async () => {
    const entries = await troupe.transcript(MAIN);
    const texts = entries.flatMap((one) => (one.type === 'assistant' ? [one.text] : [])).join('\n');
    for (const label of labels) expect(texts).toContain(`- ${label}: ${label} is done`);
    return texts;
  });
  for (const label of labels) expect(ended.split(`- ${label}:`)).toHaveLength(2);
});

it('an agent without configuration can be started where the configuration allows any agent', async () => {
  const call = { agentConfig: { id: 'reader', purpose: 'reads' }, task: 'say read', wait: true };
  const text = `call sessions_spawn ${JSON.stringify(call)}`;
  const strict = await install({ config: crew() });
  expect((await strict.run(MAIN, text)).row.text).toMatch(/may not start agent 'reader'/);
  const open = await install({ config: crew({ subagents: { allowAgents: ['*'] } }) });
  expect((await open.run(MAIN, text)).row.text).toBe('reader answered: read');
  const { subagents } = await settled(open);
  expect(subagents).toMatchObject([{ agentId: 'reader', status: 'completed' }]);
});

it('an agent lists its subagents, sends one a message, and ends it', async () => {
  const troupe = await install({ config: crew() });
  const slow = { task: 'wait [[words:4000]] [[pace:20]]', label: 'slow' };
  await troupe.run(MAIN, `call sessions_spawn ${JSON.stringify(slow)}`);
  await eventually(() =>
    expect(rowsOf<SubagentRow>(troupe, SUBAGENTS_INDEX)).toMatchObject([{ status: 'running' }]),
  );
  const text =
    'call subagents {"action":"list"} then call subagents {"action":"steer","id":"slow","message":"be quick"} then call subagents {"action":"kill","id":"slow"}';
  const { row } = await troupe.run(MAIN, text);
  const [list, steer, kill] = await results(troupe, MAIN, row.runId);
  expect(list).toMatchObject({ count: 1, active: 1, subagents: [{ label: 'slow' }] });
  expect(steer).toMatchObject({ status: 'ok', delivered: true });
  expect(kill).toMatchObject({ status: 'ok', killed: [(list!['subagents'] as Said[])[0]!['id']] });
  const { subagents } = await settled(troupe);
  expect(subagents).toMatchObject([{ status: 'killed' }]);
});
