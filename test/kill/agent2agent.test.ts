/**
 * kill -9 of the gateway between a task and its end, and in the middle of a stream: a client of the
 * Agent2Agent protocol finds the same task, which has one result.
 */
import { randomUUID } from 'node:crypto';
import { createServer } from 'node:http';
import { Role, type SendMessageRequest, type Task, TaskState } from '@a2a-js/sdk';
import {
  ClientFactory,
  ClientFactoryOptions,
  DefaultAgentCardResolver,
  JsonRpcTransportFactory,
  RestTransportFactory,
} from '@a2a-js/sdk/client';
import { expect, onTestFinished, test } from 'vitest';
import { announced, runProgram, startProgram } from '../cli/program.ts';
import { scratchFolder } from '../runtime/config/folder.ts';
import { eventually } from '../runtime/eventually.ts';
import { reservePort } from '../servers/reserve-port.ts';

const SECONDS = 4;

async function openInstallation() {
  const home = scratchFolder();
  const port = await reservePort();
  const start = async () => {
    const program = startProgram(['start', '--json', '--port', String(port)], { home });
    await announced(program, 60_000);
    return program;
  };
  let gateway = await start();
  const base = `http://127.0.0.1:${port}/tenants/conformance/a2a/conformance/`;
  const signed = await runProgram(
    ['token', '--tenant', 'conformance', '--sub', 'ann', '--roles', 'writer'],
    { home },
  );
  const authorization = `Bearer ${signed.stdout.trim()}`;
  return {
    async killAndRestart() {
      gateway.child.kill('SIGKILL');
      await gateway.ended;
      gateway = await start();
    },
    async tasks(): Promise<readonly unknown[]> {
      const list = ['actors', 'list', '--type', 'task', '--tenant', 'conformance'];
      const listed = await runProgram([...list, '--json', '--port', String(port)], { home });
      return JSON.parse(listed.stdout).actors;
    },
    async client(binding: 'JSONRPC' | 'HTTP+JSON') {
      const fetchImpl: typeof fetch = (input, init) => {
        const headers = new Headers(init?.headers);
        headers.set('authorization', authorization);
        return fetch(input, { ...init, headers });
      };
      // The card of a tenant without requests so far needs a token.
      return new ClientFactory(
        ClientFactoryOptions.createFrom(ClientFactoryOptions.default, {
          transports: [
            new JsonRpcTransportFactory({ fetchImpl }),
            new RestTransportFactory({ fetchImpl }),
          ],
          preferredTransports: [binding],
          cardResolver: new DefaultAgentCardResolver({ fetchImpl }),
        }),
      ).createFromUrl(base);
    },
  };
}

const slowly = (): SendMessageRequest => ({
  tenant: '',
  message: {
    messageId: randomUUID(),
    contextId: 'kill',
    taskId: '',
    role: Role.ROLE_USER,
    parts: [
      {
        content: {
          $case: 'data',
          value: { action: 'conformance.run_slowly', payload: { seconds: SECONDS } },
        },
        metadata: undefined,
        filename: '',
        mediaType: '',
      },
    ],
    metadata: undefined,
    extensions: [],
    referenceTaskIds: [],
  },
  configuration: undefined,
  metadata: undefined,
});

const resultOf = (task: Task): unknown => task.artifacts[0]?.parts[0]?.content?.value;

test.each(['JSONRPC', 'HTTP+JSON'] as const)(
  'a message over %s that is sent again after the kill of its gateway finds its task',
  async (binding) => {
    const installation = await openInstallation();
    const request = slowly();
    const client = await installation.client(binding);
    const accepted = (await client.sendMessage({
      ...request,
      configuration: {
        acceptedOutputModes: [],
        taskPushNotificationConfig: undefined,
        returnImmediately: true,
      },
    })) as Task;
    const lost = client.sendMessage(request).catch(() => 'lost');
    await installation.killAndRestart();
    expect(await lost).toBe('lost');
    const done = (await client.sendMessage(request)) as Task;
    expect(done.id).toBe(accepted.id);
    expect(done.status?.state).toBe(TaskState.TASK_STATE_COMPLETED);
    expect(resultOf(done)).toMatchObject({ seconds: SECONDS });
    expect(await installation.tasks()).toHaveLength(1);
  },
  120_000,
);

test('a stream that broke with its gateway is continued, and sees one result', async () => {
  const installation = await openInstallation();
  const client = await installation.client('JSONRPC');
  const stream = client.sendMessageStream(slowly());
  const first = (await stream.next()).value?.payload;
  const id = first?.$case === 'task' ? first.value.id : '';
  await installation.killAndRestart();
  await expect(stream.next()).rejects.toThrow(/./);
  const results: unknown[] = [];
  let state: TaskState | undefined;
  for await (const { payload } of client.resubscribeTask({ tenant: '', id })) {
    if (payload?.$case === 'artifactUpdate')
      results.push(payload.value.artifact?.parts[0]?.content?.value);
    if (payload?.$case === 'statusUpdate') state = payload.value.status?.state;
  }
  expect(state).toBe(TaskState.TASK_STATE_COMPLETED);
  expect(results).toMatchObject([{ seconds: SECONDS, task_id: id }]);
  expect(await installation.tasks()).toHaveLength(1);
}, 120_000);

test('a receiver that is down while its gateway is killed gets the end of the task', async () => {
  const installation = await openInstallation();
  const client = await installation.client('JSONRPC');
  const port = await reservePort();
  const task = (await client.sendMessage(slowly())) as Task;
  await client.createTaskPushNotificationConfig({
    tenant: '',
    id: 'hook',
    taskId: task.id,
    url: `http://127.0.0.1:${port}/hook`,
    token: '',
    authentication: undefined,
  });
  await installation.killAndRestart();
  const keys: (string | undefined)[] = [];
  const receiver = createServer((request, response) => {
    keys.push(request.headers['idempotency-key'] as string | undefined);
    request.resume();
    response.writeHead(204).end();
  });
  await new Promise<void>((resolve) => void receiver.listen(port, '127.0.0.1', resolve));
  onTestFinished(() => void receiver.close());
  await eventually(() => expect(keys).toHaveLength(1), 60_000);
}, 120_000);
