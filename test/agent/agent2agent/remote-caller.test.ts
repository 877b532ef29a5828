/** Calls of an A2A agent on the SDK's server: both bindings, all states, failures, files. */
import http from 'node:http';
import type { AddressInfo } from 'node:net';
import { describe, expect, it, onTestFinished } from 'vitest';
import { cancel, follow, type SendInput, start } from '../../../agent/agent2agent/remote-caller.ts';
import type { RemoteCall, RemoteResult, RemoteStep } from '../../../protocols/remote-call.ts';
import { Secret } from '../../../runtime/config/index.ts';
import { type A2aAgentOptions, startA2aAgent } from '../../servers/a2a-agent.ts';
import { eventually } from '../../runtime/eventually.ts';
import { cell, remoteAgent } from './remote-agent.ts';

type Remote = Parameters<typeof remoteAgent>[1];

/** Calls of one agent by this process; `files` is the bucket of its tenant. */
function callsTo(url: string, more: Remote = {}) {
  const files = new Map<string, { contents: Buffer; contentType: string }>();
  const bucket = Promise.resolve({
    put: async (_: string, contents: Uint8Array, { contentType }: { contentType: string }) => {
      const hash = `hash-${files.size}`;
      files.set(hash, { contents: Buffer.from(contents), contentType });
      return { hash, contentType, bytes: contents.length };
    },
  });
  const agents = cell().process(remoteAgent(url, more));
  const options = { agents, bucket };
  const callOf = (input: SendInput, changes: Partial<RemoteCall> = {}): RemoteCall => ({
    kind: 'a2a',
    server: 'weather',
    name: 'send',
    input,
    class: 'once',
    timeoutMs: 20_000,
    caller: { agentId: 'main', sessionKey: 'agent:main:main', runId: 'r', callId: 'c' },
    ...changes,
  });
  const request = { tenant: 'default', signal: new AbortController().signal };
  const call = callOf({});
  return {
    files,
    send: (input: SendInput, changes: Partial<RemoteCall> = {}, key = 'key-1') =>
      start(callOf(input, changes), { ...request, idempotencyKey: key }, options),
    follow: (handle: unknown) => follow(call, handle, request, options),
    cancel: (handle: unknown) => cancel(call, handle, request, options),
    /** Follows a call to its end. */
    ended: async (step: RemoteStep): Promise<RemoteResult> => {
      let now = step;
      while (now.kind === 'running') now = await follow(call, now.handle, request, options);
      return now.result;
    },
  };
}

const agentOf = async (options: A2aAgentOptions = {}, more: Remote = {}) => {
  const agent = await startA2aAgent(options);
  return { agent, ...callsTo(agent.url, more) };
};

describe.each(['JSONRPC', 'HTTP+JSON'] as const)('a call over %s', (binding) => {
  it('returns an answer without a task, and continues its conversation', async () => {
    const { send, agent } = await agentOf({ binding });
    const step = await send({ message: 'say hello', contextId: 'ctx-1' });
    expect(step).toMatchObject({ kind: 'done', result: { text: expect.stringMatching(/hello$/) } });
    expect(agent.received[0]).toMatchObject({ contextId: 'ctx-1' });
  });

  it('follows a long task to its end', async () => {
    const { send, follow: ask, ended, agent } = await agentOf({ binding });
    const step = await send({ message: 'work' });
    expect(step).toMatchObject({ kind: 'running', pollMs: 500 });
    if (step.kind !== 'running') return;
    const second = await ask(step.handle);
    expect(second).toMatchObject({ kind: 'running', pollMs: 750, status: 'looking at the sky' });
    agent.finish('sunny');
    const result = await ended(second);
    expect(result.isError).toBeUndefined();
    expect(result.text).toMatch(/^Source: the A2A agent weather \(from outside/);
    expect(result.text).toContain('The task has completed.');
    expect(result.text).toMatch(/\nsunny$/);
  });

  it('reports failure and refusal', async () => {
    const { send, ended } = await agentOf({ binding });
    const failed = await ended(await send({ message: 'fail' }));
    expect(failed).toMatchObject({ isError: true, text: expect.stringContaining('the sky fell') });
    const refused = await ended(await send({ message: 'reject' }, {}, 'key-2'));
    expect(refused).toMatchObject({ isError: true, text: expect.stringContaining('not my job') });
  });

  it('returns what the agent asks, and answers it', async () => {
    const { send, ended, agent } = await agentOf({ binding });
    const asked = await ended(await send({ message: 'ask' }));
    expect(asked.isError).toBeUndefined();
    expect(asked.text).toContain('Which city?');
    const taskId = /taskId: (\S+)/.exec(asked.text)![1]!;
    const contextId = /contextId for further messages: (\S+)/.exec(asked.text)![1]!;
    const answered = await ended(await send({ message: 'Paris', taskId, contextId }, {}, 'key-2'));
    expect(answered.text).toContain('done: Paris');
    expect(agent.received[1]).toMatchObject({ taskId, contextId });
    const auth = await ended(await send({ message: 'auth' }, {}, 'key-3'));
    expect(auth.text).toMatch(/requires an authorization[^]*Log in at https:\/\/x\.example/);
  });

  it('ends a task that is cancelled, also twice', async () => {
    const { send, cancel: end, agent, ended } = await agentOf({ binding });
    const step = await send({ message: 'work' });
    if (step.kind !== 'running') throw new Error('it is not running');
    await end(step.handle);
    await end(step.handle);
    expect(agent.cancelled).toHaveLength(1);
    expect((await ended(step)).text).toContain('cancelled by the agent');
  });

  it('returns the refusal of a message for an unknown task', async () => {
    const { send, follow: ask } = await agentOf({ binding });
    const step = await send({ message: 'x', taskId: 'no-such-task' });
    expect(step).toMatchObject({ kind: 'done', result: { isError: true } });
    const gone = ask({ taskId: 'no-such-task', polls: 0 });
    await expect(gone).rejects.toMatchObject({ code: 'NOT_FOUND' });
  });
});

describe('a call of an A2A agent', () => {
  it('has the same message id whenever it is repeated', async () => {
    const { send, agent } = await agentOf();
    await send({ message: 'say a' });
    await send({ message: 'say a' });
    await send({ message: 'say a' }, {}, 'key-2');
    const ids = agent.received.map(({ messageId }) => messageId);
    expect(ids[0]).toMatch(/^[0-9a-f]{8}-[0-9a-f]{4}-8[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/);
    expect(ids[1]).toBe(ids[0]);
    expect(ids[2]).not.toBe(ids[0]);
  });

  it('follows a task whose agent dies and returns', async () => {
    const { send, follow: ask, agent } = await agentOf();
    const step = await send({ message: 'work' });
    if (step.kind !== 'running') throw new Error('it is not running');
    await eventually(() => expect(agent.received).toHaveLength(1));
    await agent.close();
    await expect(ask(step.handle)).rejects.toThrow(/cannot be reached/);
    const back = await startA2aAgent({ port: agent.port, store: agent.store });
    expect(await ask(step.handle)).toMatchObject({ kind: 'running' });
    expect(back.received).toEqual([]);
  });

  it('is not made when the agent is not there, and unknown when its answer is lost', async () => {
    let drops = false;
    const { send, agent } = await agentOf({
      intercept: (request, response) => {
        if (drops && request.method === 'POST') response.destroy();
        return drops && request.method === 'POST';
      },
    });
    await send({ message: 'say a' });
    drops = true;
    const lost = send({ message: 'say a' });
    await expect(lost).rejects.not.toHaveProperty('code');
    const repeatable = send({ message: 'say a' }, { class: 'keyed' });
    await expect(repeatable).rejects.toMatchObject({ code: 'UNAVAILABLE' });
    await agent.close();
    await expect(send({ message: 'say a' })).rejects.toMatchObject({ code: 'UNAVAILABLE' });
  });

  it.each([
    [401, 'UNAUTHORIZED'],
    [403, 'FORBIDDEN'],
    [429, 'RATE_LIMIT_EXCEEDED'],
    [307, 'FORBIDDEN'],
    [404, 'INVALID_ARGUMENT'],
  ])('is not made when the agent answers %d', async (status, code) => {
    const { send } = await agentOf({
      intercept: (request, response) => {
        if (request.method !== 'POST') return false;
        response.writeHead(status, { 'retry-after': '7', location: 'http://127.0.0.1:1/' }).end();
        return true;
      },
    });
    const refused = send({ message: 'x' });
    await expect(refused).rejects.toMatchObject({ name: 'TroupeError', code });
    if (status === 429) await expect(refused).rejects.toMatchObject({ retryAfterMs: 7_000 });
  });

  it.each([502, 503, 504])('is unknown when a proxy answers %d', async (status) => {
    const { send } = await agentOf({
      intercept: (request, response) => {
        if (request.method !== 'POST') return false;
        response.writeHead(status, { 'retry-after': '1' }).end();
        return true;
      },
    });
    await expect(send({ message: 'x' })).rejects.not.toHaveProperty('code');
    const repeatable = send({ message: 'x' }, { class: 'keyed' });
    await expect(repeatable).rejects.toMatchObject({ code: 'UNAVAILABLE' });
  });

  it.each(['', '<html>', '{}', '{"jsonrpc":"2.0","id":1,"result":{}}', '[]', 'null'])(
    'is unknown when the agent answers %j',
    async (text) => {
      const { send } = await agentOf({
        intercept: (request, response) => {
          if (request.method !== 'POST') return false;
          response.writeHead(200, { 'content-type': 'application/json' }).end(text);
          return true;
        },
      });
      const unknown = send({ message: 'x' });
      await expect(unknown).rejects.not.toHaveProperty('code');
      await expect(unknown).rejects.not.toThrow(/Cannot read|Cannot use|Unexpected token/);
    },
  );

  it.each([
    [-32_602, true],
    [-32_601, true],
    [-32_005, true],
    [-32_006, false],
    [-32_603, false],
    [-32_099, false],
  ])('is refused by the error %d of JSON-RPC, or unknown: %j', async (code, isRefused) => {
    const { send } = await agentOf({
      intercept: (request, response, body) => {
        if (request.method !== 'POST') return false;
        const { id } = JSON.parse(body) as { id: unknown };
        response.end(JSON.stringify({ jsonrpc: '2.0', id, error: { code, message: 'no' } }));
        return true;
      },
    });
    const sent = send({ message: 'x' });
    if (!isRefused) return expect(sent).rejects.not.toHaveProperty('code');
    const text = expect.stringContaining('The agent refused the message: no');
    return expect(sent).resolves.toMatchObject({ kind: 'done', result: { isError: true, text } });
  });

  it.each([
    [400, true],
    [500, false],
  ])('is refused by the status %d of HTTP+JSON, or unknown: %j', async (status, isRefused) => {
    const { send } = await agentOf({
      binding: 'HTTP+JSON',
      intercept: (request, response) => {
        if (request.method !== 'POST') return false;
        response.writeHead(status, { 'content-type': 'application/json' });
        response.end(JSON.stringify({ error: { code: status, message: 'no' } }));
        return true;
      },
    });
    const sent = send({ message: 'x' });
    if (!isRefused) return expect(sent).rejects.not.toHaveProperty('code');
    return expect(sent).resolves.toMatchObject({ kind: 'done', result: { isError: true } });
  });

  it('ends by its signal when the agent never answers', async () => {
    const { send } = await agentOf({ intercept: ({ method }) => method === 'POST' });
    await expect(send({ message: 'x' }, { timeoutMs: 200 })).rejects.toThrow(/did not answer/);
  });

  it('sends its credentials, and removes them from what the agent repeats', async () => {
    const more = { bearer: new Secret('s3cret'), headers: { 'X-Key': new Secret('k3y') } };
    const { send, agent } = await agentOf({}, more);
    const step = await send({ message: 'say s3cret and k3y\u001b[2J' });
    expect(agent.requests.at(-1)!.headers).toMatchObject({
      authorization: 'Bearer s3cret',
      'x-key': 'k3y',
      'a2a-version': '1.0',
    });
    expect(JSON.stringify(step)).not.toMatch(/s3cret|k3y|\\u001b/);
    const { send: sendAgain } = await agentOf(
      {
        intercept: (request, response, body) => {
          if (request.method !== 'POST') return false;
          const { id } = JSON.parse(body) as { id: unknown };
          const error = { code: -32603, message: `bad token ${request.headers.authorization}` };
          response.end(JSON.stringify({ jsonrpc: '2.0', id, error }));
          return true;
        },
      },
      more,
    );
    const unknown = sendAgain({ message: 'x' });
    await expect(unknown).rejects.toThrow('the agent reported an error: bad token Bearer ***');
  });

  // Node 26 writes JSON of any depth, older versions overflow their stack.
  it('shows data that is nested deeply as such, or as text', async () => {
    const deep = `${'['.repeat(200_000)}${']'.repeat(200_000)}`;
    const { send } = await agentOf({
      intercept: ({ method }, response, body) => {
        if (method !== 'POST') return false;
        const { id } = JSON.parse(body) as { id: number };
        const message = `{"messageId":"m","role":"ROLE_AGENT","parts":[{"data":${deep}}]}`;
        response.end(`{"jsonrpc":"2.0","id":${id},"result":{"message":${message}}}`);
        return true;
      },
    });
    const step = await send({ message: 'x' });
    expect(JSON.stringify(step)).toMatch(
      /\[data that is nested too deeply\]|\[{1000}\\n\[cut: the agent answered more\]/,
    );
  });

  it('limits a large answer, and does not read a huge one', async () => {
    const { send } = await agentOf();
    const step = await send({ message: `say ${'🌧'.repeat(100_000)}` });
    if (step.kind !== 'done') throw new Error('it is running');
    expect(step.result.text.length).toBeLessThan(49_000);
    expect(step.result.text).toMatch(/\[cut: the agent answered more\]$/);
    const { send: sendHuge } = await agentOf({
      intercept: ({ method }, response) => {
        if (method !== 'POST') return false;
        response.end('x'.repeat(20 * 2 ** 20));
        return true;
      },
    });
    await expect(sendHuge({ message: 'x' })).rejects.toThrow(/answered more than/);
  });
});

describe('the files of an answer', () => {
  const raw = (text: string | Buffer, mediaType: string, filename: string) => ({
    raw: Buffer.from(text).toString('base64'),
    mediaType,
    filename,
  });
  const png = Buffer.from('89504e470d0a1a0a0000', 'hex');

  it('are shown, given to the model, or stored for the tenant', async () => {
    const { send, ended, files } = await agentOf();
    const parts = [
      raw('a,b\n1,2', 'text/csv', 'table.csv'),
      raw(png, 'image/png', 'sky.png'),
      raw('x'.repeat(20_000), 'text/plain', '../../big\u202etxt'),
      { data: { degrees: 21 } },
      { url: 'https://elsewhere.example/a.pdf', filename: 'a.pdf' },
    ];
    const { text, images } = await ended(await send({ message: 'parts', data: parts }));
    expect(text).toContain('[file table.csv]\na,b\n1,2\n[end of file table.csv]');
    expect(text).toContain('[file sky.png: image/png, 10 bytes, stored as the artifact hash-0]');
    expect(text).toMatch(/big txt: text\/plain, 20000 bytes, stored as the artifact hash-1\]/);
    expect(text).toContain('{"degrees":21}');
    expect(text).toContain('[file a.pdf: https://elsewhere.example/a.pdf]');
    expect(images).toEqual([{ mimeType: 'image/png', data: png.toString('base64') }]);
    expect([...files.values()].map(({ contentType }) => contentType)).toEqual([
      'image/png',
      'text/plain',
    ]);
  });

  it('are read from the origin of the agent only', async () => {
    const reached: string[] = [];
    const other = http.createServer((request, response) => {
      reached.push(request.url ?? '');
      response.end('x');
    });
    await new Promise<void>((done) => other.listen(0, '127.0.0.1', done));
    onTestFinished(() => void other.close());
    const elsewhere = `http://127.0.0.1:${(other.address() as AddressInfo).port}`;
    const { send, ended, agent } = await agentOf({
      intercept: ({ url }, response) => {
        if (url === '/redirect') response.writeHead(302, { location: elsewhere }).end();
        else if (url === '/report') response.end('x'.repeat(30_000));
        else return false;
        return true;
      },
    });
    const { url } = agent;
    const links = [`${url}/report`, `${url}/redirect`, `${elsewhere}/x`, 'file:///etc/passwd', ''];
    const parts = links.map((link) => ({ url: link, mediaType: 'application/pdf' }));
    const { text } = await ended(await send({ message: 'parts', data: parts }));
    expect(text).toContain('[file report: application/pdf, 30000 bytes, stored as the artifact');
    expect(text).toMatch(/\[file redirect: \S+ \(not read: .*redirects are not followed\)\]/);
    expect(text).toContain('[file passwd: file:///etc/passwd]');
    expect(reached).toEqual([]);
  });

  it('are limited in number', async () => {
    const { send, ended, files } = await agentOf();
    const parts = Array.from({ length: 300 }, (_, at) => raw('x', 'application/pdf', `f${at}`));
    const { text } = await ended(await send({ message: 'parts', data: parts }));
    expect(files.size).toBe(10);
    expect(text).toContain('[190 more files are left out]');
    expect(text).toContain('[100 more parts are left out]');
  });
});
