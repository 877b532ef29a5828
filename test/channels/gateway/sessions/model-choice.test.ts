import { afterEach, describe, expect, test } from 'vitest';
import { MAIN } from '../client.ts';
import { closeAll, openAll } from '../opened.ts';

afterEach(closeAll);

/** Each way to set a model or level, with its other required parameters. */
const WAYS = [
  ['agent', { message: 'x', idempotencyKey: 'r' }, 'thinking', 'model'],
  ['chat.send', { sessionKey: MAIN, message: 'x', idempotencyKey: 'r' }, 'thinking', 'model'],
  ['sessions.create', { key: MAIN }, 'thinkingLevel', 'model'],
  ['sessions.patch', { key: MAIN }, 'thinkingLevel', 'model'],
] as const;
const job = (payload: object) => ({
  name: 'j',
  schedule: { kind: 'every', everyMs: 3_600_000 },
  sessionTarget: 'isolated',
  wakeMode: 'now',
  payload: { kind: 'agentTurn', message: 'x', ...payload },
});

describe('a thinking level or model that does not exist', () => {
  test.each(WAYS)(
    'is refused by %s before the session receives it',
    async (method, about, thinking, model) => {
      const { client, system } = await openAll();
      const level = await client.call(method, { ...about, [thinking]: 'banana' });
      expect(level.error).toMatchObject({ code: 'INVALID_REQUEST' });
      expect(level.error?.message).toContain(`/${thinking}`);
      expect(level.error?.message).toContain('off, minimal, low, medium, high, xhigh');
      const name = await client.call(method, { ...about, [model]: 'nowhere/banana' });
      expect(name.error).toMatchObject({ code: 'INVALID_REQUEST' });
      expect(name.error?.message).toMatch(
        /\/model: .*no model nowhere\/banana.*offline\/troupe-offline/s,
      );
      expect(system.asked).toEqual([]);
    },
  );

  test('is refused by sessions.send and sessions.steer', async () => {
    const { client, system } = await openAll({ echo: true });
    await client.call('chat.send', { sessionKey: MAIN, message: 'x', idempotencyKey: 'first' });
    await client.chat('final');
    const before = system.asked.length;
    for (const method of ['sessions.send', 'sessions.steer']) {
      const { error } = await client.call(method, { key: MAIN, message: 'x', thinking: 'banana' });
      expect(error?.message).toContain('/thinking');
    }
    expect(system.asked.length).toBe(before);
  });

  test('is refused by cron.add', async () => {
    const { client, system } = await openAll();
    const level = await client.call('cron.add', job({ thinking: 'banana' }));
    expect(level.error?.message).toContain('/payload/thinking');
    const model = await client.call('cron.add', job({ model: 'nowhere/banana' }));
    expect(model.error?.message).toContain('/payload/model');
    expect(system.asked).toEqual([]);
  });

  test('is answered by /model and /think with the valid values, and changes nothing', async () => {
    const { client, system } = await openAll();
    for (const [n, text] of ['/model nowhere/banana', '/think banana'].entries()) {
      await client.call('chat.send', { sessionKey: MAIN, message: text, idempotencyKey: `c${n}` });
      const end = await client.frame(
        ({ payload }) => payload?.runId === `c${n}` && payload.state !== undefined,
      );
      const { text: said } = end.payload.message.content[0];
      expect(said).toMatch(n === 0 ? /offline\/troupe-offline/ : /off\|minimal/);
    }
    expect(system.asked).toEqual([]);
  });
});

describe('a thinking level that the model does not have', () => {
  const gpt = { message: 'x', model: 'openai/gpt-4o' };

  test('is refused with the valid ones; a model that has the level accepts it', async () => {
    const { client, system } = await openAll();
    const refused = await client.call('agent', { ...gpt, idempotencyKey: 'a', thinking: 'high' });
    expect(refused.error?.message).toContain('openai/gpt-4o');
    expect(refused.error?.message).toMatch(/: off$/);
    const o3 = { message: 'x', model: 'openai/o3', idempotencyKey: 'b' };
    expect((await client.call('agent', { ...o3, thinking: 'xhigh' })).error?.message).toMatch(
      /: off, low, medium, high$/,
    );
    expect((await client.call('agent', { ...o3, thinking: 'high' })).ok).toBe(true);
    expect((await client.call('agent', { ...gpt, idempotencyKey: 'd', thinking: 'off' })).ok).toBe(
      true,
    );
    expect(system.asked.map(({ event }) => event.thinking)).toEqual(['high', 'off']);
  });

  test('is checked against the model that the session was given', async () => {
    const { client, system } = await openAll({ echo: true });
    await client.call('chat.send', { sessionKey: MAIN, message: 'x', idempotencyKey: 'first' });
    await client.chat('final');
    const rows = system.kept.table<object>('sessions');
    rows.set(MAIN, { ...rows.get(MAIN), ownModel: 'openai/gpt-4o' });
    const about = { key: MAIN, thinkingLevel: 'high' };
    const own = await client.call('sessions.patch', about);
    expect(own.error?.message).toMatch(/openai\/gpt-4o.*: off$/);
    system.others['session.set'] = () => ({ kind: 'answered', result: {} });
    const cleared = await client.call('sessions.patch', { ...about, model: null });
    expect(cleared.ok).toBe(true);
  });
});

test('a model that is not in the catalog stays usable if its provider exists', async () => {
  const { client, system } = await openAll();
  const call = { message: 'x', idempotencyKey: 'r', model: 'anthropic/claude-of-tomorrow' };
  expect((await client.call('agent', call)).ok).toBe(true);
  expect(system.asked.at(-1)?.event.model).toBe('anthropic/claude-of-tomorrow');
});
