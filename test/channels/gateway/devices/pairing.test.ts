/** Pairing of devices, upgrades of their rights, and device tokens. */
import { describe, expect, test } from 'vitest';
import type { Gateway } from '../../../../channels/index.ts';
import { STRANGERS_PER_IP_MAX } from '../../../../protocols/device.ts';
import { connectParams, eventually, TOKEN } from '../client.ts';
import { newDevice } from './device-identity.ts';
import { openClient, openChallenged } from '../opened.ts';
import {
  approve,
  BEHIND_PROXY,
  ELSEWHERE,
  hello,
  open,
  operator,
  requestOf,
  row,
  usePairing,
} from './paired.ts';

usePairing();

describe('a device', () => {
  test('on this machine with the right secret is approved at once and gets a token', async () => {
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

  test('on another machine waits for an operator, is notified, and is accepted after the approval', async () => {
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

  test('needs approval when allowLocal is off, also on this machine', async () => {
    const gateway = await open({ auth: { mode: 'token', token: TOKEN, allowLocal: false } });
    const { frame } = await hello(gateway, newDevice());
    expect(frame.error?.details).toMatchObject({ reason: 'not-paired' });
  });

  test('has a name without terminal control sequences', async () => {
    const gateway = await open();
    const device = newDevice();
    const displayName = 'Box\u001b]0;x\u0007\r\nyes \u202e';
    await hello(gateway, device, { client: { ...connectParams().client, displayName } });
    expect(row(device)?.face.name).toBe('Box ]0;x yes');
  });

  test('is not blocked by unknown devices that use all places of their address', async () => {
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
    expect(refused.message).toContain('too many devices wait for approval');
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

  test('as a node needs two approvals when allowLocal is off: the device, then its commands', async () => {
    const gateway = await open({ auth: { mode: 'token', token: TOKEN, allowLocal: false } });
    const device = newDevice();
    const node = { role: 'node', scopes: [], caps: ['system'], commands: ['system.which'] };
    expect((await hello(gateway, device, node)).frame.ok).toBe(false);
    expect((await approve(gateway, device)).ok).toBe(true);
    expect((await hello(gateway, device, node)).frame.ok).toBe(true);
    await eventually(() => row(device)?.node?.request, 'the question about its commands');
    expect(row(device)?.node?.approved).toEqual([]);
  });

  test('behind a proxy does not count as local, whatever the proxy is', async () => {
    const gateway = await open({});
    const { frame } = await hello(gateway, newDevice(), {}, ELSEWHERE);
    expect(frame.error?.details).toMatchObject({ reason: 'not-paired' });
  });

  test('that requests more scopes or another role needs another approval', async () => {
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

  test('that connects from another kind of machine needs another approval', async () => {
    const gateway = await open({});
    const device = newDevice();
    await hello(gateway, device);
    const client = { id: 'test', version: '1.0.0', platform: 'darwin', mode: 'test' };
    const { frame } = await hello(gateway, device, { client });
    expect(frame.error?.details).toMatchObject({ reason: 'metadata-upgrade' });
  });

  test('gets the requested scopes within its grant, and all granted scopes when it requests none', async () => {
    const gateway = await open({});
    const device = newDevice();
    await hello(gateway, device, { scopes: ['operator.write', 'operator.pairing'] });
    const part = await hello(gateway, device, { scopes: ['operator.read'] });
    expect(part.frame.payload.auth.scopes).toEqual(['operator.read']);
    const all = await hello(gateway, device, { scopes: [] });
    expect(all.frame.payload.auth.scopes).toEqual(['operator.write', 'operator.pairing']);
  });

  test('is required when the config says so, and always for a node', async () => {
    const remote = await open({ auth: { ...BEHIND_PROXY.auth!, deviceIdentity: 'remote' } });
    const client = await openChallenged(remote, ELSEWHERE);
    expect((await client.call('connect', connectParams())).error).toMatchObject({
      code: 'NOT_PAIRED',
      details: { code: 'DEVICE_IDENTITY_REQUIRED' },
    });
    await openClient(remote);
    const always = await open({ auth: { mode: 'token', token: TOKEN, deviceIdentity: 'always' } });
    const here = await openChallenged(always);
    expect((await here.call('connect', connectParams())).error?.details).toMatchObject({
      code: 'DEVICE_IDENTITY_REQUIRED',
    });
    const node = await openChallenged(await open({}));
    const refused = await node.call('connect', connectParams({ role: 'node', scopes: [] }));
    expect(refused.error?.details).toMatchObject({ code: 'DEVICE_IDENTITY_REQUIRED' });
  });

  test('with the role node has no scope and calls only methods for nodes', async () => {
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

  test('of another device or role, made up, or without its signature is refused', async () => {
    const gateway = await open({});
    const { token } = await paired(gateway);
    const other = newDevice();
    const stolen = await hello(gateway, other, { auth: { deviceToken: token } });
    expect(stolen.frame.error?.details).toMatchObject({ code: 'AUTH_DEVICE_TOKEN_MISMATCH' });
    const bare = await openChallenged(gateway);
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

  test('that was rotated is returned to the caller, and closes the connections of the old one', async () => {
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

  test('that a device rotates itself is returned before its connection closes', async () => {
    const gateway = await open({});
    const { device, client } = await paired(gateway);
    const { payload } = await client.call('device.token.rotate', {
      deviceId: device.id,
      role: 'operator',
    });
    const now = await hello(gateway, device, { auth: { deviceToken: payload.token } });
    expect(now.frame.ok).toBe(true);
  });

  test('that was revoked is refused, and the device needs the secret again', async () => {
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

  test('with narrowed scopes grants only these, and all of them when none are requested', async () => {
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
