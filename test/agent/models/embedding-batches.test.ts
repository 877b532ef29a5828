/** Batches of embeddings with the SDKs of OpenAI and Gemini, against a local server. */
import { beforeEach, describe, expect, onTestFinished, test, vi } from 'vitest';
import { createModelCatalog } from '../../../agent/models/catalog.ts';
import { openConnection } from '../../../agent/models/connection.ts';
import { createGoogleEmbedder } from '../../../agent/models/google-embedder.ts';
import { createOpenAiEmbedder } from '../../../agent/models/openai-embedder.ts';
import type { BatchAnswer, EmbeddingBatches } from '../../../memory/index.ts';
import { systemClock } from '../../../runtime/index.ts';
import {
  type EmbeddingServer,
  meaningOf,
  openEmbeddingServer,
} from '../../servers/embedding-server.ts';
import { eventually } from '../../runtime/eventually.ts';

const never = new AbortController().signal;
const TEXTS = new Map([
  ['key-1', 'The invoice is late.'],
  ['key-2', 'Con mèo ngủ.'],
  ['key-3', '咖啡'],
]);

type Api = {
  readonly embedderOf: (server: EmbeddingServer) => EmbeddingBatches;
  /** the provider's own address, with its prices */
  readonly officialOf: (server: EmbeddingServer) => EmbeddingBatches;
  /** US dollars of a million tokens: at a server with this API, and at the provider itself */
  readonly prices: readonly [compatible: number, official: number];
  readonly of: (server: EmbeddingServer) => EmbeddingServer['batches' | 'googleBatches'];
  readonly end: (server: EmbeddingServer, how: 'completed' | 'expired') => void;
  readonly lineWith: (key: string, embedding: unknown) => string;
  /** part of the path of a request that creates a batch */
  readonly createPath: string;
  readonly unknown: { readonly batch: string; readonly file: string };
};

const catalogEmbedder = (
  api: 'openai-completions' | 'google-generative-ai',
  baseUrl: string,
  model: string,
) => {
  const some = { api, baseUrl, apiKey: 'a-long-key' } as const;
  const catalog = createModelCatalog({ providers: { some } }, { clock: systemClock });
  return catalog.resolve('some/model').provider.embedder!({ model, dimensions: 16 }).batches!;
};
const officialConnection = (id: string, baseUrl: string) =>
  openConnection({ id, baseUrl, apiKey: 'a-long-key', models: [], clock: systemClock }, baseUrl);

const OPENAI = 'text-embedding-3-small';
const openAi: Api = {
  embedderOf: ({ openAiUrl }) => catalogEmbedder('openai-completions', openAiUrl, OPENAI),
  officialOf: ({ openAiUrl }) =>
    createOpenAiEmbedder(officialConnection('openai', openAiUrl), { model: OPENAI }).batches!,
  prices: [0.02, 0.01],
  of: ({ batches: api }) => api,
  end: ({ batches: api }, how) => api.end(how),
  lineWith: (key, embedding) =>
    JSON.stringify({
      custom_id: key,
      response: { status_code: 200, body: { data: [{ embedding }], usage: { prompt_tokens: 1 } } },
    }),
  createPath: '/batches',
  unknown: { batch: 'batch_9', file: 'file-9' },
};
const GEMINI = 'gemini-embedding-001';
const gemini: Api = {
  embedderOf: ({ googleUrl }) => catalogEmbedder('google-generative-ai', googleUrl, GEMINI),
  officialOf: ({ googleUrl }) =>
    createGoogleEmbedder(officialConnection('google', googleUrl), { model: GEMINI }).batches!,
  prices: [0.15, 0.075],
  of: ({ googleBatches: api }) => api,
  end: ({ googleBatches: api }, how) => api.end(how === 'completed' ? 'SUCCEEDED' : 'EXPIRED'),
  lineWith: (key, values) =>
    JSON.stringify({ key: `${key} 1`, response: { embedding: { values } } }),
  createPath: ':asyncBatchEmbedContent',
  unknown: { batch: 'batches/batch-9', file: 'files/texts-9' },
};

let server: EmbeddingServer;
let batches: EmbeddingBatches;
const created = async (ticket = 'ticket'): Promise<string> => {
  const file = await batches.file(TEXTS);
  return batches.create(await file.upload(never), ticket, never);
};
const answersOf = async (files: readonly string[]): Promise<Map<string, BatchAnswer>> => {
  const found = new Map<string, BatchAnswer>();
  for (const file of files)
    for await (const answer of batches.answers(file, never)) found.set(answer.key, answer);
  return found;
};
const tokensOf = (answers: ReadonlyMap<string, BatchAnswer>) =>
  [...answers.values()].reduce((sum, { inputTokens }) => sum + inputTokens, 0);

beforeEach(async () => {
  // the SDK of Gemini says at each batch that this part of it is experimental
  vi.spyOn(console, 'warn').mockImplementation(() => {});
  server = await openEmbeddingServer();
  onTestFinished(() => server.close());
});

describe.each([
  ['OpenAI', openAi],
  ['Gemini', gemini],
])('%s', (...[, api]) => {
  const { unknown, createPath, lineWith } = api;
  const end = (how: 'completed' | 'expired' = 'completed') => api.end(server, how);
  beforeEach(() => {
    batches = api.embedderOf(server);
  });

  test('answers in another order belong to their texts, and tokens are those of all', async () => {
    const id = await created();
    expect(await batches.look(id, never)).toEqual({ status: 'running', files: [] });
    end();
    const { status, files } = await batches.look(id, never);
    expect(status).toBe('completed');
    const answers = await answersOf(files);
    for (const [key, text] of TEXTS)
      expect([...answers.get(key)!.vector!]).toEqual([
        ...Float32Array.from(meaningOf(text).slice(0, 16)),
      ]);
    expect(tokensOf(answers)).toBe(4 + 3 + 1);
    const [price] = api.prices;
    expect(batches.usageOf(1_000_000)).toMatchObject({ inputTokens: 1_000_000, costUsd: price });
  });

  test('the provider itself asks for half the price', async () => {
    batches = api.officialOf(server);
    const id = await created();
    end();
    const answers = await answersOf((await batches.look(id, never)).files);
    expect([...answers.get('key-3')!.vector!]).toEqual([...Float32Array.from(meaningOf('咖啡'))]);
    expect(batches.usageOf(1_000_000).costUsd).toBeCloseTo(api.prices[1], 12);
  });

  test('a text that the model refuses, and one that had no time, have no vector', async () => {
    server.refuses = (text) => text === '咖啡';
    api.of(server).isLeft = (text) => text === 'Con mèo ngủ.';
    const id = await created();
    end('expired');
    const { status, files } = await batches.look(id, never);
    expect(status).toBe('expired');
    const answers = await answersOf(files);
    const keys = [...answers.keys()].toSorted();
    expect(keys).toEqual(['key-1', 'key-2', 'key-3']);
    expect(keys.filter((key) => answers.get(key)!.vector)).toEqual(['key-1']);
  });

  test('broken lines are left out, and vectors that are none', async () => {
    api.of(server).change = () => [
      lineWith('key-1', [1, 2]).slice(0, -9),
      'null',
      '{"response": {"embedding": {"values": [1, 2, 3]}}}',
      lineWith('key-2', [1e300, 1, 1]),
      lineWith('key-3', [0, 0, 0]),
      lineWith('key-4', []),
      lineWith('key-5', [1, 2, 3]),
    ];
    const id = await created();
    end();
    const answers = await answersOf((await batches.look(id, never)).files);
    expect([...answers.keys()]).toEqual(['key-2', 'key-3', 'key-4', 'key-5']);
    expect([...answers.values()].filter(({ vector }) => vector)).toMatchObject([{ key: 'key-5' }]);
  });

  test('a batch that fails its validation says why', async () => {
    api.of(server).refusal = 'Enqueued token limit reached';
    expect(await batches.look(await created(), never)).toEqual({
      status: 'failed',
      files: [],
      why: 'Enqueued token limit reached',
    });
  });

  test('a cancelled batch ends', async () => {
    const id = await created();
    await batches.cancel(id, never);
    if (api === openAi) server.batches.end('cancelled');
    expect(await batches.look(id, never)).toMatchObject({ status: 'cancelled' });
  });

  test('a batch is found by its ticket among others, also on later pages', async () => {
    const others = async (count: number) => {
      for (let n = 0; n < count; n++) await created(`other ${n}`);
    };
    await others(3);
    const mine = await created('mine');
    await others(3);
    expect(await batches.find('mine', Date.now(), never)).toBe(mine);
    expect(await batches.find('none', Date.now(), never)).toBeUndefined();
  });

  test('bug: a create that was cut after it was accepted would be repeated', async () => {
    const file = await (await batches.file(TEXTS)).upload(never);
    server.faults.push({ kind: 'cut', path: createPath, accepted: true });
    const creating = batches.create(file, 'mine', never);
    await expect(creating).rejects.toMatchObject({ code: 'UNAVAILABLE' });
    expect(api.of(server).batches).toHaveLength(1);
    const found = (await batches.find('mine', Date.now(), never)) ?? '';
    expect(await batches.look(found, never)).toMatchObject({ status: 'running' });
  });

  const calls: readonly [string, () => Promise<unknown>][] = [
    ['upload', async () => (await batches.file(TEXTS)).upload(never)],
    ['create', () => batches.create(unknown.file, 'ticket', never)],
    ['find', () => batches.find('ticket', 0, never)],
    ['look', () => batches.look(unknown.batch, never)],
    ['answers', () => answersOf([unknown.file])],
    ['cancel', () => batches.cancel(unknown.batch, never)],
    ['remove', () => batches.remove(unknown.file, never)],
  ];
  test.each(calls)('%s says that it may be repeated, and never repeats itself', async (_, call) => {
    const headers = { 'content-type': 'application/json', 'retry-after': '3' };
    const body = JSON.stringify({ error: { message: 'slow down, a-long-key' } });
    server.faults.push({ kind: 'answer', status: 429, headers, body });
    const code = 'RATE_LIMIT_EXCEEDED';
    await expect(call()).rejects.toMatchObject({ code, retryAfterMs: 3_000 });
    server.faults.push({ kind: 'answer', status: 500, body: '{}' });
    await expect(call()).rejects.toMatchObject({ code: 'UNAVAILABLE' });
    server.faults.push({ kind: 'answer', status: 400, headers, body });
    const failed: unknown = await call().catch((error: unknown) => error);
    expect(failed).toMatchObject({ code: 'INVALID_ARGUMENT' });
    expect(String(failed)).not.toContain('a-long-key');
    expect(server.requests).toHaveLength(3);
  });

  test('what the provider does not have is NOT_FOUND, but a removed file is removed', async () => {
    const code = 'NOT_FOUND';
    await expect(batches.look(unknown.batch, never)).rejects.toMatchObject({ code });
    await expect(answersOf([unknown.file])).rejects.toMatchObject({ code });
    await expect(batches.remove(unknown.file, never)).resolves.toBeUndefined();
  });

  test('a silent upload ends with its signal', async () => {
    const { upload } = await batches.file(TEXTS);
    server.faults.push({ kind: 'silent', path: 'files' });
    const ended = new AbortController();
    const uploading = upload(ended.signal);
    await eventually(() => expect(server.requests).toHaveLength(1));
    ended.abort(new Error('shutdown'));
    await expect(uploading).rejects.toThrow('shutdown');
  });
});

test('a file ends before the limit of the provider', async () => {
  batches = openAi.embedderOf(server);
  const text = 'x'.repeat(50_000_000);
  const file = await batches.file(new Map(['a', 'b', 'c', 'd'].map((key) => [key, text])));
  expect(file.keys).toEqual(['a', 'b', 'c']);
});

test('OpenAI itself is asked for base64', async () => {
  batches = openAi.officialOf(server);
  await created();
  const [line] = server.batches.linesOf(server.batches.batches[0]!);
  expect(line!.body).toMatchObject({ encoding_format: 'base64', model: OPENAI });
});

test('OpenAI lists no batches that are older than the wanted one', async () => {
  batches = openAi.embedderOf(server);
  for (let n = 0; n < 5; n++) await created(`other ${n}`);
  const before = server.requests.length;
  expect(await batches.find('none', Date.now() + 86_400_000, never)).toBeUndefined();
  expect(server.requests.length - before).toBe(1);
});

test('Gemini embeds texts of a batch as documents, and their tokens are estimated', async () => {
  batches = gemini.embedderOf(server);
  server.googleBatches.countsTokens = false;
  const id = await created();
  const [batch] = server.googleBatches.batches;
  const { taskType, outputDimensionality } = server.googleBatches.linesOf(batch!)[0]!.request;
  expect({ taskType, outputDimensionality }).toEqual({
    taskType: 'RETRIEVAL_DOCUMENT',
    outputDimensionality: 16,
  });
  gemini.end(server, 'completed');
  const answers = await answersOf((await batches.look(id, never)).files);
  expect(tokensOf(answers)).toBe(5 + 3 + 1);
});
