/** How a device proves its key at a connect: a signature over the parameters and the challenge. */
import type { ConnectChallenge, ConnectParams } from '../protocols/gateway/index.ts';

/** An Ed25519 key of a device. */
export type DeviceKey = {
  /** hex SHA-256 of the raw public key */
  readonly deviceId: string;
  /** base64url */
  readonly publicKey: string;
  /** Returns the signature, base64url. */
  sign(text: string): string | Promise<string>;
};

/**
 * `device` of a connect request with these parameters; version 3 of the published signature.
 *
 * @example
 * ```ts
 * import { connectParams, deviceProof } from 'troupe/client';
 *
 * const key = { deviceId: 'd1', publicKey: 'pk', sign: async (text: string) => `signed ${text}` };
 * const challenge = { nonce: 'n', ts: 1 };
 * const proof = await deviceProof(key, connectParams({ token: 'secret' }), challenge);
 * assert.equal(proof.id, 'd1');
 * ```
 */
export async function deviceProof(
  key: DeviceKey,
  { client, role = 'operator', scopes = [], auth }: ConnectParams,
  { nonce, ts }: ConnectChallenge,
): Promise<NonNullable<ConnectParams['device']>> {
  const { deviceId, publicKey } = key;
  const signed = [
    'v3',
    deviceId,
    client.id,
    client.mode,
    role,
    scopes.join(','),
    ts,
    auth?.token ?? auth?.deviceToken ?? '',
    nonce,
    client.platform.toLowerCase(),
    (client.deviceFamily ?? '').toLowerCase(),
  ];
  const signature = await key.sign(signed.join('|'));
  return { id: deviceId, publicKey, signature, signedAt: ts, nonce };
}
