/** Commands, steering, approvals and reconnects, on the real session and approval actors. */
import { afterEach, expect, test } from 'vitest';
import { approvalAddress } from '../../../protocols/approval.ts';
import { OPERATOR } from '../../../channels/gateway/auth/handshake.ts';
import type { Gateway } from '../../../channels/index.ts';
import type { System } from '../../../runtime/index.ts';
import { type Client, eventually, type Frame, MAIN } from './client.ts';
import { closeAll, openClient, openGateway } from './opened.ts';
import { dataFolder, openRealSystem } from './real-system.ts';

let folder = dataFolder();
let system: System;
let gateway: Gateway;

const open = async (tokensPerSecond = 0): Promise<Client> => {
  system = await openRealSystem(folder.path, tokensPerSecond);
  gateway = await openGateway(system);
  return openClient(gateway);
};

afterEach(async () => {
  await closeAll();
  await system.stop();
  folder.remove();
  folder = dataFolder();
});

const endOf = (client: Client, runId: string): Promise<Frame> =>
  client.frame(({ event, payload }) => {
    return event === 'chat' && payload.runId === runId && payload.state !== 'delta';
  });

const say = async (client: Client, message: string, runId: string, more: object = {}) => {
  const params = { sessionKey: MAIN, message, idempotencyKey: runId, ...more };
  const answer = await client.call('chat.send', params);
  expect(answer.error).toBeUndefined();
};

const replyTo = async (client: Client, message: string, runId: string): Promise<string> => {
  await say(client, message, runId);
  const { payload } = await endOf(client, runId);
  return payload.state === 'final' ? payload.message.content[0].text : payload.errorMessage;
};

test('commands change, show, compact and reset the session', async () => {
  const client = await open();
  await replyTo(client, 'hello there', 'r1');
  expect(await replyTo(client, '/queue collect', 'c1')).toBe('/queue is now collect.');
  expect(await replyTo(client, '/think low', 'c2')).toBe('/think is now low.');
  expect(await replyTo(client, '/reasoning on', 'c3')).toBe('/reasoning is now on.');
  const status = await replyTo(client, '/status', 'c4');
  expect(status).toContain(`session ${MAIN}`);
  expect(status).toContain(
    'queue collect\nthinking low\nverbose the setting of the agent\nreasoning on',
  );
  expect(await replyTo(client, '/queue default', 'c5')).toBe(
    '/queue is now the setting of the agent.',
  );
  expect(await replyTo(client, '/usage', 'c6')).toMatch(/^session: \d+ tokens in, \d+ out/);
  expect(await replyTo(client, '/stop', 'c7')).toBe('Nothing was running.');
  expect(await replyTo(client, '/compact', 'c8')).toMatch(/nothing to compact|Compacted/);

  const before = await client.call('sessions.list');
  expect(await replyTo(client, '/new', 'c9')).toContain('Started a new conversation');
  const after = await client.call('sessions.list');
  const idOf = ({ payload }: Frame) => payload.sessions[0].sessionId;
  expect(idOf(after)).not.toBe(idOf(before));
  await say(client, '/new', 'c9');
  expect(idOf(await client.call('sessions.list'))).toBe(idOf(after));
  const { payload } = await client.call('chat.history', { sessionKey: MAIN });
  const markers = payload.messages.filter(({ role }: { role: string }) => role === 'system');
  expect(markers.at(-1).__openclaw.kind).toBe('reset');
  expect(payload.totalMessages).toBe(payload.messages.length);
});

test('a message during a tool call joins the run, and the answer is published once', async () => {
  const client = await open(100);
  const asked = { sessionKey: MAIN, message: 'what is 6*7?', idempotencyKey: 'first' };
  await client.call('chat.send', { ...asked, thinking: 'high' });
  // The model has been called and has not answered: messages now steer.
  await client.frame(({ event, payload }) => event === 'agent' && payload?.stream === 'reasoning');
  await say(client, 'and say it nicely', 'second');
  const [first, second] = await Promise.all([endOf(client, 'first'), endOf(client, 'second')]);
  expect(first.payload).toMatchObject({ state: 'final', stopReason: 'stop' });
  expect(second.payload).toMatchObject({ state: 'final', stopReason: 'joined' });
  expect(second.payload.message).toBeUndefined();
  const again = client.request('agent', {
    sessionKey: MAIN,
    message: 'and say it nicely',
    idempotencyKey: 'second',
  });
  const final = await client.frame(({ id, payload }) => id === again && payload?.result);
  expect(final.payload.result.meta.joined).toBe('first');
  const { payload } = await client.call('chat.history', { sessionKey: MAIN });
  const joined = payload.messages.find(({ runId }: { runId: string }) => runId === 'second');
  expect(joined).toMatchObject({ role: 'user', joined: 'first' });
});

test('a client that is disconnected in the middle of an answer has every character once', async () => {
  const question = `Repeat: ${'một hai ba 漢字 '.repeat(40)}`;
  const first = await open(400);
  await say(first, question, 'r');
  await first.chat('delta');
  let client = first;
  let text = '';
  let from = 0;
  let cuts = 0;
  for (let cut = 0; cut < 4; cut++) {
    client.ws.terminate();
    client = await openClient(gateway);
    const { payload } = await client.call('chat.history', { sessionKey: MAIN });
    if (payload.inFlightRun === undefined) break;
    cuts++;
    text = payload.inFlightRun.text;
    from = client.frames.findIndex((frame) => frame.payload === payload);
    const current = client;
    await eventually(
      () => current.events('chat').find(({ payload: each }) => each.deltaText) ?? undefined,
      'a delta after coming back',
    );
  }
  expect(cuts).toBeGreaterThan(1);
  const end = await client.chat('final');
  for (const { event, payload } of client.frames.slice(from)) {
    if (event !== 'chat' || payload.state !== 'delta') continue;
    text = payload.replace ? payload.deltaText : text + payload.deltaText;
  }
  expect(text).toBe(end.payload.message.content[0].text);
});

test('of two decisions the first counts, and the second caller learns who decided', async () => {
  const client = await open();
  const ask = system.ask(
    approvalAddress('default', 'r.c'),
    {
      type: 'approval.ask',
      title: 'main wants to run: make clean',
      options: ['allow-once', 'allow-always', 'deny'].map((name) => ({
        name,
        means: name === 'deny' ? 'denied' : 'allowed',
      })),
    },
    { principal: OPERATOR, timeoutMs: 20_000 },
  );
  const listed = async () => (await client.call('exec.approval.list')).payload;
  await expect
    .poll(listed, { timeout: 10_000 })
    .toMatchObject([{ id: 'r.c', request: { command: 'make clean' } }]);
  const yes = await client.call('exec.approval.resolve', { id: 'r.c', decision: 'allow-once' });
  expect(yes.payload).toEqual({ ok: true });
  const answer = await ask;
  expect(answer).toMatchObject({ result: { state: 'allowed', decision: 'allow-once' } });
  await client.frame(({ event }) => event === 'exec.approval.resolved');
  const late = await client.call('exec.approval.resolve', { id: 'r.c', decision: 'deny' });
  expect(late.error?.details).toMatchObject({ decision: 'allow-once', decidedBy: 'operator' });
});
