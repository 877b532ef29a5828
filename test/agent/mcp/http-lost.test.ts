/** HTTP servers that lose answers, are busy, or return what they do not promise. */
import {
  createServer,
  type IncomingMessage,
  request as send,
  type ServerResponse,
} from 'node:http';
import type { AddressInfo } from 'node:net';
import { describe, expect, it, onTestFinished } from 'vitest';
import { startFixtureServer } from '../../channels/mcp/fixture-server.ts';
import { type Answers, type Request, startHostileServer } from './hostile-server.ts';
import { openServers, textOf } from './servers-fixture.ts';

const opened = async (answers: Answers, more: object = {}) => {
  const hostile = await startHostileServer(answers);
  return {
    hostile,
    ...openServers({ test: { url: hostile.url, allowPrivate: true, ...more } }),
  };
};

const stream = (response: ServerResponse, events: string) => {
  response.writeHead(200, { 'content-type': 'text/event-stream' });
  response.end(events);
};
const answer = ({ id }: Pick<Request, 'id'>, text: string): string => {
  const result = { content: [{ type: 'text', text }] };
  return `data: ${JSON.stringify({ jsonrpc: '2.0', id, result })}\n\n`;
};
const thrownBy = (call: Promise<unknown>) =>
  call.then(
    () => undefined,
    (error: unknown) => error as { code?: string; message: string; retryAfterMs?: number },
  );

describe('a stream that ends without the answer', () => {
  it('loses the call at once, and the connection serves others', async () => {
    const { call, hostile } = await opened({
      call: (response, request) =>
        stream(response, request.params?.name === 'lost' ? ': nothing\n\n' : answer(request, 'ok')),
    });
    const once = await thrownBy(call('lost'));
    expect(once).toMatchObject({ message: expect.stringContaining('stream ended') });
    expect(once?.code).toBeUndefined();
    expect(await thrownBy(call('lost', { class: 'keyed' }))).toMatchObject({ code: 'UNAVAILABLE' });
    expect(textOf(await call('found'))).toBe('ok');
    expect(hostile.calls).toEqual(['lost', 'lost', 'found']);
  });

  it('is resumed after its last event when the server numbers them', async () => {
    let asked: Request | undefined;
    const resumed: unknown[] = [];
    const { call, hostile } = await opened({
      call: (response, request) => {
        asked = request;
        stream(response, 'id: event-7\nretry: 1\ndata:\n\n');
      },
      resume: (response, lastEventId) => {
        if (lastEventId === undefined) return void response.writeHead(405).end();
        resumed.push(lastEventId);
        stream(response, answer(asked!, 'after all'));
      },
    });
    expect(textOf(await call('x'))).toBe('after all');
    expect(resumed).toEqual(['event-7']);
    expect(hostile.calls).toEqual(['x']);
  });

  it('is lost when the server does not resume it', async () => {
    const { call } = await opened({
      call: (response) => stream(response, 'id: event-7\nretry: 1\ndata:\n\n'),
    });
    expect((await thrownBy(call('x')))?.message).toContain('stream ended');
  });
});

describe('a busy server', () => {
  it.each([
    [429, '7', 'RATE_LIMIT_EXCEEDED', 7_000],
    [503, '2', 'UNAVAILABLE', 2_000],
    [429, '9999999', 'RATE_LIMIT_EXCEEDED', 3_600_000],
    [429, undefined, 'RATE_LIMIT_EXCEEDED', undefined],
    [503, 'Thu, 01 Jan 1970 00:00:00 GMT', 'UNAVAILABLE', 0],
  ])('%i, Retry-After %s: nothing was done, and the pause is kept', async (...expected) => {
    const [status, after, code, retryAfterMs] = expected;
    const { call } = await opened({
      call: (response) =>
        response.writeHead(status, after === undefined ? {} : { 'retry-after': after }).end('busy'),
    });
    const error = await thrownBy(call('x'));
    expect(error).toMatchObject({ code, message: expect.stringContaining(`busy (${status})`) });
    expect(error?.retryAfterMs).toBe(retryAfterMs);
  });

  it('that answers 503 without Retry-After may have done the call', async () => {
    const { call } = await opened({ call: (response) => response.writeHead(503).end('broken') });
    expect((await thrownBy(call('x')))?.code).toBeUndefined();
  });
});

describe('a result', () => {
  const deep = `${'['.repeat(6_000)}${']'.repeat(6_000)}`;
  it.each(['json', 'stream'])(
    // Node 26 writes JSON of any depth, older versions overflow their stack.
    'that is nested too deeply is refused permanently, or is text (%s)',
    async (kind) => {
      const { call } = await opened({
        call: (response, { id }) => {
          const result = `{"content":[],"structuredContent":{"a":${deep}}}`;
          const message = `{"jsonrpc":"2.0","id":${id},"result":${result}}`;
          if (kind === 'stream') return stream(response, `data: ${message}\n\n`);
          response.writeHead(200, { 'content-type': 'application/json' }).end(message);
        },
      });
      const step = await call('x', { class: 'repeatable' });
      expect(step.kind).toBe('done');
      expect(textOf(step)).toMatch(/nested too deeply|^\{"a":\[{100}/);
    },
  );

  it('is checked against the outputSchema of its tool', async () => {
    const outputSchema = {
      type: 'object',
      properties: { degrees: { type: 'number' } },
      required: ['degrees'],
    };
    const tool = { name: 'weather', inputSchema: { type: 'object' }, outputSchema };
    const broken = { ...tool, name: 'broken', outputSchema: { type: 'object', required: 7 } };
    const unknown = {
      ...tool,
      name: 'unknown',
      outputSchema: { type: 'object', $ref: 'http://a' },
    };
    const results: object[] = [
      { content: [], structuredContent: { degrees: 21 } },
      { content: [], structuredContent: { degrees: 'warm' } },
      { content: [{ type: 'text', text: '21' }] },
      { content: [{ type: 'text', text: 'no such place' }], isError: true },
    ];
    const { call, refresh, stored } = await opened({
      list: { tools: [tool, broken, unknown] },
      call: (response, { id }) => {
        response.writeHead(200, { 'content-type': 'application/json' });
        response.end(JSON.stringify({ jsonrpc: '2.0', id, result: results.shift() }));
      },
    });
    await refresh();
    expect(stored()!.leftOut).toMatchObject([
      { name: 'broken', why: expect.stringContaining('its outputSchema') },
      { name: 'unknown', why: expect.stringContaining('its outputSchema') },
    ]);
    expect(textOf(await call('weather'))).toBe('{"degrees":21}');
    const wrong = await call('weather');
    expect(wrong).toMatchObject({ result: { isError: true } });
    expect(textOf(wrong)).toMatch(/weather was called, but .*outputSchema.*degrees/);
    expect(textOf(await call('weather'))).toContain('no structured content');
    expect(textOf(await call('weather'))).toBe('no such place');
  });
});

it('a list with schemas that the SDK refuses loses only these tools', async () => {
  const tools = [
    { name: 'good', inputSchema: { type: 'object' } },
    { name: 'required', inputSchema: { type: 'object', required: 'a' } },
    { name: 'properties', inputSchema: { type: 'object', properties: { a: 7 } } },
  ];
  const { refresh, stored } = await opened({ list: { tools } });
  await refresh();
  expect(stored()!.tools.map(({ serverName }) => serverName)).toEqual(['good']);
  expect(stored()!.leftOut).toHaveLength(2);
});

it('a call has the trace of its run in _meta', async () => {
  let meta: Readonly<Record<string, unknown>> | undefined;
  const { servers } = await opened({
    call: (response, request) => {
      meta = request.params?._meta;
      stream(response, answer(request, 'ok'));
    },
  });
  const traceId = 'ab'.repeat(16);
  const caller = { agentId: 'main', sessionKey: 'agent:main:main', runId: 'r', callId: 'c' };
  await servers.caller.start(
    { kind: 'mcp', server: 'test', name: 'x', input: {}, class: 'once', timeoutMs: 9_000, caller },
    { tenant: 'default', idempotencyKey: 'k', signal: new AbortController().signal, traceId },
  );
  expect(meta).toMatchObject({
    traceparent: expect.stringMatching(new RegExp(`^00-${traceId}-[0-9a-f]{16}-01$`)),
    'troupe/idempotency-key': 'k',
  });
});

/** Forwards to a server on this machine; `seen`: the headers of each request. */
async function startProxy(to: string) {
  const seen: IncomingMessage['headers'][] = [];
  const server = createServer((incoming, outgoing) => {
    seen.push(incoming.headers);
    const { method, headers } = incoming;
    const forwarded = send(to, { method, headers: { ...headers, host: new URL(to).host } });
    forwarded.on('response', (response) => {
      response.pipe(outgoing.writeHead(response.statusCode!, response.headers));
    });
    incoming.pipe(forwarded);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/mcp`, seen };
}

it('arguments that the schema marks with x-mcp-header are sent as headers, too', async () => {
  const fixture = await startFixtureServer();
  onTestFinished(() => fixture.close());
  const proxy = await startProxy(fixture.url);
  const { call, refresh, servers } = openServers({
    test: { url: proxy.url, allowPrivate: true },
  });
  await refresh();
  // Also by a connection that has read no list.
  await servers.caller.start(
    {
      kind: 'mcp',
      server: 'test',
      name: 'test_header_parameter',
      input: { region: 'south' },
      class: 'once',
      timeoutMs: 9_000,
      caller: { agentId: 'main', sessionKey: 'agent:main:main', runId: 'r', callId: 'c' },
    },
    { tenant: 'other', idempotencyKey: 'k', signal: new AbortController().signal },
  );
  expect(proxy.seen.at(-1)).toMatchObject({ 'mcp-param-region': 'south' });
  expect(textOf(await call('test_header_parameter', { input: { region: 'north' } }))).toBe(
    'region north',
  );
  expect(proxy.seen.at(-1)).toMatchObject({ 'mcp-param-region': 'north' });
});
