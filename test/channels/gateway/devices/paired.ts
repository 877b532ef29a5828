/**
 * A gateway with real device actors, and devices that connect from this machine or through a
 * trusted proxy.
 */
import { afterAll, afterEach, beforeAll } from 'vitest';
import { type Gateway, type GatewayOptions } from '../../../../channels/index.ts';
import { type DeviceRow, DEVICES_INDEX } from '../../../../protocols/device.ts';
import type { System } from '../../../../runtime/index.ts';
import { type Client, connectParams, TOKEN } from '../client.ts';
import { helloAs, type TestDevice } from './device-identity.ts';
import { closeAll, openClient, openGateway, openChallenged } from '../opened.ts';
import { dataFolder, openRealSystem } from '../real-system.ts';

const folder = dataFolder();
let system: System;
export const ELSEWHERE = { 'x-forwarded-for': '203.0.113.9' };
/** A client on another machine, behind a trusted proxy. */
export const BEHIND_PROXY: Partial<GatewayOptions> = {
  auth: { mode: 'token', token: TOKEN, trustedProxy: { proxies: ['127.0.0.1'] } },
};

/** Called once per test file: one system for all tests, and a new gateway for each. */
export const usePairing = (): void => {
  beforeAll(async () => {
    system = await openRealSystem(folder.path, 1_000);
  });
  afterEach(closeAll);
  afterAll(async () => {
    await system.stop();
    folder.remove();
  });
};

export const open = (options: Partial<GatewayOptions> = BEHIND_PROXY) =>
  openGateway(system, options);

export const hello = async (
  gateway: Gateway,
  device: TestDevice,
  more: object = {},
  headers: Record<string, string> = {},
) => {
  const client = await openChallenged(gateway, headers);
  const params = connectParams(more) as Parameters<typeof helloAs>[2];
  return { client, frame: await helloAs(client, device, params) };
};

export const row = (device: TestDevice) =>
  system.index.get<DeviceRow>(DEVICES_INDEX, 'default', device.id);
export const requestOf = (device: TestDevice) => row(device)!.requests[0]!.requestId;

/** An operator on this machine with only the secret. */
export const operator = (gateway: Gateway, scopes: readonly string[] = ['operator.admin']) =>
  openClient(gateway, { scopes });

export const approve = async (gateway: Gateway, device: TestDevice, by?: Client) => {
  const who = by ?? (await operator(gateway));
  return who.call('device.pair.approve', { requestId: requestOf(device) });
};
