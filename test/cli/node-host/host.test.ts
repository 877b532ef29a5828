/** A machine as a node: the real host on a real gateway, with real device actors. */
import {
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { existsSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import type { Gateway } from '../../../channels/index.ts';
import { Answers } from '../../../cli/node-host/answers.ts';
import { fileCommands } from '../../../cli/node-host/file-commands.ts';
import { NodeHost } from '../../../cli/node-host/host.ts';
import { Identity } from '../../../cli/client/device-identity.ts';
import { runCommands, type RunPolicy } from '../../../cli/node-host/run-command.ts';
import type { System } from '../../../runtime/index.ts';
import { type Client, TOKEN } from '../../channels/gateway/client.ts';
import { closeAll, openClient, openGateway } from '../../channels/gateway/opened.ts';
import { dataFolder, openRealSystem } from '../../channels/gateway/real-system.ts';
import { eventually } from '../../runtime/eventually.ts';

let data: ReturnType<typeof dataFolder>;
let folder: string;
let system: System;
let gateway: Gateway;
let operator: Client;
let stop: AbortController;
let ended: Promise<void> | undefined;

beforeEach(async () => {
  data = dataFolder();
  folder = mkdtempSync(join(tmpdir(), 'troupe-node-'));
  system = await openRealSystem(data.path, 1_000);
  gateway = await openGateway(system);
  operator = await openClient(gateway, { scopes: ['operator.admin'] });
  stop = new AbortController();
});

afterEach(async () => {
  stop.abort();
  await ended;
  await closeAll();
  await system.stop();
  data.remove();
  rmSync(folder, { recursive: true, force: true });
});

const serve = async (policy: RunPolicy, approvalMs = 60_000) => {
  const identity = Identity.in(folder);
  const host = new NodeHost({
    url: gateway.url.replace('http', 'ws'),
    token: TOKEN,
    name: 'box',
    identity,
    answers: new Answers(join(folder, 'answers')),
    commands: [
      ...runCommands(policy),
      ...fileCommands([
        { path: join(folder, 'ro'), access: 'ro' },
        { path: join(folder, 'rw'), access: 'rw' },
      ]),
    ],
    caps: ['system', 'fs'],
    permissions: { system: 'undetermined', fs: 'granted' },
    approvalMs,
    say: () => {},
  });
  ended = host.run(stop.signal);
  await eventually(async () => {
    const { payload } = await operator.call('node.list');
    expect(payload.nodes).toMatchObject([{ displayName: 'box', connected: true }]);
  });
  return identity.deviceId;
};

let keys = 0;
const invoke = (nodeId: string, command: string, params: object, idempotencyKey = `${++keys}`) =>
  operator.call('node.invoke', { nodeId, command, params, idempotencyKey });

const question = () =>
  operator.frame(({ event }) => event === 'exec.approval.requested').then(({ payload }) => payload);

test('a command that no pattern allows runs only after an approval', async () => {
  const nodeId = await serve({ mode: 'ask', allow: [] });
  const mark = join(folder, 'mark');
  const running = invoke(nodeId, 'system.run', { command: ['touch', mark] });
  const { id, request } = await question();
  expect(request).toMatchObject({ command: `touch ${mark}`, host: 'node' });
  expect(existsSync(mark)).toBe(false);
  await operator.call('exec.approval.resolve', { id, decision: 'allow-once' });
  expect((await running).payload.payload).toMatchObject({ success: true, exitCode: 0 });
  expect(existsSync(mark)).toBe(true);
});

test('a denied command is FORBIDDEN and does not run', async () => {
  const nodeId = await serve({ mode: 'ask', allow: [] });
  const mark = join(folder, 'mark');
  const running = invoke(nodeId, 'system.run', { command: `touch ${mark}` });
  const { id } = await question();
  await operator.call('exec.approval.resolve', { id, decision: 'deny' });
  expect((await running).error).toMatchObject({ code: 'FORBIDDEN' });
  expect(existsSync(mark)).toBe(false);
});

test('bug: a command could be approved after its caller had given up', async () => {
  const nodeId = await serve({ mode: 'ask', allow: [] });
  const params = { nodeId, command: 'system.run', params: { command: 'true' }, timeoutMs: 6_000 };
  const running = operator.call('node.invoke', { ...params, idempotencyKey: `${++keys}` });
  const { id } = await question();
  expect((await running).error).toMatchObject({
    code: 'FORBIDDEN',
    message: expect.stringContaining('the approval expired: the command did not run'),
  });
  const late = await operator.call('exec.approval.resolve', { id, decision: 'allow-once' });
  expect(late.error).toBeDefined();
});

test('a command whose approval expired is FORBIDDEN and does not run', async () => {
  const nodeId = await serve({ mode: 'ask', allow: [] }, 1_000);
  const mark = join(folder, 'mark');
  const answer = await invoke(nodeId, 'system.run', { command: ['touch', mark] });
  expect(answer.error).toMatchObject({ code: 'FORBIDDEN' });
  expect(existsSync(mark)).toBe(false);
});

test('a command that a pattern allows runs at once, with only the named environment variables', async () => {
  const nodeId = await serve({ mode: 'ask', allow: ['echo *', 'env'] });
  process.env['TROUPE_TEST_SECRET'] = 'secret';
  const { payload } = await invoke(nodeId, 'system.run', { command: ['echo', 'a  b'] });
  expect(payload.payload).toMatchObject({ stdout: 'a  b\n', truncated: false });
  const env = await invoke(nodeId, 'system.run', { command: ['env'] });
  delete process.env['TROUPE_TEST_SECRET'];
  expect(env.payload.payload.stdout).toContain('PATH=');
  expect(env.payload.payload.stdout).not.toContain('secret');
  const forced = { command: ['env'], env: { LD_PRELOAD: '/tmp/evil.so' } };
  expect((await invoke(nodeId, 'system.run', forced)).error).toMatchObject({ code: 'FORBIDDEN' });
});

test('a time-out ends the command and all its processes', async () => {
  const nodeId = await serve({ mode: 'allow', allow: [] });
  const { payload } = await invoke(nodeId, 'system.run', {
    command: 'sleep 60 & sleep 60',
    timeoutMs: 200,
  });
  expect(payload.payload).toMatchObject({ timedOut: true, success: false });
});

test('the same key runs once, also through another gateway', async () => {
  const nodeId = await serve({ mode: 'allow', allow: [] });
  const count = { command: `echo x >> ${join(folder, 'count')}` };
  await invoke(nodeId, 'system.run', count, 'same');
  const other = await openClient(await openGateway(system), { scopes: ['operator.admin'] });
  const again = await other.call('node.invoke', {
    nodeId,
    command: 'system.run',
    params: count,
    idempotencyKey: 'same',
  });
  expect(again.payload.payload).toMatchObject({ success: true });
  expect(readFileSync(join(folder, 'count'), 'utf8')).toBe('x\n');
});

test('files are read and written under the named folders, and no link leads out of them', async () => {
  mkdirSync(join(folder, 'ro'));
  mkdirSync(join(folder, 'rw'));
  writeFileSync(join(folder, 'ro', 'a.txt'), 'hello');
  writeFileSync(join(folder, 'secret'), 'no');
  symlinkSync(join(folder, 'secret'), join(folder, 'rw', 'link'));
  const nodeId = await serve({ mode: 'deny', allow: [] });
  const read = await invoke(nodeId, 'fs.read', { path: join(folder, 'ro', 'a.txt') });
  expect(read.payload.payload).toMatchObject({ content: 'hello', bytes: 5 });
  const path = join(folder, 'rw', 'deep', 'b.bin');
  const written = await invoke(nodeId, 'fs.write', { path, content: '/wA=', encoding: 'base64' });
  expect(written.payload.payload).toMatchObject({ bytes: 2 });
  expect([...readFileSync(path)]).toEqual([255, 0]);
  const listed = await invoke(nodeId, 'fs.list', { path: join(folder, 'rw') });
  expect(listed.payload.payload.entries).toMatchObject([{ name: 'deep', type: 'folder' }, {}]);
  for (const [command, params] of [
    ['fs.read', { path: join(folder, 'secret') }],
    ['fs.read', { path: join(folder, 'rw', 'link') }],
    ['fs.read', { path: `${join(folder, 'rw')}/../secret` }],
    ['fs.write', { path: join(folder, 'rw', 'link'), content: 'x' }],
    ['fs.write', { path: join(folder, 'ro', 'c.txt'), content: 'x' }],
  ] as const)
    expect((await invoke(nodeId, command, params)).error).toMatchObject({ code: 'FORBIDDEN' });
  const link = join(folder, 'rw', 'link');
  const refused = await invoke(nodeId, 'fs.read', { path: link });
  expect(refused.error!.message).toBe(`${link} leads out of the folder that this node offers`);
  expect(readFileSync(join(folder, 'secret'), 'utf8')).toBe('no');
});

test('the identity is the same after a restart, in a file that only its user reads', () => {
  const { deviceId } = Identity.in(folder);
  expect(Identity.in(folder).deviceId).toBe(deviceId);
  expect(statSync(join(folder, 'device.json')).mode & 0o777).toBe(0o600);
});

test('a command that the end of the host interrupted is reported as unknown and never runs again', () => {
  const place = join(folder, 'answers');
  expect(new Answers(place).begin('one')).toBe('begin');
  const after = new Answers(place);
  expect(after.begin('one')).toMatchObject({ ok: false, error: { code: 'UNAVAILABLE' } });
  after.end('two', { ok: true, payloadJSON: '1' });
  expect(new Answers(place).begin('two')).toEqual({ ok: true, payloadJSON: '1' });
});

test('a command that cannot be recorded on disk does not start, and the node keeps running', async () => {
  const nodeId = await serve({ mode: 'allow', allow: [] });
  const mark = join(folder, 'mark');
  rmSync(join(folder, 'answers'), { recursive: true });
  const refused = await invoke(nodeId, 'system.run', { command: ['touch', mark] });
  expect(refused.error).toMatchObject({
    message: expect.stringContaining('the command was not executed'),
  });
  expect(existsSync(mark)).toBe(false);
  mkdirSync(join(folder, 'answers'));
  const done = await invoke(nodeId, 'system.run', { command: ['touch', mark] });
  expect(done.payload.payload).toMatchObject({ success: true });
});
