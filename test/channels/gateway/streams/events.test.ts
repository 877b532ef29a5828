import { afterEach, describe, expect, test } from 'vitest';
import { type Client, eventually, MAIN } from '../client.ts';
import { closeAll, openAll, openClient } from '../opened.ts';

afterEach(closeAll);

describe('a lost Bus event', () => {
  test('delays an end, which waiters and watchers still receive once', async () => {
    const { client, system } = await openAll();
    const id = client.request('agent', { message: 'x', idempotencyKey: 'r' });
    await client.frame((frame) => frame.id === id);
    system.bus.deaf = true;
    system.finish(MAIN, 'no event was received');
    system.bus.deaf = false;
    const done = await client.frame((frame) => frame.id === id, 2);
    expect(done.payload.result.payloads[0].text).toBe('no event was received');
    const end = await client.chat('final');
    expect(end.payload.message.content[0].text).toBe('no event was received');
  });

  test('a duplicate end is published once', async () => {
    const { client, system } = await openAll();
    const twice: typeof system.bus.publish = system.bus.publish.bind(system.bus);
    system.bus.publish = (subject, payload) => {
      twice(subject, payload);
      twice(subject, payload);
    };
    await client.call('agent', { message: 'x', idempotencyKey: 'r' });
    system.finish(MAIN, 'done');
    await client.chat('final');
    await client.call('chat.send', { sessionKey: MAIN, message: 'y', idempotencyKey: 's' });
    system.finish(MAIN, 'done');
    await client.chat('final', 2);
    expect(client.events('chat').length).toBe(2);
    const phases = client.events('agent').map(({ payload }) => payload.data.phase);
    expect(phases).toEqual(['start', 'end', 'start', 'end']);
  });
});

describe('events', () => {
  test('are numbered per connection without a gap, and tool events go only to subscribers', async () => {
    const { client: all, system, gateway } = await openAll();
    const plain = await openClient(gateway, { caps: [] });
    await all.call('chat.send', { sessionKey: MAIN, message: 'x', idempotencyKey: 'r' });
    system.think(MAIN, 'hm');
    system.tool(MAIN, { id: 'c', name: 'now', args: {} }, 'noon');
    system.finish(MAIN, 'noon');
    for (const each of [all, plain]) await each.chat('final');
    const streams = (of: Client) => of.events('agent').map(({ payload }) => payload.stream);
    expect(streams(all)).toEqual(['lifecycle', 'reasoning', 'tool', 'tool', 'lifecycle']);
    expect(streams(plain)).toEqual(['lifecycle', 'reasoning', 'lifecycle']);
    for (const each of [all, plain]) {
      const numbers = each.frames.flatMap(({ seq }) => seq ?? []);
      expect(numbers).toEqual(numbers.map((_, at) => at + 1));
    }
  });

  test('presence reports joined and left clients', async () => {
    const { client: first, gateway } = await openAll();
    const second = await openClient(gateway);
    const entries = await second.call('system-presence');
    expect(entries.payload.length).toBe(2);
    const counts = () => first.events('presence').map(({ payload }) => payload.presence.length);
    await eventually(() => (counts().includes(2) ? true : undefined), 'presence of two');
    await second.close();
    await eventually(() => (counts().at(-1) === 1 ? true : undefined), 'presence of one');
  });

  test('shutdown contains the reason, and the connection closes with the code for a restart', async () => {
    const { client, gateway } = await openAll();
    await gateway.close({ reason: 'upgrade', restartExpectedMs: 500 });
    const [shutdown] = client.events('shutdown');
    expect(shutdown?.payload).toEqual({ reason: 'upgrade', restartExpectedMs: 500 });
    expect(await client.gone()).toEqual({ code: 1012, reason: 'upgrade' });
  });
});

describe('the data that an operator reads', () => {
  test('comes from committed rows: sessions, agents, health and status', async () => {
    const { client, system } = await openAll({ echo: true });
    for (const sessionKey of ['agent:main:a', 'agent:main:b', 'agent:second:c']) {
      await client.call('chat.send', { sessionKey, message: 'hi', idempotencyKey: sessionKey });
    }
    await client.chat('final', 3);
    const asked = system.asked.length;
    const list = await client.call('sessions.list', { agentId: 'main', limit: 1 });
    expect(list.payload).toMatchObject({ count: 1, totalCount: 2, hasMore: true, nextOffset: 1 });
    expect(list.payload.sessions[0]).toMatchObject({ key: 'agent:main:b', status: 'done' });
    const agents = await client.call('agents.list', {});
    expect(agents.payload.agents.map(({ id }: { id: string }) => id)).toEqual(['main', 'second']);
    const health = await client.call('health', {});
    expect(health.payload).toMatchObject({ ok: true, sessions: { count: 3 } });
    const status = await client.call('status', {});
    expect(status.payload).toMatchObject({ sessions: { count: 3 }, shards: [{ state: 'owned' }] });
    expect(system.asked.length).toBe(asked);
  });

  test('is refused by a gateway without a configuration, and available at another one', async () => {
    const { client } = await openAll({ echo: true });
    const { error } = await client.call('models.list', {});
    expect(error).toMatchObject({ code: 'UNAVAILABLE' });
    expect(error?.message).toContain('use another gateway');
  });
});
