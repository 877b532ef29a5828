/** Devices on a running system: real store, real bus, real restarts. Also runs on a cluster. */
import { describe, expect, it, onTestFinished } from 'vitest';
import { deviceMachine } from '../../../actors/device/machine.ts';
import {
  deviceAddress,
  type DeviceNotice,
  type DeviceRow,
  DEVICES_INDEX,
  devicesTopic,
} from '../../../protocols/device.ts';
import type { Message } from '../../../protocols/statechart.ts';
import { defineActor } from '../../../runtime/index.ts';
import { eventually } from '../../runtime/eventually.ts';
import { openWorld, operator, type World } from '../../runtime/system/world.ts';
import { FakeNode, type FakeNodeOptions } from './fake-node.ts';
import { asks, deviceId } from './walk.ts';

const actors = [
  defineActor({
    type: 'device',
    version: 1,
    machine: deviceMachine,
    supervision: { onThrow: 'resume' },
    whenDone: 'forget',
  }),
];
const device = deviceAddress('default', deviceId);

const row = (world: World) => world.system.index.get<DeviceRow>(DEVICES_INDEX, 'default', deviceId);
const answered = (result: unknown) => ({ kind: 'answered', result });
const refused = (code: string, outcome: string) => ({
  kind: 'refused',
  error: { code, details: { outcome } },
});

const snap = (id: string, changes: object = {}): Message => ({
  type: 'device.invoke',
  id,
  command: 'camera.snap',
  paramsJson: '{}',
  timeoutMs: 20_000,
  ...changes,
});
const picture = { json: '{"picture":1}' };

async function paired(): Promise<World> {
  const world = await openWorld({ actors });
  const asked = await world.ask(device, asks({ approved: true }));
  expect(asked).toMatchObject(answered({ state: 'paired' }));
  return world;
}
const nodeOf = (world: World, options: Partial<FakeNodeOptions>): FakeNode => {
  const node = new FakeNode(world.system, { connId: 'c1', execute: () => picture, ...options });
  onTestFinished(() => node.cut());
  return node;
};

describe('a device', () => {
  it('is approved once by an operator, and all clients are notified and can read it', async () => {
    const world = await openWorld({ actors });
    const heard: DeviceNotice[] = [];
    world.system.bus.subscribe(devicesTopic('default'), ({ payload }) => {
      heard.push(payload as DeviceNotice);
    });
    const asked = await world.ask(device, asks());
    expect(asked).toMatchObject(answered({ state: 'pending', reason: 'not-paired' }));
    await eventually(() => expect(row(world)?.requests).toHaveLength(1));
    const { requestId } = row(world)!.requests[0]!;
    const yes = { type: 'device.approve', requestId };
    expect(await world.ask(device, yes)).toMatchObject({ error: { code: 'FORBIDDEN' } });
    const approved = { roles: { node: { approvedBy: operator.sub } }, requests: [] };
    const word = await world.ask(device, yes, { principal: operator });
    expect(word).toMatchObject(answered(approved));
    const again = await world.ask(device, yes, { principal: operator });
    expect(again).toMatchObject({ error: { code: 'NOT_FOUND' } });
    await eventually(() => {
      expect(row(world)).toMatchObject(approved);
      expect(heard).toMatchObject([{ what: 'requested' }, { what: 'approved', requestId }]);
    });
  });

  it('keeps its question, and what waits for it, through restarts', async () => {
    const world = await openWorld({ actors });
    await world.ask(device, asks());
    await eventually(() => expect(row(world)?.requests).toHaveLength(1));
    const { requestId } = row(world)!.requests[0]!;
    await world.restart();
    const again = await world.ask(device, asks());
    expect(again, 'the same question').toMatchObject(answered({ requestId }));
    const yes = { type: 'device.approve', requestId };
    expect(await world.ask(device, yes, { principal: operator })).toMatchObject({
      kind: 'answered',
    });
    const item = { type: 'device.enqueue', itemId: 'w1', kind: 'status', priority: 'high' };
    await world.ask(device, { ...item, expiresInMs: 60_000 });
    await world.restart();
    const drained = await world.ask(device, { type: 'device.drain', max: 10 });
    expect(drained).toMatchObject(answered({ items: [{ itemId: 'w1' }], more: false }));
  });

  it('that does not exist is refused for every request', async () => {
    const world = await openWorld({ actors });
    expect(await world.ask(device, snap('i1'))).toMatchObject({ error: { code: 'NOT_FOUND' } });
    const removed = await world.ask(device, { type: 'device.remove' }, { principal: operator });
    expect(removed).toMatchObject({ error: { code: 'NOT_FOUND' } });
    expect(row(world)).toBeUndefined();
  });

  it('that is removed leaves no row, and its pending callers are notified', async () => {
    const world = await paired();
    const node = nodeOf(world, { execute: () => null });
    await node.join();
    const waiting = world.ask(device, snap('i1'));
    await eventually(() => expect(row(world)?.node?.invoking).toBe(1));
    await eventually(() =>
      expect(node.notices).toContainEqual(expect.objectContaining({ id: 'i1' })),
    );
    const removed = await world.ask(device, { type: 'device.remove' }, { principal: operator });
    expect(removed).toMatchObject(answered({ removed: deviceId }));
    expect(await waiting).toMatchObject({ error: { code: 'UNAVAILABLE' } });
    await eventually(() => expect(row(world)).toBeUndefined());
  });
});

describe('a command', () => {
  it('is executed once, and every caller with its key receives the answer', async () => {
    const world = await paired();
    let times = 0;
    const node = nodeOf(world, {
      execute: () => {
        times++;
        return picture;
      },
    });
    await node.join();
    const all = await Promise.all([1, 2, 3].map(() => world.ask(device, snap('i1'))));
    for (const one of all) expect(one).toMatchObject(answered({ payload: picture }));
    const later = await world.ask(device, snap('i1'));
    expect(later).toMatchObject(answered({ payload: picture }));
    expect(times).toBe(1);
    const other = await world.ask(device, snap('i1', { paramsJson: '[]' }));
    expect(other).toMatchObject({ error: { code: 'CONFLICT' } });
  });

  it('survives a restart in progress, and is sent again to a node that records results', async () => {
    const world = await paired();
    const before = nodeOf(world, { replays: true, execute: () => null });
    await before.join();
    await world.tell(device, snap('i1'));
    await eventually(() => expect(row(world)?.node?.invoking).toBe(1));
    await before.leave();
    await world.restart();
    await nodeOf(world, { connId: 'c2', replays: true }).join();
    expect(await world.ask(device, snap('i1'))).toMatchObject(answered({ payload: picture }));
    await eventually(() => expect(row(world)?.node?.invoking).toBe(0));
  });

  it('is unknown when its node left without a record, until the node reports more', async () => {
    const world = await paired();
    const node = nodeOf(world, { execute: () => null });
    await node.join();
    const asked = world.ask(device, snap('i1'));
    await eventually(() => expect(takenOf(world)).toEqual([true]));
    await node.leave();
    expect(await asked).toMatchObject(refused('UNAVAILABLE', 'unknown'));
    expect(await world.ask(device, snap('i1'))).toMatchObject(refused('UNAVAILABLE', 'unknown'));
    await node.answer('i1', picture);
    expect(await world.ask(device, snap('i1'))).toMatchObject(answered({ payload: picture }));
  });

  it('that no gateway accepts never reaches the node, and may be repeated', async () => {
    const world = await paired();
    const dead = nodeOf(world, { hangs: true });
    await dead.join();
    expect(await world.ask(device, snap('i1'))).toMatchObject(refused('UNAVAILABLE', 'none'));
    await eventually(() => expect(row(world)?.node?.link).toBeUndefined());
    const deliveries = dead.notices.filter(({ type }) => type === 'device.deliver');
    expect(deliveries).toHaveLength(3);
    await nodeOf(world, { connId: 'c2' }).join();
    expect(await world.ask(device, snap('i1'))).toMatchObject(answered({ payload: picture }));
  });

  it('ends at its deadline, with a known answer whether it reached the node', async () => {
    const world = await paired();
    const node = nodeOf(world, { execute: () => null });
    await node.join();
    const late = world.ask(device, snap('i1', { timeoutMs: 2_000 }));
    await eventually(() => expect(takenOf(world)).toEqual([true]));
    expect(await late).toMatchObject(refused('DEADLINE_EXCEEDED', 'unknown'));
    const cancelled = expect.objectContaining({ type: 'device.cancel', id: 'i1' });
    await eventually(() => expect(node.notices).toContainEqual(cancelled));
  });
});

const takenOf = (world: World): boolean[] => {
  const context = world.system.inspect(device)?.context as
    | { invocations: readonly { taken: boolean }[] }
    | undefined;
  return (context?.invocations ?? []).map(({ taken }) => taken);
};
