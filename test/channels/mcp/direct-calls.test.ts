/**
 * Calls that are served without a server of the SDK have its answers, and what the SDK refuses is
 * refused.
 */
import { expect, test } from 'vitest';
import { TASKS_INDEX, type TaskRow } from '../../../protocols/task.ts';
import { type McpGateway, type RpcAnswer, type RpcOptions, serveMcp, TASKS } from './gateway.ts';

const ECHO = 'test__echo_text-v1';
const FORMS = { elicitation: { form: {} } };
/** An encoded name means the same, and only the SDK reads it. */
const encoded = (name: string) => ({
  'mcp-name': `=?base64?${Buffer.from(name).toString('base64')}?=`,
});
/** The SDK names no character set. */
const isDirect = ({ contentType }: RpcAnswer): boolean =>
  contentType === 'application/json; charset=utf-8';
const tasksOf = ({ system }: McpGateway): number =>
  system.index.list<TaskRow>(TASKS_INDEX, 'acme').length;

/** The same call both ways, under one key: it is one task. */
async function bothWays(
  gateway: McpGateway,
  name: string,
  args: object,
  { key = name, ...options }: RpcOptions & { readonly key?: string } = {},
): Promise<RpcAnswer> {
  const params = { name, arguments: args, _meta: { 'troupe/idempotency-key': key } };
  const direct = await gateway.rpc('tools/call', params, options);
  const served = await gateway.rpc('tools/call', params, { ...options, headers: encoded(name) });
  expect([isDirect(direct), isDirect(served)]).toEqual([true, false]);
  // The SDK adds an empty content to a task, which has none.
  const more = direct.result.resultType === 'task' ? { content: [] } : {};
  expect({ ...direct.result, ...more }).toEqual(served.result);
  expect([direct.status, direct.error]).toEqual([served.status, served.error]);
  return direct;
}

test('a plain call has the answer of the SDK: result, failure, refusal, task, request for input', async () => {
  const gateway = await serveMcp('all');
  const { result } = await bothWays(gateway, ECHO, { text: 'xin chào' });
  expect(result).toMatchObject({
    resultType: 'complete',
    structuredContent: { text: 'xin chào' },
    _meta: { 'io.modelcontextprotocol/serverInfo': { name: 'troupe', version: '0.0.0' } },
  });
  const failed = await bothWays(gateway, 'test__fail_always-v1', {});
  expect(failed.result).toMatchObject({
    isError: true,
    content: [{ text: expect.stringContaining('"state":"FAILED"') }],
  });
  const wrong = await bothWays(gateway, ECHO, { text: 5 }, { key: 'wrong' });
  expect(wrong.result).toMatchObject({ isError: true });
  const task = await bothWays(
    gateway,
    'test__hold_work-v1',
    { gate: 'g' },
    { capabilities: TASKS },
  );
  expect(task.result).toMatchObject({ resultType: 'task', status: 'working' });
  const asked = await bothWays(gateway, 'test__ask_word-v1', {}, { capabilities: FORMS });
  expect(asked.result).toMatchObject({ resultType: 'input_required' });
  const params = { name: 'sessions_list', arguments: {} };
  const listed = await gateway.rpc('tools/call', params, { as: 'operator' });
  expect(isDirect(listed)).toBe(true);
  expect(listed.result).toMatchObject({ structuredContent: { sessions: [] } });
});

test('a call that is not plain is served by the SDK, or refused and not made', async () => {
  const gateway = await serveMcp();
  // What is valid is remembered, and makes nothing else valid.
  for (const _meta of [{}, { 'io.modelcontextprotocol/clientInfo': undefined }])
    expect(isDirect(await gateway.rpc('tools/call', { name: ECHO, arguments: {}, _meta }))).toBe(
      true,
    );
  const call = (params: object, headers: Readonly<Record<string, string>> = {}) =>
    gateway.rpc('tools/call', { name: ECHO, arguments: { text: 'a' }, ...params }, { headers });
  const envelope = (name: string, value: unknown) => ({
    _meta: { [`io.modelcontextprotocol/${name}`]: value },
  });
  const refused = [
    await call({}, { 'mcp-name': 'test__hold_work-v1' }),
    await call({}, { 'mcp-method': 'tools/list' }),
    await call({}, { 'mcp-protocol-version': '2025-11-25' }),
    await call(envelope('protocolVersion', '2027-01-01')),
    await call(envelope('clientCapabilities', 'none')),
    await call(envelope('clientInfo', { version: 1 })),
    await call(envelope('logLevel', 'loud')),
    // Their text in JSON is that of a missing one.
    await call(envelope('clientInfo', null)),
    await call(envelope('logLevel', null)),
    await call(envelope('related-task', 5)),
    await call({ arguments: ['a'] }),
    await call({ name: 'test__guard_door-v1' }),
  ];
  for (const answer of refused) expect(answer).toMatchObject({ error: {} });
  expect(refused.filter(isDirect)).toEqual([]);
  expect(tasksOf(gateway)).toBe(0);
  const continued = await call({ requestState: 'unknown' });
  expect([isDirect(continued), continued.result.isError]).toEqual([false, true]);
});

test('odd messages with the headers of a plain call are refused, and are no fault of the gateway', async () => {
  const gateway = await serveMcp();
  const headers = {
    authorization: 'Bearer alice',
    'content-type': 'application/json',
    accept: 'application/json, text/event-stream',
    'mcp-protocol-version': '2026-07-28',
    'mcp-method': 'tools/call',
    'mcp-name': ECHO,
  };
  const _meta = {
    'io.modelcontextprotocol/protocolVersion': '2026-07-28',
    'io.modelcontextprotocol/clientCapabilities': {},
  };
  const params = { name: ECHO, arguments: { text: 'a' }, _meta };
  const plain = { jsonrpc: '2.0', id: 1, method: 'tools/call', params };
  const odd = [
    { ...plain, id: null },
    { ...plain, id: { a: 1 } },
    { ...plain, id: 1.5 },
    { ...plain, jsonrpc: '1.0' },
    { ...plain, more: true },
    { ...plain, params: null },
    { ...plain, params: [params] },
    { ...plain, params: { ...params, name: [ECHO] } },
    { ...plain, params: { ...params, arguments: null } },
    { ...plain, params: { ...params, _meta: null } },
    { ...plain, params: { ...params, _meta: [_meta] } },
    [plain],
    null,
  ];
  for (const body of odd) {
    const sent = { method: 'POST', headers, body: JSON.stringify(body) };
    const response = await fetch(gateway.url, sent);
    expect([response.status < 500, await response.json()]).toMatchObject([true, { error: {} }]);
  }
  // Code that reads it would exhaust its stack.
  const deep = JSON.stringify({ name: 'deep', version: '1', more: '' });
  const clientInfo = deep.replace('""', `${'['.repeat(100_000)}${']'.repeat(100_000)}`);
  const body = JSON.stringify(plain).replace(
    '"_meta":{',
    `"_meta":{"io.modelcontextprotocol/clientInfo":${clientInfo},`,
  );
  const response = await fetch(gateway.url, { method: 'POST', headers, body });
  expect([response.status, await response.json()]).toMatchObject([
    400,
    { error: { code: 'INVALID_ARGUMENT', message: 'the body is nested more than 256 deep' } },
  ]);
  expect([gateway.faults, tasksOf(gateway)]).toEqual([[], 0]);
});
