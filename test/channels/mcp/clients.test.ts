/**
 * The official client against `/mcp`, in a session of 2025 and by the stateless requests of 2026.
 */
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { type FixtureServer, startFixtureServer } from './fixture-server.ts';

let server: FixtureServer;
beforeAll(async () => {
  server = await startFixtureServer();
});
afterAll(() => server.close());

const ERAS = [
  { revision: '2025-11-25', mode: 'legacy' },
  { revision: '2026-07-28', mode: 'auto' },
] as const;

describe.each(ERAS)('a client of $revision', ({ revision, mode }) => {
  let client: Client;
  beforeEach(async () => {
    client = new Client(
      { name: 'test', version: '1.0.0' },
      {
        capabilities: { elicitation: { form: {} }, sampling: {}, roots: {} },
        versionNegotiation: { mode },
      },
    );
    client.setRequestHandler('elicitation/create', ({ params }) => ({
      action: 'accept',
      content: { username: 'ada', email: params.message, name: 'Ada', color: 'blue' },
    }));
    client.setRequestHandler('sampling/createMessage', ({ params }) => ({
      role: 'assistant',
      model: 'test',
      content: { type: 'text', text: `answer to ${JSON.stringify(params.messages[0]?.content)}` },
    }));
    client.setRequestHandler('roots/list', () => ({ roots: [{ uri: 'file:///work' }] }));
    await client.connect(new StreamableHTTPClientTransport(new URL(server.url)));
  });
  afterEach(() => client.close());

  const call = (name: string, args: Record<string, unknown> = {}) =>
    client.callTool({ name, arguments: args });
  const textOf = async (name: string, args: Record<string, unknown> = {}) =>
    ((await call(name, args)).content[0] as { text: string }).text;

  it('negotiates its revision', () => {
    expect(client.getNegotiatedProtocolVersion()).toBe(revision);
    expect(client.getServerVersion()?.name).toBe('troupe-fixture');
  });

  it('gets the tools sorted by name, and their schemas unchanged', async () => {
    const { tools } = await client.listTools();
    const names = tools.map(({ name }) => name);
    expect(names).toEqual(names.toSorted());
    const { inputSchema } = tools.find(({ name }) => name === 'json_schema_2020_12_tool')!;
    expect(inputSchema).toMatchObject({
      $defs: { address: { $anchor: 'addressDef' } },
      if: { required: ['contactMethod'] },
      additionalProperties: false,
    });
  });

  it.each([
    ['test_simple_text', ['text']],
    ['test_image_content', ['image']],
    ['test_audio_content', ['audio']],
    ['test_embedded_resource', ['resource']],
    ['test_multiple_content_types', ['text', 'image', 'resource']],
  ])('gets the contents of %s', async (name, types) => {
    const { content, isError } = await call(name);
    expect(content.map(({ type }) => type)).toEqual(types);
    expect(isError).toBeFalsy();
  });

  it('gets the failure of a tool as a result', async () => {
    expect(await call('test_error_handling')).toMatchObject({ isError: true });
  });

  it('answers a form', async () => {
    const answer = await textOf('test_elicitation', { message: 'a@example.com' });
    expect(answer).toMatch(/^User response: action: accept, .*"email":"a@example\.com"/);
  });

  it('answers a sampling request', async () => {
    const answer = await textOf('test_sampling', { prompt: 'why?' });
    expect(answer).toMatch(/^LLM response: answer to .*why\?/);
  });

  it('answers a form, a sampling request and a list of roots of one call', async () => {
    expect(await textOf('test_input_required_result_multiple_inputs')).toBe('all inputs are given');
  });

  it('answers two forms, one after the other', async () => {
    expect(await textOf('test_input_required_result_multi_round')).toBe('Ada likes blue');
  });

  it('gets progress in order', async () => {
    const seen: number[] = [];
    await client.callTool(
      { name: 'test_tool_with_progress', arguments: {} },
      { onprogress: ({ progress }) => void seen.push(progress) },
    );
    expect(seen).toEqual([0, 50, 100]);
  });

  it('gets every page of the resources, their templates and contents', async () => {
    const { resources } = await client.listResources();
    expect(resources.map(({ name }) => name)).toEqual([
      'static-binary',
      'static-text',
      'watched-resource',
    ]);
    const { resourceTemplates } = await client.listResourceTemplates();
    expect(resourceTemplates.map(({ uriTemplate }) => uriTemplate)).toEqual([
      'test://template/{id}/data',
    ]);
    const read = async (uri: string) => (await client.readResource({ uri })).contents[0];
    expect(await read('test://static-text')).toMatchObject({ mimeType: 'text/plain' });
    expect(await read('test://static-binary')).toHaveProperty('blob');
    expect(await read('test://template/7/data')).toMatchObject({
      text: expect.stringContaining('Data for ID: 7'),
    });
  });

  it('gets prompts with their arguments', async () => {
    const { prompts } = await client.listPrompts();
    expect(prompts.map(({ name }) => name)).toContain('test_prompt_with_arguments');
    const { messages } = await client.getPrompt({
      name: 'test_prompt_with_arguments',
      arguments: { arg1: 'one', arg2: 'two' },
    });
    expect(messages[0]?.content).toMatchObject({
      text: "Prompt with arguments: arg1='one', arg2='two'",
    });
  });

  it('gets input for a prompt', async () => {
    client.setRequestHandler('elicitation/create', () => ({
      action: 'accept',
      content: { context: 'a test' },
    }));
    const { messages } = await client.getPrompt({ name: 'test_input_required_result_prompt' });
    expect(messages[0]?.content).toMatchObject({ text: 'Context: a test' });
  });

  it('gets at most 100 completions, and how many there are', async () => {
    const complete = (name: string, value: string) =>
      client.complete({
        ref: { type: 'ref/prompt', name: 'test_prompt_with_arguments' },
        argument: { name, value },
      });
    expect((await complete('arg1', 'par')).completion.values).toEqual(['paris', 'park', 'party']);
    const { completion } = await complete('id', '');
    expect(completion.values).toHaveLength(100);
    expect(completion).toMatchObject({ total: 150, hasMore: true });
  });

  it.each([
    ['tool', () => call('no_such_tool'), /unknown tool: no_such_tool/],
    ['prompt', () => client.getPrompt({ name: 'no_such_prompt' }), /unknown prompt/],
    ['resource', () => client.readResource({ uri: 'test://none' }), /test:\/\/none|not found/i],
    [
      'argument of a prompt',
      () => client.getPrompt({ name: 'test_prompt_with_arguments', arguments: { arg1: 'one' } }),
      /needs arg2/,
    ],
  ])('gets an error for a missing %s', async (_what, ask, message) => {
    await expect(ask()).rejects.toThrow(message);
  });
});

describe('a session of 2025', () => {
  let client: Client;
  beforeEach(async () => {
    client = new Client({ name: 'test', version: '1.0.0' });
    await client.connect(new StreamableHTTPClientTransport(new URL(server.url)));
  });
  afterEach(() => client.close());

  it('gets log messages of the level that it set', async () => {
    const seen: unknown[] = [];
    client.setNotificationHandler('notifications/message', ({ params }) => {
      seen.push(params.data);
    });
    await client.setLoggingLevel('error');
    await client.callTool({ name: 'test_logging_tool', arguments: {} });
    expect(seen).toEqual([]);
    await client.setLoggingLevel('info');
    await client.callTool({ name: 'test_logging_tool', arguments: {} });
    expect(seen).toEqual([
      'Tool execution started',
      'Tool processing data',
      'Tool execution completed',
    ]);
  });

  it('subscribes to a resource and unsubscribes', async () => {
    const uri = 'test://watched-resource';
    await client.subscribeResource({ uri });
    expect(server.subscribed).toContain(uri);
    await client.unsubscribeResource({ uri });
    expect(server.subscribed).not.toContain(uri);
  });

  it('gets a result instead of a task, and no tool that only creates tasks', async () => {
    const call = (name: string) => client.callTool({ name, arguments: { seconds: 0 } });
    expect((await call('slow_compute')).content).toEqual([{ type: 'text', text: 'computed' }]);
    await expect(call('failing_job')).rejects.toThrow(/io\.modelcontextprotocol\/tasks/);
  });
});
