import { afterEach, describe, expect, test } from 'vitest';
import { MAIN } from '../client.ts';
import { closeAll, openAll, openClient } from '../opened.ts';

afterEach(closeAll);

describe('chat', () => {
  test('sends deltas with the whole text so far and exactly one final on every connection', async () => {
    const { client: sender, system, gateway } = await openAll();
    const watcher = await openClient(gateway);
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

  test('a restarted model call replaces its text, so appending deltas gives the right text', async () => {
    const { client, system } = await openAll();
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
    const { client, system } = await openAll();
    await client.call('chat.send', { sessionKey: MAIN, message: 'hi', idempotencyKey: 'r' });
    for (let word = 0; word < 500; word++) system.say(MAIN, `${word} `);
    system.finish(MAIN, 'done');
    await client.chat('final');
    expect(client.events('chat').length).toBeLessThan(20);
  });

  test('history contains the conversation with tools, and the partial answer of the live run', async () => {
    const { client: first, system, gateway } = await openAll();
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

    const late = await openClient(gateway);
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
    // Later deltas continue from the text in the history.
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

  test('history of a session without messages is empty', async () => {
    const { client } = await openAll();
    const { payload } = await client.call('chat.history', { sessionKey: 'agent:main:new' });
    expect(payload).toMatchObject({ messages: [], hasMore: false, pendingInputs: { total: 0 } });
  });

  test('abort stops the run, and succeeds when there is nothing to stop', async () => {
    const { client, system } = await openAll();
    const nothing = await client.call('chat.abort', { sessionKey: MAIN });
    expect(nothing.payload).toEqual({ ok: true, aborted: false, runIds: [] });
    expect(system.asked).toEqual([]);
    await client.call('chat.send', { sessionKey: MAIN, message: 'hi', idempotencyKey: 'r' });
    const { payload } = await client.call('chat.abort', { sessionKey: MAIN, runId: 'r' });
    expect(payload).toEqual({ ok: true, aborted: true, runIds: ['r'] });
    expect((await client.chat('aborted')).payload.stopReason).toBe('aborted');
  });
});
