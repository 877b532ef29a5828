/** `troupe devices` as a process, against a gateway over the real device actor. */
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest';
import type { Gateway } from '../../../channels/index.ts';
import type { System } from '../../../runtime/index.ts';
import { connectParams, TOKEN } from '../../channels/gateway/client.ts';
import {
  helloAs,
  newDevice,
  type TestDevice,
} from '../../channels/gateway/devices/device-identity.ts';
import { closeAll, openGateway, openChallenged } from '../../channels/gateway/opened.ts';
import { dataFolder, openRealSystem } from '../../channels/gateway/real-system.ts';
import { runProgram } from '../program.ts';

const folder = dataFolder();
let system: System;
let gateway: Gateway;
beforeAll(async () => {
  system = await openRealSystem(folder.path, 1_000);
});
afterAll(async () => {
  await system.stop();
  folder.remove();
});
afterEach(closeAll);

const devices = (...args: string[]) =>
  runProgram(['devices', ...args, '--url', gateway.url.replace('http:', 'ws:'), '--token', TOKEN]);

/** The device connects from another machine. */
const ask = async (device: TestDevice) => {
  const client = await openChallenged(gateway, { 'x-forwarded-for': '203.0.113.9' });
  const params = connectParams({ scopes: ['operator.read'] }) as Parameters<typeof helloAs>[2];
  return helloAs(client, device, params);
};

test('troupe devices lists, approves, renames and revokes a device', async () => {
  gateway = await openGateway(system);
  expect(await devices()).toMatchObject({ code: 0, stdout: 'no devices\n' });
  const device = newDevice();
  const requestId = (await ask(device)).error?.details?.['requestId'] as string;
  const { stdout } = await devices('list');
  expect(stdout).toMatch(/^pairing requests/);
  expect(stdout).toContain(requestId);
  expect(await devices('approve', requestId)).toMatchObject({
    code: 0,
    stdout: 'test is approved as operator\n',
  });
  const token = (await ask(device)).payload.auth.deviceToken as string;
  expect(token).toEqual(expect.any(String));
  expect((await devices('rename', device.id.slice(0, 8), 'desk')).code).toBe(0);
  const rotated = await devices('rotate', 'desk', '--json');
  expect(JSON.parse(rotated.stdout)).toMatchObject({ deviceId: device.id, role: 'operator' });
  expect((await devices('revoke', 'desk')).stdout).toContain('is revoked');
  const listed = JSON.parse((await devices('list', '--json')).stdout) as object;
  expect(listed).toMatchObject({ pending: [], paired: [{ deviceId: device.id }] });
  expect((await devices('remove', 'desk')).code).toBe(0);
  expect((await devices()).stdout).toBe('no devices\n');
});

test('troupe devices reports unknown devices and requests', async () => {
  gateway = await openGateway(system);
  const unknown = await devices('remove', 'unknown-device');
  expect(unknown.code).not.toBe(0);
  expect(unknown.stderr).toContain('no device matches unknown-device');
  const late = await devices('approve', 'gone');
  expect(late.stderr).toContain('unknown requestId');
});
