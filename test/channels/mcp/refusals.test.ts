/** What `/mcp` refuses: pages of other hosts, malformed bodies, sessions of others, too many. */
import { once } from 'node:events';
import { get as httpGet, type IncomingMessage } from 'node:http';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import type { McpCaller } from '../../../channels/mcp/catalog.ts';
import { mcpServer } from '../../../channels/mcp/server.ts';
import { McpSessions } from '../../../channels/mcp/sessions.ts';
import { type FixtureServer, startFixtureServer } from './fixture-server.ts';

let server: FixtureServer;
beforeAll(async () => {
  server = await startFixtureServer();
});
afterAll(() => server.close());

const INITIALIZE = {
  jsonrpc: '2.0',
  id: 1,
  method: 'initialize',
  params: {
    protocolVersion: '2025-11-25',
    capabilities: {},
    clientInfo: { name: 'test', version: '1.0.0' },
  },
};
const PING = { jsonrpc: '2.0', id: 2, method: 'ping' };

type Headers = Readonly<Record<string, string>>;
const JSON_HEADERS: Headers = {
  'content-type': 'application/json',
  accept: 'application/json, text/event-stream',
};
const post = (body: unknown, headers: Headers = {}): Promise<Response> =>
  fetch(server.url, {
    method: 'POST',
    headers: { ...JSON_HEADERS, ...headers },
    body: typeof body === 'string' ? body : JSON.stringify(body),
  });
const statusOf = async (response: Promise<Response>): Promise<number> => {
  const answer = await response;
  await answer.body?.cancel();
  return answer.status;
};
const codeOf = async (response: Response): Promise<unknown> =>
  ((await response.json()) as { error: { code: unknown } }).error.code;

/** The status of a GET without an origin, which names another host than it has connected to. */
const statusAsHost = async (host: string): Promise<number | undefined> => {
  const sent = httpGet(server.url, { headers: { host, accept: 'text/event-stream' } });
  const [response] = (await once(sent, 'response')) as [IncomingMessage];
  response.destroy();
  return response.statusCode;
};

/** Begins a session. */
const begin = async (headers: Headers = {}): Promise<Headers> => {
  const response = await post(INITIALIZE, headers);
  await response.text();
  const id = response.headers.get('mcp-session-id');
  expect(id).toMatch(/^[0-9a-f-]{36}$/);
  return { ...headers, 'mcp-session-id': id!, 'mcp-protocol-version': '2025-11-25' };
};

/** A request of 2026. */
const stateless = (method: string, params: object = {}) => {
  const _meta = {
    'io.modelcontextprotocol/protocolVersion': '2026-07-28',
    'io.modelcontextprotocol/clientCapabilities': {},
  };
  const body = { jsonrpc: '2.0', id: 3, method, params: { ...params, _meta } };
  return { body, headers: { 'mcp-protocol-version': '2026-07-28', 'mcp-method': method } };
};

describe('a request', () => {
  it.each(['http://evil.example', 'null', 'https://127.0.0.1.evil.example'])(
    'of a page of %s is refused, also with a session',
    async (origin) => {
      const session = await begin();
      expect(await statusOf(post(INITIALIZE, { origin }))).toBe(403);
      expect(await statusOf(post(PING, { ...session, origin }))).toBe(403);
      const { body, headers } = stateless('tools/list');
      expect(await statusOf(post(body, { ...headers, origin }))).toBe(403);
    },
  );

  it('over a loopback address that names another host is refused, without an origin too', async () => {
    expect(await statusAsHost('evil.example')).toBe(403);
    expect(await statusAsHost('127.0.0.1.evil.example:80')).toBe(403);
    expect(await statusAsHost('localhost:1')).not.toBe(403);
    expect(await statusAsHost('[::1]')).not.toBe(403);
  });

  it('of a page of this machine is served', async () => {
    expect(await statusOf(post(INITIALIZE, { origin: 'http://localhost:3000' }))).toBe(200);
  });

  it('with a token that is not valid is refused, and names where to get one', async () => {
    const response = await post(INITIALIZE, { authorization: 'Basic bm9ib2R5' });
    expect(response.status).toBe(401);
    const challenge = response.headers.get('www-authenticate') ?? '';
    const [, metadata] = /resource_metadata="([^"]+)"/.exec(challenge) ?? [];
    expect(await (await fetch(metadata!)).json()).toMatchObject({ resource: server.url });
  });

  it('with more than 1 MiB is refused', async () => {
    const large = { ...PING, params: { padding: 'x'.repeat(1_200_000) } };
    expect(await statusOf(post(large))).toBe(413);
  });

  it('of another content type is refused', async () => {
    expect(await statusOf(post(INITIALIZE, { 'content-type': 'text/plain' }))).toBe(400);
  });

  it.each(['{"jsonrpc":', '', '\u0000'])('that is not JSON is refused: %j', async (body) => {
    expect(await statusOf(post(body))).toBe(400);
  });

  it.each([null, 1, 'initialize', {}, { jsonrpc: '2.0' }, []])(
    'that is not JSON-RPC is refused: %j',
    async (body) => {
      const session = await begin();
      expect(await statusOf(post(JSON.stringify(body), session))).toBe(400);
      expect(await statusOf(post(JSON.stringify(body)))).toBe(400);
    },
  );

  it('in an array of requests is not served as 2026', async () => {
    const { body, headers } = stateless('tools/list');
    expect(await statusOf(post([body, body], headers))).toBe(400);
  });

  it('of 2026 whose header names another method is refused', async () => {
    const { body, headers } = stateless('tools/list');
    const response = await post(body, { ...headers, 'mcp-method': 'prompts/list' });
    expect(response.status).toBe(400);
    expect(await codeOf(response)).toBe(-32_020);
  });

  it('of 2026 with a changed request state is refused', async () => {
    const name = 'test_input_required_result_tampered_state';
    const call = async (more: object) => {
      const { body, headers } = stateless('tools/call', { name, arguments: {}, ...more });
      const _meta = {
        ...body.params._meta,
        'io.modelcontextprotocol/clientCapabilities': { elicitation: {} },
      };
      const asked = { ...body, params: { ...body.params, _meta } };
      return (await post(asked, { ...headers, 'mcp-name': name })).json();
    };
    const inputResponses = { confirm: { action: 'accept', content: { ok: true } } };
    const { result } = (await call({})) as { result: { requestState: string } };
    const { requestState } = result;
    expect(await call({ inputResponses, requestState })).toMatchObject({
      result: { content: [{ text: 'state-ok' }] },
    });
    expect(await call({ inputResponses, requestState: `${requestState}x` })).toMatchObject({
      error: { code: -32_602 },
    });
  });
});

describe('a task of 2026', () => {
  const call = async (method: string, params: object, name: string, declared = true) => {
    const { body, headers } = stateless(method, params);
    const extensions = { 'io.modelcontextprotocol/tasks': {} };
    const _meta = {
      ...body.params._meta,
      'io.modelcontextprotocol/clientCapabilities': declared ? { extensions } : {},
    };
    const asked = { ...body, params: { ...body.params, _meta } };
    return (await post(asked, { ...headers, 'mcp-name': name })).json() as Promise<{
      readonly result: Readonly<Record<string, unknown>>;
      readonly error: { readonly code: number };
    }>;
  };
  const create = async (name: string) =>
    (await call('tools/call', { name, arguments: {} }, name)).result;

  // The SDK answers an internal error to a created task that contains its requests for input.
  it('that waits for input is created without the requests, which a read returns', async () => {
    const created = await create('multi_input');
    expect(created).toMatchObject({ resultType: 'task', status: 'input_required' });
    expect(created).not.toHaveProperty('inputRequests');
    const taskId = String(created['taskId']);
    const { result } = await call('tasks/get', { taskId }, taskId);
    expect(Object.keys(result['inputRequests'] as object)).toHaveLength(2);
  });

  // The SDK moves the responses out of the parameters, where they were looked for.
  it('completes when each of its inputs is given, in any number of updates', async () => {
    const taskId = String((await create('multi_input'))['taskId']);
    const get = async () => (await call('tasks/get', { taskId }, taskId)).result;
    const update = (inputResponses: object) =>
      call('tasks/update', { taskId, inputResponses }, taskId);
    const [first, second] = Object.keys((await get())['inputRequests'] as object);
    const response = { action: 'accept', content: { name: 'Ada' } };
    expect(await update({ [first!]: response, unknown: response })).toMatchObject({
      result: { resultType: 'complete' },
    });
    const left = await get();
    expect(left).toMatchObject({ status: 'input_required' });
    expect(Object.keys(left['inputRequests'] as object)).toEqual([second]);
    await update({ [second!]: response });
    expect(await get()).toMatchObject({ status: 'completed' });
  });

  it('is hidden from a client that did not declare tasks with the request', async () => {
    const taskId = String((await create('confirm_delete'))['taskId']);
    const { error } = await call('tasks/get', { taskId }, taskId, false);
    expect(error.code).toBe(-32_021);
  });

  it('that does not exist is an error', async () => {
    for (const method of ['tasks/get', 'tasks/update', 'tasks/cancel']) {
      const { error } = await call(method, { taskId: 'none', inputResponses: {} }, 'none');
      expect({ method, code: error.code }).toEqual({ method, code: -32_602 });
    }
  });
});

describe('a session', () => {
  let session: Headers;
  beforeEach(async () => {
    session = await begin({ authorization: 'Bearer alice' });
  });
  const end = (headers: Headers) => statusOf(fetch(server.url, { method: 'DELETE', headers }));
  afterEach(() => end(session));

  it('is not found by another principal, for any method', async () => {
    const other = { ...session, authorization: 'Bearer bob' };
    expect(await statusOf(post(PING, other))).toBe(404);
    const accept = 'text/event-stream';
    expect(await statusOf(fetch(server.url, { headers: { ...other, accept } }))).toBe(404);
    expect(await end(other)).toBe(404);
    expect(await statusOf(post(PING, session))).toBe(200);
  });

  it('has one stream for messages of the server', async () => {
    const headers = { ...session, accept: 'text/event-stream' };
    const stream = await fetch(server.url, { headers });
    expect(stream.status).toBe(200);
    expect(stream.headers.get('content-type')).toContain('text/event-stream');
    expect(await statusOf(fetch(server.url, { headers }))).toBe(409);
    await stream.body!.cancel();
  });

  it('ends when its client deletes it', async () => {
    expect(await end(session)).toBe(200);
    expect(await statusOf(post(PING, session))).toBe(404);
    expect(await end(session)).toBe(404);
  });

  it('that is unknown is not found, and a request without one is refused', async () => {
    expect(await statusOf(post(PING, { ...session, 'mcp-session-id': 'none' }))).toBe(404);
    expect(await statusOf(post(PING))).toBe(400);
    expect(await statusOf(fetch(server.url, { headers: { accept: 'text/event-stream' } }))).toBe(
      400,
    );
    expect(await statusOf(fetch(server.url, { method: 'DELETE' }))).toBe(400);
  });

  it('that was not used for the longest time ends when its principal begins too many', async () => {
    const other = await begin({ authorization: 'Bearer dave' });
    const sessions: Headers[] = [];
    for (let count = 0; count < 101; count++)
      sessions.push(await begin({ authorization: 'Bearer carol' }));
    expect(await statusOf(post(PING, sessions[0]))).toBe(404);
    expect(await statusOf(post(PING, sessions[1]))).toBe(200);
    expect(await statusOf(post(PING, sessions[100]))).toBe(200);
    expect(await statusOf(post(PING, other))).toBe(200);
  });
});

it('refused requests are not logged as errors', async () => {
  const { body, headers } = stateless('tools/list');
  expect(await statusOf(post(body, { ...headers, 'mcp-method': 'prompts/list' }))).toBe(400);
  const older = structuredClone(body);
  older.params._meta['io.modelcontextprotocol/protocolVersion'] = '2025-11-25';
  const olderHeaders = { ...headers, 'mcp-protocol-version': '2025-11-25' };
  expect(await statusOf(post(older, olderHeaders))).toBe(400);
  expect(server.errors).toEqual([]);
});

describe('sessions that are all in use', () => {
  const callerOf = (sub: string): McpCaller => ({
    sub,
    roles: [],
    tenant: 'default',
    profile: 'A2A-Basic',
    credentials: {},
    isOperator: false,
    isHome: false,
    disconnected: new AbortController().signal,
  });
  const info = { name: 'test', version: '1.0.0' };
  const serverFor = () => mcpServer({ tools: () => [] }, info);
  const initialize = () =>
    new Request('http://localhost/mcp', { method: 'POST', headers: JSON_HEADERS, body: '{}' });

  it('refuse another one, with the time after which to retry', async () => {
    const max = { all: 3, own: 2 };
    const sessions = new McpSessions({ serverFor, clock: { monotonicMs: () => 0 }, max });
    const beginFor = (sub: string) => sessions.serve(initialize(), INITIALIZE, callerOf(sub));
    const { onEnd } = await beginFor('alice');
    await beginFor('alice');
    const refusal = { code: 'RATE_LIMIT_EXCEEDED', retryAfterMs: 10_000 };
    await expect(beginFor('alice')).rejects.toMatchObject(refusal);
    await beginFor('bob');
    await expect(beginFor('bob')).rejects.toMatchObject(refusal);
    onEnd();
    await beginFor('bob');
    expect(sessions.size).toBe(3);
    sessions.close();
  });
});
