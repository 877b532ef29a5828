import { afterEach, describe, expect, test } from 'vitest';
import { type Client, type Frame, MAIN } from '../client.ts';
import { FakeSessionSystem } from '../fake-session-system.ts';
import { closeAll, openAll, openClient, openGateway } from '../opened.ts';

afterEach(closeAll);

const final = (frame: Frame) => frame.ok === true && frame.payload.status === 'ok';

describe('agent', () => {
  test('is answered twice under one id, with the streamed events in between', async () => {
    const { client, system } = await openAll();
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
    const end = await client.chat('final');
    expect(client.frames.indexOf(done)).toBeGreaterThan(client.frames.indexOf(end));
  });

  test('refuses an unknown agent, an empty message, attachments, and a key of another agent', async () => {
    const { client } = await openAll();
    const ask = (more: object) =>
      client.call('agent', { message: 'x', idempotencyKey: 'k', ...more });
    const unknown = await ask({ agentId: 'unknown' });
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

  test('selects the session by key, by short key or by session id', async () => {
    const { client, system } = await openAll({ echo: true });
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

  test('returns the refusal of the session, and the reason of a failed, aborted or late run', async () => {
    const { client, system } = await openAll();
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

  test('returns the first result: again, from another connection, and after a restart', async () => {
    const { client: first, system, gateway } = await openAll({ echo: true });
    const results: Frame[] = [];
    const ask = async (from: Client) => {
      const id = from.request('agent', send, `ask-${results.length}`);
      const accepted = await from.frame((frame) => frame.id === id);
      results.push(await from.frame((frame) => frame.id === id && final(frame)));
      return accepted.payload.acceptedAt as number;
    };
    const acceptedAt = await ask(first);
    expect(await ask(first)).toBe(acceptedAt);
    expect(await ask(await openClient(gateway))).toBe(acceptedAt);
    await gateway.close();
    const again = await openGateway(new FakeSessionSystem(system.kept, { echo: true }));
    expect(await ask(await openClient(again))).toBe(acceptedAt);
    expect(new Set(results.map(({ payload }) => JSON.stringify(payload))).size).toBe(1);
    expect(system.kept.transcripts.get(`default/session/${MAIN}`)?.length).toBe(2);
  });

  test('with another message, or for another session, is a conflict', async () => {
    const { client } = await openAll();
    await client.call('agent', send);
    for (const other of [{ message: 'other' }, { sessionKey: 'elsewhere' }]) {
      const answer = await client.call('agent', { ...send, ...other });
      expect(answer).toMatchObject({
        ok: false,
        error: { code: 'INVALID_REQUEST', details: { reason: 'CONFLICT' }, retryable: false },
      });
    }
  });

  test('of chat.send reports whether the run is live or has ended', async () => {
    const { client, system } = await openAll();
    const chat = { sessionKey: MAIN, ...send };
    expect((await client.call('chat.send', chat)).payload).toMatchObject({ status: 'started' });
    expect((await client.call('chat.send', chat)).payload).toMatchObject({ status: 'in_flight' });
    system.finish(MAIN, 'done');
    expect((await client.call('chat.send', chat)).payload).toMatchObject({ status: 'ok' });
  });
});

describe('agent.wait', () => {
  test('returns the end of a run, before and after it', async () => {
    const { client, system } = await openAll();
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

  test('times out without stopping the run', async () => {
    const { client, system } = await openAll();
    await client.call('agent', { message: 'x', idempotencyKey: 'r' });
    const pending = await client.call('agent.wait', { runId: 'r', timeoutMs: 0 });
    expect(pending.payload).toMatchObject({ runId: 'r', status: 'pending' });
    const late = await client.call('agent.wait', { runId: 'r', timeoutMs: 5 });
    expect(late.payload).toMatchObject({ runId: 'r', status: 'timeout' });
    const unknown = await client.call('agent.wait', { runId: 'unknown', timeoutMs: 5 });
    expect(unknown.payload).toEqual({ runId: 'unknown', status: 'timeout' });
    expect(system.running(MAIN)).toBe('r');
  });

  test('returns the reason of a failed run', async () => {
    const { client, system } = await openAll();
    await client.call('agent', { message: 'x', idempotencyKey: 'r' });
    system.fail(MAIN, { code: 'INTERNAL', message: 'it broke' });
    const { payload } = await client.call('agent.wait', { runId: 'r' });
    expect(payload).toMatchObject({ status: 'error', error: 'it broke' });
  });
});
