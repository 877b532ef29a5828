/** Chat Completions as servers that claim compatibility actually implement it. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { defined } from '../../../protocols/defined.ts';
import type { ModelRequest } from '../../../agent/models/model.ts';
import { createOpenAiCompletionsProvider } from '../../../agent/models/openai-completions.ts';
import { systemClock as clock } from '../../../runtime/clock/clock.ts';
import { startOpenAiServer } from '../../servers/openai-server.ts';
import type { ScriptedServer } from '../../servers/scripted-server.ts';
import { hearAll, patient, request } from './provider-contract.ts';

let server: ScriptedServer;
beforeAll(async () => {
  server = await startOpenAiServer();
});
afterAll(() => server.close());

const ask = (asked: Partial<ModelRequest> = {}, streamOptions?: boolean) => {
  const { baseUrl } = server;
  const provider = createOpenAiCompletionsProvider({
    id: 'c',
    baseUrl,
    models: [],
    streamOptions,
    clock,
  });
  return hearAll(provider.stream(request({ model: 'qwen', ...asked }), patient()));
};

/** Makes the server send these deltas, and then the end. */
const play = (deltas: unknown[], finish_reason: string, usage?: unknown) =>
  server.script({
    kind: 'raw',
    events: [
      ...deltas.map((delta) => ({ id: 'x', choices: [{ index: 0, delta }] })),
      { id: 'x', choices: [{ index: 0, delta: {}, finish_reason }], ...(usage ? { usage } : {}) },
      '[DONE]',
    ],
  });

const call = (more: object, name?: string, args?: unknown) => ({
  tool_calls: [
    {
      type: 'function',
      ...more,
      function: {
        ...defined({ name, arguments: args }),
      },
    },
  ],
});

describe('a tool call', () => {
  it.each<[string, unknown[], unknown[]]>([
    [
      'with gaps between the indexes',
      [
        call({ index: 2, id: 'a' }, 'f', '{"n":'),
        call({ index: 2 }, undefined, '1}'),
        call({ index: 7, id: 'b' }, 'g', '{}'),
      ],
      [
        { id: 'a', name: 'f', args: { n: 1 } },
        { id: 'b', name: 'g', args: {} },
      ],
    ],
    [
      'with the id of another',
      [
        call({ index: 0, id: 'a' }, 'f', '{"n":1}'),
        call({ index: 1, id: 'a' }, 'f', '{"n":2}'),
        call({ index: 2, id: 'a_2' }, 'f', '{"n":3}'),
      ],
      [
        { id: 'a', name: 'f', args: { n: 1 } },
        { id: 'a_2', name: 'f', args: { n: 2 } },
        { id: 'a_2_2', name: 'f', args: { n: 3 } },
      ],
    ],
    [
      'whose index is the same for all',
      [call({ index: 0, id: 'a' }, 'f', '{"n":1}'), call({ index: 0, id: 'b' }, 'f', '{"n":2}')],
      [
        { id: 'a', name: 'f', args: { n: 1 } },
        { id: 'b', name: 'f', args: { n: 2 } },
      ],
    ],
    [
      'without index',
      [call({ id: 'a' }, 'f', '{"n":'), call({}, undefined, '1}'), call({ id: 'b' }, 'g')],
      [
        { id: 'a', name: 'f', args: { n: 1 } },
        { id: 'b', name: 'g', args: {} },
      ],
    ],
    [
      'that repeats its id and name in each event',
      [call({ index: 0, id: 'a' }, 'f', '{"n":'), call({ index: 0, id: 'a' }, 'f', '1}')],
      [{ id: 'a', name: 'f', args: { n: 1 } }],
    ],
    [
      'whose name comes late, with an empty id',
      [call({ index: 0, id: '' }, '', '{"n":'), call({ index: 0, id: '' }, 'f', '1}')],
      [{ id: 'intent-1_0', name: 'f', args: { n: 1 } }],
    ],
    [
      'whose arguments are an object, or null',
      [call({ index: 0, id: 'a' }, 'f', { n: 1 }), call({ index: 1, id: 'b' }, 'g', null)],
      [
        { id: 'a', name: 'f', args: { n: 1 } },
        { id: 'b', name: 'g', args: {} },
      ],
    ],
  ])('%s is understood', async (_, deltas, calls) => {
    play(deltas, 'stop');
    const heard = await ask();
    expect(heard.error?.message).toBeUndefined();
    expect(heard.done[0]).toMatchObject({ stop: 'tools', calls });
  });

  it('without a name is ignored', async () => {
    play([call({ index: 0, id: 'a' }, undefined, '{}')], 'tool_calls');
    expect((await ask()).error?.code).toBe('INTERNAL');
  });
});

describe('the end of an answer', () => {
  it.each([
    ['stop', 'end'],
    ['eos', 'end'],
    ['length', 'length'],
    ['max_tokens', 'length'],
    ['content_filter', 'refusal'],
    ['sensitive', 'refusal'],
  ])('by %s is %s', async (reason, stop) => {
    play([{ content: 'a' }], reason);
    expect((await ask()).done[0]).toMatchObject({ text: 'a', stop });
  });

  it('with an error is a failure', async () => {
    play([{ content: 'a' }], 'error');
    expect((await ask()).error?.code).toBe('UNAVAILABLE');
  });

  it('with a refusal text is a refusal', async () => {
    play([{ refusal: 'I will not.' }], 'stop');
    expect((await ask()).done[0]).toMatchObject({ text: 'I will not.', stop: 'refusal' });
  });
});

describe('reasoning', () => {
  it.each(['reasoning_content', 'reasoning'])('is read from %s', async (field) => {
    play([{ [field]: 'hm', content: '' }, { content: 'a' }], 'stop');
    expect(await ask()).toMatchObject({ reasoning: 'hm', text: 'a' });
  });

  it('that arrives twice is read once', async () => {
    play([{ reasoning_content: 'hm', reasoning: 'hm' }, { content: 'a' }], 'stop');
    expect((await ask()).reasoning).toBe('hm');
  });

  it('is sent back with its calls, in the field in which it arrived', async () => {
    play(
      [{ reasoning_content: 'h' }, { reasoning_content: 'm' }, call({ id: 'a' }, 'f', '{}')],
      'tool_calls',
    );
    const [done] = (await ask()).done;
    const messages = [
      ...request().messages,
      {
        role: 'assistant',
        text: '',
        calls: done?.calls,
        continuation: done?.continuation,
      } as const,
      { role: 'tool', callId: 'a', name: 'f', result: '1', isError: false } as const,
    ];
    await ask({ messages });
    expect(server.requests.at(-1)?.body.messages).toMatchObject([
      {},
      {},
      { role: 'assistant', reasoning_content: 'hm', tool_calls: [{ id: 'a' }] },
      { role: 'tool' },
    ]);
    await ask({ messages, model: 'another' });
    expect(JSON.stringify(server.requests.at(-1)?.body)).not.toContain('reasoning_content');
  });
});

describe('usage', () => {
  it('is read from the last event, including cached tokens', async () => {
    const details = { prompt_tokens_details: { cached_tokens: 4 } };
    play([{ content: 'a' }], 'stop', { prompt_tokens: 9, completion_tokens: 2, ...details });
    expect((await ask()).done[0]?.usage).toEqual({
      inputTokens: 9,
      outputTokens: 2,
      cachedInputTokens: 4,
    });
  });

  it('is estimated when the server does not report it, because budgets need it', async () => {
    play([{ content: 'x'.repeat(400) }], 'stop');
    const { done } = await ask({ messages: [{ role: 'user', text: 'y'.repeat(4_000) }] });
    expect(done[0]?.usage.outputTokens).toBe(100);
    expect(done[0]?.usage.inputTokens).toBeGreaterThan(1_000);
    expect(done[0]?.usage.inputTokens).toBeLessThan(1_100);
  });

  it('is not requested from a server that refuses stream_options', async () => {
    await ask({}, false);
    expect(server.requests.at(-1)?.body).not.toHaveProperty('stream_options');
    await ask();
    expect(server.requests.at(-1)?.body).toHaveProperty('stream_options');
  });
});

describe('an answer without an end', () => {
  it.each<[string, unknown]>([
    ['words', { content: 'x'.repeat(600_000) }],
    ['arguments', call({ index: 0, id: 'a' }, 'f', 'x'.repeat(600_000))],
  ])('is abandoned when it has too many %s', async (_, delta) => {
    play([delta, delta], 'stop');
    expect((await ask()).error?.message).toContain('an answer of more than 1048576 characters');
  });
});
