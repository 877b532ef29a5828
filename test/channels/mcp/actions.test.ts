/** Actions as tools: results, refusals, repeats, input, tasks and cancellation, with real tasks. */
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { expect, onTestFinished, test } from 'vitest';
import { TASKS_INDEX, type TaskRow } from '../../../protocols/task.ts';
import { type McpGateway, type RpcOptions, serveMcp, TASKS } from './gateway.ts';
import { eventually } from '../../runtime/eventually.ts';

const ECHO = 'test__echo_text-v1';
const HOLD = 'test__hold_work-v1';
const ASK = 'test__ask_word-v1';
const FORMS = { elicitation: { form: {} } };

const call = (
  { rpc }: McpGateway,
  name: string,
  args: object,
  { key, ...options }: RpcOptions & { key?: string } = {},
) =>
  rpc(
    'tools/call',
    {
      name,
      arguments: args,
      ...(key === undefined ? {} : { _meta: { 'troupe/idempotency-key': key } }),
    },
    options,
  );

const states = ({ system }: McpGateway): string[] =>
  system.index.list<TaskRow>(TASKS_INDEX, 'acme').map(({ value }) => value.view.state);

test('a caller sees the actions that it may call, in a fixed order', async () => {
  const gateway = await serveMcp();
  const names = async (as: string): Promise<string[]> =>
    (await gateway.rpc('tools/list', {}, { as })).result.tools.map(
      ({ name }: { name: string }) => name,
    );
  const alice = await names('alice');
  expect(alice).toContain(ECHO);
  expect(alice).toEqual(alice.toSorted());
  expect(alice).not.toContain('test__guard_door-v1');
  expect(await names('clerk')).toContain('test__guard_door-v1');
  const refused = await call(gateway, 'test__guard_door-v1', { text: 'a' });
  expect(refused).toMatchObject({ error: { code: -32_602 } });
});

/** Clients check structured content against the output schema, so that a failure has none. */
function failureIn({ result }: Awaited<ReturnType<typeof call>>): unknown {
  expect(result).toMatchObject({ isError: true });
  expect(result).not.toHaveProperty('structuredContent');
  return JSON.parse(result.content[0].text);
}

test('a short action returns its result, and what is wrong with its arguments', async () => {
  const gateway = await serveMcp();
  const { result } = await call(gateway, ECHO, { text: 'xin chào' });
  expect(result).toMatchObject({ structuredContent: { text: 'xin chào' } });
  expect(JSON.parse(result.content[0].text)).toEqual({ text: 'xin chào' });
  const wrong = await call(gateway, ECHO, { text: 5 });
  expect(failureIn(wrong)).toMatchObject({
    error: { code: 'INVALID_ARGUMENT', details: { errors: [{ path: '/payload/text' }] } },
  });
  const failed = await call(gateway, 'test__fail_always-v1', {});
  expect(failureIn(failed)).toMatchObject({
    state: 'FAILED',
    error: { message: 'never good enough' },
  });
  expect(gateway.faults).toEqual([]);
  const views = gateway.system.index
    .list<TaskRow>(TASKS_INDEX, 'acme')
    .map(({ value }) => value.view);
  expect(views).toHaveLength(2);
  for (const view of views) expect(view).toMatchObject({ protocol: 'mcp', principal: 'alice' });
});

test('calls with one key are executed once, and another payload under it is a conflict', async () => {
  const gateway = await serveMcp();
  const held = [1, 2, 3].map(() => call(gateway, HOLD, { gate: 'a' }, { key: 'one' }));
  await eventually(() => expect(gateway.gate.begun).toEqual(['a']));
  gateway.gate.open('a');
  const results = await Promise.all(held);
  expect(results.map(({ result }) => result.structuredContent)).toEqual(
    results.map(() => ({ held: 'a' })),
  );
  expect(gateway.gate.begun).toEqual(['a']);
  const other = await call(gateway, HOLD, { gate: 'b' }, { key: 'one' });
  expect(failureIn(other)).toMatchObject({ error: { code: 'CONFLICT' } });
  const long = await call(gateway, ECHO, { text: 'a' }, { key: 'k'.repeat(257) });
  expect(failureIn(long)).toMatchObject({ error: { code: 'INVALID_ARGUMENT' } });
});

test('concurrent calls do not refuse each other by their sequence numbers', async () => {
  const gateway = await serveMcp();
  const many = await Promise.all(
    Array.from({ length: 60 }, (_, n) => call(gateway, ECHO, { text: String(n) })),
  );
  expect(many.map(({ result }) => result.structuredContent?.text)).toEqual(
    many.map((_, n) => String(n)),
  );
});

test('a client that declared tasks gets a long call as a task, durable and only its own', async () => {
  const gateway = await serveMcp();
  const { result: handle } = await call(gateway, HOLD, { gate: 'g' }, { capabilities: TASKS });
  expect(handle).toMatchObject({ resultType: 'task', status: 'working', ttlMs: null });
  const { taskId } = handle;
  const get = (options: RpcOptions) => gateway.rpc('tasks/get', { taskId }, options);
  expect((await get({ capabilities: TASKS })).result).toMatchObject({ taskId, status: 'working' });
  expect(await get({})).toMatchObject({ status: 400, error: { code: -32_021 } });
  expect(await get({ as: 'clerk', capabilities: TASKS })).toMatchObject({
    error: { code: -32_602, data: { code: 'NOT_FOUND' } },
  });
  gateway.gate.open('g');
  await eventually(async () =>
    expect((await get({ capabilities: TASKS })).result).toMatchObject({
      status: 'completed',
      result: { structuredContent: { held: 'g' } },
    }),
  );
  // A cancellation comes too late, which is no error.
  expect(await gateway.rpc('tasks/cancel', { taskId }, { capabilities: TASKS })).toMatchObject({
    result: { resultType: 'complete' },
  });
  expect((await get({ capabilities: TASKS })).result).toMatchObject({ status: 'completed' });
});

test('a task is cancelled and a waiting one gets its input, each once', async () => {
  const gateway = await serveMcp();
  const options = { capabilities: TASKS };
  const held = (await call(gateway, HOLD, { gate: 'never' }, options)).result.taskId;
  await gateway.rpc('tasks/cancel', { taskId: held }, options);
  await eventually(async () =>
    expect((await gateway.rpc('tasks/get', { taskId: held }, options)).result).toMatchObject({
      status: 'cancelled',
    }),
  );
  const { taskId } = (await call(gateway, ASK, {}, options)).result;
  const { result } = await gateway.rpc('tasks/get', { taskId }, options);
  expect(result).toMatchObject({ status: 'input_required', statusMessage: 'which word?' });
  const [key] = Object.keys(result.inputRequests);
  const answer = (name: string, value: unknown) =>
    gateway.rpc(
      'tasks/update',
      { taskId, inputResponses: { [name]: { action: 'accept', content: { value } } } },
      options,
    );
  // What the task does not wait for is ignored.
  await answer('input-0', 'unasked');
  await answer(key!, 'rượu');
  await eventually(async () =>
    expect((await gateway.rpc('tasks/get', { taskId }, options)).result).toMatchObject({
      status: 'completed',
      result: { structuredContent: { word: 'rượu' } },
    }),
  );
  await answer(key!, 'again');
  expect((await gateway.rpc('tasks/get', { taskId }, options)).result.result).toMatchObject({
    structuredContent: { word: 'rượu' },
  });
});

test('input is requested with a state that only the caller of its task can continue', async () => {
  const gateway = await serveMcp();
  const asked = (await call(gateway, ASK, {}, { capabilities: FORMS })).result;
  expect(asked).toMatchObject({ resultType: 'input_required' });
  const [key] = Object.keys(asked.inputRequests);
  const inputResponses = { [key!]: { action: 'accept', content: { value: 'phở' } } };
  const again = (requestState: string, as = 'alice', name = ASK) =>
    gateway.rpc(
      'tools/call',
      { name, arguments: {}, requestState, inputResponses },
      { as, capabilities: FORMS },
    );
  const { requestState } = asked;
  expect(failureIn(await again(requestState, 'clerk'))).toMatchObject({
    error: { code: 'NOT_FOUND' },
  });
  expect((await again(`${requestState}x`)).result).toMatchObject({ isError: true });
  expect(failureIn(await again(requestState, 'alice', ECHO))).toMatchObject({
    error: { code: 'INVALID_ARGUMENT' },
  });
  expect((await again(requestState)).result.structuredContent).toEqual({ word: 'phở' });
  // Sent once more, it finds the result.
  expect((await again(requestState)).result.structuredContent).toEqual({ word: 'phở' });
  const silent = await call(gateway, ASK, {});
  expect(failureIn(silent)).toMatchObject({
    waiting: { for: 'input', prompt: 'which word?' },
  });
});

test('a client that disconnects cancels its call, unless it sent a key', async () => {
  const gateway = await serveMcp();
  for (const [key, gate] of [
    [undefined, 'cancelled'],
    ['kept', 'continued'],
  ] as const) {
    const gone = new AbortController();
    const options = { signal: gone.signal, ...(key === undefined ? {} : { key }) };
    const lost = call(gateway, HOLD, { gate }, options).catch(() => 'gone');
    await eventually(() => expect(gateway.gate.begun).toContain(gate));
    gone.abort();
    expect(await lost).toBe('gone');
    await eventually(() => expect(states(gateway)).toContain('CANCELLED'));
  }
  expect(states(gateway).toSorted()).toEqual(['CANCELLED', 'RUNNING']);
  gateway.gate.open('continued');
  const found = await call(gateway, HOLD, { gate: 'continued' }, { key: 'kept' });
  expect(found.result.structuredContent).toEqual({ held: 'continued' });
});

test('a client of 2025 is asked for input, and cancels by a notification', async () => {
  const gateway = await serveMcp();
  const client = new Client({ name: 'test', version: '1' }, { capabilities: FORMS });
  onTestFinished(() => client.close());
  client.setRequestHandler('elicitation/create', ({ params }) => ({
    action: 'accept',
    content: { value: `${params.message} bánh` },
  }));
  const requestInit = { headers: { authorization: 'Bearer alice' } };
  await client.connect(new StreamableHTTPClientTransport(new URL(gateway.url), { requestInit }));
  expect((await client.callTool({ name: ASK, arguments: {} })).structuredContent).toEqual({
    word: 'which word? bánh',
  });
  const gone = new AbortController();
  const progress: (string | undefined)[] = [];
  const held = client
    .callTool(
      { name: HOLD, arguments: { gate: 'x' } },
      { signal: gone.signal, onprogress: ({ message }) => void progress.push(message) },
    )
    .catch(() => 'gone');
  await eventually(() => expect(gateway.gate.begun).toContain('x'));
  await eventually(() => expect(progress).not.toEqual([]));
  gone.abort();
  expect(await held).toBe('gone');
  await eventually(() => expect(states(gateway)).toContain('CANCELLED'));
});

test('the trace of a call is that of its client', async () => {
  const gateway = await serveMcp();
  const traceId = 'ab'.repeat(16);
  const _meta = { traceparent: `00-${traceId}-${'cd'.repeat(8)}-01` };
  const { result } = await gateway.rpc('tools/call', {
    name: ECHO,
    arguments: { text: 'a' },
    _meta,
  });
  const { task_id } = result._meta['troupe/task'];
  const row = gateway.system.index.get<TaskRow>(TASKS_INDEX, 'acme', task_id);
  expect(row?.view.trace_id).toBe(traceId);
});
