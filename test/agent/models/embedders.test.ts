/** The contract of embedders, with the SDKs of the providers against a local server. */
import { afterAll, beforeEach, describe, expect, onTestFinished, test } from 'vitest';
import { createModelCatalog, type ProviderSettings } from '../../../agent/models/catalog.ts';
import { openConnection } from '../../../agent/models/connection.ts';
import { createOpenAiEmbedder } from '../../../agent/models/openai-embedder.ts';
import type { Embedder } from '../../../memory/index.ts';
import { systemClock } from '../../../runtime/index.ts';
import { meaningOf, openEmbeddingServer } from '../../servers/embedding-server.ts';

const server = await openEmbeddingServer();
afterAll(() => server.close());
beforeEach(() => {
  server.faults.length = 0;
  server.change = (vectors) => vectors;
});

const never = new AbortController().signal;

type Settings = { readonly model?: string; readonly dimensions?: number };
const embedderOf = (entry: ProviderSettings, settings: Settings = {}): Embedder => {
  const catalog = createModelCatalog({ providers: { some: entry } }, { clock: systemClock });
  const { provider } = catalog.resolve('some/model');
  return provider.embedder!({ model: 'text-embedding-3-small', ...settings });
};
const PROVIDERS: readonly [string, ProviderSettings][] = [
  ['OpenAI-compatible', { api: 'openai-completions', baseUrl: server.openAiUrl, apiKey: 'a key' }],
  ['OpenAI responses', { api: 'openai-responses', baseUrl: server.openAiUrl, apiKey: 'a key' }],
  ['Gemini', { api: 'google-generative-ai', baseUrl: server.googleUrl, apiKey: 'a key' }],
];
const TEXTS = ['The invoice is late.', 'Con mèo ngủ.', '咖啡'];

describe.each(PROVIDERS)('%s', (name, entry) => {
  const isGemini = name === 'Gemini';

  test('answers a vector of each text, in their order', async () => {
    const { vectors, usage } = await embedderOf(entry).embed(TEXTS, 'document', never);
    expect(vectors.map((one) => [...one])).toEqual(
      TEXTS.map((text) => [...Float32Array.from(meaningOf(text))]),
    );
    expect(usage.inputTokens).toBeGreaterThan(0);
    expect(usage.costUsd).toBeCloseTo((usage.inputTokens * 0.02) / 1e6, 12);
    expect(server.keys.at(-1)).toBe('a key');
  });

  test('requests shorter vectors', async () => {
    const short = embedderOf(entry, { dimensions: 16 });
    const { vectors } = await short.embed(TEXTS, 'query', never);
    expect(vectors.map(({ length }) => length)).toEqual([16, 16, 16]);
    expect(short.identity).not.toBe(embedderOf(entry).identity);
    const { requests } = server.bodies.at(-1) as { requests?: { taskType: string }[] };
    if (isGemini) expect(requests![0]!.taskType).toBe('RETRIEVAL_QUERY');
  });

  test.each([
    ['too few', (vectors: number[][]) => vectors.slice(1), /2 vectors for 3 texts/],
    ['of two lengths', ([one, ...more]: number[][]) => [one!.slice(1), ...more], /components/],
    ['empty', (vectors: number[][]) => vectors.map(() => []), /0 components/],
    ['zero', (vectors: number[][]) => vectors.map((one) => one.map(() => 0)), /is zero/],
    ['huge', (vectors: number[][]) => vectors.map((one) => one.map(() => 1e300)), /not finite/],
  ])('refuses vectors that are %s', async (_, change, message) => {
    server.change = change;
    await expect(embedderOf(entry).embed(TEXTS, 'document', never)).rejects.toMatchObject({
      code: 'INTERNAL',
      message: expect.stringMatching(message),
    });
  });

  test('says how long to wait when there are too many requests', async () => {
    const body = JSON.stringify({ error: { message: 'slow down', code: 429 } });
    const headers = { 'content-type': 'application/json', 'retry-after': '3' };
    server.faults.push({ kind: 'answer', status: 429, body, headers });
    await expect(embedderOf(entry).embed(TEXTS, 'document', never)).rejects.toMatchObject({
      code: 'RATE_LIMIT_EXCEEDED',
      retryAfterMs: 3_000,
    });
  });

  test('fails without the key in its error', async () => {
    const body = JSON.stringify({ error: { message: 'no such a key', code: 401 } });
    server.faults.push({ kind: 'answer', status: 401, body });
    const failed: unknown = await embedderOf(entry)
      .embed(TEXTS, 'document', never)
      .catch((error: unknown) => error);
    expect(failed).toMatchObject({ code: 'UNAUTHORIZED' });
    expect(String(failed)).not.toContain('a key');
  });

  test('a lost connection may be repeated, and a refused text not', async () => {
    server.faults.push({ kind: 'cut' });
    await expect(embedderOf(entry).embed(TEXTS, 'document', never)).rejects.toMatchObject({
      code: 'UNAVAILABLE',
    });
    await expect(embedderOf(entry).embed([' '], 'document', never)).rejects.toMatchObject({
      code: 'INVALID_ARGUMENT',
    });
  });

  test.each([
    [404, 'model not found', 'NOT_FOUND'],
    [500, 'input is too large to process', 'INVALID_ARGUMENT'],
    [500, 'context deadline exceeded', 'UNAVAILABLE'],
  ])('HTTP %i, %s: %s', async (status, message, code) => {
    const headers = { 'content-type': 'application/json' };
    const body = JSON.stringify({ error: { message, code: status } });
    server.faults.push({ kind: 'answer', status, body, headers });
    await expect(embedderOf(entry).embed(TEXTS, 'document', never)).rejects.toMatchObject({ code });
  });

  test('ends when it is aborted', async () => {
    server.faults.push({ kind: 'silent' });
    const control = new AbortController();
    const embedding = embedderOf(entry).embed(TEXTS, 'document', control.signal);
    const reason = new Error('no longer needed');
    setTimeout(() => control.abort(reason), 50);
    await expect(embedding).rejects.toBe(reason);
  });
});

test('asks compatible servers for numbers, which all of them understand', async () => {
  await embedderOf(PROVIDERS[0]![1]).embed(TEXTS, 'document', never);
  expect(server.bodies.at(-1)).toMatchObject({ encoding_format: 'float' });
});

// Bug: such an answer counted as a lost connection, and was asked for again.
test.each(['null', '{"data":[null,null,null]}', '{}'])('refuses the answer %s', async (body) => {
  const headers = { 'content-type': 'application/json' };
  server.faults.push({ kind: 'answer', status: 200, body, headers });
  const asked = embedderOf(PROVIDERS[0]![1]).embed(TEXTS, 'document', never);
  await expect(asked).rejects.toMatchObject({ code: 'INTERNAL' });
});

test('understands base64 of a server that was asked for numbers', async () => {
  server.isAlwaysBase64 = true;
  onTestFinished(() => void (server.isAlwaysBase64 = false));
  const { vectors } = await embedderOf(PROVIDERS[0]![1]).embed(TEXTS, 'document', never);
  expect([...vectors[1]!]).toEqual([...Float32Array.from(meaningOf(TEXTS[1]!))]);
});

test('asks OpenAI itself for base64', async () => {
  const { openAiUrl } = server;
  const connection = { id: 'openai', baseUrl: openAiUrl, apiKey: 'a key', models: [] };
  const official = openConnection({ ...connection, clock: systemClock }, openAiUrl);
  const { vectors } = await createOpenAiEmbedder(official, { model: 'm' }).embed(
    TEXTS,
    'query',
    never,
  );
  expect(server.bodies.at(-1)).toMatchObject({ encoding_format: 'base64' });
  expect([...vectors[2]!]).toEqual([...Float32Array.from(meaningOf(TEXTS[2]!))]);
});

test('an identity does not depend on the name of the provider or its key', () => {
  const [, entry] = PROVIDERS[0]!;
  const other = createModelCatalog(
    { providers: { other: { ...entry, apiKey: 'another key' } } },
    { clock: systemClock },
  );
  const { provider } = other.resolve('other/model');
  expect(provider.embedder!({ model: 'text-embedding-3-small' }).identity).toBe(
    embedderOf(entry).identity,
  );
});

test('Anthropic and the offline model have none', () => {
  const catalog = createModelCatalog({ providers: {} }, { clock: systemClock });
  for (const name of ['anthropic/x', 'offline/troupe-offline'])
    expect('embedder' in catalog.resolve(name).provider).toBe(false);
});
