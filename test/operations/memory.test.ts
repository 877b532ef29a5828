/** Operations on the notes of an agent, in a real installation. */
import { expect, onTestFinished, it } from 'vitest';
import { batchesIn } from '../../installation/memory-options.ts';
import { install } from '../agent-runs/installation.ts';
import { testModel } from '../memory/vectors/model.ts';
import { eventually } from '../runtime/eventually.ts';
import { openEmbeddingServer } from '../servers/embedding-server.ts';
import { operatorOf } from './operator.ts';

const files = {
  'MEMORY.md': 'The user is called Lan.\n',
  'memory/2026-01-05.md': 'Con mèo tên là Mochi.\n',
  'memory/work/bill.md': 'The invoice is paid.\n',
  'SOUL.md': 'A cat person.\n',
};

it('lists, finds and shows the notes of an agent', async () => {
  const call = await operatorOf(await install({ config: {}, files }));
  const agent = 'main';
  const { notes } = await call('memory.list', { agent });
  expect(notes).toEqual([
    { path: 'MEMORY.md', bytes: 24 },
    { path: 'memory/2026-01-05.md', bytes: 25 },
    { path: 'memory/work/bill.md', bytes: 21 },
  ]);
  const found = await call('memory.search', { agent, query: 'meo' });
  expect(found).toMatchObject({ mode: 'text', files: 3, chunks: 3, missing: 0, left: [] });
  expect(found.hits).toMatchObject([
    { path: 'memory/2026-01-05.md', startLine: 1, endLine: 1, excerpt: 'Con mèo tên là Mochi.' },
  ]);
  const path = 'memory/work/bill.md';
  expect(await call('memory.get', { agent, path })).toEqual({ path, text: files[path] });
});

it('refuses what is no note, and unknown agents', async () => {
  const call = await operatorOf(await install({ config: {}, files }));
  for (const path of ['SOUL.md', 'memory/none.md', 'memory/../SOUL.md', '../x.md', 'memory/'])
    await expect(call('memory.get', { agent: 'main', path })).rejects.toThrow('NOT_FOUND');
  const agent = 'other';
  const wrong = {
    'memory.list': {},
    'memory.search': { query: 'a' },
    'memory.get': { path: 'MEMORY.md' },
    'memory.index': {},
    'memory.batch': {},
    'memory.cancel': {},
  };
  for (const [name, params] of Object.entries(wrong))
    await expect(call(name, { agent, ...params })).rejects.toThrow('unknown agent id "other"');
  await expect(call('memory.search', { agent: 'main', query: '' })).rejects.toThrow(
    'INVALID_ARGUMENT',
  );
});

it('finds notes by their meaning where a model is configured', async () => {
  const vectors = await openEmbeddingServer();
  onTestFinished(() => vectors.close());
  const local = {
    api: 'openai-completions',
    baseUrl: vectors.openAiUrl,
    apiKey: 'a-secret-key-4471',
  };
  const call = await operatorOf(
    await install({
      config: {
        models: { providers: { local } },
        memory: { search: { model: 'local/concepts', minScore: 0.5 } },
      },
      files: { ...files, 'memory/key.md': 'The key is a-secret-key-4471.\n' },
    }),
  );
  const found = await call('memory.search', { agent: 'main', query: 'kitten' });
  expect(found).toMatchObject({ mode: 'hybrid', model: 'local/concepts' });
  expect(found.hits).toMatchObject([{ path: 'memory/2026-01-05.md' }]);
  expect(vectors.texts.flat()).toContain('The key is ***.');
  const path = 'memory/key.md';
  expect(await call('memory.get', { agent: 'main', path })).toMatchObject({
    text: 'The key is ***.\n',
  });
  expect(JSON.stringify(vectors.texts)).not.toContain('4471');
});

it('starts, shows and cancels a batch of vectors, where the provider of the model has batches', async () => {
  const vectors = await openEmbeddingServer();
  onTestFinished(() => vectors.close());
  const local = { api: 'openai-completions', baseUrl: vectors.openAiUrl, apiKey: 'key' };
  const memory = { search: { model: 'local/concepts' } };
  const config = { models: { providers: { local } }, memory };
  const call = await operatorOf(await install({ config, files }));
  const agent = 'main';
  expect(await call('memory.batch', { agent })).toEqual({});
  await expect(call('memory.cancel', { agent })).rejects.toThrow('NOT_FOUND');
  vectors.faults.push({ kind: 'silent', path: '/v1/files' });
  const started = await call('memory.index', { agent }, 'a key');
  expect(started).toMatchObject({ agentId: agent, state: 'admitting' });
  expect(await call('memory.index', { agent }, 'a key')).toEqual(started);
  await expect(call('memory.index', { agent })).rejects.toThrow('CONFLICT');
  await eventually(() => expect(vectors.faults).toEqual([]));
  expect(await call('memory.batch', { agent })).toMatchObject({ batch: { state: 'uploading' } });
  expect(await call('memory.cancel', { agent })).toMatchObject({ state: 'cancelling' });
  await eventually(async () =>
    expect(await call('memory.batch', { agent })).toMatchObject({ batch: { state: 'cancelled' } }),
  );
  expect(await call('memory.search', { agent, query: 'kitten' })).toMatchObject({ mode: 'hybrid' });
});

it('refuses a batch with CONFLICT where no model is configured', async () => {
  const call = await operatorOf(await install({ config: {}, files }));
  await expect(call('memory.index', { agent: 'main' })).rejects.toThrow('CONFLICT');
  expect(await call('memory.batch', { agent: 'main' })).toEqual({});
});

it('refuses a batch of a provider that has none', () => {
  const options = { embedder: testModel(), maxResults: 6, minScore: 0 };
  expect(() => batchesIn({ options })).toThrow('the provider of test/test model embeds no texts');
});
