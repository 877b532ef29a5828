/** What operators see of devices, and how they manage them. */
import { describe, expect, test } from 'vitest';
import type { Gateway } from '../../../../channels/index.ts';
import { newDevice } from './device-identity.ts';
import { approve, ELSEWHERE, hello, open, operator, requestOf, row, usePairing } from './paired.ts';

usePairing();

describe('operators', () => {
  const asking = async (gateway: Gateway, more: object = {}) => {
    const device = newDevice();
    await hello(gateway, device, more, ELSEWHERE);
    return device;
  };

  test('see pending and approved devices without any secret', async () => {
    const gateway = await open();
    const device = await asking(gateway, { scopes: ['operator.read'] });
    const admin = await operator(gateway);
    const waiting = await admin.call('device.pair.list', {});
    expect(waiting.payload.pending).toContainEqual(
      expect.objectContaining({
        deviceId: device.id,
        requestId: requestOf(device),
        role: 'operator',
        scopes: ['operator.read'],
        remoteIp: '203.0.113.9',
        isRepair: false,
      }),
    );
    await approve(gateway, device, admin);
    const { client } = await hello(gateway, device, { scopes: ['operator.read'] }, ELSEWHERE);
    const listed = await admin.call('device.pair.list', {});
    expect(listed.payload.paired).toContainEqual(
      expect.objectContaining({
        deviceId: device.id,
        roles: ['operator'],
        approvedVia: 'owner',
        connected: true,
      }),
    );
    expect(JSON.stringify(listed)).not.toContain(row(device)?.roles.operator?.tokenHash);
    await client.close();
  });

  test('cannot grant a scope that they lack, and only admins approve nodes', async () => {
    const gateway = await open();
    const device = await asking(gateway, { scopes: ['operator.admin'] });
    const clerk = await operator(gateway, ['operator.pairing', 'operator.read']);
    const refused = await approve(gateway, device, clerk);
    expect(refused.error).toMatchObject({
      code: 'FORBIDDEN',
      details: { code: 'MISSING_SCOPE', missingScope: 'operator.admin' },
    });
    const node = await asking(gateway, { role: 'node', scopes: [] });
    const denied = await approve(gateway, node, clerk);
    expect(denied.error?.message).toContain('device pairing approval denied');
    const modest = await asking(gateway, { scopes: ['operator.read'] });
    expect((await approve(gateway, modest, clerk)).ok).toBe(true);
  });

  test('that are devices manage no other device unless they are admins', async () => {
    const gateway = await open();
    const device = await asking(gateway, { scopes: ['operator.read'] });
    const local = await open({});
    const own = newDevice();
    const { client } = await hello(local, own, { scopes: ['operator.pairing'] });
    for (const [method, params] of [
      ['device.pair.approve', { requestId: requestOf(device) }],
      ['device.pair.reject', { requestId: requestOf(device) }],
      ['device.pair.remove', { deviceId: device.id }],
      ['device.pair.rename', { deviceId: device.id, label: 'mine' }],
    ] as const) {
      expect((await client.call(method, params)).error?.message).toContain('denied');
    }
    const renamed = await client.call('device.pair.rename', { deviceId: own.id, label: ' Desk ' });
    expect(renamed.payload).toEqual({ deviceId: own.id, label: 'Desk' });
    expect(row(own)?.name).toBe('Desk');
  });

  test('reject a request once, and it cannot be decided again', async () => {
    const gateway = await open();
    const device = await asking(gateway);
    const admin = await operator(gateway);
    const requestId = requestOf(device);
    const { payload } = await admin.call('device.pair.reject', { requestId });
    expect(payload).toEqual({ requestId, deviceId: device.id });
    const late = await admin.call('device.pair.approve', { requestId });
    expect(late.error?.message).toContain('unknown requestId');
  });

  test('remove a device, which closes its connections on every gateway and revokes its token', async () => {
    const [one, two] = [await open({}), await open({})];
    const device = newDevice();
    const { client, frame } = await hello(one, device);
    const admin = await operator(two);
    expect((await admin.call('device.pair.remove', { deviceId: device.id })).payload).toEqual({
      deviceId: device.id,
    });
    expect((await client.gone()).code).toBe(1008);
    const { deviceToken } = frame.payload.auth as { deviceToken: string };
    const back = await hello(one, device, { auth: { deviceToken } });
    expect(back.frame.error?.details).toMatchObject({ code: 'AUTH_DEVICE_TOKEN_MISMATCH' });
  });

  test('receive NOT_FOUND for an unknown device or request', async () => {
    const admin = await operator(await open({}));
    const deviceId = newDevice().id;
    for (const [method, params] of [
      ['device.pair.remove', { deviceId }],
      ['device.pair.rename', { deviceId, label: 'x' }],
      ['device.token.rotate', { deviceId, role: 'operator' }],
      ['device.token.revoke', { deviceId, role: 'operator' }],
    ] as const) {
      const { error } = await admin.call(method, params);
      expect(error?.message).toContain('unknown deviceId');
    }
  });

  test("narrow a token to scopes that the device's scopes include, and to no others", async () => {
    const gateway = await open();
    const device = await asking(gateway, { scopes: ['operator.admin'] });
    const admin = await operator(gateway);
    await approve(gateway, device, admin);
    const rotate = (scopes: string[]) =>
      admin.call('device.token.rotate', { deviceId: device.id, role: 'operator', scopes });
    expect((await rotate(['operator.read'])).payload.scopes).toEqual(['operator.read']);
    expect((await rotate(['operator.everything'])).ok).toBe(false);
  });
});
