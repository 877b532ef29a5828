/** Operations, sessions and tasks of a tenant, for operators and for others. */
import { compileSchema } from '../../../runtime/json-schema/compile-schema.ts';
import { expect, test } from 'vitest';
import type { McpCaller } from '../../../channels/mcp/catalog.ts';
import {
  operationTools,
  type OperationToolOptions,
} from '../../../channels/mcp/operation-tools.ts';
import { testServices } from '../gateway/client.ts';
import { serveMcp } from './gateway.ts';

const KEY = 'agent:main:import';
const entries = [
  { type: 'user', text: 'token the-operators-own', at: 1, runId: 'r1' },
  { type: 'assistant', text: 'chào bạn', at: 2, runId: 'r1', model: 'offline/x', stop: 'stop' },
];
const facts = {
  sessionId: 's1',
  createdAt: 1,
  updatedAt: 2,
  usage: { inputTokens: 1, outputTokens: 1 },
  label: 'Imported',
};
const imported = { key: KEY, facts, from: 0, entries, isLast: true };

const toolNames = async (gateway: Awaited<ReturnType<typeof serveMcp>>, as: string) =>
  (await gateway.rpc('tools/list', {}, { as })).result.tools.map(
    ({ name }: { name: string }) => name,
  ) as string[];

test('operators have operations as tools: those that read, all, or none', async () => {
  const reading = await serveMcp('read');
  const names = await toolNames(reading, 'operator');
  expect(names).toContain('sessions_list');
  expect(names).not.toContain('sessions_delete');
  // Installation-wide ones are for operators of the whole installation.
  expect(names).not.toContain('cluster_show');
  expect(await toolNames(reading, 'alice')).not.toContain('sessions_list');
  const call = { name: 'sessions_list', arguments: {} };
  expect(await reading.rpc('tools/call', call, { as: 'alice' })).toMatchObject({
    error: { code: -32_602 },
  });
  const unnamed = { name: 'sessions_list', arguments: { tenant: {} } };
  expect(await reading.rpc('tools/call', unnamed, { as: 'operator' })).toMatchObject({
    result: {
      isError: true,
      content: [{ text: expect.stringContaining('"code":"INVALID_ARGUMENT"') }],
    },
  });
  const other = { name: 'sessions_list', arguments: { tenant: 'other' } };
  expect((await reading.rpc('tools/call', other, { as: 'operator' })).result).toMatchObject({
    isError: true,
    content: [{ text: expect.stringContaining('"code":"FORBIDDEN"') }],
  });
  expect(reading.audited).toEqual([]);

  const changing = await serveMcp('all');
  const change = { name: 'sessions_import', arguments: imported };
  const { result } = await changing.rpc('tools/call', change, { as: 'operator' });
  expect(result).toMatchObject({ structuredContent: { key: KEY } });
  expect(changing.audited).toEqual(['operator sessions.import']);
  expect(await toolNames(await serveMcp('none'), 'operator')).not.toContain('sessions_list');
});

const faultOf = (schema: object): unknown => {
  try {
    return void compileSchema({ ...schema });
  } catch (error) {
    return error;
  }
};

// Bug: clients of the SDK 1.x compile all output schemas of a list, and fail with any dangling
// $ref.
test('every schema of a tool compiles by itself', () => {
  const options = { which: 'all', services: testServices({ system: {} as never }), audit() {} };
  const caller = { isOperator: true, isHome: true } as McpCaller;
  const tools = operationTools(options as OperationToolOptions, caller);
  expect(tools.map(({ definition }) => definition.name)).toContain('decisions_list');
  for (const { name, inputSchema, outputSchema = {} } of tools.map(({ definition }) => definition))
    for (const schema of [inputSchema, outputSchema])
      expect([name, faultOf(schema)]).toEqual([name, undefined]);
});

test('an operator reads sessions as resources and in a prompt, with secrets masked', async () => {
  const gateway = await serveMcp('all');
  const as = { as: 'operator' };
  await gateway.rpc('tools/call', { name: 'sessions_import', arguments: imported }, as);
  const { resources } = (await gateway.rpc('resources/list', {}, as)).result;
  expect(resources).toMatchObject([{ name: KEY, title: 'Imported' }]);
  const { uri } = resources[0];
  const { contents } = (await gateway.rpc('resources/read', { uri }, as)).result;
  expect(contents[0].text).toContain('chào bạn');
  expect(contents[0].text).toContain('token ***');
  const page = { name: 'sessions_transcript', arguments: { key: KEY } };
  const { content } = (await gateway.rpc('tools/call', page, as)).result;
  expect(content[0].text).toContain('token ***');
  const prompt = { name: 'continue_session', arguments: { key: KEY } };
  const { messages } = (await gateway.rpc('prompts/get', prompt, as)).result;
  expect(messages[1].content.resource).toMatchObject({ uri, text: contents[0].text });
  const ref = { type: 'ref/prompt', name: 'continue_session' };
  const argument = { name: 'key', value: 'agent:main:imp' };
  const { completion } = (await gateway.rpc('completion/complete', { ref, argument }, as)).result;
  expect(completion).toMatchObject({ values: [KEY], hasMore: false });

  for (const wrong of ['troupe://sessions/nope', 'troupe://sessions/%E0', 'file:///etc/passwd'])
    expect(await gateway.rpc('resources/read', { uri: wrong }, as)).toMatchObject({
      error: { code: -32_602 },
    });
  expect(await gateway.rpc('resources/read', { uri })).toMatchObject({ error: { code: -32_602 } });
  expect((await gateway.rpc('resources/list', {})).result.resources).toEqual([]);
  expect(await gateway.rpc('resources/list', { cursor: 'x' }, as)).toMatchObject({
    error: { code: -32_602 },
  });
  expect(gateway.faults).toEqual([]);
});

test('a caller reads its own tasks as resources, and no others', async () => {
  const gateway = await serveMcp();
  const call = { name: 'test__echo_text-v1', arguments: { text: 'a' } };
  const { task_id } = (await gateway.rpc('tools/call', call)).result._meta['troupe/task'];
  const uri = `troupe://tasks/${task_id}`;
  const { contents } = (await gateway.rpc('resources/read', { uri })).result;
  expect(JSON.parse(contents[0].text)).toMatchObject({ task_id, state: 'SUCCEEDED' });
  expect(await gateway.rpc('resources/read', { uri }, { as: 'clerk' })).toMatchObject({
    error: { code: -32_602 },
  });
});

test('a client without a valid token learns where to get one', async () => {
  const { url } = await serveMcp();
  const response = await fetch(url, { method: 'POST', body: '{}' });
  expect(response.status).toBe(401);
  const metadataUrl = 'https://troupe.example/.well-known/oauth-protected-resource/mcp';
  expect(response.headers.get('www-authenticate')).toContain(`resource_metadata="${metadataUrl}"`);
  const metadata = await fetch(new URL('/.well-known/oauth-protected-resource/mcp', url));
  expect(await metadata.json()).toMatchObject({
    resource: 'https://troupe.example/mcp',
    authorization_servers: ['https://issuer.example'],
  });
});
