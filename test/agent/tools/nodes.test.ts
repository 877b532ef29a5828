/** `nodes` and `canvas` against real device actors; only the node's socket is simulated. */
import { createHash, generateKeyPairSync } from 'node:crypto';
import { expect, it, onTestFinished } from 'vitest';
import { createNodeTools } from '../../../agent/tools/nodes/nodes.ts';
import {
  type DeviceDeliver,
  deviceAddress,
  type DeviceNotice,
  devicesTopic,
  type Payload,
} from '../../../protocols/device.ts';
import type { Message } from '../../../protocols/statechart.ts';
import type { System } from '../../../runtime/index.ts';
import { dataFolder, openRealSystem } from '../../channels/gateway/real-system.ts';
import { toolContext } from './context.ts';

const principal = { sub: 'operator', roles: ['operator'] };
const FILE = 'f'.repeat(64);
const PICTURE = Buffer.from('a picture').toString('base64');

const [nodes, canvas] = createNodeTools({
  file: (_, hash) =>
    hash === FILE
      ? Promise.resolve(JSON.stringify({ format: 'jpg', base64: PICTURE, width: 3 }))
      : Promise.reject(new Error(`no file ${hash}`)),
});

async function opened() {
  const folder = dataFolder();
  const system = await openRealSystem(folder.path, 0);
  onTestFinished(async () => {
    await system.stop();
    folder.remove();
  });
  return system;
}

const contextOn = (system: System, idempotencyKey: string) =>
  toolContext({
    idempotencyKey,
    system: {
      ask: (to, event, options = {}) =>
        system.ask(to, event, {
          principal: { sub: 'agents', roles: [] },
          timeoutMs: 15_000,
          ...options,
        }),
      index: () => Promise.resolve(system.index),
      transcript: () => {
        throw new Error('there is no transcript here');
      },
    },
  });

/** An approved and connected node that answers with `payload`. */
async function nodeOn(system: System, payload: (command: DeviceDeliver) => Payload) {
  const { publicKey } = generateKeyPairSync('ed25519');
  const raw = publicKey.export({ type: 'spki', format: 'der' }).subarray(-32);
  const deviceId = createHash('sha256').update(raw).digest('hex');
  const to = deviceAddress('default', deviceId);
  const tell = async (event: Message) => {
    const answer = await system.ask(to, event, { principal, timeoutMs: 10_000 });
    if (answer.kind !== 'answered') throw new Error(JSON.stringify(answer));
  };
  const face = { name: 'Phone', platform: 'ios' };
  const heard: DeviceDeliver[] = [];
  const unsubscribe = system.bus.subscribe(devicesTopic('default'), ({ payload: said }) => {
    const notice = said as DeviceNotice;
    if (notice.type !== 'device.deliver') return;
    heard.push(notice);
    const { id, connId } = notice;
    void tell({ type: 'device.taken', id, connId }).catch(() => {});
    void tell({ type: 'device.result', id, connId, payload: payload(notice) });
  });
  onTestFinished(unsubscribe);
  await tell({
    type: 'device.ask',
    publicKey: raw.toString('base64url'),
    role: 'node',
    scopes: [],
    face,
    approved: true,
  });
  const bins = { bins: { type: 'array', items: { type: 'string' } } };
  const commands = [
    ...['camera.snap', 'canvas.push', 'location.get', 'system.run'].map((name) => ({ name })),
    { name: 'system.which', params: { type: 'object', required: ['bins'], properties: bins } },
  ];
  await tell({
    type: 'device.online',
    gateway: 'g1',
    connId: 'c1',
    surface: { caps: ['camera'], commands, permissions: { location: 'denied' } },
    face,
    approved: true,
  });
  return { heard, deviceId };
}

it('lists the devices and their commands, marked as from outside', async () => {
  const system = await opened();
  await nodeOn(system, () => ({ json: 'null' }));
  const { text } = await nodes!.run({ action: 'list' }, contextOn(system, 'k'));
  expect(text).toContain('Phone');
  expect(text).toContain(
    'connected; camera.snap, canvas.push, location.get, system.run, system.which',
  );
  const described = await nodes!.run({ action: 'describe', node: 'phone' }, contextOn(system, 'k'));
  expect(described.text).toContain('"location": "denied"');
});

it('returns a picture of a device as an image, also when the answer is a file', async () => {
  const system = await opened();
  const { heard } = await nodeOn(system, () => ({ file: FILE, characters: 90_000 }));
  const call = {
    action: 'invoke',
    node: 'Phone',
    command: 'camera.snap',
    params: { facing: 'back' },
  };
  const result = await nodes!.run(call, contextOn(system, 'one'));
  expect(result.images).toEqual([{ mimeType: 'image/jpeg', data: PICTURE }]);
  expect(result.text).not.toContain(PICTURE);
  expect(JSON.parse(heard[0]!.paramsJson)).toEqual({ facing: 'back' });
  // A repeat of the call is the same invocation.
  expect(await nodes!.run(call, contextOn(system, 'one'))).toEqual(result);
  expect(heard).toHaveLength(1);
});

it('reports why a device refused a command', async () => {
  const system = await opened();
  const { heard } = await nodeOn(system, () => ({ json: 'null' }));
  const run = (args: object) => nodes!.run(args, contextOn(system, JSON.stringify(args)));
  const denied = await run({ action: 'invoke', command: 'location.get' });
  expect(denied).toMatchObject({ isError: true });
  expect(denied.text).toContain('does not permit location');
  const unknown = await run({ action: 'invoke', node: 'Laptop', command: 'camera.snap' });
  expect(unknown.text).toContain('there is no device "Laptop"');
  expect(heard).toEqual([]);
});

it('shows a document on the only device with a canvas', async () => {
  const system = await opened();
  const { heard } = await nodeOn(system, () => ({ json: '{"shown":true}' }));
  const result = await canvas!.run({ html: '<p>hi</p>', title: 'T' }, contextOn(system, 'k'));
  expect(result.isError).toBeUndefined();
  expect(heard).toMatchObject([{ command: 'canvas.push' }]);
  expect(JSON.parse(heard[0]!.paramsJson)).toEqual({ html: '<p>hi</p>', title: 'T' });
  const both = await canvas!.run({ html: '<p>', text: 'x' }, contextOn(system, 'k2'));
  expect(both).toMatchObject({ isError: true });
});

it('sends no arguments that violate the schema of the command', async () => {
  const system = await opened();
  const { heard } = await nodeOn(system, () => ({ json: 'null' }));
  const run = (params: object) =>
    nodes!.run(
      { action: 'invoke', command: 'system.which', params },
      contextOn(system, JSON.stringify(params)),
    );
  const refused = await run({ bins: 'ls' });
  expect(refused).toMatchObject({ isError: true });
  expect(refused.text).toContain('/bins must be array');
  expect(heard).toEqual([]);
  expect((await run({ bins: ['ls'] })).isError).toBeUndefined();
  expect(heard).toHaveLength(1);
});

it('cannot approve a command: the device asks its own user', async () => {
  const system = await opened();
  const { heard } = await nodeOn(system, () => ({ json: 'null' }));
  const params = { command: ['id'], approved: true, approvalDecision: 'allow-always' };
  await nodes!.run({ action: 'invoke', command: 'system.run', params }, contextOn(system, 'k'));
  expect(JSON.parse(heard[0]!.paramsJson)).toEqual({ command: ['id'] });
});
