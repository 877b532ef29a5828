/** An agent remembers: the built program, killed between a note and the question about it. */
import { expect, onTestFinished, test } from 'vitest';
import { scratchFolder, write } from '../runtime/config/folder.ts';
import { eventually } from '../runtime/eventually.ts';
import { openEmbeddingServer } from '../servers/embedding-server.ts';
import { startOpenAiServer } from '../servers/openai-server.ts';
import { reservePort } from '../servers/reserve-port.ts';
import type { Plan } from '../servers/scripted-server.ts';
import { runProgram, startProgram } from './program.ts';

const called = (name: string, args: object): Plan => ({
  kind: 'answer',
  calls: [{ id: `call-${name}`, name, args }],
});
const said = (text: string): Plan => ({ kind: 'answer', deltas: [text] });

/** Starts the program of a home folder, on the same port each time. */
async function starter(home: string) {
  const port = ['--port', String(await reservePort())];
  const start = async () => {
    const program = startProgram(['start', '--json', ...port], { home });
    await eventually(() => expect(program.stdout).toContain('"url"'));
    return program;
  };
  return { port, start };
}

// Bug: the excerpt of a note could clear the terminal or change its title.
test('a note that is printed does not control the terminal', async () => {
  const home = scratchFolder();
  const { stdout: folder } = await runProgram(['agent', 'workspace'], { home });
  write(
    folder.trim(),
    'memory/a\n\u001b[2Jb.md',
    'a wombat \u001b]0;title\u0007\r\nand \u202e more\n',
  );
  const { stdout } = await runProgram(['memory', 'search', 'wombat'], { home });
  expect(stdout).toBe('memory/a [2Jb.md#L1-L2  1.00\n    a wombat  ]0;title \n    and   more\n\n');
});

test('a note that an agent wrote is found after kill -9, in another session; MEMORY.md in the main one', async () => {
  const model = await startOpenAiServer();
  onTestFinished(() => model.close());
  const home = scratchFolder();
  const own = {
    api: 'openai-completions',
    baseUrl: model.baseUrl,
    apiKey: 'key',
    models: [{ id: 'scripted' }],
  };
  const config = {
    models: { providers: { own } },
    agents: { defaults: { model: 'own/scripted', sandbox: { mode: 'none' } } },
  };
  write(home, '.troupe/troupe.json5', JSON.stringify(config));
  const { port, start } = await starter(home);
  const ask = async (message: string, ...more: string[]) =>
    (await runProgram(['agent', '-m', message, ...more, ...port], { home })).stdout;
  const lastRequest = () => JSON.stringify(model.requests.at(-1)!.body);

  const program = await start();
  model.script(
    called('write', { path: 'memory/2026-01-05.md', content: 'Con mèo tên là Mochi.\n' }),
    called('write', { path: 'MEMORY.md', content: 'The user is called Lan.\n' }),
    said('Noted.'),
  );
  expect(await ask('the cat is called Mochi')).toContain('Noted.');
  program.child.kill('SIGKILL');
  await program.ended;
  await start();

  model.script(called('memory_search', { query: 'con meo ten gi' }), said('It is Mochi.'));
  expect(await ask('what is my cat called?', '--session', 'agent:main:telegram:group:7')).toContain(
    'It is Mochi.',
  );
  expect(lastRequest()).toContain('memory/2026-01-05.md#L1');
  expect(lastRequest()).toContain('Con mèo tên là Mochi.');
  expect(lastRequest()).not.toContain('called Lan');
  const found = await runProgram(['memory', 'search', 'meo mochi', ...port], { home });
  expect(found).toMatchObject({ code: 0 });
  expect(found.stdout).toMatch(
    /^memory\/2026-01-05\.md#L1-L1  [\d.]+\n    Con mèo tên là Mochi\.\n/,
  );
  const status = await runProgram(['memory', 'status', '--json', ...port], { home });
  expect(JSON.parse(status.stdout)).toMatchObject({ files: 2, chunks: 2, left: [] });
  const none = await runProgram(['memory', 'search', 'xylophone', ...port], { home });
  expect(none).toMatchObject({ code: 1, stdout: 'no note was found\n' });
  const wrong = await runProgram(['memory', 'search', 'a', '--min-score', 'x', ...port], { home });
  expect(wrong.stderr).toContain('--min-score must be a number from 0 to 1');

  model.script(said('Hello Lan.'));
  await ask('who am I?');
  expect(lastRequest()).toContain('# MEMORY.md\\n\\nThe user is called Lan.');
}, 60_000);

test('with an embedding model notes are found by meaning, and each is embedded once, over kill -9', async () => {
  const [model, vectors] = [await startOpenAiServer(), await openEmbeddingServer()];
  onTestFinished(async () => void (await Promise.all([model.close(), vectors.close()])));
  const home = scratchFolder();
  const api = 'openai-completions';
  const own = { api, baseUrl: model.baseUrl, apiKey: 'key', models: [{ id: 'scripted' }] };
  const local = { api, baseUrl: vectors.openAiUrl };
  const config = {
    models: { providers: { own, local } },
    memory: { search: { model: 'local/text-embedding-3-small', minScore: 0.5 } },
    agents: { defaults: { model: 'own/scripted', sandbox: { mode: 'none' } } },
  };
  write(home, '.troupe/troupe.json5', JSON.stringify(config));
  const { port, start } = await starter(home);
  const run = (...args: string[]) => runProgram([...args, ...port], { home });
  const lastRequest = () => JSON.stringify(model.requests.at(-1)!.body);
  const note = 'Con mèo tên là Mochi.';

  const program = await start();
  model.script(
    called('write', { path: 'memory/2026-01-05.md', content: `${note}\n` }),
    called('memory_search', { query: 'kitten' }),
    said('It is Mochi.'),
  );
  expect((await run('agent', '-m', 'remember the cat')).stdout).toContain('It is Mochi.');
  expect(lastRequest()).toContain('\\"mode\\":\\"hybrid\\"');
  expect(lastRequest()).toContain('memory/2026-01-05.md#L1');
  const shown = await run('sessions', 'list', '--json');
  // three answers of the scripted model, a question of one word and a note of five
  expect(vectors.texts.flat().toSorted()).toEqual([note, 'kitten'].toSorted());
  expect(JSON.parse(shown.stdout)).toMatchObject({ sessions: [{ inputTokens: 3 * 11 + 6 }] });
  program.child.kill('SIGKILL');
  await program.ended;

  const found = await run('memory', 'search', '猫', '--json');
  expect(JSON.parse(found.stdout)).toMatchObject({
    mode: 'hybrid',
    hits: [{ path: 'memory/2026-01-05.md', excerpt: note }],
  });
  const again = await start();
  model.script(called('memory_search', { query: 'cat' }), said('Still Mochi.'));
  await run('agent', '-m', 'what is the name of my pet?');
  const [, url, token] = /"url":"([^"#]+)#token=([^"]+)"/.exec(again.stdout)!;
  const authorization = `Bearer ${token}`;
  const metrics = await (await fetch(`${url}metrics`, { headers: { authorization } })).text();
  expect(metrics).toMatch(/^troupe_memory_searches 1$/m);
  expect(metrics).toMatch(/^troupe_memory_embedded_tokens 1$/m);
  expect(metrics).toMatch(/^troupe_memory_searches_without_vectors 0$/m);
  expect(metrics).toMatch(/^troupe_memory_chunks 1$/m);
  expect(metrics).toMatch(/^troupe_memory_graphs 0$/m);
  expect(lastRequest()).toContain('memory/2026-01-05.md#L1');
  expect(vectors.texts.flat().filter((text) => text === note)).toHaveLength(1);

  const status = await run('memory', 'status', '--json');
  expect(JSON.parse(status.stdout)).toMatchObject({ vectors: { missing: 0, search: 'exact' } });
  expect((await run('memory', 'status')).stdout).toContain('search: all vectors are compared\n');
  expect((await run('memory', 'reset')).stdout).toMatch(/^1 file with vectors removed/);
  const indexed = await run('memory', 'index');
  expect(indexed).toMatchObject({ code: 0 });
  expect(indexed.stdout).toMatch(
    /^1 of 1 chunks have a vector of local\/text-embedding-3-small; 5 tokens, \$0\.0000\n$/,
  );
  expect(vectors.texts.flat().filter((text) => text === note)).toHaveLength(2);

  await vectors.close();
  const words = await run('memory', 'search', 'meo mochi');
  expect(words.code).toBe(0);
  expect(words.stderr).toMatch(/^searched by words only: Model provider local cannot be reached/);
  const doctor = await run('doctor');
  expect(doctor.stdout).toMatch(
    /memory: notes are found by their words and by meaning \(.*\); .*hnswlib-node/,
  );
}, 60_000);

test('a batch is started, shown and cancelled on the command line, while troupe runs', async () => {
  const vectors = await openEmbeddingServer();
  onTestFinished(() => vectors.close());
  const home = scratchFolder();
  const local = { api: 'openai-completions', baseUrl: vectors.openAiUrl };
  const config = {
    models: { providers: { local } },
    memory: { search: { model: 'local/text-embedding-3-small' } },
  };
  write(home, '.troupe/troupe.json5', JSON.stringify(config));
  const { port, start } = await starter(home);
  const run = (...args: string[]) => runProgram([...args, ...port], { home });
  const folder = (await run('agent', 'workspace')).stdout.trim();
  write(folder, 'memory/a.md', 'The cat is called Mochi.\n');

  const alone = await run('memory', 'index', '--batch');
  expect(alone.code).not.toBe(0);
  expect(alone.stderr).toContain('a batch needs troupe to run');
  expect(await run('memory', 'status')).toMatchObject({ code: 0, stderr: '' });

  const program = await start();
  const started = await run('memory', 'index', '--batch');
  expect(started).toMatchObject({ code: 0 });
  expect(started.stdout).toMatch(/^batch: admitting, started .*\ntroupe memory status shows it\n$/);
  await eventually(() => expect(vectors.batches.batches).toHaveLength(1));
  await eventually(async () => {
    const { stdout } = await run('memory', 'status');
    expect(stdout).toMatch(
      /missing\nsearch: .*\nbatch: waiting, started .*\n {2}1 text for local\/text-embedding-3-small\n {2}the provider's id is batch_1\n$/,
    );
  });
  const direct = await run('memory', 'index');
  expect(direct.code).toBe(1);
  expect(direct.stderr).toContain('1 chunks wait for a batch');
  expect((await run('memory', 'cancel', '--json')).stdout).toContain('"state": "cancelling"');
  await eventually(() => expect(vectors.batches.batches[0]!.status).toBe('cancelling'));
  program.child.kill('SIGKILL');
  await program.ended;
  const stopped = await run('memory', 'status');
  expect(stopped.stderr).toMatch(/^texts wait for a batch, but: a batch needs troupe to run/);
}, 120_000);

test('beside a cluster, whose store has the vectors, notes of a folder are found by their words', async () => {
  const [home, path] = [scratchFolder(), scratchFolder()];
  const nats = { url: `nats://127.0.0.1:${await reservePort()}` };
  const local = {
    api: 'openai-completions',
    baseUrl: `http://127.0.0.1:${await reservePort()}/v1`,
  };
  const config = {
    nats,
    models: { providers: { local } },
    memory: { search: { model: 'local/concepts' } },
    runtime: { workspaces: { provider: 'folder', path } },
  };
  write(home, '.troupe/troupe.json5', JSON.stringify(config));
  const folder = (await runProgram(['agent', 'workspace'], { home })).stdout.trim();
  write(folder, 'memory/a.md', 'The cat is called Mochi.\n');
  const found = await runProgram(['memory', 'search', 'cat'], { home });
  expect(found.stdout).toContain('memory/a.md#L1-L1');
  expect(found.stderr).toContain('searched by words only');
  for (const command of ['reset', 'index']) {
    const { code, stderr } = await runProgram(['memory', command], { home });
    expect(code).not.toBe(0);
    expect(stderr).toMatch(/the vectors of these notes are in the cluster|cannot be reached/);
  }
});
