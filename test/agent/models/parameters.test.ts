/**
 * The requests of the adapters: everything that the provider needs, and nothing that it refuses.
 */
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { createAnthropicProvider } from '../../../agent/models/anthropic.ts';
import { anthropicThinking } from '../../../agent/models/thinking.ts';
import { createGoogleProvider } from '../../../agent/models/google.ts';
import type { ModelRequest } from '../../../agent/models/model.ts';
import { createOpenAiCompletionsProvider } from '../../../agent/models/openai-completions.ts';
import { createOpenAiResponsesProvider } from '../../../agent/models/openai-responses.ts';
import { systemClock as clock } from '../../../runtime/clock/clock.ts';
import { startAnthropicServer } from '../../servers/anthropic-server.ts';
import { startGoogleServer } from '../../servers/google-server.ts';
import { startOpenAiServer } from '../../servers/openai-server.ts';
import type { ScriptedServer } from '../../servers/scripted-server.ts';
import { calculateSpec, hearAll, patient, request } from './provider-contract.ts';

let anthropic: ScriptedServer;
let openai: ScriptedServer;
let google: ScriptedServer;
beforeAll(async () => {
  anthropic = await startAnthropicServer();
  openai = await startOpenAiServer();
  google = await startGoogleServer();
});
afterAll(async () => {
  await anthropic.close();
  await openai.close();
  await google.close();
});

const kinds = {
  anthropic: () => ({ server: anthropic, create: createAnthropicProvider }),
  responses: () => ({ server: openai, create: createOpenAiResponsesProvider }),
  completions: () => ({ server: openai, create: createOpenAiCompletionsProvider }),
  google: () => ({ server: google, create: createGoogleProvider }),
};

const models = [{ id: 'claude-small', contextWindow: 10_000, maxTokens: 4_000 }];

/** Makes one valid call and returns the sent request and the received answer. */
const sent = async (kind: keyof typeof kinds, asked: Partial<ModelRequest>) => {
  const { server, create } = kinds[kind]();
  const provider = create({
    id: kind,
    baseUrl: server.baseUrl,
    apiKey: 'some-api-key',
    models,
    clock,
  });
  const heard = await hearAll(provider.stream(request(asked), patient()));
  expect(heard.error?.message).toBeUndefined();
  return { body: server.requests.at(-1)?.body ?? {}, done: heard.done[0] };
};

const talk = {
  messages: [
    { role: 'user', text: 'two sums' },
    {
      role: 'assistant',
      text: 'Let me see.',
      calls: [
        { id: 'a', name: 'calculate', args: { expression: '1+1' } },
        { id: 'b', name: 'calculate', args: { expression: '1/0' } },
      ],
    },
    { role: 'tool', callId: 'a', name: 'calculate', result: '2', isError: false },
    { role: 'tool', callId: 'b', name: 'calculate', result: 'infinite', isError: true },
    { role: 'user', text: 'and?' },
  ],
} satisfies Partial<ModelRequest>;

describe('every adapter', () => {
  it.each(['anthropic', 'responses', 'completions', 'google'] as const)(
    'sends no sampling parameter (%s)',
    async (kind) => {
      const { body } = await sent(kind, { thinking: 'high', maxTokens: 2_000 });
      for (const field of ['temperature', 'top_p', 'top_k']) expect(body).not.toHaveProperty(field);
    },
  );

  it.each(['anthropic', 'responses', 'completions', 'google'] as const)(
    'omits an empty system prompt and an empty list of tools (%s)',
    async (kind) => {
      const { body } = await sent(kind, { system: '', tools: [] });
      expect(body).not.toHaveProperty('tools');
      expect(body).not.toHaveProperty('system');
      expect(body).not.toHaveProperty('instructions');
      expect(body).not.toHaveProperty('systemInstruction');
      expect(JSON.stringify(body.messages ?? [])).not.toContain('"system"');
    },
  );

  it('writes nothing to the console, whatever the server sends', async () => {
    // the SDKs print broken events, which hold the conversation, unless they are configured not to
    const printed = ['log', 'error', 'warn', 'info', 'debug'] as const;
    const spies = printed.map((name) => vi.spyOn(console, name).mockImplementation(() => {}));
    for (const kind of ['anthropic', 'responses', 'completions', 'google'] as const) {
      const { server, create } = kinds[kind]();
      server.script({ kind: 'malformed', deltas: ['a'], form: 'json' });
      const provider = create({
        id: kind,
        baseUrl: server.baseUrl,
        apiKey: 'some-api-key',
        models,
        clock,
      });
      expect((await hearAll(provider.stream(request(), patient()))).error?.code).toBe('INTERNAL');
    }
    for (const spy of spies) {
      expect(spy).not.toHaveBeenCalled();
      spy.mockRestore();
    }
  });
});

describe('the Anthropic adapter', () => {
  it('always sends max_tokens: the request’s, limited by the model’s', async () => {
    expect((await sent('anthropic', {})).body.max_tokens).toBe(32_000);
    expect((await sent('anthropic', { maxTokens: 5 })).body.max_tokens).toBe(5);
    expect((await sent('anthropic', { model: 'claude-small' })).body.max_tokens).toBe(4_000);
  });

  it('puts all results of one message into the user message after it', async () => {
    const { body } = await sent('anthropic', talk);
    expect(body.messages).toMatchObject([
      { role: 'user' },
      {
        role: 'assistant',
        content: [{ type: 'text' }, { type: 'tool_use', id: 'a' }, { id: 'b' }],
      },
      {
        role: 'user',
        content: [
          { type: 'tool_result', tool_use_id: 'a', content: '2', is_error: false },
          { type: 'tool_result', tool_use_id: 'b', content: 'infinite', is_error: true },
        ],
      },
      { role: 'user', content: [{ type: 'text', text: 'and?' }] },
    ]);
    expect(body.tools).toEqual([
      { name: 'calculate', description: 'Calculates.', input_schema: calculateSpec.parameters },
    ]);
    expect(body.system).toBe('Be brief.');
  });

  it.each([
    ['claude-3-5-haiku-latest', 'none'],
    ['claude-3-7-sonnet-20250219', 'budget'],
    ['claude-sonnet-4-20250514', 'budget'],
    ['claude-haiku-4-5-20251001', 'budget'],
    ['claude-opus-4-6', 'adaptive'],
    ['claude-sonnet-5', 'adaptive'],
    ['anthropic.claude-opus-5-5-v1:0', 'adaptive'],
    ['claude-mythos-preview', 'none'],
    ['minimax-m2', 'none'],
  ])('uses the form of thinking of %s: %s', (model, generation) => {
    expect(anthropicThinking({ id: model, contextWindow: 1, maxTokens: 1 })).toBe(generation);
  });

  it('requests thinking in the form of the model’s generation, and none when it is off', async () => {
    const newer = await sent('anthropic', { thinking: 'minimal' });
    expect(newer.body.thinking).toEqual({ type: 'adaptive', display: 'summarized' });
    expect(newer.body.output_config).toEqual({ effort: 'low' });
    const older = await sent('anthropic', { thinking: 'medium', model: 'claude-haiku-4-5' });
    expect(older.body.thinking).toEqual({ type: 'enabled', budget_tokens: 8_192 });
    expect(older.body).not.toHaveProperty('output_config');
    for (const asked of [
      { thinking: 'off' as const },
      {},
      { thinking: 'high' as const, model: 'glm-5' },
    ]) {
      const { body } = await sent('anthropic', asked);
      expect(body).not.toHaveProperty('thinking');
      expect(body).not.toHaveProperty('output_config');
    }
  });

  it('sends signed thinking back with the calls it led to, but never to another model', async () => {
    const call = { id: 'c1', name: 'calculate', args: { expression: '2+2' } };
    anthropic.script({
      kind: 'answer',
      reasoning: ['hm, ', 'a sum'],
      deltas: ['I ask.'],
      calls: [call],
    });
    const { done } = await sent('anthropic', { thinking: 'high' });
    const assistant = {
      role: 'assistant',
      text: done?.text ?? '',
      calls: done?.calls,
      continuation: done?.continuation,
    } as const;
    const messages = [
      ...request().messages,
      assistant,
      { role: 'tool', callId: 'c1', name: 'calculate', result: '4', isError: false } as const,
    ];
    const same = await sent('anthropic', { thinking: 'high', messages });
    expect((same.body.messages as unknown[])[1]).toEqual({
      role: 'assistant',
      content: [
        { type: 'thinking', thinking: 'hm, a sum', signature: 'signed(hm, )signed(a sum)' },
        { type: 'text', text: 'I ask.' },
        { type: 'tool_use', id: 'c1', name: 'calculate', input: { expression: '2+2' } },
      ],
    });
    const other = await sent('anthropic', { thinking: 'high', messages, model: 'claude-opus-5-5' });
    expect(JSON.stringify(other.body.messages)).not.toContain('signature');
  });

  it('requests no thinking from an older model after results whose thinking was lost', async () => {
    const messages = talk.messages.slice(0, 4);
    const { body } = await sent('anthropic', {
      thinking: 'high',
      model: 'claude-haiku-4-5',
      messages,
    });
    expect(body).not.toHaveProperty('thinking');
  });
});

describe('the adapter of OpenAI’s Responses', () => {
  it('stores nothing at OpenAI and sends calls and results as items', async () => {
    const { body } = await sent('responses', { ...talk, maxTokens: 50, model: 'gpt-5.5' });
    expect(body).toMatchObject({ store: false, stream: true, max_output_tokens: 50 });
    expect(body.instructions).toBe('Be brief.');
    expect(body.input).toEqual([
      { role: 'user', content: 'two sums' },
      { role: 'assistant', content: 'Let me see.' },
      { type: 'function_call', call_id: 'a', name: 'calculate', arguments: '{"expression":"1+1"}' },
      { type: 'function_call', call_id: 'b', name: 'calculate', arguments: '{"expression":"1/0"}' },
      { type: 'function_call_output', call_id: 'a', output: '2' },
      { type: 'function_call_output', call_id: 'b', output: 'Error: infinite' },
      { role: 'user', content: 'and?' },
    ]);
    expect(body.tools).toMatchObject([{ type: 'function', name: 'calculate', strict: false }]);
  });

  it('requests reasoning only from reasoning models', async () => {
    const reasoning = await sent('responses', { model: 'gpt-5.5', thinking: 'xhigh' });
    expect(reasoning.body.reasoning).toEqual({ effort: 'xhigh', summary: 'auto' });
    expect(reasoning.body.include).toEqual(['reasoning.encrypted_content']);
    for (const asked of [
      { model: 'gpt-4.1', thinking: 'high' as const },
      { model: 'gpt-5-chat-latest', thinking: 'high' as const },
      { model: 'gpt-5.5', thinking: 'off' as const },
    ]) {
      const { body } = await sent('responses', asked);
      expect(body).not.toHaveProperty('reasoning');
      expect(body).not.toHaveProperty('include');
    }
  });

  it('sends encrypted reasoning back with the calls it led to', async () => {
    const call = { id: 'c1', name: 'calculate', args: { expression: '2+2' } };
    openai.script({ kind: 'answer', reasoning: ['hm'], calls: [call] });
    const { done } = await sent('responses', { model: 'gpt-5.5', thinking: 'high' });
    const assistant = {
      role: 'assistant',
      text: '',
      calls: done?.calls,
      continuation: done?.continuation,
    } as const;
    const result = {
      role: 'tool',
      callId: 'c1',
      name: 'calculate',
      result: '4',
      isError: false,
    } as const;
    const messages = [...request().messages, assistant, result];
    const { body } = await sent('responses', { model: 'gpt-5.5', messages });
    expect(body.input).toMatchObject([
      { role: 'user' },
      { type: 'reasoning', encrypted_content: 'sealed' },
      { type: 'function_call', call_id: 'c1', arguments: '{"expression":"2+2"}' },
      { type: 'function_call_output', call_id: 'c1', output: '4' },
    ]);
    expect(JSON.stringify(body.input)).not.toContain('"status"');
  });
});

describe('the adapter of Chat Completions', () => {
  it('uses the parameters that compatible servers accept', async () => {
    const { body } = await sent('completions', { ...talk, maxTokens: 50, thinking: 'high' });
    expect(body).toMatchObject({ max_tokens: 50, stream_options: { include_usage: true } });
    expect(body).not.toHaveProperty('reasoning_effort');
    expect(body.messages).toMatchObject([
      { role: 'system', content: 'Be brief.' },
      { role: 'user', content: 'two sums' },
      { role: 'assistant', content: 'Let me see.', tool_calls: [{ id: 'a' }, { id: 'b' }] },
      { role: 'tool', tool_call_id: 'a', content: '2' },
      { role: 'tool', tool_call_id: 'b', content: 'Error: infinite' },
      { role: 'user', content: 'and?' },
    ]);
  });

  it('requests an effort from OpenAI’s reasoning models, also behind a gateway', async () => {
    const { body } = await sent('completions', { model: 'openai/gpt-5.5', thinking: 'minimal' });
    expect(body.reasoning_effort).toBe('low');
  });
});
