/** Verification that an envelope is its caller's: real keys in a real keyring, a real store. */
import { createHmac } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import type { TokenScope } from '../../../../operations/access.ts';
import type { Caller } from '../../../../channels/edge/edge.ts';
import { createIdentity } from '../../../../channels/edge/identity/create-identity.ts';
import { newSigningKey } from '../../../../channels/edge/identity/local-issuer.ts';
import type { Envelope } from '../../../../protocols/envelope.ts';
import { KEY_LIFE_MS } from '../../../../protocols/security/keyring.ts';
import { ed25519Jwk, kidOf, signEnvelope } from '../../../../protocols/security/signature.ts';
import { envelope } from '../../../protocols/signed-envelope.ts';
import { clockAt, RESOURCE } from './issuer.ts';
import { askKeyring, openCell, readerOf } from './keyring-cell.ts';

const ann: Caller = {
  sub: 'ann',
  tenant: 'default',
  roles: ['writer', 'reader'],
  profile: 'A2A-External',
};
const DAY_MS = 86_400_000;

/** A keyring in which ann has a key, and an identity that reads it. */
async function setUp() {
  const system = await openCell();
  const clock = clockAt(Date.now());
  const identity = createIdentity({
    issuers: [],
    resource: RESOURCE,
    tenant: 'default',
    keys: readerOf(system),
    clock,
  });
  const key = newSigningKey();
  const row = await askKeyring(system, {
    type: 'keyring.add',
    sub: 'ann',
    publicJwk: ed25519Jwk(key),
  });
  const fresh = (over: Partial<Envelope> = {}) =>
    envelope({ timestamp: new Date(clock.wallMs()).toISOString(), ...over });
  const verifyEnvelope = (signed: unknown, signature?: string, caller = ann) =>
    identity.verifyEnvelope(caller, signed, { signature });
  return { system, clock, key, row, fresh, verifyEnvelope };
}
const refused = (code: string, what: RegExp) => ({ code, message: expect.stringMatching(what) });
const unknownKey = refused('UNAUTHORIZED', /its key is unknown, expired or revoked/);

describe('an envelope under A2A-Basic', () => {
  it('must have the sub and tenant of its caller, and no more than its roles', async () => {
    const { fresh, verifyEnvelope } = await setUp();
    const basic: Caller = { ...ann, profile: 'A2A-Basic' };
    await verifyEnvelope(fresh(), undefined, basic);
    await verifyEnvelope(fresh({ principal: { sub: 'ann', roles: [] } }), undefined, basic);
    const wrong: [Partial<Envelope>, RegExp][] = [
      [{ tenant_id: 'acme' }, /tenant_id/],
      [{ principal: { sub: 'bob', roles: [] } }, /principal.sub/],
      [{ principal: { sub: 'ann', roles: ['writer', 'admin'] } }, /principal.roles/],
    ];
    for (const [over, what] of wrong)
      await expect(verifyEnvelope(fresh(over), undefined, basic)).rejects.toMatchObject(
        refused('FORBIDDEN', what),
      );
  });

  it('needs a scope of calls, or of reads for a status, if its token names scopes', async () => {
    const { fresh, verifyEnvelope } = await setUp();
    const scoped = (scope: TokenScope): Caller => ({
      ...ann,
      profile: 'A2A-Basic',
      scopes: [scope],
    });
    await verifyEnvelope(fresh(), undefined, scoped('troupe:call'));
    await verifyEnvelope(fresh({ action: 'task.get_status' }), undefined, scoped('troupe:read'));
    for (const scope of ['troupe:read', 'troupe:operate'] as const)
      await expect(verifyEnvelope(fresh(), undefined, scoped(scope))).rejects.toMatchObject({
        code: 'FORBIDDEN',
        details: { scope: 'troupe:call' },
      });
  });
});

describe('an envelope under A2A-External', () => {
  it('needs a signature, which is valid whatever the order of the fields', async () => {
    const { key, fresh, verifyEnvelope } = await setUp();
    const one = fresh();
    const signature = await signEnvelope(one, key);
    await verifyEnvelope(one, signature);
    await verifyEnvelope(Object.fromEntries(Object.entries(one).toReversed()), signature);
    await expect(verifyEnvelope(one)).rejects.toMatchObject(
      refused('UNAUTHORIZED', /sign the envelope/),
    );
    await expect(verifyEnvelope(one, '')).rejects.toMatchObject(refused('UNAUTHORIZED', /sign/));
  });

  it('is refused when a field was changed after the signature', async () => {
    const { key, fresh, verifyEnvelope } = await setUp();
    const one = fresh();
    const signature = await signEnvelope(one, key);
    for (const over of [
      { seq: 2 },
      { idempotency_key: 'order-2' },
      { ttl_sec: 299 },
      { payload: { ...one.payload, note: 'x' } },
      { principal: { sub: 'ann', roles: ['reader'] } },
    ])
      await expect(verifyEnvelope({ ...one, ...over }, signature)).rejects.toMatchObject(
        refused('UNAUTHORIZED', /not the signature of this envelope/),
      );
  });

  it("is refused with an unknown key, and with another principal's key", async () => {
    const { system, fresh, verifyEnvelope, row, key } = await setUp();
    const one = fresh();
    const unknown = newSigningKey();
    await expect(verifyEnvelope(one, await signEnvelope(one, unknown))).rejects.toMatchObject(
      unknownKey,
    );
    const bobs = newSigningKey();
    await askKeyring(system, { type: 'keyring.add', sub: 'bob', publicJwk: ed25519Jwk(bobs) });
    await expect(verifyEnvelope(one, await signEnvelope(one, bobs))).rejects.toMatchObject(
      unknownKey,
    );
    await expect(verifyEnvelope(one, await signEnvelope(one, bobs, row.kid))).rejects.toMatchObject(
      refused('UNAUTHORIZED', /not the signature/),
    );
    await expect(
      verifyEnvelope(one, await signEnvelope(one, key, kidOf(ed25519Jwk(bobs)))),
    ).rejects.toMatchObject(unknownKey);
  });

  it('is refused when its signature is an HMAC with the public key as the secret', async () => {
    const { fresh, verifyEnvelope, row } = await setUp();
    for (const alg of ['HS512', 'EdDSA']) {
      const head = Buffer.from(JSON.stringify({ alg, kid: row.kid })).toString('base64url');
      const mac = createHmac('sha512', Buffer.from(row.publicJwk.x, 'base64url'))
        .update(head)
        .digest('base64url');
      await expect(verifyEnvelope(fresh(), `${head}..${mac}`)).rejects.toMatchObject({
        code: 'UNAUTHORIZED',
      });
    }
  });

  it('may be resent while its signature is valid, and is EXPIRED later', async () => {
    const { clock, key, fresh, verifyEnvelope } = await setUp();
    const cases: [number, number][] = [
      [60, 60],
      [300, 300],
      [3_600, 300],
    ];
    for (const [ttl_sec, livesSec] of cases) {
      const one = fresh({ ttl_sec });
      const signature = await signEnvelope(one, key);
      clock.wind(livesSec * 1_000 - 1);
      await verifyEnvelope(one, signature);
      clock.wind(1);
      await expect(verifyEnvelope(one, signature)).rejects.toMatchObject(
        refused('EXPIRED', /sign the envelope again/),
      );
      const again = fresh({ ttl_sec });
      await verifyEnvelope(again, await signEnvelope(again, key));
    }
  });

  it('is refused under a token of another tenant or principal, whatever it claims', async () => {
    const { system, key, fresh, verifyEnvelope } = await setUp();
    const one = fresh();
    const signature = await signEnvelope(one, key);
    const mallory = { ...ann, tenant: 'acme' };
    await expect(verifyEnvelope(one, signature, mallory)).rejects.toMatchObject({
      code: 'FORBIDDEN',
    });
    await expect(verifyEnvelope(one, signature, { ...ann, sub: 'bob' })).rejects.toMatchObject({
      code: 'FORBIDDEN',
    });
    const moved = fresh({ tenant_id: 'acme' });
    const signedForAcme = await signEnvelope(moved, key);
    await expect(verifyEnvelope(moved, signedForAcme, mallory)).rejects.toMatchObject(unknownKey);
    await askKeyring(
      system,
      { type: 'keyring.add', sub: 'ann', publicJwk: ed25519Jwk(key) },
      'acme',
    );
    await expect(
      verifyEnvelope({ ...one, tenant_id: 'acme' }, signature, mallory),
    ).rejects.toMatchObject(refused('UNAUTHORIZED', /not the signature/));
  });
});

describe('a key', () => {
  it('is valid for 90 days, also if its keyring records the end late', async () => {
    const { clock, key, row, fresh, verifyEnvelope } = await setUp();
    clock.wind(Date.parse(row.expires_at) - clock.wallMs() - 1);
    const last = fresh();
    const signature = await signEnvelope(last, key);
    await verifyEnvelope(last, signature);
    clock.wind(1);
    await expect(verifyEnvelope(last, signature)).rejects.toMatchObject(unknownKey);
  });

  it('is valid beside its successor until the overlap ends, and its successor at once', async () => {
    const { system, clock, key, row, fresh, verifyEnvelope } = await setUp();
    const next = newSigningKey();
    await askKeyring(system, {
      type: 'keyring.rotate',
      sub: 'ann',
      publicJwk: ed25519Jwk(next),
      overlapMs: DAY_MS,
    });
    const both = fresh();
    await verifyEnvelope(both, await signEnvelope(both, key));
    await verifyEnvelope(both, await signEnvelope(both, next));
    const retiresAt = Date.parse(readerOf(system)('default', row.kid)!.retires_at!);
    clock.wind(retiresAt - clock.wallMs());
    const later = fresh();
    await expect(verifyEnvelope(later, await signEnvelope(later, key))).rejects.toMatchObject(
      unknownKey,
    );
    await verifyEnvelope(later, await signEnvelope(later, next));
    clock.wind(KEY_LIFE_MS);
    const tooLate = fresh();
    await expect(verifyEnvelope(tooLate, await signEnvelope(tooLate, next))).rejects.toMatchObject(
      unknownKey,
    );
  });

  it('that was revoked is refused at once', async () => {
    const { system, key, row, fresh, verifyEnvelope } = await setUp();
    const one = fresh();
    const signature = await signEnvelope(one, key);
    await verifyEnvelope(one, signature);
    await askKeyring(system, { type: 'keyring.revoke', kid: row.kid });
    await expect(verifyEnvelope(one, signature)).rejects.toMatchObject(unknownKey);
  });
});
