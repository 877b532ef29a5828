/**
 * Nodes through gateways: a node at one, callers at the other, over one system with real device
 * actors. Every frame is validated with the published schemas (opened.ts).
 */
import { afterEach, beforeEach, expect, test } from 'vitest';
import type { System } from '../../../../runtime/index.ts';
import type { Client, Frame } from '../client.ts';
import { connectParams, TOKEN } from '../client.ts';
import { NODE_QUESTIONS_MAX } from '../../../../channels/gateway/limits.ts';
import { challengeOf, helloAs, newDevice, signed, type TestDevice } from './device-identity.ts';
import { eventually } from '../../../runtime/eventually.ts';
import { closeAll, openClient, openGateway, openChallenged } from '../opened.ts';
import { dataFolder, openRealSystem } from '../real-system.ts';
import type { Gateway } from '../../../../channels/index.ts';

let folder: ReturnType<typeof dataFolder>;
let system: System;
let here: Gateway;
let there: Gateway;

beforeEach(async () => {
  folder = dataFolder();
  system = await openRealSystem(folder.path, 1_000);
  here = await openGateway(system);
  there = await openGateway(system);
});

afterEach(async () => {
  await closeAll();
  await system.stop();
  folder.remove();
});

const nodeParams = (more: object = {}) => ({
  minProtocol: 3,
  maxProtocol: 3,
  client: {
    id: 'node-host',
    version: '1.0.0',
    platform: 'linux',
    mode: 'node',
    displayName: 'box',
  },
  role: 'node',
  scopes: [] as string[],
  caps: ['camera', 'system'],
  commands: ['camera.snap', 'system.which'],
  auth: { token: TOKEN },
  ...more,
});

const openNode = async (gateway: Gateway, device: TestDevice, more: object = {}) => {
  const node = await openChallenged(gateway);
  const params = nodeParams(more);
  const { nonce, ts } = challengeOf(node);
  const hello = await node.call('connect', {
    ...params,
    device: signed(device, params, { nonce, signedAt: ts }),
  });
  expect(hello).toMatchObject({ ok: true });
  return node;
};

const isInvoke = ({ event }: Frame) => event === 'node.invoke.request';

const connectedState = (client: Client, nodeId: string, connected: boolean) =>
  eventually(async () => {
    const { payload } = await client.call('node.list');
    const nodes = payload.nodes as { nodeId: string; connected: boolean }[];
    const node = nodes.find((one) => one.nodeId === nodeId);
    expect(node?.connected).toBe(connected);
    return node!;
  });

test('a node of protocol 3 executes commands from a caller at another gateway', async () => {
  const device = newDevice();
  const node = await openNode(here, device);
  const caller = await openClient(there);
  await connectedState(caller, device.id, true);

  const asked = caller.call('node.invoke', {
    nodeId: device.id,
    command: 'system.which',
    params: { bins: ['ls'] },
    idempotencyKey: 'one',
  });
  const { payload } = await node.frame(isInvoke);
  expect(payload).toMatchObject({ nodeId: device.id, command: 'system.which' });
  expect(JSON.parse(payload.paramsJSON)).toEqual({ bins: ['ls'] });
  const given = {
    id: payload.id,
    nodeId: device.id,
    ok: true,
    payloadJSON: '{"bins":{"ls":"/ls"}}',
  };
  expect(await node.call('node.invoke.result', given)).toMatchObject({ payload: { ok: true } });

  expect((await asked).payload).toMatchObject({
    ok: true,
    command: 'system.which',
    payload: { bins: { ls: '/ls' } },
  });
  // The same key through the other gateway: the first answer, and the node is not called again.
  const again = await (await openClient(here)).call('node.invoke', {
    nodeId: device.id,
    command: 'system.which',
    params: { bins: ['ls'] },
    idempotencyKey: 'one',
  });
  expect(again.payload.payload).toEqual({ bins: { ls: '/ls' } });
  expect(node.events('node.invoke.request')).toHaveLength(1);
});

test('a disconnected node is refused at once, and serves again after it reconnects', async () => {
  const device = newDevice();
  const node = await openNode(here, device);
  const caller = await openClient(there);
  await connectedState(caller, device.id, true);
  await node.close();
  await connectedState(caller, device.id, false);
  const invoke = (idempotencyKey: string) =>
    caller.call('node.invoke', { nodeId: device.id, command: 'camera.snap', idempotencyKey });
  expect(await invoke('away')).toMatchObject({
    ok: false,
    error: { code: 'UNAVAILABLE', details: { outcome: 'none' } },
  });

  const back = await openNode(there, device);
  await connectedState(caller, device.id, true);
  const asked = invoke('back');
  const { payload } = await back.frame(isInvoke);
  const failed = { code: 'CAMERA_BUSY', message: 'the camera is in use' };
  await back.call('node.invoke.result', {
    id: payload.id,
    nodeId: device.id,
    ok: false,
    error: failed,
  });
  expect(await asked).toMatchObject({ ok: false, error: { message: 'the camera is in use' } });
});

test('parameters that violate the schema of the command never reach the node', async () => {
  const device = newDevice();
  const params = {
    type: 'object',
    required: ['bins'],
    properties: { bins: { type: 'array', items: { type: 'string' } } },
  };
  const node = await openNode(here, device, {
    troupe: { commands: { 'system.which': { params } } },
  });
  const caller = await openClient(here);
  await connectedState(caller, device.id, true);
  const answer = await caller.call('node.invoke', {
    nodeId: device.id,
    command: 'system.which',
    params: { bins: 'ls' },
    idempotencyKey: 'k',
  });
  expect(answer.error).toMatchObject({ code: 'INVALID_REQUEST' });
  expect(answer.error?.message).toContain('/bins must be array');
  expect(node.events('node.invoke.request')).toEqual([]);
});

test('a command that the device owner denied is FORBIDDEN', async () => {
  const device = newDevice();
  await openNode(here, device, { permissions: { camera: false } });
  const caller = await openClient(there);
  await connectedState(caller, device.id, true);
  const invoke = { nodeId: device.id, command: 'camera.snap', idempotencyKey: 'k' };
  expect((await caller.call('node.invoke', invoke)).error).toMatchObject({ code: 'FORBIDDEN' });
});

test('an approval of system.run is never taken from the caller: its fields are removed', async () => {
  const device = newDevice();
  const node = await openNode(here, device, { commands: ['system.run'] });
  const caller = await openClient(here);
  await connectedState(caller, device.id, true);
  caller.request('node.invoke', {
    nodeId: device.id,
    command: 'system.run',
    params: { command: ['id'], approved: true, approvalDecision: 'allow-once' },
    idempotencyKey: 'k',
  });
  const { payload } = await node.frame(isInvoke);
  expect(JSON.parse(payload.paramsJSON)).toEqual({ command: ['id'] });
});

test('a node requests an approval, and receives a decision that another gateway accepted', async () => {
  const device = newDevice();
  const node = await openNode(here, device);
  const person = await openClient(there, { scopes: ['operator.approvals'] });
  const asked = node.call('node.approval.ask', { id: 'q1', command: 'rm -r /', timeoutMs: 60_000 });
  const requested = await person.frame(({ event }) => event === 'exec.approval.requested');
  expect(requested.payload.request).toMatchObject({ command: 'rm -r /', host: 'node' });
  const { id } = requested.payload;
  await person.call('exec.approval.resolve', { id, decision: 'deny' });
  expect((await asked).payload).toEqual({ id: 'q1', decision: 'deny' });
});

test('a node with too many pending approvals is refused', async () => {
  const node = await openNode(here, newDevice());
  const person = await openClient(here, { scopes: ['operator.approvals'] });
  const ask = (at: number) =>
    node.call('node.approval.ask', { id: `q${at}`, command: 'ls', timeoutMs: 60_000 });
  const asked = Array.from({ length: 3 * NODE_QUESTIONS_MAX }, (_, at) => ask(at));
  const refused = await Promise.all(asked.slice(NODE_QUESTIONS_MAX));
  expect(refused.map(({ error }) => error?.details?.['reason'])).toEqual(
    refused.map(() => 'RATE_LIMIT_EXCEEDED'),
  );
  const waiting = await eventually(async () => {
    const { payload } = await person.call('exec.approval.list');
    expect(payload).toHaveLength(NODE_QUESTIONS_MAX);
    return payload as { id: string }[];
  });
  for (const { id } of waiting)
    await person.call('exec.approval.resolve', { id, decision: 'deny' });
  const answers = await Promise.all(asked.slice(0, NODE_QUESTIONS_MAX));
  expect(answers.map(({ payload }) => payload)).toEqual(
    answers.map((_, at) => ({ id: `q${at}`, decision: 'deny' })),
  );
});

test('an answer that is nested too deep is a failure of the node, and breaks nothing else', async () => {
  const device = newDevice();
  const node = await openNode(here, device);
  const caller = await openClient(here);
  await connectedState(caller, device.id, true);
  const invoke = { nodeId: device.id, command: 'system.which', idempotencyKey: 'deep' };
  const answer = caller.call('node.invoke', invoke);
  const { id, nodeId } = (await node.frame(isInvoke)).payload;
  const deep = `${'['.repeat(100_000)}${']'.repeat(100_000)}`;
  node.ws.send(`{"type":"req","id":"deep","method":"node.invoke.result","params":${deep}}`);
  const refused = await node.frame(({ ok }) => ok === false);
  expect(refused.error?.message).toContain('nested more than');
  const given = { id, nodeId, ok: true, payloadJSON: deep };
  expect((await node.call('node.invoke.result', given)).ok).toBe(true);
  expect((await answer).error?.message).toContain('nested more than');
});

test('an approval request gets two answers on its id, and can be waited for', async () => {
  const asker = await openClient(here, { scopes: ['operator.approvals'] });
  const id = asker.request('exec.approval.request', {
    id: 'mine',
    command: 'make deploy',
    timeoutMs: 60_000,
    twoPhase: true,
  });
  const accepted = await asker.frame((frame) => frame.id === id);
  expect(accepted.payload).toMatchObject({ status: 'accepted', id: 'mine' });
  const person = await openClient(there, { scopes: ['operator.approvals'] });
  const waiting = asker.call('exec.approval.waitDecision', { id: 'mine' });
  const { payload } = await person.call('exec.approval.list');
  expect(payload).toMatchObject([{ id: 'mine' }]);
  await person.call('exec.approval.resolve', { id: 'mine', decision: 'allow-once' });
  expect((await waiting).payload).toMatchObject({ id: 'mine', decision: 'allow-once' });
  const final = await asker.frame((frame) => frame.id === id, 2);
  expect(final.payload).toMatchObject({ id: 'mine', decision: 'allow-once' });
});

test('work for a disconnected node stays pending until the node acknowledges it', async () => {
  const device = newDevice();
  const first = await openNode(here, device);
  const caller = await openClient(there);
  await connectedState(caller, device.id, true);
  await first.close();
  await connectedState(caller, device.id, false);
  const enqueue = { nodeId: device.id, type: 'location.request', priority: 'high' };
  expect((await caller.call('node.pending.enqueue', enqueue)).payload).toMatchObject({
    queued: { type: 'location.request', priority: 'high' },
  });
  const node = await openNode(there, device);
  const drained = await node.call('node.pending.drain');
  expect(drained.payload.items).toMatchObject([{ type: 'location.request', priority: 'high' }]);
  const ids = drained.payload.items.map(({ id }: { id: string }) => id);
  expect((await node.call('node.pending.ack', { ids })).payload).toMatchObject({ ackedIds: ids });
  expect((await node.call('node.pending.drain')).payload.items).toEqual([]);
});

test('operators cannot call methods of nodes, and nodes cannot call methods of operators', async () => {
  const node = await openNode(here, newDevice());
  const person = await openClient(here);
  expect((await node.call('node.list')).error).toMatchObject({ code: 'FORBIDDEN' });
  const result = { id: 'x', nodeId: 'y', ok: true };
  expect((await person.call('node.invoke.result', result)).error).toMatchObject({
    code: 'FORBIDDEN',
  });
  expect((await node.call('node.invoke.result', result)).error).toMatchObject({
    code: 'INVALID_REQUEST',
  });
});

test('new commands of a node need approval, and commands that run programs need an admin', async () => {
  const device = newDevice();
  const watcher = await openClient(there, { scopes: ['operator.pairing'] });
  const first = await openNode(here, device, { commands: ['camera.snap'] });
  const hello = first.frames.find(({ payload }) => payload?.type === 'hello-ok');
  const { deviceToken } = hello!.payload.auth;
  await first.close();

  const more = { auth: { deviceToken }, commands: ['camera.snap', 'system.run'] };
  const node = await openNode(here, device, more);
  const { payload: asked } = await watcher.frame(({ event }) => event === 'node.pair.requested');
  expect(asked).toMatchObject({
    nodeId: device.id,
    requiredApproveScopes: ['operator.pairing', 'operator.admin'],
  });
  const update = ['node.runnerInventory.update', { workerHost: { enabled: false } }] as const;
  expect((await node.call(...update)).error).toMatchObject({ code: 'UNAVAILABLE' });
  const { requestId } = asked;
  expect((await watcher.call('node.pair.list')).payload.pending).toMatchObject([{ requestId }]);

  const approve = ['node.pair.approve', { requestId }] as const;
  expect((await watcher.call(...approve)).error).toMatchObject({
    code: 'FORBIDDEN',
    details: { missingScope: 'operator.admin' },
  });
  const admin = await openClient(there, { scopes: ['operator.admin'] });
  const invoke = { nodeId: device.id, command: 'system.run', idempotencyKey: 'k' };
  expect((await admin.call('node.invoke', invoke)).error).toMatchObject({ code: 'FORBIDDEN' });
  const approved = await admin.call(...approve);
  expect(approved.payload.node.commands).toContain('system.run');
  const resolved = await watcher.frame(({ event }) => event === 'node.pair.resolved');
  expect(resolved.payload).toMatchObject({ requestId, decision: 'approved' });
  expect((await node.call(...update)).payload).toEqual({ nodeId: device.id });
  expect((await admin.call(...approve)).ok).toBe(false);
});

test('a device manages no other nodes, unless it is an admin', async () => {
  const device = newDevice();
  const first = await openNode(here, device);
  const { deviceToken } = first.frames.find(({ payload }) => payload?.auth)!.payload.auth;
  await first.close();
  await openNode(here, device, { auth: { deviceToken }, commands: ['canvas.push'] });
  const other = await openChallenged(here);
  const params = connectParams({ scopes: ['operator.pairing'] });
  await helloAs(other, newDevice(), params);
  const requestId = await eventually(async () => {
    const { pending } = (await other.call('node.pair.list')).payload;
    return (pending as [{ requestId: string }])[0].requestId;
  });
  const nodeId = device.id;
  for (const [method, given] of [
    ['node.pair.approve', { requestId }],
    ['node.pair.reject', { requestId }],
    ['node.pair.remove', { nodeId }],
    ['node.rename', { nodeId, displayName: 'mine' }],
  ] as const) {
    expect((await other.call(method, given)).error).toMatchObject({
      code: 'FORBIDDEN',
      details: { missingScope: 'operator.admin' },
    });
  }
  const person = await openClient(there, { scopes: ['operator.pairing'] });
  expect((await person.call('node.pair.approve', { requestId })).ok).toBe(true);
});

test('a removed node is disconnected, and is in no list', async () => {
  const device = newDevice();
  const node = await openNode(here, device);
  const admin = await openClient(there, { scopes: ['operator.admin'] });
  await connectedState(admin, device.id, true);
  const named = { nodeId: device.id, displayName: 'The box' };
  expect((await admin.call('node.rename', named)).payload).toEqual(named);
  const described = await admin.call('node.describe', { nodeId: device.id });
  expect(described.payload).toMatchObject({ displayName: 'The box', connected: true });
  await admin.call('node.pair.remove', { nodeId: device.id });
  expect(await node.gone()).toMatchObject({ code: 1008 });
  expect((await admin.call('node.list')).payload.nodes).toEqual([]);
});
