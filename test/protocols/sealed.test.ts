/** Sealed payloads with real keys, also opened directly with jose. */
import { generateKeyPairSync } from 'node:crypto';
import { CompactEncrypt, decodeProtectedHeader, importJWK } from 'jose';
import { describe, expect, it } from 'vitest';
import {
  newSealingKey,
  openPayload,
  sealingJwk,
  sealingKidOf,
  type SealingPrivateJwk,
  sealPayload,
} from '../../protocols/security/sealed.ts';
import { envelope } from './signed-envelope.ts';

const p256 = () =>
  generateKeyPairSync('ec', { namedCurve: 'P-256' }).privateKey.export({
    format: 'jwk',
  }) as SealingPrivateJwk;
const { payload } = envelope();
const mine = await newSealingKey();
const sealed = () => sealPayload(payload, mine, envelope());

/** A payload of another sender, with any header. */
const sealedWith = async (header: Record<string, unknown>, text = JSON.stringify(payload)) => ({
  schema_version: '1.0',
  jwe: await new CompactEncrypt(new TextEncoder().encode(text))
    .setProtectedHeader({
      alg: 'ECDH-ES+A256KW',
      enc: 'A256GCM',
      kid: sealingKidOf(mine),
      for: JSON.stringify(['default', 'shop.place_order', 'ann']),
      ...header,
    })
    .encrypt(await importJWK({ ...sealingJwk(mine) }, 'ECDH-ES+A256KW')),
});

describe('a sealed payload', () => {
  it.each([
    ['X25519', newSealingKey],
    ['P-256', async () => p256()],
  ])('opens with the private key it was sealed to (%s)', async (_, newKey) => {
    const key = await newKey();
    const box = await sealPayload(payload, sealingJwk(key), envelope());
    expect(Object.keys(box)).toEqual(['schema_version', 'jwe']);
    expect(JSON.stringify(box)).not.toContain('Grüße');
    expect(decodeProtectedHeader(box.jwe)).toMatchObject({ alg: 'ECDH-ES+A256KW', enc: 'A256GCM' });
    expect(await openPayload(box, [mine, key], envelope())).toEqual(payload);
  });

  it('may come from any sender that writes the header in the same form', async () => {
    expect(await openPayload(await sealedWith({}), [mine], envelope())).toEqual(payload);
  });

  it('cannot be decrypted with another key, nor with another of the same id', async () => {
    const box = await sealed();
    const other = await newSealingKey();
    await expect(openPayload(box, [other], envelope())).rejects.toMatchObject({
      code: 'FORBIDDEN',
    });
    const forOther = await sealPayload(payload, other, envelope());
    const [, ...rest] = forOther.jwe.split('.');
    const renamed = { ...forOther, jwe: [box.jwe.split('.')[0], ...rest].join('.') };
    await expect(openPayload(renamed, [mine], envelope())).rejects.toMatchObject({
      code: 'FORBIDDEN',
      message: expect.stringContaining('cannot be decrypted'),
    });
  });

  it('does not open in an envelope of another tenant, action or principal', async () => {
    const box = await sealed();
    for (const other of [
      { tenant_id: 'evil' },
      { action: 'echo.show_text' },
      { principal: { sub: 'eve', roles: ['writer'] } },
    ])
      await expect(openPayload(box, [mine], envelope(other))).rejects.toMatchObject({
        code: 'FORBIDDEN',
        message: expect.stringContaining('another tenant, action or principal'),
      });
    const retry = envelope({ request_id: '018f3c1e-7a52-7c3d-9f00-1b2c3d4e5f99', seq: 2 });
    expect(await openPayload(box, [mine], retry)).toEqual(payload);
  });

  it('does not open after any change', async () => {
    const parts = (await sealed()).jwe.split('.');
    for (const at of [1, 2, 3, 4]) {
      const changed = parts.with(at, flip(parts[at]!));
      const box = { schema_version: '1.0', jwe: changed.join('.') };
      await expect(openPayload(box, [mine], envelope())).rejects.toMatchObject({
        code: 'FORBIDDEN',
      });
    }
  });

  it('is refused with another algorithm, compressed, or with an unsupported header', async () => {
    const wrong = [
      await sealedWith({ alg: 'ECDH-ES' }),
      await sealedWith({ enc: 'A128GCM' }),
      await sealedWith({ other: 1 }),
    ];
    const [, ...rest] = (await sealed()).jwe.split('.');
    const zipped = { ...decodeProtectedHeader((await sealed()).jwe), zip: 'DEF' };
    const head = Buffer.from(JSON.stringify(zipped)).toString('base64url');
    wrong.push({ schema_version: '1.0', jwe: [head, ...rest].join('.') });
    wrong.push({ schema_version: '1.0', jwe: 'no.jwe' }, { schema_version: '1.0', jwe: '' });
    for (const box of wrong)
      await expect(openPayload(box, [mine], envelope())).rejects.toMatchObject({
        code: 'INVALID_ARGUMENT',
      });
  });

  it('is refused when its content is not a payload, and no error shows a part of it', async () => {
    for (const text of ['secret{', '[1]', 'null', '{"a":"secret"}', '{"schema_version":"2.0"}']) {
      const error = (await openPayload(await sealedWith({}, text), [mine], envelope()).catch(
        (thrown: unknown) => thrown,
      )) as Error;
      expect(error).toMatchObject({ code: 'INVALID_ARGUMENT' });
      expect(`${error.message}${String(error.cause)}`).not.toContain('secret');
    }
  });

  it('is refused with a field beside it', async () => {
    const box = { ...(await sealed()), subject: 'x' };
    await expect(openPayload(box, [mine], envelope())).rejects.toMatchObject({
      code: 'INVALID_ARGUMENT',
    });
  });

  it('is created for keys of X25519 and P-256 only', async () => {
    const signing = generateKeyPairSync('ed25519').publicKey.export({ format: 'jwk' });
    for (const key of [signing, null, { kty: 'oct', k: 'AA' }])
      await expect(sealPayload(payload, key, envelope())).rejects.toMatchObject({
        code: 'INVALID_ARGUMENT',
      });
  });
});

/** Changes the first character; the last one may contain unused bits. */
const flip = (text: string): string => (text.startsWith('A') ? 'B' : 'A') + text.slice(1);
