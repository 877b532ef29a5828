import { afterEach, expect, test } from 'vitest';
import { DEVICE_ONLINE_RETRY_MS } from '../../../../channels/gateway/limits.ts';
import { type DeviceRow, DEVICES_INDEX } from '../../../../protocols/device.ts';
import { connectParams, eventually } from '../client.ts';
import { helloAs, newDevice } from './device-identity.ts';
import { FakeSessionSystem } from '../fake-session-system.ts';
import { closeAll, openGateway, openChallenged } from '../opened.ts';
import { StillClock } from '../still-clock.ts';

afterEach(closeAll);

test('a node whose device did not answer is reported again until it answers or the node leaves', async () => {
  const [system, clock, device] = [new FakeSessionSystem(), new StillClock(), newDevice()];
  const node = { scopes: [], approvedAt: 1, approvedBy: 'ann', tokenHash: 'x', tokenAt: 1 };
  const row: DeviceRow = {
    deviceId: device.id,
    publicKey: device.publicKey,
    face: {},
    createdAt: 1,
    roles: { node },
    requests: [],
  };
  system.kept.table<DeviceRow>(DEVICES_INDEX).set(device.id, row);
  system.others['device.online'] = () => ({ kind: 'timeout', id: 'x' });
  const gateway = await openGateway(system, { clock });
  const reports = () => system.asked.filter(({ event }) => event.type === 'device.online').length;
  const untilReported = async (times: number) => {
    await eventually(() => {
      clock.move(DEVICE_ONLINE_RETRY_MS);
      return reports() >= times || undefined;
    }, `${times} reports`);
  };
  const params = connectParams({ role: 'node', scopes: [] });
  const connect = async () => {
    const client = await openChallenged(gateway);
    expect((await helloAs(client, device, params)).ok).toBe(true);
    return client;
  };
  const first = await connect();
  await untilReported(3);
  await first.close();
  const before = reports();
  system.others['device.online'] = () => ({ kind: 'answered', result: { surface: 'approved' } });
  await connect();
  await eventually(() => reports() > before || undefined, 'the second node');
  const after = reports();
  for (let n = 0; n < 5; n++) {
    clock.move(DEVICE_ONLINE_RETRY_MS);
    await new Promise((resolve) => setImmediate(resolve));
  }
  expect(reports()).toBe(after);
});
