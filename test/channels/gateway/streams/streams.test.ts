/** Events of a live run. */
import { afterEach, describe, expect, test } from 'vitest';
import type { LiveEvent } from '../fake-session-system.ts';
import { type Client, type Frame, MAIN } from '../client.ts';
import { closeAll, openAll, openClient, openGateway } from '../opened.ts';
import { FakeSessionSystem } from '../fake-session-system.ts';

afterEach(closeAll);

const send = (client: Client, idempotencyKey: string, more: object = {}) =>
  client.call('chat.send', { sessionKey: MAIN, message: 'x', idempotencyKey, ...more });

const agentEvents = (client: Client, stream: string) =>
  client.events('agent').filter(({ payload }) => payload.stream === stream);

const streamFrame = (client: Client, stream: string, fits: (data: Data) => boolean = () => true) =>
  client.frame(({ event, payload }) => {
    return event === 'agent' && payload.stream === stream && fits(payload.data);
  });
type Data = Frame['payload'];

/** The text of a client that appends deltas, and restarts at `replace`. */
const appended = (frames: readonly Frame[], start = '') => {
  let text = start;
  for (const { payload } of frames) {
    if (payload?.state === 'delta')
      text = payload.replace ? payload.deltaText : text + payload.deltaText;
  }
  return text;
};

const toolStart: LiveEvent = {
  stream: 'tool',
  phase: 'start',
  callId: 'c',
  name: 'exec',
  args: { command: 'ls' },
};
const update = (delta: string): LiveEvent => ({
  stream: 'tool',
  phase: 'update',
  callId: 'c',
  name: 'exec',
  delta,
});
const toolEnd: LiveEvent = {
  stream: 'tool',
  phase: 'end',
  callId: 'c',
  name: 'exec',
  result: 'done',
  isError: false,
};

describe('the streams of a run', () => {
  test('publish tools in order: preceding text, start, joined progress, result', async () => {
    const { client, system } = await openAll();
    await send(client, 'r');
    system.say(MAIN, 'I look.');
    system.live(MAIN, toolStart);
    for (let line = 0; line < 100; line++) system.live(MAIN, update(`${line}\n`));
    system.live(MAIN, toolEnd);
    const result = await streamFrame(client, 'tool', ({ phase }) => phase === 'result');
    expect(result.payload.data).toMatchObject({ result: 'done', isError: false });
    const order = client.events('agent').map(({ payload }) => payload.data.phase ?? payload.stream);
    expect(order.slice(0, 3)).toEqual(['start', 'assistant', 'start']);
    const updates = agentEvents(client, 'tool').filter(
      ({ payload }) => payload.data.phase === 'update',
    );
    expect(updates.length).toBeLessThan(10);
    const received = updates.map(({ payload }) => payload.data.partialResult).join('');
    expect(received).toBe(Array.from({ length: 100 }, (_, line) => `${line}\n`).join(''));
  });

  test('withhold a silent reply, and publish text that only starts like one', async () => {
    const { client, system } = await openAll();
    const answers = [
      ['silent', ['NO', '_REP', 'LY'], ''],
      ['no', ['N', 'O'], 'NO'],
      ['note', ['NO', 'TE this'], 'NOTE this'],
    ] as const;
    for (const [n, [runId, deltas, reply]] of answers.entries()) {
      await send(client, runId);
      let offset = 0;
      for (const delta of deltas) {
        system.say(MAIN, delta, offset);
        offset += delta.length;
      }
      system.finish(MAIN, reply);
      await client.chat('final', n + 1);
      const received = client.events('chat').filter(({ payload }) => payload.runId === runId);
      expect([runId, appended(received)]).toEqual([runId, reply]);
    }
  });

  test('omit results of tools when the request did not ask for full verbosity', async () => {
    const { client, system } = await openAll();
    await send(client, 'r', { verbose: 'on' });
    for (const event of [toolStart, update('half'), toolEnd]) system.live(MAIN, event);
    const result = await streamFrame(client, 'tool', ({ phase }) => phase === 'result');
    expect(result.payload.data).toEqual({
      phase: 'result',
      name: 'exec',
      toolCallId: 'c',
      isError: false,
    });
    for (const { payload } of agentEvents(client, 'tool')) {
      expect(payload.data.partialResult).toBeUndefined();
    }
  });

  test('drop and replace the deltas of a call that is repeated with a shorter context', async () => {
    const { client, system } = await openAll();
    await send(client, 'r');
    system.say(MAIN, 'Half of a long ans');
    await client.chat('delta');
    system.live(MAIN, { stream: 'compaction', phase: 'start', call: 0, willRetry: true });
    system.live(MAIN, { stream: 'compaction', phase: 'end', call: 0, willRetry: true });
    await streamFrame(client, 'compaction', ({ phase }) => phase === 'end');
    expect(appended(client.events('chat'))).toBe('');
    system.say(MAIN, 'Another answer', 0);
    system.finish(MAIN, 'Another answer');
    await client.chat('final');
    expect(appended(client.events('chat'))).toBe('Another answer');
  });

  test('never mix two model calls, also when the first words of one were lost', async () => {
    const { client, system } = await openAll();
    await send(client, 'r');
    system.say(MAIN, 'The first call said this');
    await client.chat('delta');
    system.live(MAIN, { stream: 'assistant', call: 1, offset: 6, delta: 'second' });
    await client.chat('delta', 2);
    expect(appended(client.events('chat'))).toBe('…second');
  });

  test('publish a message that joined the run, which ends without a second text', async () => {
    const { client, system } = await openAll();
    await send(client, 'r');
    system.live(MAIN, { stream: 'steer', of: 'joined', text: 'faster' });
    const steer = await streamFrame(client, 'steer');
    expect(steer.payload).toMatchObject({ runId: 'r', data: { of: 'joined', text: 'faster' } });
    const end = {
      stream: 'lifecycle',
      phase: 'end',
      startedAt: 1,
      endedAt: 2,
      text: 'all',
    } as const;
    const usage = { inputTokens: 1, outputTokens: 1 };
    system.bus.publish('run.default.x', {
      runId: 'joined',
      sessionKey: MAIN,
      at: 2,
      ...end,
      usage,
      status: 'ok',
    });
    const final = await client.frame(({ payload }) => payload?.runId === 'joined' && payload.state);
    expect(final.payload).toMatchObject({ state: 'final', stopReason: 'joined' });
    expect(final.payload.message).toBeUndefined();
    const waited = client.request('agent.wait', { runId: 'joined', timeoutMs: 0 });
    await client.frame(({ id }) => id === waited);
    system.finish(MAIN, 'all');
    const own = await client.frame(
      ({ payload }) => payload?.runId === 'r' && payload.state === 'final',
    );
    expect(own.payload.message.content[0].text).toBe('all');
  });

  test('report why a run failed, in the kinds that clients know', async () => {
    const { client, system } = await openAll();
    const details = { reason: 'context_length' };
    await send(client, 'r');
    system.fail(MAIN, { code: 'INVALID_ARGUMENT', message: 'too long', details });
    expect((await client.chat('error')).payload).toMatchObject({ errorKind: 'context_length' });
  });
});

describe('a client that reconnects', () => {
  test('in the middle of an answer has every character once, at any time', async () => {
    const system = new FakeSessionSystem();
    const gateway = await openGateway(system);
    const first = await openClient(gateway);
    const answer = Array.from({ length: 400 }, (_, at) => `từ ${at} 漢字 `).join('');
    await send(first, 'r');
    let said = 0;
    const say = (characters: number) => {
      system.say(MAIN, answer.slice(said, said + characters));
      said += characters;
    };
    const back: { client: Client; text: string; from: number }[] = [];
    while (said < answer.length) {
      say(7);
      if (said % 350 !== 0) continue;
      // Terminated without a close frame, while deltas are in transit.
      back.at(-1)?.client.ws.terminate();
      const client = await openClient(gateway);
      say(7);
      const { payload } = await client.call('chat.history', { sessionKey: MAIN });
      const from = client.frames.findIndex(({ payload: received }) => received === payload);
      back.push({ client, text: payload.inFlightRun.text, from });
      say(7);
    }
    const { client, text, from } = back.at(-1)!;
    await client.frame(({ payload }) => payload?.message?.content[0].text === answer);
    expect(appended(client.frames.slice(from), text)).toBe(answer);
    expect(back.length).toBeGreaterThan(5);
    system.finish(MAIN, answer);
    await client.chat('final');
    expect(appended(client.frames.slice(from), text)).toBe(answer);
  });

  test('does not delay the run or the others while it does not read', async () => {
    const system = new FakeSessionSystem();
    const gateway = await openGateway(system);
    const slow = await openClient(gateway);
    const quick = await openClient(gateway);
    await send(quick, 'r');
    slow.ws.pause();
    system.live(MAIN, toolStart);
    // More progress than socket buffers hold, slower than the interval in which it is joined.
    const line = 'p'.repeat(60_000);
    const updatesOf = (client: Client) =>
      agentEvents(client, 'tool').filter(({ payload }) => payload.data.phase === 'update');
    for (let at = 1; at <= 150; at++) {
      system.live(MAIN, update(line));
      if (at % 10 === 0) await streamFrame(quick, 'tool', ({ phase }) => phase === 'update');
      await new Promise((resolve) => setImmediate(resolve));
    }
    system.live(MAIN, { ...toolEnd, result: 'the whole' });
    system.finish(MAIN, 'ended');
    await quick.chat('final');
    expect(slow.events('chat')).toEqual([]);
    slow.ws.resume();
    await slow.chat('final');
    const result = await streamFrame(slow, 'tool', ({ phase }) => phase === 'result');
    expect(result.payload.data.result).toBe('the whole');
    expect(updatesOf(slow).length).toBeLessThanOrEqual(updatesOf(quick).length);
    expect(slow.closed).toBeUndefined();
  });
});

describe('blocks', () => {
  const paragraph = (at: number) => `${`Paragraph ${at} says something. `.repeat(30)}\n\n`;
  const blocksOf = (client: Client) =>
    agentEvents(client, 'block').map(({ payload }) => payload.data);

  test('are sent to the connection that requested them, and together are the answer', async () => {
    const { client, system, gateway } = await openAll();
    const other = await openClient(gateway);
    await send(client, 'r', { blockStreaming: 'on' });
    const answer = Array.from({ length: 6 }, (_, at) => paragraph(at)).join('');
    for (let at = 0; at < answer.length; at += 50) system.say(MAIN, answer.slice(at, at + 50));
    const first = await streamFrame(client, 'block');
    expect(first.payload).toMatchObject({ sessionKey: MAIN, agentId: 'main' });
    system.finish(MAIN, answer);
    await client.chat('final');
    await other.chat('final');
    const blocks = blocksOf(client);
    expect(blocks.length).toBeGreaterThan(1);
    expect(blocks.map(({ text }) => text).join('')).toBe(answer);
    expect(blocks.map(({ index }) => index)).toEqual(blocks.map((_, at) => at));
    expect(blocksOf(other)).toEqual([]);
  });

  test('that were published are not repeated by a repeated call', async () => {
    const { client, system } = await openAll();
    await send(client, 'r', { blockStreaming: 'on' });
    const received = paragraph(0) + paragraph(1) + paragraph(2);
    system.say(MAIN, `${received}and then it di`);
    await streamFrame(client, 'block');
    system.say(MAIN, `${received}and on`, 0);
    system.finish(MAIN, `${received}and on`);
    await client.chat('final');
    const blocks = blocksOf(client);
    expect(blocks.map(({ text }) => text).join('')).toBe(`${received}and on`);
    expect(blocks.some(({ replace }) => replace)).toBe(false);
  });

  test('restart when the repeated call has another text', async () => {
    const { client, system } = await openAll();
    await send(client, 'r', { blockStreaming: 'on' });
    system.say(MAIN, paragraph(0) + paragraph(1) + paragraph(2));
    await streamFrame(client, 'block');
    system.say(MAIN, 'No.', 0);
    system.finish(MAIN, 'No.');
    await client.chat('final');
    expect(blocksOf(client).at(-1)).toMatchObject({ text: 'No.', from: 0, replace: true });
  });

  test('end where tools start, and are not sent for a silent reply', async () => {
    const { client, system } = await openAll();
    await send(client, 'r', { blockStreaming: 'on' });
    system.say(MAIN, 'I look first.');
    system.live(MAIN, toolStart);
    expect((await streamFrame(client, 'block')).payload.data.text).toBe('I look first.');
    system.live(MAIN, { stream: 'assistant', call: 1, offset: 0, delta: 'NO_REPLY' });
    system.finish(MAIN, '');
    await client.chat('final');
    expect(blocksOf(client).length).toBe(1);
  });

  test('follow the settings of the installation, and are off when a request says so', async () => {
    const system = new FakeSessionSystem();
    const blocks = { byDefault: true, chunk: { breakAt: 'message_end' } } as const;
    const gateway = await openGateway(system, { blocks });
    const client = await openClient(gateway);
    await send(client, 'r');
    const long = paragraph(0) + paragraph(1) + paragraph(2);
    system.say(MAIN, long);
    await client.chat('delta');
    expect(blocksOf(client)).toEqual([]);
    system.live(MAIN, toolStart);
    await streamFrame(client, 'block');
    system.finish(MAIN, 'Done.');
    await client.chat('final');
    const texts = blocksOf(client).map(({ text }) => text);
    expect(texts.join('')).toBe(`${long}Done.`);
    await send(client, 's', { blockStreaming: 'off' });
    system.say(MAIN, long);
    system.finish(MAIN, long);
    await client.chat('final', 2);
    expect(blocksOf(client).map(({ text }) => text)).toEqual(texts);
  });

  test('contain the reasoning first and separately when the request asks for it', async () => {
    const { client, system } = await openAll();
    const runs = [
      { key: 'r', reasoning: true },
      { key: 's', reasoning: false },
    ];
    for (const [at, { key, reasoning }] of runs.entries()) {
      await send(client, key, { blockStreaming: 'on', reasoning });
      system.live(MAIN, { stream: 'reasoning', call: 0, offset: 0, delta: 'I think' });
      system.live(MAIN, { stream: 'reasoning', call: 0, offset: 7, delta: ' so.' });
      system.say(MAIN, 'It is.');
      system.finish(MAIN, 'It is.');
      await client.chat('final', at + 1);
    }
    expect(blocksOf(client)).toMatchObject([
      { text: 'I think so.', reasoning: true, index: 0, from: 0, to: 11 },
      { text: 'It is.', index: 1, from: 0, to: 6 },
      { text: 'It is.', index: 0 },
    ]);
    expect(blocksOf(client).map(({ reasoning = false }) => reasoning)).toEqual([
      true,
      false,
      false,
    ]);
  });
});
