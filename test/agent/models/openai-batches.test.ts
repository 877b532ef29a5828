/** Batches of embeddings with OpenAI's SDK, against a local server. */
import { beforeEach, expect, onTestFinished, test } from 'vitest';
import { createModelCatalog } from '../../../agent/models/catalog.ts';
import { openConnection } from '../../../agent/models/connection.ts';
import { createOpenAiEmbedder } from '../../../agent/models/openai-embedder.ts';
import type { BatchAnswer, EmbeddingBatches } from '../../../memory/index.ts';
import { systemClock } from '../../../runtime/index.ts';
import {
  type EmbeddingServer,
  meaningOf,
  openEmbeddingServer,
} from '../../servers/embedding-server.ts';

const never = new AbortController().signal;
const TEXTS = new Map([
  ['key-1', 'The invoice is late.'],
  ['key-2', 'Con mèo ngủ.'],
  ['key-3', '咖啡'],
]);

let server: EmbeddingServer;
let batches: EmbeddingBatches;
beforeEach(async () => {
  server = await openEmbeddingServer();
  onTestFinished(() => server.close());
  batches = ofServer(server);
});

const ofServer = ({ openAiUrl: baseUrl }: EmbeddingServer): EmbeddingBatches => {
  const some = { api: 'openai-completions', baseUrl, apiKey: 'a-long-key' } as const;
  const { provider } = createModelCatalog({ providers: { some } }, { clock: systemClock }).resolve(
    'some/model',
  );
  return provider.embedder!({ model: 'text-embedding-3-small', dimensions: 16 }).batches!;
};
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

test('answers in another order belong to their texts, and tokens are those of all', async () => {
  const id = await created();
  expect(await batches.look(id, never)).toEqual({ status: 'running', files: [] });
  server.batches.end('completed');
  const { status, files } = await batches.look(id, never);
  expect(status).toBe('completed');
  const answers = await answersOf(files);
  for (const [key, text] of TEXTS)
    expect([...answers.get(key)!.vector!]).toEqual([
      ...Float32Array.from(meaningOf(text).slice(0, 16)),
    ]);
  const tokens = [...answers.values()].reduce((sum, { inputTokens }) => sum + inputTokens, 0);
  expect(tokens).toBe(4 + 3 + 1);
  expect(batches.usageOf(1_000_000)).toMatchObject({ inputTokens: 1_000_000, costUsd: 0.02 });
});

test('OpenAI itself is asked for base64, at half the price', async () => {
  const { openAiUrl } = server;
  const connection = { id: 'openai', baseUrl: openAiUrl, apiKey: 'a-long-key', models: [] };
  const official = openConnection({ ...connection, clock: systemClock }, openAiUrl);
  batches = createOpenAiEmbedder(official, { model: 'text-embedding-3-small' }).batches!;
  const id = await created();
  const [line] = server.batches.linesOf(server.batches.batches[0]!);
  expect(line!.body).toMatchObject({ encoding_format: 'base64', model: 'text-embedding-3-small' });
  server.batches.end('completed');
  const answers = await answersOf((await batches.look(id, never)).files);
  expect([...answers.get('key-3')!.vector!]).toEqual([...Float32Array.from(meaningOf('咖啡'))]);
  expect(batches.usageOf(1_000_000).costUsd).toBeCloseTo(0.01, 12);
});

test('a text that the model refuses, and one that had no time, have no vector', async () => {
  server.refuses = (text) => text === '咖啡';
  server.batches.isLeft = (text) => text === 'Con mèo ngủ.';
  const id = await created();
  server.batches.end('expired');
  const { status, files } = await batches.look(id, never);
  expect(status).toBe('expired');
  const answers = await answersOf(files);
  const keys = [...answers.keys()].toSorted();
  expect(keys).toEqual(['key-1', 'key-2', 'key-3']);
  expect(keys.filter((key) => answers.get(key)!.vector)).toEqual(['key-1']);
});

test('broken lines are left out, and vectors that are none', async () => {
  const lineWith = (key: string, embedding: unknown) =>
    JSON.stringify({
      custom_id: key,
      response: { status_code: 200, body: { data: [{ embedding }], usage: { prompt_tokens: 1 } } },
    });
  server.batches.change = () => [
    '{"custom_id": "key-1", "resp',
    'null',
    lineWith('key-2', [1e300, 1, 1]),
    lineWith('key-3', [0, 0, 0]),
    lineWith('key-4', []),
    lineWith('key-5', [1, 2, 3]),
  ];
  const id = await created();
  server.batches.end('completed');
  const answers = await answersOf((await batches.look(id, never)).files);
  expect([...answers.keys()]).toEqual(['key-2', 'key-3', 'key-4', 'key-5']);
  expect([...answers.values()].filter(({ vector }) => vector)).toMatchObject([{ key: 'key-5' }]);
});

test('a batch that fails its validation says why', async () => {
  server.batches.refusal = 'Enqueued token limit reached';
  expect(await batches.look(await created(), never)).toEqual({
    status: 'failed',
    files: [],
    why: 'Enqueued token limit reached',
  });
});

test('a batch is found by its ticket among others, also on later pages', async () => {
  const mine = await created('mine');
  for (let n = 0; n < 5; n++) await created(`other ${n}`);
  const now = Date.now();
  expect(await batches.find('mine', now, never)).toBe(mine);
  expect(await batches.find('none', now, never)).toBeUndefined();
  const before = server.requests.length;
  expect(await batches.find('none', now + 86_400_000, never)).toBeUndefined();
  expect(server.requests.length - before, 'older batches are not listed').toBe(1);
});

test('bug: a create that was cut after it was accepted would be repeated', async () => {
  const file = await (await batches.file(TEXTS)).upload(never);
  server.faults.push({ kind: 'cut', path: '/batches', accepted: true });
  await expect(batches.create(file, 'mine', never)).rejects.toMatchObject({ code: 'UNAVAILABLE' });
  expect(server.batches.batches).toHaveLength(1);
  expect(await batches.find('mine', Date.now(), never)).toBe('batch_1');
});

const CALLS: readonly [string, () => Promise<unknown>][] = [
  ['upload', async () => (await batches.file(TEXTS)).upload(never)],
  ['create', () => batches.create('file-1', 'ticket', never)],
  ['find', () => batches.find('ticket', 0, never)],
  ['look', () => batches.look('batch_1', never)],
  ['answers', () => answersOf(['file-1'])],
  ['cancel', () => batches.cancel('batch_1', never)],
  ['remove', () => batches.remove('file-1', never)],
];
test.each(CALLS)('%s says that it may be repeated, and never repeats itself', async (_, call) => {
  const headers = { 'content-type': 'application/json', 'retry-after': '3' };
  const body = JSON.stringify({ error: { message: 'slow down, a-long-key' } });
  server.faults.push({ kind: 'answer', status: 429, headers, body });
  await expect(call()).rejects.toMatchObject({ code: 'RATE_LIMIT_EXCEEDED', retryAfterMs: 3_000 });
  server.faults.push({ kind: 'answer', status: 500, body: '{}' });
  await expect(call()).rejects.toMatchObject({ code: 'UNAVAILABLE' });
  server.faults.push({ kind: 'answer', status: 400, headers, body });
  const failed: unknown = await call().catch((error: unknown) => error);
  expect(failed).toMatchObject({ code: 'INVALID_ARGUMENT' });
  expect(String(failed)).not.toContain('a-long-key');
  expect(server.requests).toHaveLength(3);
});

test('what the provider does not have is NOT_FOUND, but a removed file is removed', async () => {
  await expect(batches.look('batch_9', never)).rejects.toMatchObject({ code: 'NOT_FOUND' });
  await expect(answersOf(['file-9'])).rejects.toMatchObject({ code: 'NOT_FOUND' });
  await expect(batches.remove('file-9', never)).resolves.toBeUndefined();
});

test('a file ends before the limit of the provider', async () => {
  const text = 'x'.repeat(50_000_000);
  const file = await batches.file(new Map(['a', 'b', 'c', 'd'].map((key) => [key, text])));
  expect(file.keys).toEqual(['a', 'b', 'c']);
});
