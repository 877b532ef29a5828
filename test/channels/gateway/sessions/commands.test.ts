import { afterEach, describe, expect, test } from 'vitest';
import type { OnCommand } from '../../../../channels/index.ts';
import type { FakeSessionSystem } from '../fake-session-system.ts';
import { FakeSessionSystem as System } from '../fake-session-system.ts';
import { type Client, connectParams, MAIN } from '../client.ts';
import { closeAll, openAll, openClient, openGateway, openChallenged } from '../opened.ts';

afterEach(closeAll);

const send = (client: Client, message: string, idempotencyKey: string, more: object = {}) =>
  client.call('chat.send', { sessionKey: MAIN, message, idempotencyKey, ...more });

const finalsOf = (client: Client, runId: string) =>
  client.events('chat').filter(({ payload }) => payload.runId === runId);

const textOf = ({ payload }: { payload?: { message: { content: { text: string }[] } } }) =>
  payload?.message.content[0]?.text;

const askedOf = (system: FakeSessionSystem, type: string) =>
  system.asked.filter(({ event }) => event.type === type);

/** A session with a message. */
const talked = async (client: Client, system: FakeSessionSystem) => {
  await send(client, 'hi', 'before');
  system.finish(MAIN, 'hello');
  await client.chat('final');
};

describe('a command in a message', () => {
  test('is answered as a chat reply under its key, to every operator, and no model reads it', async () => {
    const { client, system, gateway } = await openAll();
    const watcher = await openClient(gateway);
    const { payload } = await send(client, '/help', 'k');
    expect(payload).toMatchObject({ runId: 'k', status: 'started' });
    for (const each of [client, watcher]) {
      const final = await each.chat('final');
      expect(final.payload).toMatchObject({ runId: 'k', sessionKey: MAIN, agentId: 'main' });
      expect(textOf(final)).toContain('/compact [instructions]');
    }
    expect(system.asked).toEqual([]);
  });

  test('changes the session once, and a repeated key returns the same answer', async () => {
    const { client, system, gateway } = await openAll();
    system.others['session.reset'] = () => ({ kind: 'answered', result: { sessionId: 'next' } });
    await talked(client, system);
    await send(client, '/new', 'k');
    const first = await client.frame(({ payload }) => payload?.runId === 'k' && payload.state);
    const again = await send(client, '/new', 'k');
    expect(again.payload).toMatchObject({ runId: 'k', status: 'ok' });
    expect(askedOf(system, 'session.reset')).toMatchObject([{ options: { key: 'command:k' } }]);

    // A late subscriber receives the answer by repeating the command; no connection receives it
    // twice.
    const late = await openClient(gateway);
    await send(late, '/new', 'k');
    const received = await late.chat('final');
    expect(textOf(received)).toBe(textOf(first));
    expect(finalsOf(client, 'k').length).toBe(1);

    const other = await send(client, '/stop', 'k');
    expect(other.error).toMatchObject({ message: expect.stringContaining('another command') });
  });

  test('has the principal of the client that sent it', async () => {
    const received: string[] = [];
    const onCommand: OnCommand = ({ sender = '' }) => {
      received.push(sender);
      return Promise.resolve(undefined);
    };
    const system = new System();
    system.others['session.reset'] = () => ({ kind: 'answered', result: { sessionId: 'next' } });
    const auth = { mode: 'trusted-proxy', trustedProxy: { proxies: ['127.0.0.1'] } } as const;
    const gateway = await openGateway(system, { auth, onCommand });
    const ann = await openChallenged(gateway, { 'x-forwarded-user': 'ann' });
    expect((await ann.call('connect', connectParams({ auth: {} }))).ok).toBe(true);
    await talked(ann, system);
    await send(ann, '/new', 'k');
    await ann.frame(({ payload }) => payload?.runId === 'k' && payload.state === 'final');
    expect(askedOf(system, 'session.reset')[0]?.options.principal.sub).toBe('proxy:ann');
    expect(received).toEqual(['proxy:ann']);
  });

  test('that was sent before a restart changes nothing after it', async () => {
    const { client, system, gateway } = await openAll();
    let resets = 0;
    const reset: FakeSessionSystem['others'][string] = () => ({
      kind: 'answered',
      result: { sessionId: `id ${++resets}` },
    });
    system.others['session.reset'] = reset;
    await talked(client, system);
    await send(client, '/reset', 'k');
    await client.frame(({ payload }) => payload?.runId === 'k' && payload.state === 'final');
    await gateway.close();
    const next = new System(system.kept);
    next.others['session.reset'] = reset;
    const back = await openClient(await openGateway(next));
    await send(back, '/reset', 'k');
    expect(textOf(await back.chat('final'))).toContain('Started a new conversation');
    expect(resets).toBe(1);
  });

  test('that the session refuses ends as an error with the refusal', async () => {
    const { client, system } = await openAll();
    system.others['session.compact'] = () => ({
      kind: 'refused',
      error: { code: 'CONFLICT', message: 'an answer is being given: wait, or /stop it' },
    });
    await talked(client, system);
    await send(client, '/compact keep names', 'k');
    const { payload } = await client.chat('error');
    expect(payload.errorMessage).toBe('an answer is being given: wait, or /stop it');
    expect(askedOf(system, 'session.compact')).toMatchObject([
      { event: { instructions: 'keep names' } },
    ]);
  });

  test('changes the settings of the session, and shows them', async () => {
    const { client, system } = await openAll();
    const settings: Record<string, unknown> = {};
    system.others['session.set'] = ({ type: _, ...given }) => {
      Object.assign(settings, given);
      return { kind: 'answered', result: { ...settings } };
    };
    await talked(client, system);
    for (const [at, message] of ['/queue collect', '/think high', '/reasoning on'].entries()) {
      await send(client, message, `s${at}`);
    }
    await send(client, '/model offline/echo', 's3');
    await client.frame(({ payload }) => payload?.runId === 's3' && payload.state === 'final');
    expect(settings).toEqual({
      queue: 'collect',
      thinking: 'high',
      reasoning: true,
      model: 'offline/echo',
    });
    await send(client, '/status', 'status');
    const shown = await client.frame(({ payload }) => payload?.runId === 'status' && payload.state);
    expect(textOf(shown)).toContain(
      'queue collect\nthinking high\nverbose the setting of the agent',
    );
    await send(client, '/usage', 'usage');
    const usage = await client.frame(({ payload }) => payload?.runId === 'usage' && payload.state);
    expect(textOf(usage)).toContain('last run: 3 tokens in, 7 out, offline/echo');
  });

  test('aborts live runs', async () => {
    const { client, system } = await openAll();
    await send(client, 'long work', 'r');
    await send(client, '/stop', 'k');
    expect((await client.chat('aborted')).payload.runId).toBe('r');
    expect(textOf(await client.chat('final'))).toBe('Stopped.');
    expect(system.running(MAIN)).toBeUndefined();
  });

  test('about a session without messages creates none', async () => {
    const { client, system } = await openAll();
    for (const [at, name] of ['/stop', '/new', '/compact', '/status', '/usage'].entries()) {
      await send(client, name, `k${at}`);
      await client.chat('final', at + 1);
    }
    expect(system.asked).toEqual([]);
  });

  test('sent by `agent` has both answers, and `agent.wait` returns its end', async () => {
    const { client } = await openAll();
    const id = client.request('agent', { message: '/status', idempotencyKey: 'k' });
    const final = await client.frame((frame) => frame.id === id, 2);
    expect(final.payload).toMatchObject({
      runId: 'k',
      status: 'ok',
      result: { payloads: [{ text: expect.stringContaining('session agent:main:main') }] },
    });
    const waited = await client.call('agent.wait', { runId: 'k', timeoutMs: 1_000 });
    expect(waited.payload).toMatchObject({ runId: 'k', status: 'ok' });
  });

  test('with a mistake is answered; other text, and text that its sender marked as no command, goes to the model', async () => {
    const { client, system } = await openAll();
    await send(client, '/statsu', 'slip');
    expect(textOf(await client.chat('final'))).toContain('Did you mean /status?');
    await send(client, '/summarize this', 'a');
    await send(client, '/help', 'b', { suppressCommandInterpretation: true });
    expect(askedOf(system, 'session.receive').map(({ event }) => event['text'])).toEqual([
      '/summarize this',
      '/help',
    ]);
  });

  test('is passed to the hook, whose reply is appended', async () => {
    const commands: unknown[] = [];
    const onCommand: OnCommand = async (...received) => {
      commands.push(received);
      return { reply: 'noted' };
    };
    const gateway = await openGateway(undefined, { onCommand });
    const client = await openClient(gateway);
    await send(client, '/stop', 'k');
    expect(textOf(await client.chat('final'))).toBe('Nothing was running.\n\nnoted');
    expect(commands).toEqual([
      [
        { name: 'stop', args: '', sender: 'operator' },
        { tenant: 'default', agentId: 'main', sessionKey: MAIN },
      ],
    ]);
  });
});

describe('a session', () => {
  test('is reset, compacted and set by the methods of the protocol', async () => {
    const { client, system } = await openAll();
    const missing = await client.call('sessions.reset', { key: MAIN });
    expect(missing.error?.message).toContain('has no messages yet');
    await talked(client, system);
    const done = { compacted: true, tokensBefore: 90, tokensAfter: 10 };
    system.others['session.reset'] = () => ({ kind: 'answered', result: { sessionId: 'next' } });
    system.others['session.compact'] = () => ({ kind: 'answered', result: done });
    system.others['session.set'] = ({ type: _, ...given }) => ({ kind: 'answered', result: given });
    const reset = await client.call('sessions.reset', { key: 'main', reason: 'new' });
    expect(reset.payload).toEqual({ ok: true, key: MAIN, entry: { sessionId: 'next' } });
    const compacted = await client.call('sessions.compact', { key: MAIN });
    expect(compacted.payload).toEqual({ ok: true, key: MAIN, ...done });
    const lines = await client.call('sessions.compact', { key: MAIN, maxLines: 5 });
    expect(lines.error?.message).toContain('/maxLines');
    const patched = await client.call('sessions.patch', {
      key: MAIN,
      model: null,
      thinkingLevel: 'low',
      verboseLevel: 'full',
      reasoningLevel: 'stream',
      queueMode: 'interrupt',
    });
    expect(patched.payload.entry).toEqual({
      model: null,
      thinking: 'low',
      verbose: 'full',
      reasoning: true,
      queue: 'interrupt',
    });
    const writer = await client.call('sessions.patch', { key: MAIN, permissionMode: 'full' });
    expect(writer.ok).toBe(false);
  });
});
