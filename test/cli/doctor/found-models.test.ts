/** What `troupe doctor` and the first start find: keys, and real local servers of models. */
import { createServer, type RequestListener } from 'node:http';
import type { AddressInfo } from 'node:net';
import { describe, expect, it, onTestFinished } from 'vitest';
import { findModels, namesNoModel } from '../../../cli/found-models.ts';
import { loadConfig } from '../../../runtime/config/index.ts';
import { eventually } from '../../runtime/eventually.ts';
import { scratchFolder, write } from '../../runtime/config/folder.ts';
import { announced, runProgram, startProgram } from '../program.ts';

/** A server on loopback, as `OLLAMA_HOST` names it. */
async function serve(answer: RequestListener): Promise<string> {
  const server = createServer(answer);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  return `127.0.0.1:${(server.address() as AddressInfo).port}`;
}

const listOf =
  (...ids: readonly unknown[]): RequestListener =>
  (_request, response) =>
    response.end(JSON.stringify({ object: 'list', data: ids.map((id) => ({ id })) }));

/** A server of Chat Completions with one model. */
const chatServer: RequestListener = (request, response) => {
  if (request.url === '/v1/models') return listOf('qwen3:8b')(request, response);
  const chunk = (delta: object, finish: string | null) =>
    `data: ${JSON.stringify({ id: 'c', object: 'chat.completion.chunk', created: 1, model: 'qwen3:8b', choices: [{ index: 0, delta, finish_reason: finish }] })}\n\n`;
  response.setHeader('content-type', 'text/event-stream');
  response.end(
    `${chunk({ role: 'assistant', content: 'local hello' }, null)}${chunk({}, 'stop')}data: [DONE]\n\n`,
  );
};

const ofOllama = async (host: string) =>
  (await findModels({ OLLAMA_HOST: host })).filter(({ text }) => text.startsWith('Ollama'));

describe('findModels', () => {
  it('names variables with keys, and never a key', async () => {
    const found = await findModels({ OPENAI_API_KEY: 'sk-secret', GOOGLE_API_KEY: 'g-secret' });
    expect(found).toMatchObject([
      { text: 'OPENAI_API_KEY is set: models of openai answer' },
      { text: expect.stringContaining('GOOGLE_API_KEY is set too') },
      ...found.slice(2),
    ]);
    expect(JSON.stringify(found)).not.toContain('secret');
  });

  it('names the first models of a local server, without those for embeddings', async () => {
    const host = await serve(listOf('nomic-embed-text', 'a', 'b:7b', 'org/c', 'd'));
    expect(await ofOllama(host)).toEqual([
      {
        text: `Ollama answers at http://${host}, with a, b:7b, org/c`,
        command: `troupe config set models.providers.ollama '{ baseUrl: "http://${host}/v1", api: "openai-completions", models: [{ id: "a" }, { id: "b:7b" }, { id: "org/c" }] }'`,
      },
    ]);
  });

  it('shows no id that a shell could execute', async () => {
    const host = await serve(listOf(`'; rm -rf ~; '`, '$(id)', 7));
    expect(await ofOllama(host)).toEqual([
      { text: `Ollama answers at http://${host}, and has no model yet` },
    ]);
  });

  it.each<[string, RequestListener]>([
    ['never answers', () => {}],
    ['answers with a page', (_request, response) => response.end('<html></html>')],
    ['refuses', (_request, response) => response.writeHead(404).end('{"data":[]}')],
    [
      'redirects',
      (_request, response) => response.writeHead(302, { location: 'http://192.0.2.1/' }).end(),
    ],
  ])('ignores a server that %s', async (_what, answer) => {
    expect(await ofOllama(await serve(answer))).toEqual([]);
  });

  it('sends no request to an address that is not loopback', async () => {
    const [found] = await ofOllama('192.0.2.1:11434');
    expect(found?.text ?? '').not.toContain('192.0.2.1');
  });
});

it('looks for nothing when the configuration names a model', () => {
  const named = (text: string) => {
    const data = scratchFolder();
    write(data, 'troupe.json5', text);
    return namesNoModel(loadConfig({ env: {}, flags: { data } }).config);
  };
  expect(named('{}')).toBe(true);
  expect(named(`{ agents: { defaults: { model: 'offline/echo' } } }`)).toBe(false);
  expect(named(`{ models: { providers: { openai: { apiKey: 'x' } } } }`)).toBe(false);
});

describe('the program', () => {
  it('start names the server, and the line that it prints adds it', async () => {
    const env = { OLLAMA_HOST: await serve(chatServer) };
    const home = scratchFolder();
    const first = startProgram(['start', '--port', '0'], { home, env });
    const value = await eventually(() => {
      const found = /npx troupe config set models\.providers\.ollama '(.*)'/.exec(
        first.stdout,
      )?.[1];
      if (!found) throw new Error(`nothing was found: ${first.stdout}${first.stderr}`);
      return found;
    });
    first.child.kill('SIGTERM');
    await first.ended;
    const set = ['config', 'set', 'models.providers.ollama', value];
    expect(await runProgram(set, { home, env })).toMatchObject({ code: 0 });
    await announced(startProgram(['start', '--port', '0', '--json'], { home, env }));
    const answer = await runProgram(['agent', '-m', 'hello'], { home, env });
    expect(answer.stdout).toContain('local hello');
  });

  it('doctor names the server and the command, until a model is configured', async () => {
    const host = await serve(chatServer);
    const env = { OLLAMA_HOST: host, ANTHROPIC_API_KEY: 'sk-secret' };
    const home = scratchFolder();
    const before = await runProgram(['doctor'], { home, env });
    expect(before.stdout).toContain(`Ollama answers at http://${host}, with qwen3:8b`);
    expect(before.stdout).toContain('→ troupe config set models.providers.ollama');
    expect(before.stdout).toContain('ANTHROPIC_API_KEY is set');
    expect(before.stdout).not.toContain('sk-secret');
    write(home, '.troupe/troupe.json5', `{ models: { providers: { anthropic: {} } } }`);
    expect((await runProgram(['doctor'], { home, env })).stdout).not.toContain('Ollama');
  });
});
