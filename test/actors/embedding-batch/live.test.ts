/**
 * Batches of embeddings on a running system, with real files, a real store, the real agent actor
 * and OpenAI's SDK against a local server. The clock advances while the batch waits.
 */
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { agentAddress, shippedActors } from '../../../actors/index.ts';
import { embeddingBatches } from '../../../installation/embedding-batches.ts';
import { notesOf } from '../../../installation/agent-notes.ts';
import { installationParts } from '../../../installation/tenant-parts.ts';
import { filesFolder, workspacesOf } from '../../../installation/workspaces.ts';
import type { AgentRow, AgentSettings } from '../../../protocols/agent.ts';
import {
  EMBEDDING_BATCHES_INDEX,
  embeddingBatchAddress,
  type EmbeddingBatchRow,
} from '../../../protocols/embedding-batch.ts';
import { openFileBlobs } from '../../../runtime/blobs/files.ts';
import { loadConfig } from '../../../runtime/config/index.ts';
import { scratchFolder, write } from '../../runtime/config/folder.ts';
import { eventually } from '../../runtime/eventually.ts';
import { ShiftedClock } from '../../runtime/system/shifted-clock.ts';
import { openWorld } from '../../runtime/system/world.ts';
import { openEmbeddingServer } from '../../servers/embedding-server.ts';
import type { HttpFault } from '../../servers/http-faults.ts';

const BATCH = embeddingBatchAddress('default', 'main');
const AGENT = agentAddress('default', 'main');
const SETTINGS: AgentSettings = { agentId: 'main', timeoutMs: 1_000, runsMax: 1, tokensPerDay: 0 };
/** The longest pause between two requests. */
const PAUSE_MS = 310_000;
const NOTES = {
  'memory/pet.md': 'Con mèo tên là Miu.',
  'memory/bill.md': 'The invoice is paid.',
  'memory/key.md': 'The key is a-secret-key-4471.',
};
const SENT = ['Con mèo tên là Miu.', 'The invoice is paid.', 'The key is ***.'];

async function opened(settings: Partial<AgentSettings> = {}) {
  const model = 'text-embedding-3-small';
  const server = await openEmbeddingServer();
  onTestFinished(() => server.close());
  const data = scratchFolder();
  const api = 'openai-completions';
  const local = { api, baseUrl: server.openAiUrl, apiKey: 'a-secret-key-4471' };
  const config = (name: string) => {
    const memory = { search: { model: name, minScore: 0.3 } };
    const text = JSON.stringify({ memory, models: { providers: { local } } });
    const file = write(data, 'troupe.json5', text);
    return loadConfig({ env: {}, file, flags: { data } }).config;
  };
  const blobs = await openFileBlobs(join(data, 'blobs'));
  const never = new Promise<never>(() => {});
  const installed = (name: string) => {
    const own = config(name);
    const options = { clustered: false, ownTools: [], providers: [], bucket: never };
    const processServices = installationParts(own, { ...options, blobs: Promise.resolve(blobs) });
    const workspaces = workspacesOf(own, { blobs, cell: 'test' });
    const parts = { processServices, workspaces, clustered: false };
    const search = (query: string) =>
      notesOf(parts)('default', 'main', (files, owner) =>
        processServices.memory.indexes.search(owner, files, {
          query,
          maxResults: 3,
          minScore: 0.3,
        }),
      );
    return { search, services: { embeddingBatches: embeddingBatches(parts) } };
  };
  const folder = filesFolder(config(`local/${model}`), AGENT, false)!;
  for (const [path, text] of Object.entries(NOTES)) write(folder, path, text);
  const { search, services } = installed(`local/${model}`);
  const clock = new ShiftedClock();
  const types = ['agent', 'budget', 'embedding-batch'];
  const actors = shippedActors().filter(({ type }) => types.includes(type));
  const world = await openWorld({ clock, actors, services, shards: 1 });
  await world.ask(AGENT, { type: 'agent.configure', settings: { ...SETTINGS, ...settings } });
  const row = () =>
    world.system.index.get<EmbeddingBatchRow>(EMBEDDING_BATCHES_INDEX, 'default', 'main');
  const agentRow = () => world.system.index.get<AgentRow>('agents', 'default', 'main');
  return {
    server,
    world,
    search,
    row,
    agentRow,
    installed,
    start: () => world.ask(BATCH, { type: 'batch.start' }),
    cancel: () => world.ask(BATCH, { type: 'batch.cancel' }),
    until: (expected: Partial<EmbeddingBatchRow>) =>
      eventually(() => expect(row()).toMatchObject(expected)),
    /** Advances the clock until the batch has come so far. */
    advanceUntil: (expected: object) =>
      eventually(async () => {
        try {
          expect(row()).toMatchObject(expected);
        } catch (error) {
          // Not during a request, whose time would be over.
          const before = JSON.stringify(world.system.inspect(BATCH));
          if (!/"open":"(?:waiting|unconfirmed|\w+Delayed)"|releaseDelayed/.test(before))
            throw error;
          // Its answer shows that the shard has processed what was before.
          await world.ask(AGENT, { type: 'agent.admit', runId: 'x' });
          clock.shift(PAUSE_MS);
          await eventually(() =>
            expect(JSON.stringify(world.system.inspect(BATCH))).not.toBe(before),
          );
          throw error;
        }
      }),
    /** texts of all batches */
    sent: () =>
      server.batches.batches.flatMap((batch) =>
        server.batches.linesOf(batch).map(({ body }) => String(body['input'])),
      ),
  };
}

test('all texts are embedded once, masked, and what was used counts for the agent', async () => {
  const { server, start, until, advanceUntil, sent, search, row, agentRow } = await opened();
  expect(await start()).toMatchObject({ kind: 'answered', result: { state: 'admitting' } });
  await until({ state: 'waiting', texts: 3, left: 0, batchId: 'batch_1' });
  expect(sent().toSorted()).toEqual(SENT.toSorted());
  expect(await start()).toMatchObject({ kind: 'refused', error: { code: 'CONFLICT' } });
  expect(await search('kitten')).toMatchObject({
    mode: 'text',
    missing: 3,
    whyText: expect.stringMatching(/^3 chunks wait for a batch/),
  });
  server.batches.end('completed');
  server.texts.length = 0;
  await advanceUntil({ state: 'done' });
  const inputTokens = 5 + 4 + 4;
  expect(row()).toMatchObject({ stored: 3, usage: { inputTokens } });
  expect(row()).not.toHaveProperty('error');
  await eventually(() => expect(agentRow()).toMatchObject({ tokensToday: inputTokens }));
  expect(agentRow()!.costTodayUsd).toBeCloseTo((inputTokens * 0.02) / 1e6, 12);
  const found = await search('kitten');
  expect(found).toMatchObject({ mode: 'hybrid', hits: [{ path: 'memory/pet.md' }] });
  expect(server.texts, 'the question was embedded before').toEqual([]);
  expect([...server.batches.files.keys()], 'files stay at the provider').toEqual([]);
  expect(JSON.stringify(server.bodies)).not.toContain('4471');
});

test('without a missing vector no batch is created', async () => {
  const { server, start, until, search } = await opened();
  await search('kitten');
  await start();
  await until({ state: 'done', texts: 0 });
  expect(server.batches.batches).toEqual([]);
});

const FAULTS: readonly [string, HttpFault][] = [
  ['429', { kind: 'answer', status: 429, headers: { 'retry-after': '2' }, body: '{}' }],
  ['500', { kind: 'answer', status: 500, body: '{}' }],
  ['a cut connection', { kind: 'cut' }],
  ['a connection that is cut after the request was accepted', { kind: 'cut', accepted: true }],
];
test.each(FAULTS)(
  'after %s at each request there is one batch, and all is stored',
  async (_, fault) => {
    const { server, start, advanceUntil } = await opened();
    server.batches.ends = 'completed';
    // in the order of the requests: upload, create, then look, answers, removal
    server.faults.push(
      { ...fault, path: '/v1/files' },
      { ...fault, path: '/v1/batches' },
      { ...fault, path: '/v1/batches' },
      { ...fault, path: '/batches/batch_1' },
      { ...fault, path: '/content' },
    );
    await start();
    await advanceUntil({ state: 'done', stored: 3 });
    expect(server.faults).toEqual([]);
    expect(server.batches.batches).toHaveLength(1);
    expect(server.texts.flat().toSorted(), 'each text once').toEqual(SENT.toSorted());
  },
);

test('a batch that expires stores what it has; a search embeds the rest', async () => {
  const { server, start, until, advanceUntil, search, row } = await opened();
  server.batches.isLeft = (text) => text.includes('invoice');
  server.faults.push({ kind: 'answer', status: 500, path: '/v1/files/file-1' });
  await start();
  await until({ state: 'waiting' });
  server.batches.end('expired');
  await advanceUntil({ state: 'failed', stored: 2, filesLeft: ['file-1'] });
  expect(row()!.error).toMatchObject({ code: 'DEADLINE_EXCEEDED' });
  server.texts.length = 0;
  expect(await search('kitten')).toMatchObject({ mode: 'hybrid' });
  expect(server.texts.flat().toSorted()).toEqual(['The invoice is paid.', 'kitten'].toSorted());
});

test('a batch that fails its validation says why, and another one may follow', async () => {
  const { server, start, advanceUntil, row, search } = await opened();
  server.batches.refusal = 'Enqueued token limit reached';
  await start();
  await advanceUntil({ state: 'failed' });
  expect(row()!.error!.message).toContain('Enqueued token limit reached');
  server.batches.refusal = undefined;
  server.batches.ends = 'completed';
  await start();
  await advanceUntil({ state: 'done', stored: 3 });
  expect(await search('kitten')).toMatchObject({ mode: 'hybrid' });
});

test('a key that the provider refuses ends it before a batch exists', async () => {
  const { server, start, until, row } = await opened();
  server.faults.push({ kind: 'answer', status: 401, body: '{}', path: '/v1/files' });
  await start();
  await until({ state: 'failed' });
  expect(row()!.error).toMatchObject({ code: 'UNAUTHORIZED' });
});

test('an answer of another length, or that is no vector, leaves its text to a search', async () => {
  const { server, start, until, advanceUntil, search } = await opened();
  server.batches.change = ([first, second, ...others]) => [
    first!.replace(/"embedding":\[[^\]]*\]/, '"embedding":[1,2]'),
    second!.replace(/"embedding":\[[^,]*,/, '"embedding":[1e999,'),
    ...others,
  ];
  await start();
  await until({ state: 'waiting' });
  server.batches.end('completed');
  await advanceUntil({ state: 'done' });
  server.texts.length = 0;
  expect(await search('kitten')).toMatchObject({ mode: 'hybrid' });
  expect(server.texts.flat()).toHaveLength(1 + 2);
});

test('a cancelled batch stores and counts what the provider has done', async () => {
  const { server, start, cancel, until, advanceUntil, row, agentRow } = await opened();
  server.batches.isLeft = (text) => !text.includes('invoice');
  await start();
  await until({ state: 'waiting' });
  expect(await cancel()).toMatchObject({ result: { state: 'cancelling' } });
  await eventually(() => expect(server.batches.batches[0]!.status).toBe('cancelling'));
  server.batches.end('cancelled');
  await advanceUntil({ state: 'cancelled', stored: 1 });
  expect(row()!.usage!.inputTokens).toBe(4);
  await eventually(() => expect(agentRow()).toMatchObject({ tokensToday: 4 }));
  expect(await cancel()).toMatchObject({ kind: 'refused', error: { code: 'NOT_FOUND' } });
});

test('an agent whose budget is spent starts no batch', async () => {
  const { server, world, start, until, row } = await opened({ tokensPerDay: 10 });
  const usage = { inputTokens: 10, outputTokens: 0 };
  await world.tell(AGENT, { type: 'agent.release', runId: 'r', usage });
  await start();
  await until({ state: 'failed' });
  expect(row()!.error).toMatchObject({ code: 'RATE_LIMIT_EXCEEDED' });
  expect(server.requests).toEqual([]);
});

test('a stop while the batch is created, and one while it waits, create no second one', async () => {
  const { server, world, start, advanceUntil } = await opened();
  server.faults.push({ kind: 'silent', path: '/v1/batches', accepted: true });
  await start();
  await eventually(() => expect(server.batches.batches).toHaveLength(1));
  await world.restart();
  await advanceUntil({ state: 'waiting', batchId: 'batch_1' });
  await world.restart();
  server.batches.end('completed');
  await advanceUntil({ state: 'done', stored: 3 });
  expect(server.batches.batches).toHaveLength(1);
  expect(server.requests.filter((one) => one === 'POST /v1/batches')).toHaveLength(1);
  expect(server.texts.flat().toSorted(), 'each text once').toEqual(SENT.toSorted());
});

test('another model in the configuration stops a batch until it is corrected', async () => {
  const { server, world, start, until, advanceUntil, row, installed } = await opened();
  await start();
  await until({ state: 'waiting' });
  server.batches.end('completed');
  await world.restart({ services: installed('local/text-embedding-3-large').services });
  await advanceUntil({ state: 'waiting', error: { code: 'CONFLICT' } });
  await world.restart({ services: installed('local/text-embedding-3-small').services });
  await advanceUntil({ state: 'done', stored: 3 });
  expect(row()).not.toHaveProperty('error');
});
