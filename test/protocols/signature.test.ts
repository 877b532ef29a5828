/** Signatures with real keys, compared with jose, an independent implementation. */
import { createHmac, generateKeyPairSync, type JsonWebKey, type KeyObject } from 'node:crypto';
import fc from 'fast-check';
import { FlattenedSign, flattenedVerify, importJWK } from 'jose';
import { canonicalize } from 'json-canonicalize';
import { describe, expect, it } from 'vitest';
import {
  type Ed25519PrivateJwk,
  ed25519Jwk,
  kidOf,
  signEnvelope,
  verifyKeyOf,
  verifySignature,
} from '../../protocols/security/signature.ts';
import { envelope } from './signed-envelope.ts';

const pair = () =>
  generateKeyPairSync('ed25519').privateKey.export({ format: 'jwk' }) as Ed25519PrivateJwk;
const mine = pair();
const publicJwk = ed25519Jwk(mine);
const kid = kidOf(publicJwk);
const keyOf = (wanted: string) => (wanted === kid ? verifyKeyOf(publicJwk) : undefined);
const verify = (signature: string, signed: unknown = envelope(), keys = keyOf) =>
  verifySignature(signature, signed, keys);
const refusal = (what: RegExp) => ({ code: 'UNAUTHORIZED', message: expect.stringMatching(what) });

/** A detached JWS by jose with any header. */
const joseSigns = async (
  header: Record<string, unknown>,
  key: Parameters<FlattenedSign['sign']>[0],
  text = canonicalize(envelope()),
) => {
  const jws = await new FlattenedSign(new TextEncoder().encode(text))
    .setProtectedHeader(header)
    .sign(key, { crit: { other: false } });
  return `${jws.protected}..${jws.signature}`;
};
const joseKey = () => importJWK({ ...mine }, 'EdDSA');

describe('a signed envelope', () => {
  it('is valid for any order of fields and white space', async () => {
    const signature = await signEnvelope(envelope(), mine);
    await expect(verify(signature)).resolves.toBe(kid);
    const reversed = Object.fromEntries(Object.entries(envelope()).toReversed());
    expect(JSON.stringify(reversed)).not.toBe(JSON.stringify(envelope()));
    const spaced = JSON.parse(JSON.stringify(reversed, null, 4)) as unknown;
    await expect(verify(signature, spaced)).resolves.toBe(kid);
  });

  it.each(Object.keys(envelope()))('is refused when its %s differs', async (field) => {
    const signature = await signEnvelope(envelope(), mine);
    const changed = { ...envelope(), [field]: 'another' };
    await expect(verify(signature, changed)).rejects.toMatchObject(refusal(/this envelope/));
    const { [field as 'seq']: _, ...without } = envelope();
    await expect(verify(signature, without)).rejects.toMatchObject(refusal(/this envelope/));
  });

  it('is refused with an additional field, and with a changed nested value', async () => {
    const signature = await signEnvelope(envelope(), mine);
    for (const changed of [
      { ...envelope(), context_id: 'c' },
      { ...envelope(), payload: { ...envelope().payload, lines: [{ n: 1 }, { n: 3 }] } },
    ])
      await expect(verify(signature, changed)).rejects.toMatchObject(refusal(/this envelope/));
  });

  it('equals the signature of jose', async () => {
    const signature = await signEnvelope(envelope(), mine);
    const [head = '', , tail = ''] = signature.split('.');
    const payload = new TextEncoder().encode(canonicalize(envelope()));
    const jws = { protected: head, payload, signature: tail };
    const key = await importJWK({ ...publicJwk }, 'Ed25519');
    const { protectedHeader } = await flattenedVerify(jws, key);
    expect(protectedHeader).toEqual({ alg: 'Ed25519', b64: false, crit: ['b64'], kid });
  });

  it('may come from jose, as Ed25519 or EdDSA, its payload signed plain or as base64url', async () => {
    for (const alg of ['Ed25519', 'EdDSA'])
      for (const more of [{}, { b64: false, crit: ['b64'] }, { b64: true, crit: ['b64'] }])
        await expect(verify(await joseSigns({ alg, kid, ...more }, await joseKey()))).resolves.toBe(
          kid,
        );
  });
});

describe('a signature is refused', () => {
  it('with another key that has the id of the first', async () => {
    const signature = await signEnvelope(envelope(), pair(), kid);
    await expect(verify(signature)).rejects.toMatchObject(refusal(/this envelope/));
  });

  it('of an unknown key, even if its header contains a key', async () => {
    const other = pair();
    const header = { alg: 'EdDSA', kid: kidOf(ed25519Jwk(other)), jwk: ed25519Jwk(other) };
    const signature = await joseSigns(header, await importJWK({ ...other }, 'EdDSA'));
    await expect(verify(signature)).rejects.toMatchObject(refusal(/is unknown/));
  });

  it('without a kid', async () => {
    const signature = await joseSigns({ alg: 'EdDSA' }, await joseKey());
    await expect(verify(signature)).rejects.toMatchObject(refusal(/no key id/));
  });

  it('when crit requires an unsupported extension, or b64 is not marked as critical', async () => {
    for (const header of [
      { alg: 'EdDSA', kid, crit: ['other'], other: 1 },
      { alg: 'EdDSA', kid, b64: false, other: 1, crit: ['b64', 'other'] },
    ])
      await expect(verify(await joseSigns(header, await joseKey()))).rejects.toMatchObject(
        refusal(/crit/),
      );
    const [, , tail] = (await signEnvelope(envelope(), mine)).split('.');
    for (const header of [
      { alg: 'EdDSA', kid, b64: false },
      { alg: 'EdDSA', kid, crit: [] },
      { alg: 'EdDSA', kid, crit: 'b64', b64: false },
      { alg: 'EdDSA', kid, crit: ['b64'] },
      { alg: 'EdDSA', kid, crit: ['b64'], b64: 'no' },
    ])
      await expect(verify(`${encode(header)}..${tail}`)).rejects.toMatchObject(refusal(/crit/));
  });

  it('by any other algorithm', async () => {
    const payload = canonicalize(envelope());
    const rsa = generateKeyPairSync('rsa', { modulusLength: 2048 }).privateKey;
    const ec = generateKeyPairSync('ec', { namedCurve: 'P-256' }).privateKey;
    const signed = [
      await joseSigns({ alg: 'HS256', kid }, new Uint8Array(32), payload),
      await joseSigns({ alg: 'HS512', kid }, new Uint8Array(64), payload),
      await joseSigns({ alg: 'RS256', kid }, rsa, payload),
      await joseSigns({ alg: 'ES256', kid }, ec, payload),
    ];
    for (const signature of signed)
      await expect(verify(signature)).rejects.toMatchObject(
        refusal(/algorithm|not a detached JWS/),
      );
    const [, , tail] = (await signEnvelope(envelope(), mine)).split('.');
    for (const alg of ['none', 'None', 'HS512', 'ES256', 'Ed448', 'ed25519', ['EdDSA'], null])
      await expect(verify(`${encode({ alg, kid })}..${tail}`)).rejects.toMatchObject(
        refusal(/algorithm/),
      );
    await expect(verify(`${encode({ alg: 'none', kid })}..`)).rejects.toMatchObject(
      refusal(/not a detached JWS/),
    );
  });

  it('with the public key as the secret of an HMAC (algorithm confusion)', async () => {
    for (const secret of [publicJwk.x, Buffer.from(publicJwk.x, 'base64url')])
      for (const alg of ['HS512', 'EdDSA']) {
        const head = encode({ alg, kid });
        const text = `${head}.${Buffer.from(canonicalize(envelope())).toString('base64url')}`;
        const mac = createHmac('sha512', secret).update(text).digest('base64url');
        await expect(verify(`${head}..${mac}`)).rejects.toMatchObject(refusal(/./));
      }
  });

  it('by EdDSA with a key that is not of Ed25519', async () => {
    const { publicKey } = generateKeyPairSync('ed448');
    const keys = { ed448: publicKey, rsa: generateKeyPairSync('rsa', { modulusLength: 2048 }) };
    const signature = await signEnvelope(envelope(), mine);
    for (const key of [keys.ed448, keys.rsa.publicKey] as KeyObject[])
      await expect(verify(signature, envelope(), () => key)).rejects.toMatchObject(
        refusal(/not an Ed25519 key/),
      );
  });

  it('with a malformed text', async () => {
    const good = await signEnvelope(envelope(), mine);
    const [head, , tail] = good.split('.');
    const payload = Buffer.from(canonicalize(envelope())).toString('base64url');
    for (const text of [
      '',
      '..',
      good.slice(0, -1),
      `${good}A`,
      `${good}=`,
      ` ${good}`,
      `${head}.${payload}.${tail}`,
      `${head}..${tail!.slice(0, -2)}+/`,
      `bm90IGpzb24..${tail}`,
      `${Buffer.from('[1,2,3]').toString('base64url')}..${tail}`,
      `${Buffer.from('"text"').toString('base64url')}..${tail}`,
      'A'.repeat(2_000),
    ])
      await expect(verify(text)).rejects.toMatchObject({ code: 'UNAUTHORIZED' });
  });
});

it('any text as a signature is refused with an error', async () => {
  const good = (await signEnvelope(envelope(), mine)).split('.');
  const header = fc
    .oneof(fc.json(), fc.string(), fc.constant(good[0]!))
    .map((text) => (text === good[0] ? text : Buffer.from(text).toString('base64url')));
  const tail = fc.oneof(
    fc.string(),
    fc
      .uint8Array({ minLength: 64, maxLength: 64 })
      .map((b) => Buffer.from(b).toString('base64url')),
  );
  const texts = fc.oneof(
    fc.string(),
    fc.tuple(header, fc.constantFrom('', 'e30'), tail).map((parts) => parts.join('.')),
  );
  await fc.assert(
    fc.asyncProperty(texts, async (text) => {
      await expect(verify(text)).rejects.toMatchObject({ code: 'UNAUTHORIZED' });
    }),
    { numRuns: 500 },
  );
});

describe('a key', () => {
  it('has its thumbprint as id (RFC 8037, appendix A.3)', () => {
    const x = '11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo';
    expect(kidOf({ kty: 'OKP', crv: 'Ed25519', x })).toBe(
      'kPrK_qmxVWaYVA9wwBF6Iuo3vVzz7TxHCTwXBygrS4k',
    );
  });

  it('is refused unless it is an Ed25519 key without its private part', () => {
    for (const wrong of [
      null,
      'text',
      {},
      { ...publicJwk, crv: 'Ed448' },
      { ...publicJwk, kty: 'EC' },
      { ...publicJwk, x: `${publicJwk.x}AA` },
      { ...publicJwk, x: 7 },
    ] as JsonWebKey[])
      expect(() => ed25519Jwk(wrong)).toThrow(/not a public Ed25519 key/);
    expect(ed25519Jwk(mine)).not.toHaveProperty('d');
  });

  it('refuses to sign values without a JSON form, and cyclic ones', async () => {
    const deep: unknown = JSON.parse(`${'['.repeat(50_000)}${']'.repeat(50_000)}`);
    for (const value of [{ n: Number.NaN }, deep])
      await expect(signEnvelope(value, mine)).rejects.toMatchObject({ code: 'INVALID_ARGUMENT' });
    const signature = await signEnvelope(envelope(), mine);
    await expect(verify(signature, deep)).rejects.toMatchObject({ code: 'INVALID_ARGUMENT' });
  });
});

const encode = (header: unknown) => Buffer.from(JSON.stringify(header)).toString('base64url');
