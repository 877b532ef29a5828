/**
 * A request whose parameters name two different sessions is refused, so that it changes no session
 * that the client may not have meant.
 */
import { afterEach, beforeEach, expect, test } from 'vitest';
import { MAIN } from '../client.ts';
import { closeAll, openAll } from '../opened.ts';

type Opened = Awaited<ReturnType<typeof openAll>>;
let client: Opened['client'];
let system: Opened['system'];
beforeEach(async () => {
  ({ client, system } = await openAll({ echo: true }));
  await client.call('chat.send', { sessionKey: MAIN, message: 'x', idempotencyKey: 'k' });
  await client.chat('final');
  system.asked.length = 0;
});
afterEach(closeAll);

const agentId = 'second';
const OTHER_AGENT: readonly (readonly [method: string, params: object])[] = [
  ['sessions.delete', { key: MAIN }],
  ['sessions.patch', { key: MAIN, label: 'mine' }],
  ['sessions.send', { key: MAIN, message: 'hello' }],
  ['sessions.steer', { key: MAIN, message: 'hello' }],
  ['sessions.abort', { key: MAIN }],
  ['sessions.get', { key: MAIN }],
  ['sessions.messages.subscribe', { key: MAIN }],
  ['sessions.branches.list', { sessionKey: MAIN }],
  ['sessions.usage.timeseries', { key: MAIN }],
  ['chat.abort', { sessionKey: MAIN }],
  ['chat.inject', { sessionKey: MAIN, message: 'note' }],
  ['chat.history', { sessionKey: MAIN }],
  ['chat.startup', { sessionKey: MAIN }],
  ['chat.message.get', { sessionKey: MAIN, messageId: '1' }],
];

test.each(OTHER_AGENT)(
  '%s refuses an agentId that is not of its session',
  async (method, params) => {
    const { error } = await client.call(method, { ...params, agentId });
    expect(error?.message).toContain('the session key is of agent "main", but agentId is "second"');
    expect(system.asked).toEqual([]);
  },
);

test('agent refuses a sessionId of another session, except for a repeat', async () => {
  const of = { message: 'x', sessionKey: MAIN, sessionId: 'another' };
  const other = await client.call('agent', { ...of, idempotencyKey: 'new' });
  expect(other.error?.message).toContain('was reset in the meantime');
  const absent = await client.call('agent', {
    ...of,
    sessionKey: 'agent:main:absent',
    idempotencyKey: 'new',
  });
  expect(absent.error?.message).toContain('it does not exist');
  expect(system.asked).toEqual([]);
  const { payload } = await client.call('sessions.describe', { key: MAIN });
  const { sessionId } = payload.session as { sessionId: string };
  const same = await client.call('agent', { ...of, sessionId, idempotencyKey: 'same' });
  expect(same.error).toBeUndefined();
});

test('sessions.get refuses two keys, and sessions.create parameters that it would ignore', async () => {
  const two = await client.call('sessions.get', { key: MAIN, sessionKey: 'agent:second:main' });
  expect(two.error?.message).toContain('/sessionKey');
  const both = await client.call('sessions.create', { task: 'one', message: 'two' });
  expect(both.error?.message).toContain('/task');
  const attachments = [{ type: 'image', mimeType: 'image/png', content: 'AAAA' }];
  const alone = await client.call('sessions.create', { attachments });
  expect(alone.error?.message).toContain('/attachments');
  expect(system.asked).toEqual([]);
});

test('usage refuses an invalid day, and a session when it sums by agent', async () => {
  for (const method of ['usage.cost', 'sessions.usage']) {
    for (const params of [{ startDate: 'yesterday' }, { endDate: '2026-02-31' }]) {
      const { error } = await client.call(method, params);
      expect(error?.message).toContain(`/${Object.keys(params)[0]}`);
    }
    expect((await client.call(method, { startDate: '2026-02-28' })).error).toBeUndefined();
  }
  const { error } = await client.call('usage.cost', { key: MAIN });
  expect(error?.message).toContain('/key is not supported');
});
