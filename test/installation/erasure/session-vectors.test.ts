/** What was found by its meaning: an erasure removes the stored vectors of its texts, too. */
import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { connectOperator } from '../../../client/operator-client.ts';
import type { ErasureCounts, ErasureKind } from '../../../protocols/erasure.ts';
import { install } from '../../agent-runs/installation.ts';
import { TOKEN } from '../../channels/gateway/client.ts';
import { eventually } from '../../runtime/eventually.ts';
import { scratchFolder } from '../../runtime/config/folder.ts';
import { openEmbeddingServer } from '../../servers/embedding-server.ts';
import { callTool, erase, OPEN_CONFIG } from './canary.ts';

const MAIN = 'agent:main:main';
const DESK = 'agent:main:desk';
const TRIAL = 'agent:main:trial';

async function stage() {
  const server = await openEmbeddingServer();
  onTestFinished(() => server.close());
  const local = { api: 'openai-completions', baseUrl: server.openAiUrl, apiKey: 'key' };
  const search = { sessions: true, model: 'local/concepts' };
  const config = { ...OPEN_CONFIG, models: { providers: { local } }, memory: { search } };
  const data = scratchFolder();
  const troupe = await install({ config, data });
  await troupe.run(DESK, 'The cat is called Miu.');
  await troupe.run(TRIAL, 'The cat is called Tom.');
  await callTool(troupe, TRIAL, 'write', { path: 'notes.txt', content: 'no note of the memory' });
  const searchAll = () =>
    callTool(troupe, MAIN, 'memory_search', { query: 'kitten', corpus: 'all', minScore: 0.5 });
  const client = await connectOperator({ url: troupe.url, token: TOKEN, reconnect: false });
  onTestFinished(() => client.close());
  /** @returns how many vectors it removed, which a dry run has counted before */
  const eraseCounted = async (kind: ErasureKind, id: string) => {
    const request = { name: `erasures.${kind}`, params: { id, dryRun: true } };
    const dry = (await client.request('operations.run', request)) as { counts: ErasureCounts };
    const { counts } = await erase(troupe.system, { tenant: 'default', kind, id });
    expect(counts.vectors).toBe(dry.counts.vectors);
    return counts.vectors;
  };
  const vectors = () =>
    readdirSync(join(data, 'store', 'blobs'), { recursive: true, withFileTypes: true })
      .filter((one) => one.isFile())
      .map((one) => join(one.parentPath, one.name).split('/memory/default/')[1])
      .filter((name) => name !== undefined)
      .map((name) => (name.includes('/sessions/') ? 'sessions' : 'notes'));
  return { server, troupe, vectors, eraseCounted, search: searchAll };
}

it('vectors of messages and of notes go with the session that wrote them', {
  timeout: 120_000,
}, async () => {
  const { server, troupe, vectors, eraseCounted, search } = await stage();
  await callTool(troupe, MAIN, 'write', { path: 'memory/a.md', content: 'Kittens like milk.' });
  await eventually(async () => {
    await search();
    expect(new Set(vectors())).toEqual(new Set(['notes', 'sessions']));
  });
  expect(await eraseCounted('session', TRIAL)).toBeGreaterThan(0);
  expect(new Set(vectors())).toEqual(new Set(['notes']));
  server.texts.length = 0;
  await search();
  expect(server.texts.flat().filter((text) => /^## user[^]*Tom/.test(text))).toEqual([]);

  await callTool(troupe, DESK, 'write', { path: 'memory/b.md', content: 'A kitten of Miu.' });
  await eventually(async () => {
    await search();
    expect(vectors()).toContain('notes');
  });
  expect(await eraseCounted('session', DESK)).toBeGreaterThan(0);
  expect(vectors()).toEqual([]);
});

it('all vectors go with their tenant', { timeout: 120_000 }, async () => {
  const { troupe, vectors, eraseCounted, search } = await stage();
  await callTool(troupe, MAIN, 'write', { path: 'memory/a.md', content: 'Kittens like milk.' });
  await eventually(async () => {
    await search();
    expect(new Set(vectors())).toEqual(new Set(['notes', 'sessions']));
  });
  expect(await eraseCounted('tenant', 'default')).toBeGreaterThan(2);
  expect(vectors()).toEqual([]);
});
