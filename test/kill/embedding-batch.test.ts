/**
 * kill -9 of the running program while the provider creates a batch of embeddings, while it works
 * on it, and while its answers are read: there is one batch, and each text is embedded once.
 */
import { join } from 'node:path';
import { afterAll, expect, test } from 'vitest';
import { gatewayHttp } from '../../cli/client/gateway-http.ts';
import { address } from '../../protocols/address.ts';
import type { EmbeddingBatchRow } from '../../protocols/embedding-batch.ts';
import type { NotesFound } from '../../protocols/memory.ts';
import { folderNameOf } from '../../runtime/workspaces/name.ts';
import { write } from '../runtime/config/folder.ts';
import { eventually } from '../runtime/eventually.ts';
import { openEmbeddingServer } from '../servers/embedding-server.ts';
import { TOKEN } from './program.ts';
import { TestProgram } from './test-program.ts';

const server = await openEmbeddingServer();
afterAll(() => server.close());

const TEXTS = Array.from({ length: 300 }, (_, n) => `Note number ${n} of the cat.`);
const programOf = (api: string, baseUrl: string) =>
  new TestProgram(
    JSON.stringify({
      models: { providers: { local: { api, baseUrl, apiKey: 'key' } } },
      memory: { search: { model: 'local/concepts' } },
    }),
  );
const APIS = {
  OpenAI: {
    program: programOf('openai-completions', server.openAiUrl),
    createPath: '/v1/batches',
    downloadPath: '/content',
    batches: server.batches.batches,
    batchId: 'batch_1',
    end: () => server.batches.end('completed'),
  },
  Gemini: {
    program: programOf('google-generative-ai', server.googleUrl),
    createPath: ':asyncBatchEmbedContent',
    downloadPath: ':download',
    batches: server.googleBatches.batches,
    batchId: 'batches/batch-1',
    end: () => server.googleBatches.end('SUCCEEDED'),
  },
};

test.each(Object.entries(APIS))(
  'a batch of %s survives kills at each of its steps',
  {
    timeout: 180_000,
  },
  async (_, { program, createPath, downloadPath, batches, batchId, end }) => {
    const call = async <T>(method: 'GET' | 'POST', path: string): Promise<T> =>
      (await gatewayHttp({ url: program.url, token: TOKEN }))<T>({ method, path });
    const batch = async (): Promise<EmbeddingBatchRow | undefined> =>
      (await call<{ batch?: EmbeddingBatchRow }>('GET', '/v1/memory/main/batch')).batch;
    const restart = async () => {
      await program.kill();
      await program.start();
    };
    server.texts.length = 0;
    const folder = folderNameOf(address('default', 'agent', 'main'));
    for (const [n, text] of TEXTS.entries())
      write(join(program.data, 'workspaces', folder, 'files'), `memory/${n}.md`, text);
    await program.start();
    server.faults.push({ kind: 'silent', path: createPath, accepted: true });
    await call('POST', '/v1/memory/main/batch');
    await eventually(() => expect(batches).toHaveLength(1));
    await restart();
    await eventually(async () => expect(await batch()).toMatchObject({ state: 'waiting' }), 60_000);
    await restart();
    expect(await batch()).toMatchObject({ state: 'waiting', batchId, texts: 300 });
    server.faults.push({ kind: 'silent', path: downloadPath });
    end();
    await eventually(() => expect(server.faults).toEqual([]), 60_000);
    await restart();
    await eventually(
      async () => expect(await batch()).toMatchObject({ state: 'done', stored: 300 }),
      60_000,
    );
    expect(batches).toHaveLength(1);
    const found = await call<NotesFound>('GET', '/v1/memory/main/search?query=kitten');
    expect(found).toMatchObject({ mode: 'hybrid', missing: 0 });
    expect(server.texts.flat().toSorted(), 'each text once').toEqual(
      [...TEXTS, 'kitten'].toSorted(),
    );
  },
);
