/** What is refused, and how: guards, JSON-RPC, versions, bodies, and many hostile requests. */
import { expect, test } from 'vitest';
import { TroupeError } from '../../../protocols/errors.ts';
import { namedCallers } from '../edge/real-tasks.ts';
import { serveAgent2Agent } from './gateway.ts';
import { eventually } from '../../runtime/eventually.ts';

const part = { data: { action: 'test.echo_text', payload: { text: 'a' } } };
const message = { messageId: 'm', role: 'ROLE_USER', parts: [part] };
const request = (method: string, params: unknown, more: object = {}) => ({
  jsonrpc: '2.0',
  id: 7,
  method,
  params,
  ...more,
});

test('a caller without a valid token gets 401 with an error of the binding', async () => {
  const { url, rpc } = await serveAgent2Agent();
  const refused = await rpc('tester', request('GetTask', { id: 'a' }), { as: 'stranger' });
  expect(refused.status).toBe(401);
  expect(refused.headers.get('www-authenticate')).toBe(
    `Bearer realm="troupe", resource_metadata="${url}/.well-known/oauth-protected-resource/a2a"`,
  );
  expect(refused.body).toMatchObject({
    jsonrpc: '2.0',
    id: null,
    error: { code: -32_603, data: [{ reason: 'UNAUTHORIZED', domain: 'troupe' }] },
  });
  const rest = await fetch(`${url}/a2a/tester/v1/tasks/a`);
  expect(rest.status).toBe(401);
  expect(rest.headers.get('content-type')).toBe('application/a2a+json');
  expect(await rest.json()).toMatchObject({ error: { code: 401, status: 'UNAUTHENTICATED' } });
  const metadata = await fetch(`${url}/.well-known/oauth-protected-resource/a2a`);
  expect(await metadata.json()).toMatchObject({
    resource: `${url}/a2a`,
    authorization_servers: ['https://issuer.example'],
  });
});

test('limits of requests and an unavailable cell are refused with a time to retry', async () => {
  for (const [code, status] of [
    ['RATE_LIMIT_EXCEEDED', 429],
    ['UNAVAILABLE', 503],
  ] as const) {
    const authenticate = () => Promise.reject(new TroupeError(code, 'x', { retryAfterMs: 1_500 }));
    const { rpc } = await serveAgent2Agent({ identity: { ...namedCallers, authenticate } });
    const refused = await rpc('tester', request('GetTask', { id: 'a' }));
    expect(refused.status).toBe(status);
    expect(refused.headers.get('retry-after')).toBe('2');
    expect(refused.body.error.data).toContainEqual({
      '@type': 'type.googleapis.com/google.rpc.RetryInfo',
      retryDelay: '2s',
    });
  }
});

test.each([
  ['no JSON', '{', -32_700],
  ['an empty body', '', -32_700],
  ['a batch', [request('GetTask', { id: 'a' })], -32_600],
  ['no version of JSON-RPC', { id: 1, method: 'GetTask', params: { id: 'a' } }, -32_600],
  ['a wrong id', request('GetTask', { id: 'a' }, { id: {} }), -32_600],
  ['no method', { jsonrpc: '2.0', id: 1 }, -32_600],
  ['an unknown method', request('tasks/get', { id: 'a' }), -32_601],
  ['parameters that are no object', request('GetTask', [1]), -32_602],
  ['parameters that are no text', request('GetTask', { id: { toString: 1 } }), -32_602],
  ['no message', request('SendMessage', {}), -32_602],
  [
    'a message without parts',
    request('SendMessage', { message: { ...message, parts: [] } }),
    -32_602,
  ],
  ['an empty part', request('SendMessage', { message: { ...message, parts: [{}] } }), -32_602],
  ['no messageId', request('SendMessage', { message: { ...message, messageId: '' } }), -32_602],
  [
    'the role of an agent',
    request('SendMessage', { message: { ...message, role: 'ROLE_AGENT' } }),
    -32_602,
  ],
  ['a negative historyLength', request('GetTask', { id: 'a', historyLength: -1 }), -32_602],
  ['an unknown task', request('GetTask', { id: 'none' }), -32_001],
  ['another tenant', request('GetTask', { id: 'none', tenant: 'other' }), -32_001],
  [
    'a file',
    request('SendMessage', { message: { ...message, parts: [{ raw: 'AAAA' }] } }),
    -32_005,
  ],
  ['an unknown state', request('ListTasks', { status: 'TASK_STATE_NONE' }), -32_602],
])('%s is refused', async (_, body, code) => {
  const { rpc, faults } = await serveAgent2Agent();
  const answer = await rpc('tester', body);
  expect(answer.body).toMatchObject({ jsonrpc: '2.0', error: { code } });
  expect(answer.status).toBe(200);
  expect(faults).toEqual([]);
});

test('an unknown agent, a wrong content type, a large and a deep body are refused', async () => {
  const { rpc } = await serveAgent2Agent();
  const good = request('SendMessage', { message });
  expect(await rpc('unknown', good)).toMatchObject({ body: { error: { code: -32_001 } } });
  const text = { headers: { 'content-type': 'text/plain' } };
  expect(await rpc('tester', good, text)).toMatchObject({ body: { error: { code: -32_005 } } });
  const large = await rpc('tester', { ...good, pad: 'x'.repeat(1_200_000) });
  expect(large).toMatchObject({ status: 413, body: { error: { code: -32_602 } } });
  const deep = `{"jsonrpc":"2.0","id":1,"method":"GetTask","params":${'{"a":'.repeat(70)}1${'}'.repeat(71)}`;
  expect(await rpc('tester', deep)).toMatchObject({ body: { error: { code: -32_602 } } });
});

test('names that are longer than any name are unknown, with and without a token', async () => {
  const { url, rpc, faults } = await serveAgent2Agent();
  for (const length of [300, 1_960, 9_000]) {
    const long = 'x'.repeat(length);
    const card = await fetch(`${url}/a2a/${long}/.well-known/agent-card.json`);
    expect(card.status).toBe(404);
    const tenant = await fetch(`${url}/tenants/${long}/a2a/tester/.well-known/agent-card.json`);
    expect(tenant.status).toBe(404);
    const { body } = await rpc(long, request('GetTask', { id: 'a' }));
    expect(body.error.data).toMatchObject([{ reason: 'NOT_FOUND' }]);
  }
  expect(faults).toEqual([]);
});

test.each([undefined, null, 5, {}, ['a']])('of 0.3: an id that is %j is refused', async (id) => {
  const { rpc, faults } = await serveAgent2Agent({ legacy: true });
  const headers = { 'a2a-version': '0.3' };
  const bad = {
    kind: 'message',
    messageId: 'm',
    role: 'user',
    parts: [{ kind: 'text', text: 'a' }],
  };
  const pushNotificationConfig = { url: 'https://receiver.example/', id };
  for (const [method, params] of [
    ['tasks/get', { id }],
    ['tasks/cancel', { id }],
    ['tasks/resubscribe', { id }],
    ['tasks/pushNotificationConfig/list', { id }],
    ['tasks/pushNotificationConfig/delete', { id, pushNotificationConfigId: id }],
    ['message/send', { message: { ...bad, taskId: id ?? 5 } }],
    ['message/send', { message: { ...bad, contextId: id ?? 5 } }],
    ['message/send', { message: { ...bad, messageId: id } }],
    ['message/send', { message: bad, configuration: { pushNotificationConfig } }],
  ] as const) {
    const answer = await rpc('tester', request(method, params), { headers });
    expect({ method, params, status: answer.status < 500 }).toMatchObject({ status: true });
  }
  expect(faults).toEqual([]);
});

test('a page of another host has no access', async () => {
  const { rpc } = await serveAgent2Agent();
  const headers = { origin: 'http://evil.example' };
  const refused = await rpc('tester', request('GetTask', { id: 'a' }), { headers });
  expect(refused.status).toBe(403);
});

test('a client that reconnects gets the events that it missed, by their numbers', async () => {
  const { rpc, gate } = await serveAgent2Agent();
  const held = { data: { action: 'test.hold_work', payload: { gate: 'g' } } };
  const begun = await rpc('tester', {
    ...request('SendMessage', {
      message: { ...message, parts: [held] },
      configuration: { returnImmediately: true },
    }),
  });
  const { id } = begun.body.result.task;
  await eventually(() => expect(gate.begun).toEqual(['g']));
  gate.open('g');
  await eventually(async () =>
    expect((await rpc('tester', request('GetTask', { id }))).body.result.status.state).toBe(
      'TASK_STATE_COMPLETED',
    ),
  );
  const resumed = await rpc('tester', request('SubscribeToTask', { id }), {
    headers: { 'last-event-id': '1' },
  });
  expect(resumed.headers.get('content-type')).toContain('text/event-stream');
  const events = String(resumed.body).trim().split('\n\n');
  const ids = events.map((event) => /^id: (\d+)/.exec(event)?.[1]);
  expect(ids).toEqual(['1', '2', undefined, '3']);
  expect(events.at(-1)).toContain('TASK_STATE_COMPLETED');
  const wrong = await rpc('tester', request('SubscribeToTask', { id }), {
    headers: { 'last-event-id': 'x' },
  });
  expect(wrong.body).toMatchObject({ error: { code: -32_602 } });
});

test('hundreds of malformed requests cause no failure of the gateway', async () => {
  const { rpc, url, faults } = await serveAgent2Agent();
  const values: readonly unknown[] = [
    null,
    0,
    -1,
    1e308,
    true,
    '',
    'x'.repeat(5_000),
    '\ud800',
    [],
    [[]],
    {},
    { toString: 1 },
    { __proto__: null },
    { $case: 'text' },
    [null],
    { text: {} },
    '..%2f',
    { a: { b: { c: [1] } } },
  ];
  const methods = [
    'SendMessage',
    'SendStreamingMessage',
    'GetTask',
    'ListTasks',
    'CancelTask',
    'SubscribeToTask',
    'CreateTaskPushNotificationConfig',
    'GetTaskPushNotificationConfig',
    'ListTaskPushNotificationConfigs',
    'DeleteTaskPushNotificationConfig',
    'GetExtendedAgentCard',
  ];
  const fields = ['id', 'taskId', 'message', 'configuration', 'pageToken', 'status', 'tenant'];
  const statuses = new Set<number>();
  for (const method of methods)
    for (const [n, value] of values.entries()) {
      const field = fields[n % fields.length]!;
      for (const params of [value, { [field]: value }, { message: { ...message, parts: value } }])
        statuses.add((await rpc('tester', request(method, params))).status);
    }
  const paths = ['tasks/%00', 'tasks?pageSize=x', 'tasks?status=9', 'tasks/a:cancel', 'tasks/:'];
  for (const path of [...paths, 'message:send', 'message:stream', 'extendedAgentCard'])
    for (const method of ['GET', 'POST', 'DELETE']) {
      const response = await fetch(`${url}/a2a/tester/v1/${path}`, {
        method,
        headers: {
          authorization: 'Bearer alice',
          'a2a-version': '1.0',
          'content-type': 'application/json',
        },
        body: method === 'POST' ? '{"message":[]}' : null,
      });
      await response.text();
      statuses.add(response.status);
    }
  expect([...statuses].filter((status) => status >= 500)).toEqual([]);
  expect(faults).toEqual([]);
}, 60_000);
