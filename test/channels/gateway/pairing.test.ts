import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { type Gateway, type GatewayOptions } from '../../../channels/index.ts';
import { type DeviceRow, DEVICES_INDEX, STRANGERS_PER_IP_MAX } from '../../../protocols/device.ts';
import type { System } from '../../../runtime/index.ts';
import { type Client, connectParams, eventually, TOKEN } from './client.ts';
import { helloAs, newDevice, type TestDevice } from './device-identity.ts';
import { closeAll, openClient, openGateway, openStranger } from './opened.ts';
import { dataFolder, openRealSystem } from './real-system.ts';

const folder = dataFolder();
let system: System;
beforeAll(async () => {
  system = await openRealSystem(folder.path, 1_000);
});
afterAll(async () => {
  await system.stop();
  folder.remove();
});
afterEach(closeAll);

const ELSEWHERE = { 'x-forwarded-for': '203.0.113.9' };
/** Somebody on another machine, behind a proxy that the gateway knows. */
const BEHIND_PROXY: Partial<GatewayOptions> = {
  auth: { mode: 'token', token: TOKEN, trustedProxy: { proxies: ['127.0.0.1'] } },
};

const open = (options: Partial<GatewayOptions> = BEHIND_PROXY) => openGateway(system, options);

const hello = async (
  gateway: Gateway,
  device: TestDevice,
  more: object = {},
  headers: Record<string, string> = {},
) => {
  const client = await openStranger(gateway, headers);
  const params = connectParams(more) as Parameters<typeof helloAs>[2];
  return { client, frame: await helloAs(client, device, params) };
};

const row = (device: TestDevice) =>
  system.index.get<DeviceRow>(DEVICES_INDEX, 'default', device.id);
const requestOf = (device: TestDevice) => row(device)!.requests[0]!.requestId;

/** An operator on this machine with the secret alone. */
const operator = (gateway: Gateway, scopes: readonly string[] = ['operator.admin']) =>
  openClient(gateway, { scopes });

const approve = async (gateway: Gateway, device: TestDevice, by?: Client) => {
  const who = by ?? (await operator(gateway));
  return who.call('device.pair.approve', { requestId: requestOf(device) });
};

describe('a device', () => {
  test('of this machine with the right secret is let in at once and gets a token', async () => {
    const gateway = await open({});
    const device = newDevice();
    const { frame } = await hello(gateway, device, { scopes: ['operator.read'] });
    expect(frame.payload.auth).toMatchObject({ role: 'operator', scopes: ['operator.read'] });
    const { deviceToken } = frame.payload.auth as { deviceToken: string };
    expect(deviceToken).toMatch(/^[A-Za-z0-9_-]{43}$/);
    expect(row(device)?.roles.operator?.approvedBy).toBe('local');
    expect(JSON.stringify(row(device))).not.toContain(deviceToken);

    const again = await hello(gateway, device, {
      scopes: ['operator.read'],
      auth: { deviceToken },
    });
    expect(again.frame.payload.auth).toEqual({ role: 'operator', scopes: ['operator.read'] });
  });

  test('of another machine waits for a person, is told so, and is let in after the yes', async () => {
    const gateway = await open();
    const device = newDevice();
    const { frame, client } = await hello(gateway, device, {}, ELSEWHERE);
    expect(frame.error).toMatchObject({
      code: 'NOT_PAIRED',
      details: {
        code: 'PAIRING_REQUIRED',
        reason: 'not-paired',
        requestId: requestOf(device),
        deviceId: device.id,
        requestedRole: 'operator',
      },
    });
    expect((await client.gone()).code).toBe(1008);
    const again = await hello(gateway, device, {}, ELSEWHERE);
    expect(again.frame.error?.details).toMatchObject({ requestId: requestOf(device) });

    expect((await approve(gateway, device)).ok).toBe(true);
    const after = await hello(gateway, device, {}, ELSEWHERE);
    expect(after.frame.payload.auth).toMatchObject({ deviceToken: expect.any(String) });
  });

  test('is asked about when allowLocal is off, also on this machine', async () => {
    const gateway = await open({ auth: { mode: 'token', token: TOKEN, allowLocal: false } });
    const { frame } = await hello(gateway, newDevice());
    expect(frame.error?.details).toMatchObject({ reason: 'not-paired' });
  });

  test('has no name that would steer the terminal of who looks at it', async () => {
    const gateway = await open();
    const device = newDevice();
    const displayName = 'Box\u001b]0;x\u0007\r\nyes \u202e';
    await hello(gateway, device, { client: { ...connectParams().client, displayName } });
    expect(row(device)?.face.name).toBe('Box ]0;x yes');
  });

  test('waits for nobody behind strangers who fill the places of their address', async () => {
    const gateway = await open();
    const from = async (address: string) => {
      const device = newDevice();
      const { client, frame } = await hello(gateway, device, {}, { 'x-forwarded-for': address });
      await client.close();
      const { requestId } = (frame.error?.details ?? {}) as { requestId?: string };
      return { device, requestId, message: frame.error?.message };
    };
    const flood: Awaited<ReturnType<typeof from>>[] = [];
    for (let at = 0; at < STRANGERS_PER_IP_MAX; at++) flood.push(await from('2001:db8::1:7'));
    expect(flood.every(({ requestId }) => requestId !== undefined)).toBe(true);
    const refused = await from('2001:db8::2:9');
    expect(refused.requestId).toBeUndefined();
    expect(refused.message).toContain('too many devices wait for a person already');
    expect((await from('198.51.100.7')).requestId, 'of another address').toBeDefined();
    expect((await hello(gateway, newDevice())).frame.ok, 'of this machine').toBe(true);
    const admin = await operator(gateway);
    await admin.call('device.pair.reject', { requestId: flood[0]!.requestId });
    await eventually(
      () => (row(flood[0]!.device)?.requests.length === 0 ? true : undefined),
      'an answer frees a place',
    );
    expect((await from('2001:db8::2:9')).requestId, 'after an answer').toBeDefined();
    for (const { device } of flood) await admin.call('device.pair.remove', { deviceId: device.id });
  });

  test('as a node is asked about twice when allowLocal is off: itself, then its commands', async () => {
    const gateway = await open({ auth: { mode: 'token', token: TOKEN, allowLocal: false } });
    const device = newDevice();
    const node = { role: 'node', scopes: [], caps: ['system'], commands: ['system.which'] };
    expect((await hello(gateway, device, node)).frame.ok).toBe(false);
    expect((await approve(gateway, device)).ok).toBe(true);
    expect((await hello(gateway, device, node)).frame.ok).toBe(true);
    await eventually(() => row(device)?.node?.request, 'the question about its commands');
    expect(row(device)?.node?.approved).toEqual([]);
  });

  test('that a proxy forwards is not of this machine, whatever the proxy is', async () => {
    const gateway = await open({});
    const { frame } = await hello(gateway, newDevice(), {}, ELSEWHERE);
    expect(frame.error?.details).toMatchObject({ reason: 'not-paired' });
  });

  test('that asks for more scopes, or for another role, waits for a person again', async () => {
    const gateway = await open({});
    const device = newDevice();
    await hello(gateway, device, { scopes: ['operator.read'] });
    const more = await hello(gateway, device, { scopes: ['operator.read', 'operator.admin'] });
    expect(more.frame.error?.details).toMatchObject({
      reason: 'scope-upgrade',
      approvedScopes: ['operator.read'],
      requestedScopes: ['operator.read', 'operator.admin'],
    });
    const node = await hello(gateway, device, { role: 'node', scopes: [] });
    expect(node.frame.error?.details).toMatchObject({ reason: 'role-upgrade' });
    const less = await hello(gateway, device, { scopes: ['operator.read'] });
    expect(less.frame.ok).toBe(true);
  });

  test('that comes from another kind of machine waits for a person again', async () => {
    const gateway = await open({});
    const device = newDevice();
    await hello(gateway, device);
    const client = { id: 'test', version: '1.0.0', platform: 'darwin', mode: 'test' };
    const { frame } = await hello(gateway, device, { client });
    expect(frame.error?.details).toMatchObject({ reason: 'metadata-upgrade' });
  });

  test('gets what it asks for within what it was granted, and all of it when it asks for nothing', async () => {
    const gateway = await open({});
    const device = newDevice();
    await hello(gateway, device, { scopes: ['operator.write', 'operator.pairing'] });
    const part = await hello(gateway, device, { scopes: ['operator.read'] });
    expect(part.frame.payload.auth.scopes).toEqual(['operator.read']);
    const all = await hello(gateway, device, { scopes: [] });
    expect(all.frame.payload.auth.scopes).toEqual(['operator.write', 'operator.pairing']);
  });

  test('must be one when the config says so, and a node always must', async () => {
    const remote = await open({ auth: { ...BEHIND_PROXY.auth!, deviceIdentity: 'remote' } });
    const stranger = await openStranger(remote, ELSEWHERE);
    expect((await stranger.call('connect', connectParams())).error).toMatchObject({
      code: 'NOT_PAIRED',
      details: { code: 'DEVICE_IDENTITY_REQUIRED' },
    });
    await openClient(remote);
    const always = await open({ auth: { mode: 'token', token: TOKEN, deviceIdentity: 'always' } });
    const here = await openStranger(always);
    expect((await here.call('connect', connectParams())).error?.details).toMatchObject({
      code: 'DEVICE_IDENTITY_REQUIRED',
    });
    const node = await openStranger(await open({}));
    const refused = await node.call('connect', connectParams({ role: 'node', scopes: [] }));
    expect(refused.error?.details).toMatchObject({ code: 'DEVICE_IDENTITY_REQUIRED' });
  });

  test('that is a node has no scope and calls what is meant for nodes only', async () => {
    const gateway = await open({});
    const { client, frame } = await hello(gateway, newDevice(), { role: 'node', scopes: [] });
    expect(frame.payload.auth).toMatchObject({ role: 'node', scopes: [] });
    expect(frame.payload.snapshot).toMatchObject({ presence: [], health: { ok: true } });
    expect((await client.call('sessions.list')).error?.details).toMatchObject({
      code: 'MISSING_SCOPE',
    });
  });
});

describe('a device token', () => {
  const paired = async (gateway: Gateway, more: object = {}) => {
    const device = newDevice();
    const { frame, client } = await hello(gateway, device, more);
    return { device, client, token: frame.payload.auth.deviceToken as string };
  };

  test('of another device or role, made up, or without its signature lets nobody in', async () => {
    const gateway = await open({});
    const { token } = await paired(gateway);
    const other = newDevice();
    const stolen = await hello(gateway, other, { auth: { deviceToken: token } });
    expect(stolen.frame.error?.details).toMatchObject({ code: 'AUTH_DEVICE_TOKEN_MISMATCH' });
    const bare = await openStranger(gateway);
    const refused = await bare.call('connect', connectParams({ auth: { deviceToken: token } }));
    expect(refused.error?.details).toMatchObject({ code: 'AUTH_DEVICE_TOKEN_MISMATCH' });
    const { device } = await paired(gateway);
    const forRole = await hello(gateway, device, {
      role: 'node',
      scopes: [],
      auth: { deviceToken: token },
    });
    expect(forRole.frame.error?.details).toMatchObject({ code: 'AUTH_DEVICE_TOKEN_MISMATCH' });
  });

  test('that was rotated is told to who did it, and ends the connections of the old one', async () => {
    const gateway = await open({});
    const { device, client, token } = await paired(gateway);
    const admin = await operator(gateway);
    const { payload } = await admin.call('device.token.rotate', {
      deviceId: device.id,
      role: 'operator',
    });
    expect(payload).toMatchObject({ role: 'operator', tokenDelivery: 'in-band' });
    expect((await client.gone()).code).toBe(1008);
    const old = await hello(gateway, device, { auth: { deviceToken: token } });
    expect(old.frame.error?.details).toMatchObject({ code: 'AUTH_DEVICE_TOKEN_MISMATCH' });
    const now = await hello(gateway, device, { auth: { deviceToken: payload.token } });
    expect(now.frame.ok).toBe(true);
  });

  test('that a device rotates itself is told before anything ends', async () => {
    const gateway = await open({});
    const { device, client } = await paired(gateway);
    const { payload } = await client.call('device.token.rotate', {
      deviceId: device.id,
      role: 'operator',
    });
    const now = await hello(gateway, device, { auth: { deviceToken: payload.token } });
    expect(now.frame.ok).toBe(true);
  });

  test('that was revoked is worth nothing, and the device needs the secret again', async () => {
    const gateway = await open({});
    const { device, client, token } = await paired(gateway);
    const admin = await operator(gateway);
    const revoked = await admin.call('device.token.revoke', {
      deviceId: device.id,
      role: 'operator',
    });
    expect(revoked.payload).toMatchObject({ role: 'operator', revokedAtMs: expect.any(Number) });
    expect((await client.gone()).code).toBe(1008);
    const old = await hello(gateway, device, { auth: { deviceToken: token } });
    expect(old.frame.error?.details).toMatchObject({ code: 'AUTH_DEVICE_TOKEN_MISMATCH' });
    const fresh = await hello(gateway, device);
    expect(fresh.frame.payload.auth.deviceToken).toEqual(expect.any(String));
  });

  test('of narrowed scopes does not do more, and all of them when nothing is asked for', async () => {
    const gateway = await open({});
    const { device } = await paired(gateway);
    const admin = await operator(gateway);
    const { payload } = await admin.call('device.token.rotate', {
      deviceId: device.id,
      role: 'operator',
      scopes: ['operator.read'],
    });
    const auth = { deviceToken: payload.token as string };
    const wide = await hello(gateway, device, { auth, scopes: ['operator.write'] });
    expect(wide.frame.error?.details).toMatchObject({ code: 'AUTH_SCOPE_MISMATCH' });
    const plain = await hello(gateway, device, { auth, scopes: [] });
    expect(plain.frame.payload.auth.scopes).toEqual(['operator.read']);
  });
});

describe('people', () => {
  const asking = async (gateway: Gateway, more: object = {}) => {
    const device = newDevice();
    await hello(gateway, device, more, ELSEWHERE);
    return device;
  };

  test('see who waits and who is let in, with no secret among it', async () => {
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

  test('without a scope can not grant it, and only admins make nodes', async () => {
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

  test('who are a device themselves manage no other device unless they are admins', async () => {
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

  test('reject a request once, and nobody can answer it again', async () => {
    const gateway = await open();
    const device = await asking(gateway);
    const admin = await operator(gateway);
    const requestId = requestOf(device);
    const { payload } = await admin.call('device.pair.reject', { requestId });
    expect(payload).toEqual({ requestId, deviceId: device.id });
    const late = await admin.call('device.pair.approve', { requestId });
    expect(late.error?.message).toContain('unknown requestId');
  });

  test('remove a device, which ends its connections on every gateway and its token', async () => {
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

  test('who name what is not there are told so', async () => {
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
});
