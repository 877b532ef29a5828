/**
 * The gateway on the real runtime and the real session actor. Other files test the same guarantees
 * with simulated sessions.
 */
import { afterEach, describe, expect, test } from 'vitest';
import type { System } from '../../../runtime/index.ts';
import { type Client, type Frame, MAIN } from './client.ts';
import { closeAll, openClient, openGateway } from './opened.ts';
import { dataFolder, openRealSystem } from './real-system.ts';

let folder = dataFolder();
let system: System | undefined;

/** Opens the same data each time: the second time is a restart. */
const open = async (tokensPerSecond = 0) => {
  await system?.stop();
  system = await openRealSystem(folder.path, tokensPerSecond);
  const gateway = await openGateway(system);
  return { gateway, client: await openClient(gateway) };
};

afterEach(async () => {
  await closeAll();
  await system?.stop();
  system = undefined;
  folder.remove();
  folder = dataFolder();
});

const ask = async (client: Client, message: string, runId: string, more: object = {}) => {
  const id = client.request('agent', { message, idempotencyKey: runId, ...more }, `ask ${runId}`);
  const accepted = await client.frame((frame) => frame.id === id);
  expect(accepted).toMatchObject({ ok: true, payload: { status: 'accepted', runId } });
  const final = (frame: Frame) => frame.id === id && frame.payload?.status !== 'accepted';
  return { accepted, final: await client.frame(final) };
};

const textOf = (final: Frame): string => final.payload.result.payloads[0].text;

describe('on the real runtime', () => {
  test('a session key that cannot be stored is refused by what is wrong with it', async () => {
    const { client } = await open();
    for (const key of ['\ud800', 'agent:main:\ud800'])
      expect((await client.call('sessions.describe', { key })).error?.message).toBe(
        'a part of a session key has a lone surrogate',
      );
  });

  test('an answer streams, ends once, and is stored in the history', async () => {
    const { client } = await open(400);
    const { final } = await ask(client, 'hello there', 'r1');
    expect(final).toMatchObject({ ok: true, payload: { status: 'ok' } });
    const text = textOf(final);
    expect(text.length).toBeGreaterThan(10);
    const chats = client.events('chat').map(({ payload }) => payload);
    const deltas = chats.filter(({ state }) => state === 'delta');
    expect(deltas.map(({ deltaText }) => deltaText).join('')).toBe(text);
    expect(chats.filter(({ state }) => state !== 'delta').length).toBe(1);
    const { payload } = await client.call('chat.history', { sessionKey: MAIN });
    expect(payload.messages.map(({ role }: { role: string }) => role)).toEqual([
      'user',
      'assistant',
    ]);
    expect(payload.messages[1].content).toEqual([{ type: 'text', text }]);
    expect(payload.inFlightRun).toBeUndefined();
  });

  test('tools are published live and stored in the history', async () => {
    const { client } = await open();
    const { final } = await ask(client, 'call calculate {"expression": "6*7"}', 'r1');
    expect(textOf(final)).toContain('42');
    const tools = client.events('agent').filter(({ payload }) => payload.stream === 'tool');
    expect(tools.map(({ payload }) => payload.data.phase)).toEqual(['start', 'result']);
    const { payload } = await client.call('chat.history', { sessionKey: MAIN });
    expect(payload.messages.map(({ role }: { role: string }) => role)).toEqual([
      'user',
      'assistant',
      'toolResult',
      'assistant',
    ]);
  });

  test('a repeated key returns the first result, also after a restart; another text is a conflict', async () => {
    const first = await open();
    const once = await ask(first.client, 'hello', 'same');
    const conflict = await first.client.call('agent', { message: 'other', idempotencyKey: 'same' });
    expect(conflict.error?.details).toMatchObject({ reason: 'CONFLICT' });
    await closeAll();
    const { client } = await open();
    const again = await ask(client, 'hello', 'same');
    expect(again.accepted.payload).toEqual(once.accepted.payload);
    expect(again.final.payload).toEqual(once.final.payload);
    const { payload } = await client.call('chat.history', { sessionKey: MAIN });
    expect(payload.totalMessages).toBe(payload.messages.length);
    expect(payload.messages.length).toBe(2);
  });

  test('a message to a busy session waits; the run can be aborted and the next message is answered', async () => {
    const { client } = await open(20);
    const send = (message: string) =>
      client.call('chat.send', { sessionKey: MAIN, message, idempotencyKey: message });
    expect((await send('tell me a long story')).payload.queued).toBe(false);
    await client.chat('delta');
    expect((await send('call calculate {"expression": "1+1"}')).payload.queued).toBe(true);
    const { payload } = await client.call('chat.history', { sessionKey: MAIN });
    expect(payload).toMatchObject({
      inFlightRun: { runId: 'tell me a long story', text: expect.stringMatching(/./) },
      pendingInputs: { total: 1 },
    });
    const { runId } = payload.inFlightRun;
    const stopped = await client.call('chat.abort', { sessionKey: MAIN, runId });
    expect(stopped.payload).toEqual({ ok: true, aborted: true, runIds: [runId] });
    expect((await client.chat('aborted')).payload.message.content[0].text).not.toBe('');
    const final = await client.chat('final');
    expect(final.payload.message.content[0].text).toContain('2');
  });

  test('a run that a restart interrupts continues automatically and ends once', async () => {
    const first = await open(40);
    const sent = { sessionKey: MAIN, message: 'hello there', idempotencyKey: 'r' };
    await first.client.call('chat.send', sent);
    await first.client.chat('delta');
    await closeAll();
    const { client } = await open();
    const { payload } = await client.call('agent.wait', { runId: 'r' });
    expect(payload.status).toBe('ok');
    const history = await client.call('chat.history', { sessionKey: MAIN });
    expect(history.payload.messages.map(({ role }: { role: string }) => role)).toEqual([
      'user',
      'assistant',
    ]);
  });

  test('each of many concurrent sessions gets its own answer', async () => {
    const { client } = await open();
    const runs = Array.from({ length: 60 }, (_, at) =>
      ask(client, `number ${at}`, `r${at}`, { sessionKey: `agent:main:s${at % 20}` }),
    );
    for (const { final } of await Promise.all(runs)) expect(final.payload.status).toBe('ok');
    const list = await client.call('sessions.list', { limit: 200 });
    expect(list.payload.count).toBe(20);
    const ends = client.events('chat').filter(({ payload }) => payload.state === 'final');
    expect(new Set(ends.map(({ payload }) => payload.runId)).size).toBe(60);
    expect(ends.length).toBe(60);
  });
});
