/**
 * Authentication by real tokens of real issuers, with keys from files and from a loopback server.
 */
import { createHmac } from 'node:crypto';
import { rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import fc from 'fast-check';
import { importJWK, SignJWT, UnsecuredJWT } from 'jose';
import { describe, expect, it } from 'vitest';
import { TOKEN_BYTES_MAX } from '../../../../channels/edge/identity/create-identity.ts';
import { scratchFolder, write } from '../../../runtime/config/folder.ts';
import {
  bearer,
  clockAt,
  identityOf,
  type Issuer,
  issuerWith,
  NOW,
  refusal,
  RESOURCE,
  serveJwks,
} from './issuer.ts';

const ISSUER = 'https://id.test';
const jwksFile = (...issuers: readonly Issuer[]) =>
  write(
    scratchFolder(),
    'jwks.json',
    JSON.stringify({ keys: issuers.map(({ publicJwk }) => publicJwk) }),
  );

const ed = await issuerWith('EdDSA', 'ed');

describe('a token', () => {
  it.each(['EdDSA', 'Ed25519', 'ES256', 'RS256', 'PS256'])(
    'of %s identifies its caller',
    async (alg) => {
      const one = await issuerWith(alg, 'k');
      const identity = identityOf({ issuers: [{ issuer: ISSUER, jwks: jwksFile(one) }] });
      expect(await identity.authenticate(bearer(await one.token()))).toEqual({
        sub: 'ann',
        tenant: 'default',
        roles: ['writer', 'reader'],
        profile: 'A2A-Basic',
      });
    },
  );

  it.each([
    ['openid troupe:read troupe:call', ['troupe:read', 'troupe:call']],
    [['troupe:operate', 7], ['troupe:operate']],
    ['openid profile troupe:admin', undefined],
    [{ 'troupe:read': true }, undefined],
  ])('is limited by the scopes of troupe that it names: %j', async (scope, scopes) => {
    const identity = identityOf({ issuers: [{ issuer: ISSUER, jwks: jwksFile(ed) }] });
    const caller = await identity.authenticate(bearer(await ed.token({ scope })));
    expect(caller.scopes).toEqual(scopes);
  });

  it.each(['ES384', 'RS512', 'PS384'])('of %s is refused', async (alg) => {
    const one = await issuerWith(alg, 'k');
    const identity = identityOf({ issuers: [{ issuer: ISSUER, jwks: jwksFile(one) }] });
    await expect(identity.authenticate(bearer(await one.token()))).rejects.toMatchObject(
      refusal(/signature is not valid/),
    );
  });

  it('is refused unsigned, and signed by HMAC with the public key as the secret', async () => {
    const rsa = await issuerWith('RS256', 'k');
    const identity = identityOf({ issuers: [{ issuer: ISSUER, jwks: jwksFile(rsa, ed) }] });
    const claims = {
      iss: ISSUER,
      sub: 'ann',
      aud: RESOURCE,
      exp: NOW / 1_000 + 60,
      tenant: 'default',
    };
    const body = Buffer.from(JSON.stringify(claims)).toString('base64url');
    const confused = [rsa.publicJwk.n!, ed.publicJwk.x!, JSON.stringify(rsa.publicJwk)].map(
      (secret) => {
        const head = Buffer.from(JSON.stringify({ alg: 'HS256', kid: 'k' })).toString('base64url');
        const mac = createHmac('sha256', secret).update(`${head}.${body}`).digest('base64url');
        return `${head}.${body}.${mac}`;
      },
    );
    for (const token of [new UnsecuredJWT(claims).encode(), ...confused])
      await expect(identity.authenticate(bearer(token))).rejects.toMatchObject(
        refusal(/signature is not valid/),
      );
  });

  it('is refused when a claim is wrong, and the answer does not reveal the expected value', async () => {
    const identity = identityOf({ issuers: [{ issuer: ISSUER, jwks: jwksFile(ed) }] });
    const soon = NOW / 1_000;
    const wrong: [Record<string, unknown>, RegExp][] = [
      [{ aud: 'urn:other' }, /aud is missing or has a wrong value/],
      [{ aud: undefined }, /aud is missing or has a wrong value/],
      [{ exp: soon - 31 }, /expired/],
      [{ exp: undefined }, /exp is missing or has a wrong value/],
      [{ nbf: soon + 31 }, /nbf is missing or has a wrong value/],
      [{ iss: 'https://evil.test' }, /issuer is not configured/],
      [{ iss: undefined }, /claim iss is missing/],
      [{ sub: undefined }, /sub is missing or has a wrong value/],
      [{ sub: 'operator' }, /reserved/],
      [{ sub: 'a\nb' }, /not a valid name/],
      [{ sub: 'a'.repeat(257) }, /not a valid name/],
      [{ tenant: undefined }, /tenant is missing/],
      [{ tenant: 'A/b' }, /tenant is not a valid name/],
      [{ tenant: 'a1'.repeat(11) }, /tenant has the form of a random NATS inbox/],
      [{ tenant: ['default'] }, /tenant is missing/],
      [{ roles: { writer: true } }, /roles/],
      [{ roles: ['a', 7] }, /roles/],
      [{ roles: Array.from({ length: 65 }, () => 'a') }, /roles/],
    ];
    for (const [claims, what] of wrong) {
      const error = (await identity
        .authenticate(bearer(await ed.token(claims)))
        .catch((thrown: unknown) => thrown)) as Error;
      expect({ claims, error }).toMatchObject({ error: refusal(what) });
      expect(error.message).not.toContain(RESOURCE);
    }
    for (const claims of [{ exp: soon - 29 }, { nbf: soon + 29 }, { aud: ['x', RESOURCE] }])
      expect(await identity.authenticate(bearer(await ed.token(claims)))).toBeTruthy();
  });

  it('has claims with the names of its issuer, and roles as one string', async () => {
    const issuer = {
      issuer: ISSUER,
      jwks: jwksFile(ed),
      audience: 'urn:mine',
      tenantClaim: 'hd',
      rolesClaim: 'scope',
      profile: 'A2A-External' as const,
    };
    const token = await ed.token({
      aud: 'urn:mine',
      hd: 'acme',
      tenant: 'x',
      scope: 'read  write',
      [`a2a_profile`]: 'A2A-Basic',
    });
    expect(await identityOf({ issuers: [issuer] }).authenticate(bearer(token))).toEqual({
      sub: 'ann',
      tenant: 'acme',
      roles: ['read', 'write'],
      profile: 'A2A-External',
    });
  });

  it("grants the role operator only in the installation's own tenant", async () => {
    const identity = identityOf({ issuers: [{ issuer: ISSUER, jwks: jwksFile(ed) }] });
    const roles = ['operator', 'writer'];
    const own = await ed.token({ roles });
    const other = await ed.token({ roles, tenant: 'acme' });
    expect(await identity.authenticate(bearer(own))).toMatchObject({ roles });
    expect(await identity.authenticate(bearer(other))).toMatchObject({ roles: ['writer'] });
  });

  it('is refused when it is too long or malformed, without a lookup of any key', async () => {
    const jwks = await serveJwks(ed.publicJwk);
    const identity = identityOf({ issuers: [{ issuer: ISSUER, jwks: jwks.url }] });
    for (const authorization of [
      '',
      'Bearer',
      'Bearer ',
      'Basic YTpi',
      'Bearer a b',
      'Bearer nonsense',
      'Bearer a.b.c',
      `Bearer ${'a'.repeat(TOKEN_BYTES_MAX)}`,
      `Bearer ${await ed.token({ pad: 'x'.repeat(TOKEN_BYTES_MAX) })}`,
      `Bearer ${await ed.token({ iss: 'https://evil.test' })}`,
    ])
      await expect(identity.authenticate({ authorization })).rejects.toMatchObject({
        code: 'UNAUTHORIZED',
      });
    expect(jwks.asked).toBe(0);
  });
});

it('any malformed token is refused with a message', async () => {
  const identity = identityOf({ issuers: [{ issuer: ISSUER, jwks: jwksFile(ed) }] });
  const parts = (await ed.token()).split('.');
  const part = (at: number) => fc.oneof(fc.constant(parts[at]!), fc.json().map(encode));
  const claims = fc
    .record({
      iss: fc.constant(ISSUER),
      sub: fc.anything(),
      exp: fc.anything(),
      aud: fc.anything(),
    })
    .map((value) =>
      encode(JSON.stringify(value, (_, v: unknown) => (typeof v === 'bigint' ? 1 : v))),
    );
  const tokens = fc
    .tuple(part(0), fc.oneof(part(1), claims), part(2))
    .filter((given) => given.join('.') !== parts.join('.'));
  await fc.assert(
    fc.asyncProperty(tokens, async (given) => {
      await expect(identity.authenticate(bearer(given.join('.')))).rejects.toMatchObject({
        code: 'UNAUTHORIZED',
      });
    }),
    { numRuns: 500 },
  );
});

describe('the keys of an issuer', () => {
  it('may be added to a file later, and a removed key invalidates its tokens', async () => {
    const clock = clockAt();
    const file = join(scratchFolder(), 'jwks.json');
    const identity = identityOf({ issuers: [{ issuer: ISSUER, jwks: file }], clock });
    const credentials = bearer(await ed.token());
    await expect(identity.authenticate(credentials)).rejects.toMatchObject(refusal(/signature/));
    writeFileSync(file, JSON.stringify({ keys: [ed.publicJwk] }));
    clock.wind(1_000);
    expect(await identity.authenticate(credentials)).toMatchObject({ sub: 'ann' });
    const next = await issuerWith('EdDSA', 'ed');
    writeFileSync(file, JSON.stringify({ keys: [next.publicJwk] }));
    clock.wind(1_000);
    await expect(identity.authenticate(credentials)).rejects.toMatchObject(refusal(/signature/));
    expect(await identity.authenticate(bearer(await next.token()))).toMatchObject({ sub: 'ann' });
    rmSync(file);
    clock.wind(1_000);
    await expect(identity.authenticate(bearer(await next.token()))).rejects.toMatchObject(
      refusal(/signature/),
    );
  });

  it('stay in use while their file is half written, which is logged once', async () => {
    const clock = clockAt();
    const warnings: string[] = [];
    const file = jwksFile(ed);
    const identity = identityOf({
      issuers: [{ issuer: ISSUER, jwks: file }],
      clock,
      warn: (what) => void warnings.push(what),
    });
    expect(await identity.authenticate(bearer(await ed.token()))).toMatchObject({ sub: 'ann' });
    writeFileSync(file, '{"keys":[{"kty"');
    for (const sub of ['a', 'b', 'c']) {
      clock.wind(1_000);
      expect(await identity.authenticate(bearer(await ed.token({ sub })))).toMatchObject({ sub });
    }
    expect(warnings).toEqual([expect.stringContaining(file)]);
  });

  it('are fetched once for many tokens, and again when one is missing, at most every 30 s', async () => {
    const clock = clockAt(Date.now());
    const exp = Math.floor(Date.now() / 1_000) + 600;
    const jwks = await serveJwks(ed.publicJwk);
    const identity = identityOf({ issuers: [{ issuer: ISSUER, jwks: jwks.url }], clock });
    for (const sub of ['a', 'b', 'c'])
      expect(await identity.authenticate(bearer(await ed.token({ sub, exp })))).toMatchObject({
        sub,
      });
    const unknown = await issuerWith('EdDSA', 'unknown');
    for (const sub of ['a', 'b', 'c'])
      await expect(
        identity.authenticate(bearer(await unknown.token({ sub, exp }))),
      ).rejects.toMatchObject(refusal(/signature/));
    expect(jwks.asked).toBe(1);
  });

  it('that cannot be fetched make it UNAVAILABLE, with one fetch per 5 s', async () => {
    const clock = clockAt();
    const jwks = await serveJwks(ed.publicJwk);
    jwks.status = 500;
    const identity = identityOf({ issuers: [{ issuer: ISSUER, jwks: jwks.url }], clock });
    for (const sub of ['a', 'b', 'c'])
      await expect(identity.authenticate(bearer(await ed.token({ sub })))).rejects.toMatchObject({
        code: 'UNAVAILABLE',
        retryAfterMs: 5_000,
      });
    expect(jwks.asked).toBe(1);
    jwks.status = 200;
    clock.wind(5_000);
    expect(await identity.authenticate(bearer(await ed.token()))).toMatchObject({ sub: 'ann' });
  });
});

describe('a cached verification', () => {
  it('is reused until the token expires, at most 5 min', async () => {
    const clock = clockAt();
    const file = jwksFile(ed);
    const issuers = [{ issuer: ISSUER, jwks: file }];
    const identity = identityOf({ issuers, clock });
    const short = bearer(await ed.token({ exp: NOW / 1_000 + 10 }));
    const [first, again] = [await identity.authenticate(short), await identity.authenticate(short)];
    // The same object: nothing was verified in between.
    expect(again).toBe(first);
    clock.wind(40_000);
    await expect(identity.authenticate(short)).rejects.toMatchObject(refusal(/expired/));
    const long = bearer(await ed.token());
    const before = await identity.authenticate(long);
    clock.wind(299_000);
    expect(await identity.authenticate(long)).toBe(before);
    clock.wind(1_000);
    expect(await identity.authenticate(long)).not.toBe(before);
  });

  it('is shared by concurrent requests with the same token', async () => {
    const identity = identityOf({ issuers: [{ issuer: ISSUER, jwks: jwksFile(ed) }] });
    const credentials = bearer(await ed.token());
    const all = await Promise.all(
      Array.from({ length: 20 }, () => identity.authenticate(credentials)),
    );
    expect(new Set(all).size).toBe(1);
  });

  it('of a refused token is kept for 5 s, and then repeated', async () => {
    const clock = clockAt();
    const identity = identityOf({ issuers: [{ issuer: ISSUER, jwks: jwksFile(ed) }], clock });
    const early = bearer(await ed.token({ nbf: NOW / 1_000 + 32 }));
    const thrown = () => identity.authenticate(early).catch((error: unknown) => error);
    const first = await thrown();
    clock.wind(4_000);
    expect(await thrown()).toBe(first);
    clock.wind(1_000);
    expect(await identity.authenticate(early)).toMatchObject({ sub: 'ann' });
  });
});

it('an issuer with a symmetric key in its file is refused', async () => {
  const k = Buffer.alloc(32, 7).toString('base64url');
  const file = write(
    scratchFolder(),
    'jwks.json',
    JSON.stringify({ keys: [{ kty: 'oct', k, kid: 'k' }] }),
  );
  const token = await new SignJWT({ tenant: 'default' })
    .setProtectedHeader({ alg: 'HS256', kid: 'k' })
    .setIssuer(ISSUER)
    .setSubject('ann')
    .setAudience(RESOURCE)
    .setExpirationTime(NOW / 1_000 + 60)
    .sign(await importJWK({ kty: 'oct', k }, 'HS256'));
  const identity = identityOf({ issuers: [{ issuer: ISSUER, jwks: file }] });
  await expect(identity.authenticate(bearer(token))).rejects.toMatchObject(refusal(/signature/));
});

const encode = (text: string) => Buffer.from(text).toString('base64url');
