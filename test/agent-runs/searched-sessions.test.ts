/** Messages of sessions that an agent finds with memory_search, and those that it does not. */
import { expect, it, onTestFinished } from 'vitest';
import { scratchFolder } from '../runtime/config/folder.ts';
import { openEmbeddingServer } from '../servers/embedding-server.ts';
import { install, type Installation } from './installation.ts';

const MAIN = 'agent:main:main';
const DESK = 'agent:main:desk';
const OTHER = 'agent:other:main';

const config = (sessions: boolean) => ({
  memory: { search: { sessions } },
  agents: {
    defaults: { sandbox: { allowlist: ['group:memory'] } },
    agents: [{ id: 'main' }, { id: 'other', a2a: { historyAccess: { '*': 'full' } } }],
  },
  tools: { agentToAgent: { enabled: true } },
});

/** A call in a run of its own, and its result. */
async function call(troupe: Installation, session: string, tool: string, args: object) {
  const runId = await troupe.send(session, `call ${tool} ${JSON.stringify(args)}`);
  await troupe.rowAtEnd(runId);
  const called = (await troupe.transcript(session)).find(
    (one) => one.runId === runId && one.type === 'tool',
  );
  return (called as { result: string }).result;
}
const found = async (...of: Parameters<typeof call>) => {
  const { results } = JSON.parse(await call(...of)) as { results: { path: string }[] };
  return results.map(({ path }) => path);
};

it('finds messages of other sessions of the agent, which it can read', async () => {
  const files = { 'memory/a.md': 'The espresso machine is repaired by Tran.\n' };
  const troupe = await install({ config: config(true), files });
  await troupe.run(DESK, 'The espresso code is 4471.');
  await troupe.run(OTHER, 'The espresso beans are from Da Lat.');
  const query = 'espresso';
  expect(await found(troupe, MAIN, 'memory_search', { query })).toEqual(['memory/a.md']);
  const sessions = { query, corpus: 'sessions' };
  const text = await call(troupe, MAIN, 'memory_search', sessions);
  expect(JSON.parse(text)).toMatchObject({ mode: 'text', provider: 'none' });
  const { results } = JSON.parse(text) as { results: { snippet: string; path: string }[] };
  expect(new Set(results.map(({ path }) => path))).toEqual(new Set([DESK]));
  expect(results[0]).toMatchObject({
    source: 'sessions',
    citation: expect.stringMatching(/^agent:main:desk#L\d+/),
    snippet: expect.stringContaining('espresso code is 4471'),
  });
  const both = await found(troupe, MAIN, 'memory_search', { query, corpus: 'all', maxResults: 2 });
  expect(both).toHaveLength(2);
  const all = await found(troupe, MAIN, 'memory_search', { query, corpus: 'all', maxResults: 20 });
  expect(new Set(all)).toEqual(new Set(['memory/a.md', DESK]));

  const read = { path: DESK, corpus: 'sessions', from: 1, lines: 3 };
  expect(JSON.parse(await call(troupe, MAIN, 'memory_get', read))).toMatchObject({
    text: expect.stringMatching(/^## user, 20\d\d-.*Z\n\nThe espresso code is 4471\.$/),
  });
  for (const path of [OTHER, 'agent:main:none', MAIN])
    expect(JSON.parse(await call(troupe, MAIN, 'memory_get', { ...read, path }))).toEqual({
      path,
      text: '',
    });
  // a message counts at once
  await troupe.run(DESK, 'The zebra is striped.');
  expect(await found(troupe, MAIN, 'memory_search', { ...sessions, query: 'zebra' })).toContain(
    DESK,
  );
});

it('finds no session from a sandbox that may not read it', async () => {
  const troupe = await install({ config: config(true) });
  await troupe.run(MAIN, 'The espresso code is 4471.');
  // this session is not the main session, so it is sandboxed and sees only its subagents
  const sessions = { query: 'espresso', corpus: 'sessions' };
  expect(await found(troupe, DESK, 'memory_search', sessions)).toEqual([]);
  const read = { path: MAIN, corpus: 'sessions' };
  expect(JSON.parse(await call(troupe, DESK, 'memory_get', read))).toEqual({
    path: MAIN,
    text: '',
  });
});

it('finds messages by their meaning where a model is configured, as far as the caller may read them', {
  timeout: 60_000,
}, async () => {
  const server = await openEmbeddingServer();
  onTestFinished(() => server.close());
  const local = { api: 'openai-completions', baseUrl: server.openAiUrl, apiKey: 'key' };
  const search = { sessions: true, model: 'local/concepts', minScore: 0.8 };
  const data = scratchFolder();
  const meaning = { ...config(true), models: { providers: { local } }, memory: { search } };
  const troupe = await install({ config: meaning, data });
  await troupe.run(DESK, 'Con mèo tên là Miu.');
  await troupe.run(OTHER, 'Con mèo khác.');
  await troupe.run(MAIN, 'Con mèo của tôi.');
  const kitten = { query: 'kitten', corpus: 'sessions' };
  const answer = await call(troupe, MAIN, 'memory_search', kitten);
  expect(JSON.parse(answer)).toMatchObject({
    mode: 'hybrid',
    provider: 'local',
    results: [{ path: DESK, snippet: expect.stringContaining('Con mèo tên là Miu.') }],
  });
  const sentOnce = () =>
    expect(server.texts.flat().filter((text) => /^## user.*Miu/s.test(text))).toHaveLength(1);
  sentOnce();
  // this session is sandboxed, and sees only its subagents
  expect(await found(troupe, DESK, 'memory_search', kitten)).toEqual([]);
  const both = JSON.parse(
    await call(troupe, MAIN, 'memory_search', { ...kitten, corpus: 'all' }),
  ) as { mode: string; results: { path: string }[] };
  expect(both.mode).toBe('hybrid');
  expect(both.results.map(({ path }) => path)).toContain(DESK);

  // vectors of messages are stored, apart from those of notes
  await troupe.stop();
  const again = await install({ config: meaning, data });
  expect(await found(again, MAIN, 'memory_search', kitten)).toContain(DESK);
  sentOnce();
});

it('finds none unless the configuration says so', async () => {
  const files = { 'memory/a.md': 'espresso' };
  const troupe = await install({ config: config(false), files });
  await troupe.run(DESK, 'The espresso code is 4471.');
  const query = 'espresso';
  expect(await found(troupe, MAIN, 'memory_search', { query, corpus: 'all' })).toEqual([
    'memory/a.md',
  ]);
  const sessions = { query, corpus: 'sessions' };
  expect(await call(troupe, MAIN, 'memory_search', sessions)).toContain('memory.search.sessions');
});
