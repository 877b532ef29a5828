import { expect, it, onTestFinished } from 'vitest';
import { install } from '../agent-runs/installation.ts';
import { connected } from '../channels/gateway/client.ts';
import { operatorOf } from './operator.ts';

const keysOf = ({ sessions }: { sessions: readonly { key: string }[] }) =>
  sessions.map(({ key }) => key);

it('lists sessions newest first, by agent and by text, in pages', async () => {
  const troupe = await install({ config: {} });
  const call = await operatorOf(troupe);
  expect(keysOf(await call('sessions.list'))).toEqual([]);
  await troupe.run('agent:main:first', 'echo apples');
  await troupe.run('agent:main:second', 'echo pears');
  expect(keysOf(await call('sessions.list'))).toEqual(['agent:main:second', 'agent:main:first']);
  expect(keysOf(await call('sessions.list', { search: 'FIRST' }))).toEqual(['agent:main:first']);
  expect(keysOf(await call('sessions.list', { agent: 'other' }))).toEqual([]);
  const page = await call('sessions.list', { limit: 1 });
  expect(page).toMatchObject({ totalCount: 2, hasMore: true, nextOffset: 1 });
  expect(keysOf(await call('sessions.list', { limit: 1, offset: 1 }))).toEqual([
    'agent:main:first',
  ]);
});

it('shows, resets and deletes a session, and refuses to delete a main session', async () => {
  const troupe = await install({ config: {} });
  const call = await operatorOf(troupe);
  const key = 'agent:main:trial';
  for (const name of ['sessions.show', 'sessions.reset', 'sessions.compact'])
    await expect(call(name, { key })).rejects.toThrow('NOT_FOUND');
  await troupe.run(key, 'echo hello');
  const { sessionId, lastMessagePreview } = await call('sessions.show', { key });
  expect(lastMessagePreview).toContain('hello');
  const { entry } = await call('sessions.reset', { key, reason: 'a test' });
  expect(entry.sessionId).not.toBe(sessionId);
  expect((await call('sessions.show', { key })).sessionId).toBe(entry.sessionId);
  await expect(call('sessions.delete', { key: 'agent:main:main' })).rejects.toThrow(
    'INVALID_ARGUMENT',
  );
  expect(await call('sessions.delete', { key })).toMatchObject({ deleted: true });
  expect(await call('sessions.delete', { key })).toMatchObject({ deleted: false });
  expect(keysOf(await call('sessions.list'))).toEqual([]);
});

it('a session that exists keeps its key, in whatever case a client names it', async () => {
  const troupe = await install({ config: {} });
  const call = await operatorOf(troupe);
  const client = await connected(troupe);
  onTestFinished(() => client.close());
  // As an earlier version imported them from OpenClaw, or a client created them.
  const slack = 'agent:main:slack:group:c024be91l';
  const discord = 'agent:main:discord:dm:AbC';
  for (const key of [slack, discord]) await troupe.run(key, 'echo before');
  const names = [slack, 'agent:main:slack:channel:c024be91l', 'agent:main:discord:direct:AbC'];
  for (const sessionKey of names) {
    const sent = { sessionKey, message: 'echo after', idempotencyKey: `to ${sessionKey}` };
    const { payload } = await client.call('chat.send', sent);
    await troupe.rowAtEnd(String(payload.runId));
    const patched = await client.call('sessions.patch', { key: sessionKey, label: sessionKey });
    expect(patched.error).toBeUndefined();
  }
  expect(keysOf(await call('sessions.list')).toSorted()).toEqual([discord, slack]);
  const sentTo = async (key: string) =>
    (await troupe.transcript(key)).filter(({ type }) => type === 'user').length;
  expect([await sentTo(slack), await sentTo(discord)]).toEqual([3, 2]);
  const sent = { sessionKey: 'agent:main:slack:channel:c0new1234', message: 'echo x' };
  const { payload } = await client.call('chat.send', { ...sent, idempotencyKey: 'new' });
  await troupe.rowAtEnd(String(payload.runId));
  expect(troupe.sessionRow('agent:main:slack:group:C0NEW1234')).toBeDefined();
});
