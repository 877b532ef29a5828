/** The page of a conversation whose agent sends messages to others and starts subagents. */
import { expect, test } from 'vitest';
import { runEventsTopic, type SessionRow } from '../../protocols/session.ts';
import type { SubagentRow } from '../../protocols/subagent.ts';
import { emptyConversation, withHistory } from '../../web/chat/conversation.ts';
import { linesOf } from '../../web/chat/reading-order.ts';
import { MAIN } from '../channels/gateway/client.ts';
import { CHILD, subagentRow } from '../operations/run-trace/traced.ts';
import { axeViolations } from './axe.ts';
import { openOnline, useFakeSessions } from './web-world.ts';

const web = useFakeSessions();

const online = () => openOnline(web);

const keep = (row: SubagentRow) =>
  web.system.kept.table<SubagentRow>('subagents').set(`${row.parent}|${row.id}`, row);

const going = (): SubagentRow => {
  const { endedAt: _, usage: __, ...row } = subagentRow('s', { label: 'finder' });
  return { ...row, status: 'running' };
};

const tell = (event: object) => {
  const runEvent = { runId: 'r1', sessionKey: MAIN, at: 1, stream: 'subagent', id: 's', ...event };
  const about = { childRunId: 'run of s', childSessionKey: CHILD };
  web.system.bus.publish(runEventsTopic('default', MAIN), { ...runEvent, ...about });
};

test('a subagent is a card that is updated and links to its conversation', async () => {
  web.system.commit(MAIN, { type: 'user', runId: 'r1', text: 'find it', at: 1 });
  const page = await online();
  await page.getByText('find it').waitFor();
  keep(going());
  tell({ phase: 'start', startedAt: 1 });
  const card = page.getByRole('listitem', { name: 'Subagent finder' });
  await card.getByText('works', { exact: true }).waitFor();
  expect(await card.locator('.task').textContent()).toBe('look it up');

  keep(subagentRow('s', { label: 'finder' }));
  const runs = web.system.kept.table<object>('runs');
  runs.set('run of s', { runId: 'run of s', text: 'under the <b>sofa</b>' });
  tell({ phase: 'end', endedAt: 2, outcome: 'ok' });
  await card.getByText('done', { exact: true }).waitFor();
  await card.getByText('120 tokens').waitFor();
  expect(await axeViolations(page)).toEqual([]);
  await card.locator('summary').click();
  expect(await card.locator('pre').textContent()).toBe('under the <b>sofa</b>');

  web.system.commit(CHILD, { type: 'user', runId: 'run of s', text: 'look it up, child', at: 1 });
  const row: SessionRow = {
    sessionKey: CHILD,
    sessionId: 'of the child',
    agentId: 'not-configured',
    status: 'idle',
    updatedAt: 1,
    createdAt: 1,
    messages: 1,
    pending: 0,
    usage: { inputTokens: 0, outputTokens: 0 },
    spawnedBy: MAIN,
  };
  web.system.kept.table<SessionRow>('sessions').set(CHILD, row);
  await card.getByRole('link', { name: 'Open its conversation' }).click();
  await page.getByText('look it up, child').waitFor();
  await page.getByRole('link', { name: 'Subagent of main:main' }).click();
  await page.getByText('find it').waitFor();
});

test('messages between agents are folded, and not shown as the user’s', async () => {
  const from = (kind: 'agent' | 'subagents' | 'task', ids: string[]) => ({
    origin: { kind, sessionKey: 'agent:work:main', ids },
  });
  web.system.commit(MAIN, { type: 'user', runId: 'a', text: 'I am a person', at: 1 });
  web.system.commit(MAIN, {
    type: 'user',
    runId: 'b',
    text: 'far?',
    at: 2,
    ...from('agent', ['k']),
  });
  const results = from('subagents', ['s', 't']);
  web.system.commit(MAIN, { type: 'user', runId: 'c', text: 'two results', at: 3, ...results });
  const page = await online();
  await page.getByText('Message from work:main').waitFor();
  await page.getByText('Results of 2 subagents').waitFor();
  expect(await page.locator('.message.user .plain').allTextContents()).toEqual(['I am a person']);
  expect(await page.getByText('two results').isVisible()).toBe(false);
  await page.getByText('Results of 2 subagents').click();
  await page.getByText('two results').waitFor();
});

test('a subagent is shown under the run that started it, and not without that run', () => {
  const message = (runId: string) => ({ id: runId, runId, role: 'user', content: runId });
  const subagent = (id: string, runId: string, status: string) => ({
    id,
    runId,
    status,
    sessionKey: CHILD,
    task: id,
  });
  const now = withHistory(emptyConversation, {
    messages: [message('r1'), message('r2')],
    subagents: [
      subagent('new', 'r1', 'running'),
      subagent('old', 'r1', 'completed'),
      subagent('gone', 'r0', 'failed'),
      subagent('active', 'r0', 'starting'),
    ],
    sessionInfo: { spawnedBy: MAIN },
  });
  const keys = linesOf(now).map((line) =>
    line.kind === 'subagent' ? line.subagent.id : line.kind === 'history' && line.item.text,
  );
  expect(keys).toEqual(['r1', 'old', 'new', 'r2', 'active']);
  expect(now.parent).toBe(MAIN);
});

test('a declined reply to another agent is not shown', () => {
  const origin = { kind: 'agent', sessionKey: 'agent:work:main', ids: ['k'] } as const;
  const said = (id: string, runId: string, role: string, content: string, more: object = {}) => {
    return { id, runId, role, content, ...more };
  };
  const now = withHistory(emptyConversation, {
    messages: [
      said('1', 'r1', 'user', 'say REPLY_SKIP'),
      said('2', 'r1', 'assistant', 'REPLY_SKIP'),
      said('3', 'r2', 'user', 'is it far?', { origin }),
      said('4', 'r2', 'assistant', '**REPLY_SKIP**'),
      said('5', 'r3', 'user', 'is it near?', { origin }),
      said('6', 'r3', 'assistant', 'It is.'),
    ],
  });
  expect(linesOf(now).map(({ key }) => key)).toEqual(['h1', 'h2', 'h3', 'h5', 'h6']);
});
