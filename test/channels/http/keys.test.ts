/** The routes of keys over real HTTP, with a real keyring behind them. */
import { importJWK } from 'jose';
import { describe, expect, it } from 'vitest';
import {
  issueToken,
  newSigningKey,
  type TokenRequest,
} from '../../../channels/edge/identity/local-issuer.ts';
import { ed25519Jwk, kidOf, signEnvelope } from '../../../protocols/security/signature.ts';
import { envelope } from '../../protocols/signed-envelope.ts';
import { RESOURCE } from '../edge/identity/issuer.ts';
import { GATEWAY_TOKEN, type KeyServer, openKeyServer } from './key-server.ts';

type Sent = { readonly method?: string; readonly token?: string | null; readonly body?: unknown };

const send = async (server: KeyServer, path: string, { method, token, body }: Sent = {}) => {
  const response = await fetch(`${server.url}${path}`, {
    method: method ?? (body === undefined ? 'GET' : 'POST'),
    headers: token === null ? {} : { authorization: `Bearer ${token ?? GATEWAY_TOKEN}` },
    ...(body === undefined ? {} : { body: typeof body === 'string' ? body : JSON.stringify(body) }),
  });
  return { status: response.status, body: (await response.json()) as Record<string, unknown> };
};
const tokenOf = (server: KeyServer, over: Partial<TokenRequest> = {}) =>
  issueToken(
    server.home,
    {
      sub: 'ops',
      tenant: 'default',
      roles: ['operator'],
      resource: RESOURCE,
      ttlSec: 60,
      external: false,
      ...over,
    },
    Date.now(),
  );
const bodyOf = (key = newSigningKey(), sub = 'ann') => ({ sub, public_jwk: ed25519Jwk(key) });

describe('an operator', () => {
  it('registers a key, rotates it and revokes it, and programs sign with the valid ones', async () => {
    const server = await openKeyServer();
    const [first, second] = [newSigningKey(), newSigningKey()];
    const caller = {
      sub: 'ann',
      tenant: 'default',
      roles: ['writer'],
      profile: 'A2A-External' as const,
    };
    const isGood = async (key: typeof first) => {
      const one = envelope({ timestamp: new Date().toISOString() });
      const signature = await signEnvelope(one, key);
      return server.identity.verifyEnvelope(caller, one, { signature }).then(
        () => true,
        () => false,
      );
    };
    expect(await isGood(first)).toBe(false);
    const made = await send(server, '/v1/keys', { body: bodyOf(first) });
    expect(made).toMatchObject({
      status: 201,
      body: { kid: kidOf(first), sub: 'ann', status: 'active' },
    });
    expect(await isGood(first)).toBe(true);

    const rotated = await send(server, '/v1/keys/rotate', {
      body: { ...bodyOf(second), overlap_sec: 3_600 },
    });
    expect(rotated).toMatchObject({ status: 201, body: { kid: kidOf(second), status: 'active' } });
    expect([await isGood(first), await isGood(second)]).toEqual([true, true]);
    const listed = await send(server, '/v1/keys');
    expect(listed.body['keys']).toHaveLength(2);
    expect(listed.body['keys']).toContainEqual(
      expect.objectContaining({ kid: kidOf(first), status: 'retiring' }),
    );

    const revoked = await send(server, `/v1/keys/${kidOf(first)}`, { method: 'DELETE' });
    expect(revoked).toMatchObject({ status: 200, body: { status: 'revoked' } });
    expect([await isGood(first), await isGood(second)]).toEqual([false, true]);
    expect(server.faults).toEqual([]);
  });

  it('may name a tenant, which has its own keyring', async () => {
    const server = await openKeyServer();
    await send(server, '/v1/keys', { body: { ...bodyOf(), tenant: 'acme' } });
    expect((await send(server, '/v1/keys')).body).toEqual({ keys: [] });
    expect((await send(server, '/v1/keys?tenant=acme')).body['keys']).toHaveLength(1);
  });

  it("is a principal with the role in the installation's own tenant, and no other", async () => {
    const server = await openKeyServer();
    const token = await tokenOf(server);
    expect((await send(server, '/v1/keys', { token })).status).toBe(200);
    for (const over of [{ roles: ['writer'] }, { tenant: 'acme' }, { external: true }])
      expect(await send(server, '/v1/keys', { token: await tokenOf(server, over) })).toMatchObject({
        status: 403,
        body: { error: { code: 'FORBIDDEN' } },
      });
    for (const wrong of [null, 'x'])
      expect(await send(server, '/v1/keys', { token: wrong, body: bodyOf() })).toMatchObject({
        status: 401,
        body: { error: { code: 'UNAUTHORIZED' } },
      });
    expect((await send(server, '/v1/keys')).body).toEqual({ keys: [] });
  });

  it('learns what is wrong with a request, without the submitted key', async () => {
    const server = await openKeyServer();
    const secret = newSigningKey();
    const wrong: [unknown, string, RegExp][] = [
      ['{', '/v1/keys', /not JSON/],
      [{ sub: 'ann' }, '/v1/keys', /\/public_jwk is required/],
      [{ ...bodyOf(), sub: '' }, '/v1/keys', /\/sub must not be empty/],
      [{ ...bodyOf(), tenant: 'A/b' }, '/v1/keys', /the tenant "A\/b"/],
      [{ sub: 'ann', public_jwk: secret }, '/v1/keys', /\/public_jwk\/d is not a known field/],
      [{ ...bodyOf(), overlap_sec: 1 }, '/v1/keys', /\/overlap_sec is not a known field/],
      [{ ...bodyOf(), overlap_sec: 31 * 86_400 }, '/v1/keys/rotate', /\/overlap_sec/],
      [
        { sub: 'ann', public_jwk: { ...ed25519Jwk(secret), x: 'short' } },
        '/v1/keys',
        /x of 32 bytes/,
      ],
    ];
    for (const [body, path, what] of wrong) {
      const answer = await send(server, path, { body });
      expect(answer).toMatchObject({
        status: 400,
        body: { error: { code: 'INVALID_ARGUMENT', message: expect.stringMatching(what) } },
      });
      expect(JSON.stringify(answer)).not.toContain(secret.d);
    }
    expect((await send(server, '/v1/keys', { body: 'x'.repeat(10_000) })).status).toBe(413);
    expect((await send(server, '/v1/keys/rotate', { body: bodyOf() })).status).toBe(404);
    expect((await send(server, '/v1/keys/nothing', { method: 'DELETE' })).status).toBe(404);
    expect((await send(server, '/v1/keys?tenant=A/b')).status).toBe(400);
    const body = bodyOf();
    await send(server, '/v1/keys', { body });
    expect((await send(server, '/v1/keys', { body: { ...body, sub: 'bob' } })).status).toBe(409);
    expect(server.faults).toEqual([]);
  });
});

describe('/.well-known/jwks.json', () => {
  it('returns the public keys of the installation without authentication, and no private part', async () => {
    const server = await openKeyServer();
    const before = await send(server, '/.well-known/jwks.json', { token: null });
    expect(before.body['keys']).toEqual([expect.objectContaining({ use: 'enc', crv: 'X25519' })]);
    await tokenOf(server);
    const { body } = await send(server, '/.well-known/jwks.json', { token: null });
    const keys = body['keys'] as Record<string, string>[];
    expect(keys.map(({ use }) => use)).toEqual(['enc', 'sig']);
    for (const key of keys) {
      expect(key).not.toHaveProperty('d');
      expect(await importJWK(key, key['alg'] ?? 'EdDSA')).toBeTruthy();
    }
  });
});
