/** Tokens with scopes: what each allows over MCP, and how a client learns what to ask for. */
import { expect, test } from 'vitest';
import { type McpGateway, serveMcp, TASKS } from './gateway.ts';

const echo = ({ rpc }: McpGateway, as: string) =>
  rpc('tools/call', { name: 'test__echo_text-v1', arguments: { text: 'a' } }, { as });
const operation = ({ rpc }: McpGateway, name: string, as: string) =>
  rpc('tools/call', { name, arguments: {} }, { as });

test('a scope allows calls, reads or changes, and never more than the roles', async () => {
  const gateway = await serveMcp('all');
  expect((await echo(gateway, 'alice troupe:call')).result).not.toHaveProperty('isError');
  expect(await echo(gateway, 'alice troupe:read')).toMatchObject({ status: 403 });
  expect(await echo(gateway, 'alice troupe:operate')).toMatchObject({ status: 403 });
  for (const scope of ['troupe:read', 'troupe:operate'])
    expect((await operation(gateway, 'sessions_list', `operator ${scope}`)).status).toBe(200);
  expect(await operation(gateway, 'sessions_list', 'operator troupe:call')).toMatchObject({
    status: 403,
  });
  expect(await operation(gateway, 'sessions_delete', 'operator troupe:read')).toMatchObject({
    status: 403,
  });
  expect((await operation(gateway, 'sessions_delete', 'operator troupe:operate')).status).toBe(200);
  const unknown = await operation(gateway, 'sessions_list', 'alice troupe:read');
  expect(unknown.error?.code).toBe(-32_602);
});

test('a task is read with the scope of calls or of reads, and cancelled with that of calls', async () => {
  const gateway = await serveMcp();
  const held = await gateway.rpc(
    'tools/call',
    { name: 'test__hold_work-v1', arguments: { gate: 'g' } },
    { as: 'alice troupe:call', capabilities: TASKS },
  );
  const params = { taskId: held.result.taskId };
  const as = (scope: string) => ({ as: `alice ${scope}`, capabilities: TASKS });
  for (const scope of ['troupe:call', 'troupe:read'])
    expect((await gateway.rpc('tasks/get', params, as(scope))).result.status).toBe('working');
  expect((await gateway.rpc('tasks/get', params, as('troupe:operate'))).error).toMatchObject({
    data: { code: 'FORBIDDEN' },
  });
  expect((await gateway.rpc('tasks/cancel', params, as('troupe:read'))).status).toBe(403);
  expect((await gateway.rpc('tasks/cancel', params, as('troupe:call'))).status).toBe(200);
});

test('a refused client learns which scope to ask for, and where', async () => {
  const { url } = await serveMcp();
  const call = { name: 'test__echo_text-v1', arguments: { text: 'a' } };
  const response = await fetch(url, {
    method: 'POST',
    headers: { authorization: 'Bearer alice troupe:read', 'content-type': 'application/json' },
    body: JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/call', params: call }),
  });
  expect(response.status).toBe(403);
  expect(response.headers.get('www-authenticate')).toBe(
    'Bearer realm="troupe", error="insufficient_scope", scope="troupe:call", ' +
      'resource_metadata="https://troupe.example/.well-known/oauth-protected-resource/mcp"',
  );
  const metadata = await fetch(new URL('/.well-known/oauth-protected-resource/mcp', url));
  expect(await metadata.json()).toMatchObject({
    scopes_supported: ['troupe:read', 'troupe:call', 'troupe:operate'],
  });
});
