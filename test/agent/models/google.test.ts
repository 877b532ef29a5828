/**
 * What is specific to Google: signatures, calls of other models, blocked prompts, errors,
 * addresses.
 */
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { createGoogleProvider } from '../../../agent/models/google.ts';
import type { ModelRequest } from '../../../agent/models/model.ts';
import { systemClock as clock } from '../../../runtime/clock/clock.ts';
import { unfitValue } from '../../../runtime/statechart/values.ts';
import { startGoogleServer } from '../../servers/google-server.ts';
import type { ScriptedServer } from '../../servers/scripted-server.ts';
import { hearAll, patient, request } from './provider-contract.ts';

let server: ScriptedServer;
beforeAll(async () => {
  server = await startGoogleServer();
});
afterAll(() => server.close());

const model = 'gemini-3.1-pro-preview';
const ask = (asked: Partial<ModelRequest> = {}, baseUrl = server.baseUrl) => {
  const provider = createGoogleProvider({ id: 'g', baseUrl, apiKey: 'a-key', models: [], clock });
  return hearAll(provider.stream(request({ model, ...asked }), patient()));
};
const sentBody = () => server.requests.at(-1)?.body as Record<string, never>;

const calls = [
  { id: 'c1', name: 'calculate', args: { expression: '1' } },
  { id: 'c2', name: 'calculate', args: { expression: '2' } },
];
const results = calls.map(
  ({ id, name }) => ({ role: 'tool', callId: id, name, result: id, isError: id === 'c2' }) as const,
);

describe('the adapter of Gemini', () => {
  it('sends the system prompt, tools as JSON Schema, and the answer’s limit', async () => {
    await ask({ maxTokens: 50 });
    expect(sentBody()).toMatchObject({
      systemInstruction: { parts: [{ text: 'Be brief.' }] },
      tools: [{ functionDeclarations: [{ name: 'calculate', parametersJsonSchema: {} }] }],
      generationConfig: { maxOutputTokens: 50 },
      contents: [{ role: 'user', parts: [{ text: 'hello' }] }],
    });
  });

  it('keeps signed arguments that are nested too deep to be stored as a text', async () => {
    const args = JSON.parse(`${'{"a":'.repeat(120)}1${'}'.repeat(120)}`) as object;
    server.script({ kind: 'answer', reasoning: ['hm'], calls: [{ ...calls[0]!, args }] });
    const { done } = await ask({ thinking: 'high' });
    expect(unfitValue(done[0])).toBeUndefined();
    expect(done[0]?.continuation?.blocks).toMatchObject([
      { functionCall: { args: { input: JSON.stringify(args) } }, thoughtSignature: 'c2lnbmVk' },
    ]);
  });

  it('sends signed parts back unchanged, with the results of one message together', async () => {
    server.script({ kind: 'answer', reasoning: ['hm'], deltas: ['I ', 'ask.'], calls });
    const { done } = await ask({ thinking: 'high' });
    const [answer] = done;
    const assistant = { role: 'assistant', text: 'I ask.', ...answer } as const;
    const heard = await ask({ messages: [...request().messages, assistant, ...results] });
    expect(heard.error).toBeUndefined();
    expect(sentBody().contents).toEqual([
      { role: 'user', parts: [{ text: 'hello' }] },
      {
        role: 'model',
        parts: [
          { text: 'I ask.' },
          { functionCall: calls[0], thoughtSignature: 'c2lnbmVk' },
          { functionCall: calls[1] },
        ],
      },
      {
        role: 'user',
        parts: [
          { functionResponse: { id: 'c1', name: 'calculate', response: { output: 'c1' } } },
          { functionResponse: { id: 'c2', name: 'calculate', response: { error: 'c2' } } },
        ],
      },
    ]);
  });

  it('marks calls of other models, which Gemini 3 would refuse unsigned', async () => {
    const messages = [
      ...request().messages,
      { role: 'assistant', text: '', calls } as const,
      ...results,
    ];
    expect((await ask({ messages })).error).toBeUndefined();
    const [, said, heard] = sentBody().contents as unknown as { parts: unknown[] }[];
    expect(said?.parts[0]).toMatchObject({ thoughtSignature: 'skip_thought_signature_validator' });
    expect(JSON.stringify(heard)).not.toContain('"id"'); // Google has not created these ids
    expect((await ask({ messages, model: 'gemini-2.5-flash' })).error).toBeUndefined();
    expect(JSON.stringify(sentBody())).not.toContain('thoughtSignature');
  });

  it('gives a unique id to calls without one', async () => {
    const part = { functionCall: { name: 'calculate', args: {} } };
    const events = [
      { candidates: [{ content: { role: 'model', parts: [part, part] } }] },
      { candidates: [{ finishReason: 'STOP' }] },
    ];
    server.script({ kind: 'raw', events });
    const { done } = await ask();
    expect(done[0]?.calls.map(({ id }) => id)).toEqual(['intent-1_0', 'intent-1_1']);
  });

  it('reports a blocked prompt as a refusal', async () => {
    server.script({ kind: 'raw', events: [{ promptFeedback: { blockReason: 'SAFETY' } }] });
    expect((await ask()).done[0]).toMatchObject({ stop: 'refusal', text: '' });
  });

  it('reports UNAVAILABLE for an answer without content', async () => {
    const candidates = [{ finishReason: 'MALFORMED_FUNCTION_CALL' }];
    server.script({ kind: 'raw', events: [{ candidates }] });
    const { error } = await ask();
    expect(error?.code).toBe('UNAVAILABLE');
    expect(error?.message).toContain('MALFORMED_FUNCTION_CALL');
  });

  it('counts thoughts and cached tokens once each', async () => {
    server.script({ kind: 'answer', reasoning: ['hm'], deltas: ['a'], cachedTokens: 4 });
    expect((await ask()).done[0]?.usage).toEqual({
      inputTokens: 11,
      outputTokens: 7, // 5 of text and 2 of thoughts
      cachedInputTokens: 4,
    });
  });

  it('reads the wait time and a wrong key from Google’s error details', async () => {
    server.script({ kind: 'refuse', status: 429, type: 'wait:1.5s' });
    expect((await ask()).error).toMatchObject({ code: 'RATE_LIMIT_EXCEEDED', retryAfterMs: 1_500 });
    const message = 'API key not valid: a-key';
    server.script({ kind: 'refuse', status: 400, type: 'authentication_error', message });
    const { error } = await ask();
    expect(error?.code).toBe('UNAUTHORIZED');
    expect(error?.message).toContain('models.providers.g.apiKey');
  });

  it('accepts a base URL that includes the version', async () => {
    expect((await ask({}, `${server.baseUrl}/v1beta`)).error).toBeUndefined();
  });

  it('reads nothing from the environment', async () => {
    vi.stubEnv('GOOGLE_API_KEY', 'of-the-environment');
    vi.stubEnv('GOOGLE_GENAI_USE_VERTEXAI', 'true');
    vi.stubEnv('GOOGLE_CLOUD_PROJECT', 'someones');
    vi.stubEnv('GOOGLE_CLOUD_LOCATION', 'somewhere');
    vi.stubEnv('GOOGLE_GEMINI_BASE_URL', 'http://127.0.0.1:9');
    try {
      expect((await ask()).error).toBeUndefined();
      expect(server.requests.at(-1)?.headers['x-goog-api-key']).toBe('a-key');
    } finally {
      vi.unstubAllEnvs();
    }
  });
});
