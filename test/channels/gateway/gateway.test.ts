import { afterEach, describe, expect, test } from 'vitest';
import type { Gateway, GatewayOptions } from '../../../channels/index.ts';
import { type Client, connected, eventually, type Frame, gatewayOn, MAIN } from './client.ts';
import { FakeCell, FakeSessionSystem } from './fake-session-system.ts';

const opened: { clients: Client[]; gateways: Gateway[] } = { clients: [], gateways: [] };

const gateway = async (system: FakeSessionSystem, options: Partial<GatewayOptions> = {}) => {
  const started = await gatewayOn(system, options);
  opened.gateways.push(started);
  return started;
};
const client = async (to: Gateway, more: object = {}) => {
  const made = await connected(to, more);
  opened.clients.push(made);
  return made;
};
const open = async (options: { echo?: boolean } = {}) => {
  const system = new FakeSessionSystem(new FakeCell(), options);
  const door = await gateway(system);
  return { system, door, client: await client(door) };
};

afterEach(async () => {
  const { clients, gateways } = opened;
  await Promise.all(clients.map((each) => each.close()));
  await Promise.all(gateways.map((each) => each.close()));
  const complaints = clients.flatMap((each) => each.complaints);
  opened.clients = [];
  opened.gateways = [];
  expect(complaints, 'frames that the published protocol package refuses').toEqual([]);
});

const final = (frame: Frame) => frame.ok === true && frame.payload.status === 'ok';

describe('agent', () => {
  test('is answered twice on one id, with the streamed events between', async () => {
    const { client, system } = await open();
    const id = client.request('agent', { message: 'hello', idempotencyKey: 'run-1' });
    const accepted = await client.frame((frame) => frame.id === id);
    expect(accepted.payload).toEqual({
      runId: 'run-1',
      sessionKey: MAIN,
      agentId: 'main',
      status: 'accepted',
      acceptedAt: expect.any(Number),
    });
    system.say(MAIN, 'Hello ');
    system.say(MAIN, 'there');
    system.finish(MAIN, 'Hello there');
    const done = await client.frame((frame) => frame.id === id, 2);
    expect(done.payload).toMatchObject({
      runId: 'run-1',
      status: 'ok',
      summary: 'completed',
      result: {
        payloads: [{ text: 'Hello there' }],
        meta: {
          agentMeta: {
            provider: 'offline',
            model: 'echo',
            usage: { input: 3, output: 7, total: 10 },
          },
        },
      },
    });
    const of = client.events('agent').map(({ payload }) => payload);
    expect(of.map(({ stream, data }) => `${stream} ${data.phase ?? ''}`)).toEqual([
      'lifecycle start',
      ...of.slice(1, -1).map(() => 'assistant '),
      'lifecycle end',
    ]);
    const deltas = of.filter(({ stream }) => stream === 'assistant').map(({ data }) => data.delta);
    expect(deltas.join('')).toBe('Hello there');
    expect(client.frames.indexOf(done)).toBe(client.frames.length - 1);
  });

  test('refuses an unknown agent, an empty message, attachments, and a key of another agent', async () => {
    const { client } = await open();
    const ask = (more: object) =>
      client.call('agent', { message: 'x', idempotencyKey: 'k', ...more });
    const unknown = await ask({ agentId: 'nobody' });
    expect(unknown.error).toMatchObject({
      code: 'INVALID_REQUEST',
      details: { code: 'UNKNOWN_AGENT_ID' },
    });
    expect((await ask({ message: '  ' })).error?.message).toContain('/message');
    expect((await ask({ attachments: [{}] })).error?.message).toContain('/attachments');
    const other = await ask({ agentId: 'second', sessionKey: MAIN });
    expect(other.error?.message).toContain('agent "main"');
    const long = await ask({ idempotencyKey: 'k'.repeat(300) });
    expect(long.error?.message).toContain('at most 256');
  });

  test('goes to the session that is meant: by key, by short key, by session id', async () => {
    const { client, system } = await open({ echo: true });
    const keys: string[] = [];
    for (const [at, more] of [
      { sessionKey: 'agent:second:work' },
      { sessionKey: 'main', agentId: 'second' },
      { sessionKey: 'notes' },
      { sessionId: 'id-of-agent:second:work' },
    ].entries()) {
      const answer = await client.call('agent', {
        message: 'x',
        idempotencyKey: `k${at}`,
        ...more,
      });
      keys.push(answer.payload.sessionKey);
    }
    expect(keys).toEqual([
      'agent:second:work',
      'agent:second:main',
      'agent:main:notes',
      'agent:second:work',
    ]);
    expect(system.asked.map(({ to }) => to)[0]).toBe('default/session/agent:second:work');
  });

  test('passes on what the session refuses, and a failed, aborted or late run with its reason', async () => {
    const { client, system } = await open();
    const ended = async (runId: string, end: () => void) => {
      const id = client.request('agent', { message: 'x', idempotencyKey: runId });
      await client.frame((frame) => frame.id === id);
      end();
      return client.frame((frame) => frame.id === id, 2);
    };
    const failed = await ended('bad', () =>
      system.fail(MAIN, { code: 'UNAVAILABLE', message: 'the model is down' }),
    );
    expect(failed).toMatchObject({
      ok: false,
      payload: { status: 'error', summary: 'failed' },
      error: { code: 'UNAVAILABLE', message: 'the model is down' },
    });
    const late = await ended('late', () =>
      system.fail(MAIN, { code: 'DEADLINE_EXCEEDED', message: 'too slow' }, 'timeout'),
    );
    expect(late).toMatchObject({
      ok: false,
      error: { code: 'AGENT_TIMEOUT', message: 'too slow' },
    });
    const aborted = await ended('stopped', () =>
      client.request('chat.abort', { sessionKey: MAIN }),
    );
    expect(aborted).toMatchObject({ ok: false, payload: { result: { meta: { aborted: true } } } });
    const states = client.events('chat').map(({ payload }) => payload.state);
    expect(states).toEqual(['error', 'error', 'aborted']);
  });
});

describe('the same idempotency key', () => {
  const send = { message: 'hello', idempotencyKey: 'once' };

  test('gets the first result: again, from another connection, and after a restart', async () => {
    const { client: first, system, door } = await open({ echo: true });
    const results: Frame[] = [];
    const ask = async (from: Client) => {
      const id = from.request('agent', send, `ask-${results.length}`);
      const accepted = await from.frame((frame) => frame.id === id);
      results.push(await from.frame((frame) => frame.id === id && final(frame)));
      return accepted.payload.acceptedAt as number;
    };
    const acceptedAt = await ask(first);
    expect(await ask(first)).toBe(acceptedAt);
    expect(await ask(await client(door))).toBe(acceptedAt);
    await door.close();
    const again = await gateway(new FakeSessionSystem(system.kept, { echo: true }));
    expect(await ask(await client(again))).toBe(acceptedAt);
    expect(new Set(results.map(({ payload }) => JSON.stringify(payload))).size).toBe(1);
    expect(system.kept.transcripts.get(`default/session/${MAIN}`)?.length).toBe(2);
  });

  test('with another message, or to another session, is a conflict', async () => {
    const { client } = await open();
    await client.call('agent', send);
    for (const other of [{ message: 'other' }, { sessionKey: 'elsewhere' }]) {
      const answer = await client.call('agent', { ...send, ...other });
      expect(answer).toMatchObject({
        ok: false,
        error: { code: 'INVALID_REQUEST', details: { reason: 'CONFLICT' }, retryable: false },
      });
    }
  });

  test('of chat.send says whether the run goes on or has ended', async () => {
    const { client, system } = await open();
    const chat = { sessionKey: MAIN, ...send };
    expect((await client.call('chat.send', chat)).payload).toMatchObject({ status: 'started' });
    expect((await client.call('chat.send', chat)).payload).toMatchObject({ status: 'in_flight' });
    system.finish(MAIN, 'done');
    expect((await client.call('chat.send', chat)).payload).toMatchObject({ status: 'ok' });
  });
});

describe('chat', () => {
  test('has deltas with the whole text so far and exactly one final on every connection', async () => {
    const { client: sender, system, door } = await open();
    const watcher = await client(door);
    await sender.call('chat.send', { sessionKey: 'main', message: 'hi', idempotencyKey: 'r' });
    system.say(MAIN, 'one ');
    for (const each of [sender, watcher]) await each.chat('delta');
    for (const word of ['two ', 'three ', 'four']) system.say(MAIN, word);
    system.finish(MAIN, 'one two three four');
    for (const each of [sender, watcher]) {
      const end = await each.chat('final');
      expect(end.payload).toMatchObject({
        runId: 'r',
        sessionKey: MAIN,
        agentId: 'main',
        message: { role: 'assistant', content: [{ type: 'text', text: 'one two three four' }] },
        usage: { input: 3, output: 7 },
      });
      const chats = each.events('chat').map(({ payload }) => payload);
      const deltas = chats.filter(({ state }) => state === 'delta');
      expect(deltas.map(({ deltaText }) => deltaText).join('')).toBe('one two three four');
      expect(deltas.at(-1).message.content[0].text).toBe('one two three four');
      expect(chats.filter(({ state }) => state === 'final').length).toBe(1);
    }
  });

  test('a restarted model call replaces what it had said: appending gives the right text', async () => {
    const { client, system } = await open();
    await client.call('chat.send', { sessionKey: MAIN, message: 'hi', idempotencyKey: 'r' });
    system.say(MAIN, 'The answer is for');
    await client.chat('delta');
    system.say(MAIN, 'ty-two', 14);
    await client.frame(({ event, payload }) => event === 'chat' && payload.replace === true);
    system.finish(MAIN, 'The answer is ty-two');
    await client.chat('final');
    for (const event of ['chat', 'agent']) {
      let text = '';
      for (const { payload } of client.events(event)) {
        const { deltaText, replace } = {
          ...payload,
          ...(payload.stream === 'assistant'
            ? { deltaText: payload.data.delta, replace: payload.data.replace }
            : {}),
        };
        if (deltaText !== undefined) text = replace ? deltaText : text + deltaText;
      }
      expect(text).toBe('The answer is ty-two');
    }
  });

  test('joins the deltas of a fast model into few events', async () => {
    const { client, system } = await open();
    await client.call('chat.send', { sessionKey: MAIN, message: 'hi', idempotencyKey: 'r' });
    for (let word = 0; word < 500; word++) system.say(MAIN, `${word} `);
    system.finish(MAIN, 'done');
    await client.chat('final');
    expect(client.events('chat').length).toBeLessThan(20);
  });

  test('history shows the conversation, tools too, and the answer so far of the live run', async () => {
    const { client: first, system, door } = await open();
    await first.call('chat.send', {
      sessionKey: MAIN,
      message: 'what is 6 x 7?',
      idempotencyKey: 'a',
    });
    system.tool(MAIN, { id: 'c1', name: 'multiply', args: { a: 6, b: 7 } }, '42');
    system.finish(MAIN, 'It is 42.');
    await first.chat('final');
    await first.call('chat.send', { sessionKey: MAIN, message: 'and 6 x 8?', idempotencyKey: 'b' });
    const queued = await first.call('chat.send', {
      sessionKey: MAIN,
      message: 'quick',
      idempotencyKey: 'c',
    });
    expect(queued.payload).toMatchObject({ status: 'started', queued: true });
    system.say(MAIN, 'It is for');
    await first.chat('delta');

    const late = await client(door);
    const { payload } = await late.call('chat.history', { sessionKey: 'main' });
    const texts = payload.messages.map(
      (message: { role: string; content: { text?: string }[] }) =>
        `${message.role}: ${message.content.map(({ text }) => text ?? '').join('')}`,
    );
    expect(texts).toEqual([
      'user: what is 6 x 7?',
      'assistant: ',
      'toolResult: 42',
      'assistant: It is 42.',
      'user: and 6 x 8?',
    ]);
    expect(payload).toMatchObject({
      sessionKey: MAIN,
      inFlightRun: { runId: 'b', text: 'It is for' },
      pendingInputs: { total: 1 },
      hasMore: false,
    });
    // What comes next goes on from what history said.
    system.say(MAIN, 'ty-eight');
    const delta = await late.chat('delta');
    expect(payload.inFlightRun.text + delta.payload.deltaText).toBe('It is forty-eight');

    const tail = await late.call('chat.history', { sessionKey: MAIN, limit: 2, offset: 1 });
    expect(tail.payload.messages.map(({ role }: { role: string }) => role)).toEqual([
      'toolResult',
      'assistant',
    ]);
    expect(tail.payload.hasMore).toBe(true);
  });

  test('history of a session that nobody has written to is empty', async () => {
    const { client } = await open();
    const { payload } = await client.call('chat.history', { sessionKey: 'agent:main:new' });
    expect(payload).toMatchObject({ messages: [], hasMore: false, pendingInputs: { total: 0 } });
  });

  test('abort stops the run, and is no error where there is nothing to stop', async () => {
    const { client, system } = await open();
    const nothing = await client.call('chat.abort', { sessionKey: MAIN });
    expect(nothing.payload).toEqual({ ok: true, aborted: false, runIds: [] });
    expect(system.asked).toEqual([]);
    await client.call('chat.send', { sessionKey: MAIN, message: 'hi', idempotencyKey: 'r' });
    const { payload } = await client.call('chat.abort', { sessionKey: MAIN, runId: 'r' });
    expect(payload).toEqual({ ok: true, aborted: true, runIds: ['r'] });
    expect((await client.chat('aborted')).payload.stopReason).toBe('aborted');
  });
});

describe('agent.wait', () => {
  test('gives the end of a run, before and after it', async () => {
    const { client, system } = await open();
    await client.call('agent', { message: 'x', idempotencyKey: 'r' });
    const id = client.request('agent.wait', { runId: 'r' });
    await client.call('health');
    system.finish(MAIN, 'done');
    const { payload } = await client.frame((frame) => frame.id === id);
    expect(payload).toEqual({
      runId: 'r',
      status: 'ok',
      startedAt: expect.any(Number),
      endedAt: expect.any(Number),
    });
    expect((await client.call('agent.wait', { runId: 'r' })).payload).toEqual(payload);
  });

  test('gives up when its time is over, which does not stop the run', async () => {
    const { client, system } = await open();
    await client.call('agent', { message: 'x', idempotencyKey: 'r' });
    const pending = await client.call('agent.wait', { runId: 'r', timeoutMs: 0 });
    expect(pending.payload).toMatchObject({ runId: 'r', status: 'pending' });
    const late = await client.call('agent.wait', { runId: 'r', timeoutMs: 5 });
    expect(late.payload).toMatchObject({ runId: 'r', status: 'timeout' });
    const unknown = await client.call('agent.wait', { runId: 'nobody', timeoutMs: 5 });
    expect(unknown.payload).toEqual({ runId: 'nobody', status: 'timeout' });
    expect(system.running(MAIN)).toBe('r');
  });

  test('gives the reason of a failed run', async () => {
    const { client, system } = await open();
    await client.call('agent', { message: 'x', idempotencyKey: 'r' });
    system.fail(MAIN, { code: 'INTERNAL', message: 'it broke' });
    const { payload } = await client.call('agent.wait', { runId: 'r' });
    expect(payload).toMatchObject({ status: 'error', error: 'it broke' });
  });
});

describe('what the Bus loses', () => {
  test('an end that nobody heard still reaches whoever waits and watches, once', async () => {
    const { client, system } = await open();
    const id = client.request('agent', { message: 'x', idempotencyKey: 'r' });
    await client.frame((frame) => frame.id === id);
    system.bus.deaf = true;
    system.finish(MAIN, 'nobody heard me');
    system.bus.deaf = false;
    const done = await client.frame((frame) => frame.id === id, 2);
    expect(done.payload.result.payloads[0].text).toBe('nobody heard me');
    const end = await client.chat('final');
    expect(end.payload.message.content[0].text).toBe('nobody heard me');
  });

  test('an end that comes twice is told once', async () => {
    const { client, system } = await open();
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
  test('are numbered per connection without a gap, and tools go only to who asked for them', async () => {
    const { client: all, system, door } = await open();
    const plain = await client(door, { caps: [] });
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

  test('presence tells who came and who went', async () => {
    const { client: first, door } = await open();
    const second = await client(door);
    const entries = await second.call('system-presence');
    expect(entries.payload.length).toBe(2);
    const counts = () => first.events('presence').map(({ payload }) => payload.presence.length);
    await eventually(() => (counts().includes(2) ? true : undefined), 'presence of two');
    await second.close();
    await eventually(() => (counts().at(-1) === 1 ? true : undefined), 'presence of one');
  });

  test('shutdown says why, and the connection closes as for a restart', async () => {
    const { client, door } = await open();
    await door.close({ reason: 'upgrade', restartExpectedMs: 500 });
    const [shutdown] = client.events('shutdown');
    expect(shutdown?.payload).toEqual({ reason: 'upgrade', restartExpectedMs: 500 });
    expect(await client.gone()).toEqual({ code: 1012, reason: 'upgrade' });
  });
});

describe('what an operator reads', () => {
  test('sessions, agents, models, health and status come from committed rows', async () => {
    const { client, system } = await open({ echo: true });
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
    const models = await client.call('models.list', {});
    expect(models.payload.models).toEqual([
      { id: 'echo', name: 'echo', provider: 'offline', available: true },
    ]);
    const health = await client.call('health', {});
    expect(health.payload).toMatchObject({ ok: true, sessions: { count: 3 } });
    const status = await client.call('status', {});
    expect(status.payload).toMatchObject({ sessions: { count: 3 }, shards: [{ state: 'owned' }] });
    expect(system.asked.length).toBe(asked);
  });
});
