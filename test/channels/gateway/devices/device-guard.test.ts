import { afterEach, expect, test } from 'vitest';
import { GUARD_INTERVAL_MS } from '../../../../channels/gateway/limits.ts';
import { type DeviceRow, DEVICES_INDEX } from '../../../../protocols/device.ts';
import { hashOfToken } from '../../../../operations/devices/device-tokens.ts';
import { connectParams } from '../client.ts';
import { helloAs, newDevice } from './device-identity.ts';
import { FakeSessionSystem } from '../fake-session-system.ts';
import { closeAll, openGateway, openChallenged } from '../opened.ts';
import { StillClock } from '../still-clock.ts';

afterEach(closeAll);

const TOKEN_OF_DEVICE = 'the-token-of-a-device-of-this-test';

/** An approved device that is connected by its token to a gateway that receives no notices. */
const connected = async () => {
  const system = new FakeSessionSystem();
  const clock = new StillClock();
  const device = newDevice();
  const grant = { scopes: ['operator.read'], approvedAt: 1, approvedBy: 'local' };
  const row: DeviceRow = {
    deviceId: device.id,
    publicKey: device.publicKey,
    face: {},
    createdAt: 1,
    roles: { operator: { ...grant, tokenHash: hashOfToken(TOKEN_OF_DEVICE), tokenAt: 1 } },
    requests: [],
  };
  const rows = system.kept.table<DeviceRow>(DEVICES_INDEX);
  rows.set(device.id, row);
  const client = await openChallenged(await openGateway(system, { clock }));
  const auth = { deviceToken: TOKEN_OF_DEVICE };
  const params = connectParams({ scopes: [], auth }) as Parameters<typeof helloAs>[2];
  expect((await helloAs(client, device, params)).ok).toBe(true);
  system.bus.deaf = true;
  return { rows, row, client, clock };
};

test('a removed device is disconnected, also when the notice was lost', async () => {
  const { rows, row, client, clock } = await connected();
  clock.move(GUARD_INTERVAL_MS);
  expect((await client.call('health', {})).ok).toBe(true);
  rows.delete(row.deviceId);
  clock.move(GUARD_INTERVAL_MS);
  expect((await client.gone()).code).toBe(1008);
});

test('a replaced token closes its connections, also when the notice was lost', async () => {
  const { rows, row, client, clock } = await connected();
  const operator = { ...row.roles.operator!, tokenHash: hashOfToken('another') };
  rows.set(row.deviceId, { ...row, roles: { operator } });
  clock.move(GUARD_INTERVAL_MS);
  expect((await client.gone()).code).toBe(1008);
});
