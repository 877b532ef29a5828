import { createHash, generateKeyPairSync } from 'node:crypto';
import { afterEach, describe, expect, test } from 'vitest';
import { deviceFault } from '../../../../channels/gateway/auth/device-auth.ts';
import type { ConnectParams } from '../../../../protocols/gateway/index.ts';
import { connectParams } from '../client.ts';
import { challengeOf, newDevice, signed } from '../devices/device-identity.ts';
import { closeAll, openGateway, openChallenged } from '../opened.ts';
import { StillClock } from '../still-clock.ts';

afterEach(closeAll);

const NOW = 1_800_000_000_000;
const NONCE = 'b9b6b2c4-0000-4000-8000-000000000000';
const params = connectParams({
  client: { id: 'test', version: '1', platform: 'Linux', mode: 'test', deviceFamily: 'Box' },
}) as ConnectParams & { scopes: string[] };
const device = newDevice();
const proof = (more: object = {}, by = device) =>
  signed(by, { ...params, ...more }, { nonce: NONCE, signedAt: NOW });
const faultOf = (given: ReturnType<typeof proof>, more: object = {}, at = NOW) =>
  deviceFault({ ...params, ...more }, given, NONCE, at)?.code;

describe('the signature of a device', () => {
  test('is accepted in version 3 and in version 2', () => {
    expect(faultOf(proof())).toBeUndefined();
    const older = signed(device, params, { nonce: NONCE, signedAt: NOW, version: 'v2' });
    expect(faultOf(older)).toBeUndefined();
  });

  test.each<[string, object]>([
    ['another role', { role: 'node' }],
    ['other scopes', { scopes: ['operator.admin'] }],
    ['the same scopes in another order', { scopes: params.scopes.toReversed() }],
    ['another secret', { auth: { token: 'other' } }],
    ['another client', { client: { ...params.client, id: 'cli' } }],
    ['another mode', { client: { ...params.client, mode: 'cli' } }],
    ['another machine', { client: { ...params.client, platform: 'darwin' } }],
  ])('is refused for %s', (_, more) => {
    expect(faultOf(proof(), more)).toBe('DEVICE_AUTH_SIGNATURE_INVALID');
  });

  test('of another key, truncated, or changed, is refused', () => {
    const other = newDevice();
    expect(faultOf({ ...proof({}, other), id: device.id, publicKey: device.publicKey })).toBe(
      'DEVICE_AUTH_SIGNATURE_INVALID',
    );
    const { signature } = proof();
    for (const wrong of [
      '',
      '!',
      signature.slice(0, -4),
      `${signature.startsWith('A') ? 'B' : 'A'}${signature.slice(1)}`,
      `${signature}AA`,
    ]) {
      expect(faultOf({ ...proof(), signature: wrong })).toBe('DEVICE_AUTH_SIGNATURE_INVALID');
    }
  });

  test('does not authenticate a device of another id', () => {
    expect(faultOf({ ...proof(), id: newDevice().id })).toBe('DEVICE_AUTH_DEVICE_ID_MISMATCH');
  });

  test('with a key that has not 32 bytes is refused', () => {
    const { publicKey } = generateKeyPairSync('rsa', { modulusLength: 1024 });
    const pem = publicKey.export({ type: 'spki', format: 'pem' }) as string;
    for (const wrong of ['AAAA', 'x'.repeat(44), `${device.publicKey}A`, pem]) {
      expect(faultOf({ ...proof(), publicKey: wrong })).toBe('DEVICE_AUTH_PUBLIC_KEY_INVALID');
    }
  });

  test('of a small-order key, for which anyone can sign, is refused', () => {
    const neutral = Buffer.concat([Buffer.from([1]), Buffer.alloc(31)]);
    const forged = Buffer.concat([neutral, Buffer.alloc(32)]).toString('base64url');
    for (const sign of [0, 0x80]) {
      const raw = Buffer.from(neutral);
      raw[31]! |= sign;
      const weak = {
        ...proof(),
        id: createHash('sha256').update(raw).digest('hex'),
        publicKey: raw.toString('base64url'),
        signature: forged,
      };
      expect(faultOf(weak)).toBe('DEVICE_AUTH_PUBLIC_KEY_INVALID');
    }
  });

  test("is valid for two minutes around the gateway's clock", () => {
    expect(faultOf(proof(), {}, NOW + 120_000)).toBeUndefined();
    expect(faultOf(proof(), {}, NOW - 120_000)).toBeUndefined();
    expect(faultOf(proof(), {}, NOW + 120_001)).toBe('DEVICE_AUTH_SIGNATURE_EXPIRED');
    expect(faultOf(proof(), {}, NOW - 120_001)).toBe('DEVICE_AUTH_SIGNATURE_EXPIRED');
  });

  test('is valid for one connection: without its nonce, or with that of another, it is refused', () => {
    const blank = signed(device, params, { nonce: ' ', signedAt: NOW });
    expect(faultOf(blank)).toBe('DEVICE_AUTH_NONCE_REQUIRED');
    const other = signed(device, params, { nonce: 'other', signedAt: NOW });
    expect(faultOf(other)).toBe('DEVICE_AUTH_NONCE_MISMATCH');
  });
});

test('a signature for one connection is refused on another', async () => {
  const clock = new StillClock();
  const gateway = await openGateway(undefined, { clock });
  const victim = await openChallenged(gateway);
  const { nonce, ts } = challengeOf(victim);
  const stolen = { ...params, device: signed(device, params, { nonce, signedAt: ts }) };
  const thief = await openChallenged(gateway);
  const refused = await thief.call('connect', stolen);
  expect(refused.error?.details).toMatchObject({ code: 'DEVICE_AUTH_NONCE_MISMATCH' });
  expect((await thief.gone()).code).toBe(1008);
});

test('forged signatures lock the address like wrong secrets', async () => {
  const clock = new StillClock();
  const gateway = await openGateway(undefined, { clock });
  for (let guess = 0; guess < 10; guess++) {
    const client = await openChallenged(gateway);
    const { nonce, ts } = challengeOf(client);
    const forged = { ...signed(newDevice(), params, { nonce, signedAt: ts }), id: device.id };
    const { error } = await client.call('connect', { ...params, device: forged });
    expect(error?.details).toMatchObject({ code: 'DEVICE_AUTH_DEVICE_ID_MISMATCH' });
  }
  const wrong = { ...params, auth: { token: 'wrong' } };
  const locked = await (await openChallenged(gateway)).call('connect', wrong);
  expect(locked.error?.details).toMatchObject({ code: 'AUTH_RATE_LIMITED' });
});
