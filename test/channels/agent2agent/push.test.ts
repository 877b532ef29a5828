/** Push notifications: configurations by the client of the SDK, with a real receiver. */
import { createHash } from 'node:crypto';
import { createServer, type IncomingHttpHeaders } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Client } from '@a2a-js/sdk/client';
import type { TaskPushNotificationConfig } from '@a2a-js/sdk';
import { createRemoteJWKSet, jwtVerify } from 'jose';
import { describe, expect, it, onTestFinished } from 'vitest';
import { PUSH_INDEX, pushAddress, pushKey, type PushRow } from '../../../protocols/push.ts';
import type { Message } from '../../../protocols/statechart.ts';
import { called, sent, serveAgent2Agent, taskIn, type TestGateway } from './gateway.ts';
import { eventually } from '../../runtime/eventually.ts';

type Got = { readonly headers: IncomingHttpHeaders; readonly body: string };

/** A receiver that answers with the status that `answer` returns. */
async function openReceiver(answer: (got: readonly Got[]) => number, location?: string) {
  const got: Got[] = [];
  const server = createServer((request, response) => {
    let body = '';
    request.setEncoding('utf8').on('data', (part: string) => (body += part));
    request.on('end', () => {
      got.push({ headers: request.headers, body });
      response.writeHead(answer(got), location ? { location } : {}).end();
    });
  });
  await new Promise<void>((resolve) => void server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => void server.close());
  const { port } = server.address() as AddressInfo;
  return { got, url: `http://127.0.0.1:${port}/hook`, server };
}

const configOf = (more: Partial<TaskPushNotificationConfig>): TaskPushNotificationConfig => ({
  tenant: '',
  id: '',
  taskId: '',
  url: '',
  token: '',
  authentication: undefined,
  ...more,
});

const held = async (client: Client, gate: string): Promise<string> => {
  const request = called('hold_work', { gate }, { returnImmediately: true });
  return taskIn(await client.sendMessage(request)).id;
};

const rows = ({ system }: TestGateway): readonly PushRow[] =>
  system.index.list<PushRow>(PUSH_INDEX, 'acme').map(({ value }) => value);
const statesOf = (got: readonly Got[]): unknown[] =>
  got.map(({ body }) => JSON.parse(body).task.status.state);

describe.each(['JSONRPC', 'HTTP+JSON'] as const)('over %s', (binding) => {
  it('a configuration is created, read, listed and deleted, and shows no secret', async () => {
    const gateway = await serveAgent2Agent();
    const client = await gateway.client({ binding });
    const taskId = await held(client, 'g');
    const created = await client.createTaskPushNotificationConfig(
      configOf({
        taskId,
        id: 'mine',
        url: 'https://receiver.example/hook',
        token: 'a-secret-token',
        authentication: { scheme: 'Bearer', credentials: 'a-secret-credential' },
      }),
    );
    const shown = { id: 'mine', taskId, url: 'https://receiver.example/hook', token: '' };
    expect(created).toMatchObject({ ...shown, authentication: { scheme: 'Bearer' } });
    const named = { tenant: '', taskId, id: 'mine' };
    expect(await client.getTaskPushNotificationConfig(named)).toEqual(created);
    const list = { tenant: '', taskId, pageSize: 0, pageToken: '' };
    expect((await client.listTaskPushNotificationConfig(list)).configs).toEqual([created]);
    expect(JSON.stringify(rows(gateway))).not.toContain('secret');
    const other = await gateway.client({ binding, as: 'clerk' });
    await expect(other.getTaskPushNotificationConfig(named)).rejects.toThrow(/not found/i);
    await client.deleteTaskPushNotificationConfig(named);
    await client.deleteTaskPushNotificationConfig(named);
    await expect(client.getTaskPushNotificationConfig(named)).rejects.toThrow(/no such/);
    expect((await client.listTaskPushNotificationConfig(list)).configs).toEqual([]);
  });
});

it('each change arrives in order, signed and with the authentication of the client', async () => {
  const gateway = await serveAgent2Agent();
  const client = await gateway.client();
  const { got, url } = await openReceiver(() => 204);
  const request = called('ask_word', {}, { returnImmediately: true });
  const taskPushNotificationConfig = configOf({
    url,
    token: 'tok',
    authentication: { scheme: 'Bearer', credentials: 'cred' },
  });
  const configuration = { ...request.configuration!, taskPushNotificationConfig };
  const { id: taskId } = taskIn(await client.sendMessage({ ...request, configuration }));
  await eventually(() => expect(statesOf(got)).toContain('TASK_STATE_INPUT_REQUIRED'));
  await client.sendMessage(sent({ text: 'bánh', taskId }));
  await eventually(() => expect(statesOf(got).at(-1)).toBe('TASK_STATE_COMPLETED'));
  const { headers, body } = got.at(-1)!;
  expect(JSON.parse(body).task.artifacts[0].parts[0].data).toEqual({ word: 'bánh' });
  expect(headers).toMatchObject({
    'content-type': 'application/a2a+json',
    authorization: 'Bearer cred',
    'x-a2a-notification-token': 'tok',
  });
  const keys = createRemoteJWKSet(new URL(`${gateway.url}/.well-known/jwks.json`));
  const { payload } = await jwtVerify(String(headers['x-troupe-signature']), keys, {
    audience: url,
    issuer: gateway.url,
  });
  expect(payload).toMatchObject({
    task_id: taskId,
    jti: headers['idempotency-key'],
    request_body_sha256: createHash('sha256').update(body).digest('hex'),
  });
  expect(new Set(got.map((one) => one.headers['idempotency-key'])).size).toBe(got.length);
  await eventually(() => expect(rows(gateway)).toMatchObject([{ state: 'finished' }]));
});

it.each(['', 'tok'])('a repeated message with the token %j posts nothing again', async (token) => {
  const gateway = await serveAgent2Agent();
  const client = await gateway.client();
  const { got, url } = await openReceiver(() => 204);
  const request = called('echo_text', { text: 'a' });
  const send = (to: string) => {
    const taskPushNotificationConfig = configOf({ url: to, token });
    const configuration = { ...request.configuration!, taskPushNotificationConfig };
    return client.sendMessage({ ...request, configuration });
  };
  const hasEnded = () =>
    eventually(() => expect(rows(gateway)).toMatchObject([{ state: 'finished' }]));
  await send(url);
  await hasEnded();
  const before = statesOf(got);
  for (let n = 0; n < 3; n++) {
    await send(url);
    await hasEnded();
  }
  expect(statesOf(got)).toEqual(before);
  // Another receiver gets the end of the task.
  await send(`${url}/other`);
  await eventually(() => expect(got).toHaveLength(before.length + 1));
});

it('a receiver that answers 500 gets the same notification again, before the next one', async () => {
  const gateway = await serveAgent2Agent();
  const client = await gateway.client();
  const { got, url } = await openReceiver((all) => (all.length <= 2 ? 500 : 200));
  const taskId = await held(client, 'g');
  await eventually(() => expect(gateway.gate.begun).toEqual(['g']));
  await client.createTaskPushNotificationConfig(configOf({ taskId, url }));
  await eventually(() => expect(got).not.toEqual([]));
  gateway.gate.open('g');
  await eventually(() => expect(statesOf(got).at(-1)).toBe('TASK_STATE_COMPLETED'), 20_000);
  const ids = got.map(({ headers }) => headers['idempotency-key']);
  expect(ids.slice(0, 3)).toEqual([ids[0], ids[0], ids[0]]);
  expect(statesOf(got).slice(0, 3)).toEqual(Array(3).fill('TASK_STATE_WORKING'));
  expect(rows(gateway)).toMatchObject([{ failures: 0 }]);
}, 30_000);

it('a receiver that was down gets what it missed', async () => {
  const gateway = await serveAgent2Agent();
  const client = await gateway.client();
  const { got, url, server } = await openReceiver(() => 200);
  const { port } = new URL(url);
  await new Promise((resolve) => server.close(resolve));
  const { id: taskId } = taskIn(await client.sendMessage(called('echo_text', { text: 'a' })));
  await client.createTaskPushNotificationConfig(configOf({ taskId, url }));
  await eventually(() => expect(rows(gateway)).toMatchObject([{ state: 'failing' }]));
  await new Promise<void>((resolve) => void server.listen(Number(port), '127.0.0.1', resolve));
  await eventually(() => expect(statesOf(got)).toEqual(['TASK_STATE_COMPLETED']), 20_000);
}, 30_000);

it('a redrive enables a disabled configuration only; another principal replaces none', async () => {
  const gateway = await serveAgent2Agent();
  const client = await gateway.client();
  const { got, url } = await openReceiver((all) => (all.length === 1 ? 410 : 200));
  const { id: taskId } = taskIn(await client.sendMessage(called('echo_text', { text: 'a' })));
  const config = configOf({ taskId, url, id: 'mine' });
  const actor = pushAddress('acme', pushKey(taskId, 'mine'));
  const ask = (event: Message, sub: string) =>
    gateway.system.ask(actor, event, { principal: { sub, roles: [] }, timeoutMs: 10_000 });
  await client.createTaskPushNotificationConfig(config);
  await eventually(() => expect(rows(gateway)).toMatchObject([{ state: 'disabled' }]));
  expect(JSON.stringify(rows(gateway))).toContain('with status 410: the receiver is gone');
  const stolen = { task_id: taskId, config_id: 'mine', url: 'https://x.example', principal: 'bob' };
  expect(await ask({ type: 'push.configure', config: stolen }, 'bob')).toMatchObject({
    kind: 'refused',
    error: { code: 'CONFLICT' },
  });
  expect(await ask({ type: 'push.remove' }, 'bob')).toMatchObject({ kind: 'refused' });
  await ask({ type: 'push.retry' }, 'an operator');
  await eventually(() => expect(rows(gateway)).toMatchObject([{ state: 'finished' }]));
  expect(statesOf(got)).toEqual(['TASK_STATE_COMPLETED', 'TASK_STATE_COMPLETED']);
  await client.deleteTaskPushNotificationConfig({ tenant: '', taskId, id: 'mine' });
  await ask({ type: 'push.retry' }, 'an operator');
  expect(rows(gateway)).toEqual([]);
  await client.createTaskPushNotificationConfig(config);
  await eventually(() => expect(got).toHaveLength(3));
  const ids = got.map(({ headers }) => headers['idempotency-key']);
  expect(new Set(ids).size).toBe(3);
});

it('no redirect is followed, and no private address is reached: it is disabled', async () => {
  const gateway = await serveAgent2Agent();
  const client = await gateway.client();
  const inside = await openReceiver(() => 200);
  const { got, url } = await openReceiver(() => 307, inside.url);
  const { id: taskId } = taskIn(await client.sendMessage(called('echo_text', { text: 'a' })));
  for (const to of [
    url,
    'http://10.0.0.1/hook',
    'http://169.254.169.254/latest',
    'http://[fd00::1]/',
  ])
    await client.createTaskPushNotificationConfig(configOf({ taskId, url: to }));
  await eventually(() =>
    expect(rows(gateway).map(({ state }) => state)).toEqual(Array(4).fill('disabled')),
  );
  expect([got.length, inside.got.length]).toEqual([1, 0]);
  expect(await gateway.system.deadLetters.list({ domain: 'push' })).toHaveLength(4);
  expect(JSON.stringify(rows(gateway))).toContain('not on the public internet');
  expect(JSON.stringify(rows(gateway))).toContain('with status 307: redirects are not followed');
});

it.each([
  ['ftp://receiver.example/', ''],
  ['not a URL', ''],
  ['https://ann:secret@receiver.example/', ''],
  ['https://receiver.example/', 'line\nbreak'],
])('the configuration of %s is refused', async (url, token) => {
  const gateway = await serveAgent2Agent();
  const client = await gateway.client();
  const taskId = await held(client, 'g');
  await expect(
    client.createTaskPushNotificationConfig(configOf({ taskId, url, token })),
  ).rejects.toThrow(/push configuration is not valid/);
  expect(rows(gateway)).toEqual([]);
});

it('of many concurrent configurations of a task, ten are created; a removed one makes room', async () => {
  const gateway = await serveAgent2Agent();
  const client = await gateway.client();
  const taskId = await held(client, 'g');
  const create = (n: number) =>
    client.createTaskPushNotificationConfig(
      configOf({ taskId, id: `c${n}`, url: 'https://receiver.example/' }),
    );
  const created = await Promise.allSettled(Array.from({ length: 40 }, (_, n) => create(n)));
  expect(created.filter(({ status }) => status === 'fulfilled')).toHaveLength(10);
  const listed = await client.listTaskPushNotificationConfig({
    tenant: '',
    taskId,
    pageSize: 0,
    pageToken: '',
  });
  expect(listed.configs).toHaveLength(10);
  await expect(create(99)).rejects.toThrow(/at most 10/);
  const { id } = listed.configs[0]!;
  await create(Number(id.slice(1)));
  await client.deleteTaskPushNotificationConfig({ tenant: '', taskId, id });
  await eventually(() => create(99));
  expect(rows(gateway)).toHaveLength(10);
});

it('an answer with a large body is a delivery', async () => {
  const gateway = await serveAgent2Agent();
  const client = await gateway.client();
  const server = createServer((request, response) => {
    request.resume();
    response.writeHead(200).end(Buffer.alloc(6 * 2 ** 20));
  });
  await new Promise<void>((resolve) => void server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => void server.close());
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/`;
  const { id: taskId } = taskIn(await client.sendMessage(called('echo_text', { text: 'a' })));
  await client.createTaskPushNotificationConfig(configOf({ taskId, url }));
  await eventually(() =>
    expect(rows(gateway)).toMatchObject([{ state: 'finished', delivered: 1, failures: 0 }]),
  );
});
