/** Events about conversations between agents and about subagents. */
import { afterEach, expect, test } from 'vitest';
import { type RunEvent, runEventsTopic, type SessionRow } from '../../../../protocols/session.ts';
import type { SubagentRow } from '../../../../protocols/subagent.ts';
import { CHILD, subagentRow } from '../../../operations/run-trace/traced.ts';
import { type Client, MAIN } from '../client.ts';
import type { FakeSessionSystem, LiveEvent } from '../fake-session-system.ts';
import { closeAll, openAll } from '../opened.ts';

afterEach(closeAll);

const TRIAL = 'agent:main:trial';

const publish = (system: FakeSessionSystem, runId: string, event: LiveEvent) => {
  const published: RunEvent = { runId, sessionKey: MAIN, at: 1, ...event };
  system.bus.publish(runEventsTopic('default', MAIN), published);
};

const began: LiveEvent = {
  stream: 'subagent',
  phase: 'start',
  id: 's',
  childRunId: 'r of s',
  childSessionKey: CHILD,
  label: 'finder',
  startedAt: 5,
};
const failed: LiveEvent = {
  stream: 'subagent',
  phase: 'error',
  id: 's',
  childRunId: 'r of s',
  childSessionKey: CHILD,
  endedAt: 9,
  outcome: 'error',
  errorMessage: 'its time was over',
};

const subagentEvent = (client: Client, phase: string) =>
  client.frame(({ event, payload }) => {
    return event === 'agent' && payload.stream === 'subagent' && payload.data.phase === phase;
  });

test('a subagent starts under its parent run and may end after it, with rising seq', async () => {
  const { client, system } = await openAll();
  await client.call('chat.send', { sessionKey: MAIN, message: 'find it', idempotencyKey: 'k' });
  publish(system, 'k', began);
  const start = await subagentEvent(client, 'start');
  expect(start.payload.data.label).toBe('finder');
  expect(start.payload).toMatchObject({
    runId: 'k',
    data: { id: 's', runId: 'r of s', sessionKey: CHILD, parentSessionKey: MAIN, startedAt: 5 },
  });
  system.finish(MAIN, 'I let it be found.');
  const final = await client.chat('final');
  publish(system, 'k', failed);
  const error = await subagentEvent(client, 'error');
  expect(error.payload.data).toMatchObject({ outcome: 'error', errorMessage: 'its time was over' });
  expect(start.payload.seq).toBeLessThan(final.payload.seq);
  expect(final.payload.seq).toBeLessThan(error.payload.seq);
  const ends = client.events('chat').filter(({ payload }) => payload.state === 'final');
  expect(ends).toHaveLength(1);
});

test('a gateway that received no event of a run publishes the end of its subagent', async () => {
  const { client, system } = await openAll();
  publish(system, 'of yesterday', failed);
  const { payload } = await subagentEvent(client, 'error');
  expect(payload).toMatchObject({ runId: 'of yesterday', seq: 1 });
  expect(client.events('chat')).toEqual([]);
});

test('the start of a run names its origin if it is not a user', async () => {
  const { client, system } = await openAll();
  const origin = { kind: 'task', sessionKey: MAIN, ids: ['s'] } as const;
  const start = { stream: 'lifecycle', phase: 'start', startedAt: 3 } as const;
  publish(system, 'by an agent', { ...start, origin, spawnedBy: MAIN });
  publish(system, 'by a person', start);
  const startOf = (runId: string) =>
    client.frame(({ event, payload }) => event === 'agent' && payload.runId === runId);
  const byAgent = await startOf('by an agent');
  expect(byAgent.payload.data).toMatchObject({ phase: 'start', origin, spawnedBy: MAIN });
  const { data } = (await startOf('by a person')).payload;
  expect(Object.keys(data as object)).toEqual(['phase', 'startedAt', 'sessionKey']);
});

const row = (sessionKey: string, more: Partial<SessionRow> = {}): SessionRow => ({
  sessionKey,
  sessionId: `id of ${sessionKey}`,
  agentId: 'main',
  status: 'idle',
  updatedAt: 1,
  createdAt: 1,
  messages: 2,
  pending: 0,
  usage: { inputTokens: 1, outputTokens: 2 },
  ...more,
});

const keep = (system: FakeSessionSystem, ...rows: readonly SessionRow[]) => {
  for (const one of rows) system.kept.table<SessionRow>('sessions').set(one.sessionKey, one);
};

test('the list of sessions contains label, channel, context and parent, and searches by them', async () => {
  const { client, system } = await openAll();
  const child = { spawnedBy: MAIN, label: 'finder', channel: 'cli' };
  keep(system, row(MAIN), row(CHILD, { ...child, contextTokens: 300 }));
  const list = async (params: object) => {
    const { payload } = await client.call('sessions.list', params);
    return payload.sessions as Record<string, unknown>[];
  };
  for (const params of [{ spawnedBy: MAIN }, { label: 'finder' }, { search: 'FIND' }]) {
    expect(await list(params)).toMatchObject([
      { ...child, key: CHILD, parentSessionKey: MAIN, displayName: 'finder', totalTokens: 300 },
    ]);
  }
  expect(await list({})).toHaveLength(2);
  expect((await list({})).find(({ key }) => key === MAIN)).not.toHaveProperty('spawnedBy');
  expect(await list({ label: 'find' })).toEqual([]);
});

test('a label is set and cleared by sessions.patch', async () => {
  const { client, system } = await openAll();
  system.others['session.set'] = ({ label }) => ({ kind: 'answered', result: { label } });
  for (const label of ['work', null]) {
    const { payload } = await client.call('sessions.patch', { key: TRIAL, label });
    expect(payload).toMatchObject({ key: TRIAL, entry: { label } });
  }
  const tooLong = await client.call('sessions.patch', { key: TRIAL, label: 'x'.repeat(121) });
  expect(tooLong.error).toMatchObject({ code: 'INVALID_REQUEST' });
});

test('sessions.delete closes the existing session only while it has the expected id', async () => {
  const { client, system } = await openAll();
  const closed: unknown[] = [];
  system.others['session.close'] = (event, to) => {
    closed.push([to, event]);
    return { kind: 'answered', result: { closed: true } };
  };
  const remove = (params: object) => client.call('sessions.delete', params);
  expect((await remove({ key: TRIAL })).payload).toMatchObject({ ok: true, deleted: false });
  keep(system, row(TRIAL), row(MAIN));
  const other = await remove({ key: TRIAL, expectedSessionId: 'another' });
  expect(other.error?.message).toContain('was reset in the meantime');
  expect((await remove({ key: 'main' })).error?.message).toContain('main session');
  expect(closed).toEqual([]);
  const params = { key: TRIAL, expectedSessionId: `id of ${TRIAL}`, orphans: 'adopt' };
  const { payload } = await remove(params);
  expect(payload).toEqual({ ok: true, key: TRIAL, deleted: true, archived: [] });
  const to = `default/session/${TRIAL}`;
  expect(closed).toEqual([[to, { type: 'session.close', orphans: 'adopt' }]]);
});

test('sessions.delete closes the session of an agent that was created for a task', async () => {
  const { client, system } = await openAll();
  system.others['session.close'] = () => ({ kind: 'answered', result: { closed: true } });
  const key = 'agent:researcher:subagent:s';
  keep(system, row(key, { agentId: 'researcher' }));
  const { payload } = await client.call('sessions.delete', { key });
  expect(payload).toMatchObject({ key, deleted: true });
  const none = await client.call('sessions.delete', { key: 'agent:unknown:subagent:s' });
  expect(none.error?.message).toContain('unknown agent id "unknown"');
});

test('a history marks messages of agents, and contains the subagents with their findings', async () => {
  const { client, system } = await openAll();
  const origin = { kind: 'subagents', sessionKey: MAIN, ids: ['s'] } as const;
  system.commit(MAIN, { type: 'user', runId: 'a', text: 'hello', at: 1 });
  system.commit(MAIN, { type: 'user', runId: 'b', text: 'results', origin, at: 2 });
  const table = system.kept.table<SubagentRow>('subagents');
  table.set(`${MAIN}|s`, subagentRow('s', { label: 'finder' }));
  table.set(`${MAIN}|t`, subagentRow('t', { createdAt: 9_000, status: 'running' }));
  table.set(`${TRIAL}|u`, subagentRow('u', { parent: TRIAL }));
  const runs = system.kept.table<object>('runs');
  runs.set('run of s', { runId: 'run of s', text: 'under the sofa' });
  const { payload } = await client.call('chat.history', { sessionKey: MAIN });
  const { messages, subagents } = payload as {
    messages: Record<string, unknown>[];
    subagents: Record<string, unknown>[];
  };
  expect(messages[0]).not.toHaveProperty('origin');
  expect(messages[1]).toMatchObject({
    role: 'user',
    origin,
    provenance: { kind: 'inter_session', sourceSessionKey: MAIN },
  });
  expect(subagents.map(({ id }) => id)).toEqual(['t', 's']);
  expect(subagents[1]).toMatchObject({
    runId: 'r1',
    sessionKey: CHILD,
    status: 'completed',
    findings: 'under the sofa',
    tokens: 120,
    label: 'finder',
  });
});

test('a session without subagents has none in its history', async () => {
  const { client } = await openAll();
  const { payload } = await client.call('chat.history', { sessionKey: MAIN });
  expect(payload).not.toHaveProperty('subagents');
});
