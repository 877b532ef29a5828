import { statSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import {
  issuerKeyFile,
  keepKeyFile,
  readKeyFile,
  sealingKeyFile,
  writeKeyFile,
} from '../../../../channels/edge/identity/key-file.ts';
import { createSealer } from '../../../../channels/edge/identity/sealer.ts';
import { newSealingKey, sealPayload } from '../../../../protocols/security/sealed.ts';
import { envelope } from '../../../protocols/signed-envelope.ts';
import { scratchFolder, write } from '../../../runtime/config/folder.ts';

const url = 'http://127.0.0.1:1/.well-known/jwks.json';
const jwksUrl = () => url;

describe('a sealer', () => {
  it('creates its key once, readable by its owner, and opens payloads after a restart', async () => {
    const file = sealingKeyFile(scratchFolder());
    const first = await createSealer({ file, jwksUrl });
    expect(statSync(file).mode & 0o777).toBe(0o600);
    expect(first.publicJwk).toMatchObject({ kty: 'OKP', crv: 'X25519', use: 'enc' });
    expect(first.publicJwk).not.toHaveProperty('d');
    const payload = await sealPayload(envelope().payload, first.publicJwk, envelope());
    const again = await createSealer({ file, jwksUrl });
    expect(await again.open(envelope({ payload }))).toEqual(envelope());
  });

  it('refuses an unsealed payload with the location of the key, without any part of the payload', async () => {
    const sealer = await createSealer({ file: sealingKeyFile(scratchFolder()), jwksUrl });
    const error = (await sealer.open(envelope()).catch((thrown: unknown) => thrown)) as Error;
    expect(error).toMatchObject({ code: 'INVALID_ARGUMENT', details: { jwks: url } });
    expect(error.message).toContain(url);
    expect(JSON.stringify(error)).not.toContain('Grüße');
  });

  it('opens with every key of a set, and publishes the first', async () => {
    const [old, young] = [await newSealingKey(), await newSealingKey()];
    const file = write(scratchFolder(), 'keys.json', JSON.stringify({ keys: [young, old] }));
    const sealer = await createSealer({ file, jwksUrl });
    expect(sealer.publicJwk).toMatchObject({ x: young.x });
    const payload = await sealPayload(envelope().payload, old, envelope());
    expect(await sealer.open(envelope({ payload }))).toEqual(envelope());
  });

  it('does not start with a file without a private key', async () => {
    const { d: _, ...open } = await newSealingKey();
    const { d } = await newSealingKey();
    const foreign = JSON.stringify({ ...open, d });
    for (const text of [
      JSON.stringify(open),
      foreign,
      'secret',
      '{"keys":[]}',
      '{"kty":"RSA"}',
      '',
    ]) {
      const file = write(scratchFolder(), 'keys.json', text);
      const error = (await createSealer({ file, jwksUrl }).catch((e: unknown) => e)) as Error;
      expect(error).toMatchObject({ code: 'INVALID_ARGUMENT' });
      expect(error.message).not.toContain('secret');
    }
  });
});

describe('a key file', () => {
  it('is the same for all processes that create it at once', async () => {
    const path = issuerKeyFile(scratchFolder());
    const all = await Promise.all(
      Array.from({ length: 8 }, (_, n) =>
        keepKeyFile(path, async () => ({ kty: 'oct', k: `${n}` })),
      ),
    );
    expect(new Set(all.map((keys) => JSON.stringify(keys))).size).toBe(1);
    expect(await readKeyFile(path)).toEqual(all[0]);
  });

  it('is never replaced', async () => {
    const path = join(scratchFolder(), 'key.jwk');
    await writeKeyFile(path, { kty: 'oct', k: '1' });
    await expect(writeKeyFile(path, { kty: 'oct', k: '2' })).rejects.toMatchObject({
      code: 'CONFLICT',
    });
    expect(await readKeyFile(path)).toEqual([{ kty: 'oct', k: '1' }]);
  });
});
