/** `subscriptions/listen` with tasks: what a client is sent until they have ended. */
import { expect, test, vi } from 'vitest';
import { type McpGateway, serveMcp, TASKS } from './gateway.ts';

const HOLD = 'test__hold_work-v1';
const ASK = 'test__ask_word-v1';
const CAPABILITIES = 'io.modelcontextprotocol/clientCapabilities';

type Message = {
  readonly id?: string;
  readonly method?: string;
  // Tests read whatever the message has.
  // oxlint-disable-next-line no-explicit-any
  readonly params?: any;
  readonly result?: object;
};

const started = async ({ rpc }: McpGateway, name: string, args: object): Promise<string> =>
  (await rpc('tools/call', { name, arguments: args }, { capabilities: TASKS })).result.taskId;

/** The messages of a subscription, as they come; `ended` resolves with the end of its stream. */
async function listen({ url }: McpGateway, taskIds: unknown, capabilities: object = TASKS) {
  const _meta = {
    'io.modelcontextprotocol/protocolVersion': '2026-07-28',
    'io.modelcontextprotocol/clientInfo': { name: 'test', version: '1' },
    [CAPABILITIES]: capabilities,
  };
  const params = { notifications: { taskIds }, _meta };
  const response = await fetch(url, {
    method: 'POST',
    headers: {
      authorization: 'Bearer alice',
      'content-type': 'application/json',
      accept: 'application/json, text/event-stream',
      'mcp-protocol-version': '2026-07-28',
      'mcp-method': 'subscriptions/listen',
    },
    body: JSON.stringify({ jsonrpc: '2.0', id: 'sub', method: 'subscriptions/listen', params }),
  });
  const messages: Message[] = [];
  const ended = (async () => {
    let rest = '';
    for await (const text of response.body!.pipeThrough(new TextDecoderStream())) {
      const frames = (rest + text).split('\n\n');
      rest = frames.pop()!;
      for (const frame of frames) {
        const data = frame.split('\n').find((line) => line.startsWith('data: '));
        if (data) messages.push(JSON.parse(data.slice(6)) as Message);
      }
    }
  })();
  return { messages, ended };
}

const statesOf = (messages: readonly Message[], taskId: string): string[] =>
  messages
    .filter(({ method, params }) => method === 'notifications/tasks' && params.taskId === taskId)
    .map(({ params }) => params.status);

test('the stream has each change of the tasks, whole, and ends with the last of them', async () => {
  const gateway = await serveMcp();
  const held = await started(gateway, HOLD, { gate: 'g' });
  const asking = await started(gateway, ASK, {});
  const { messages, ended } = await listen(gateway, [held, asking, 'no-such-task']);
  await vi.waitFor(() => {
    expect(statesOf(messages, held)).toContain('working');
    expect(statesOf(messages, asking)).toContain('input_required');
  });
  expect(messages[0]).toMatchObject({
    method: 'notifications/subscriptions/acknowledged',
    params: {
      notifications: { taskIds: [held, asking] },
      _meta: { 'io.modelcontextprotocol/subscriptionId': 'sub' },
    },
  });
  gateway.gate.open('g');
  await vi.waitFor(() => expect(statesOf(messages, held).at(-1)).toBe('completed'));
  await gateway.rpc('tasks/cancel', { taskId: asking }, { capabilities: TASKS });
  await ended;
  expect(statesOf(messages, asking).at(-1)).toBe('cancelled');
  expect(messages.at(-1)).toMatchObject({ id: 'sub', result: { resultType: 'complete' } });
  expect(messages).toContainEqual(
    expect.objectContaining({
      params: expect.objectContaining({
        taskId: held,
        result: expect.objectContaining({ structuredContent: { held: 'g' } }),
      }),
    }),
  );
  expect(gateway.faults).toEqual([]);
});

test('a client that did not declare the extension gets no tasks', async () => {
  const gateway = await serveMcp();
  const held = await started(gateway, HOLD, { gate: 'g' });
  const { messages, ended } = await listen(gateway, [held], {});
  await ended;
  expect(messages[0]).toMatchObject({ params: { notifications: {} } });
  expect(statesOf(messages, held)).toEqual([]);
});
