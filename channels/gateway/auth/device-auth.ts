/**
 * Verifies that a client has a device's private key. The Ed25519 signature covers the client, its
 * role and scopes, the secret, the time, and the connection's challenge. Pure.
 *
 * Invariant: a signature is valid on one connection, for two minutes, for the role, scopes and
 * secret that it covers.
 */
import { createHash, createPublicKey, type KeyObject, verify } from 'node:crypto';
import type { ConnectErrorCode, ConnectParams } from '../../../protocols/gateway/index.ts';

/** The allowed clock difference between client and gateway. */
export const SIGNATURE_SKEW_MS = 120_000;

export type DeviceFault = { readonly code: ConnectErrorCode; readonly message: string };
type Device = NonNullable<ConnectParams['device']>;

/** Returns undefined when the proof is valid, else the refusal. */
export const deviceFault = (
  params: ConnectParams,
  device: Device,
  nonce: string,
  nowMs: number,
): DeviceFault | undefined => {
  const raw = rawKey(device.publicKey);
  if (raw === undefined)
    return fault('PUBLIC_KEY_INVALID', 'the key is not 32 good bytes in base64url');
  if (createHash('sha256').update(raw).digest('hex') !== device.id) {
    return fault('DEVICE_ID_MISMATCH', 'the id is not the SHA-256 of the key');
  }
  if (Math.abs(nowMs - device.signedAt) > SIGNATURE_SKEW_MS) {
    const s = SIGNATURE_SKEW_MS / 1000;
    return fault('SIGNATURE_EXPIRED', `signedAt is more than ${s} s from the gateway's clock`);
  }
  const given = device.nonce.trim();
  if (given === '') return fault('NONCE_REQUIRED', 'sign the nonce of connect.challenge');
  if (given !== nonce) return fault('NONCE_MISMATCH', 'the nonce is not of this connection');
  const key = keyOf(raw);
  if (key === undefined) return fault('PUBLIC_KEY_INVALID', 'the key is not an Ed25519 key');
  const signature = Buffer.from(device.signature, 'base64url');
  const isGood = signedTexts(params, device, nonce).some((text) =>
    verify(null, Buffer.from(text), key, signature),
  );
  return isGood ? undefined : fault('SIGNATURE_INVALID', 'the signature does not fit');
};

const fault = (what: string, message: string): DeviceFault => ({
  code: `DEVICE_AUTH_${what}` as ConnectErrorCode,
  message: `device identity refused: ${message}`,
});

/** The accepted payloads: version 3, and version 2, which does not cover the machine. */
const signedTexts = (
  { client, role = 'operator', scopes = [], auth }: ConnectParams,
  device: Device,
  nonce: string,
): readonly string[] => {
  const token = auth?.token ?? auth?.deviceToken ?? auth?.bootstrapToken ?? '';
  const { id, signedAt } = device;
  const common = [id, client.id, client.mode, role, scopes.join(','), signedAt, token, nonce];
  const machine = [lower(client.platform), lower(client.deviceFamily)];
  return [['v3', ...common, ...machine].join('|'), ['v2', ...common].join('|')];
};

/** ASCII only, so that no locale changes the signed text. */
const lower = (text = ''): string =>
  text.trim().replaceAll(/[A-Z]/g, (letter) => letter.toLowerCase());

const rawKey = (text: string): Buffer | undefined => {
  if (!/^[A-Za-z0-9_-]{43}=?$/.test(text)) return undefined;
  const raw = Buffer.from(text, 'base64url');
  return raw.length === 32 && !isWeak(raw) ? raw : undefined;
};

/**
 * Public keys of small order, by their encodings without the sign bit (RFC 8032). Anyone can create
 * a signature that such a key accepts, for any text.
 */
const WEAK: ReadonlySet<string> = new Set([
  '0000000000000000000000000000000000000000000000000000000000000000',
  '0100000000000000000000000000000000000000000000000000000000000000',
  '26e8958fc2b227b045c3f489f2ef98f0d5dfac05d3c63339b13802886d53fc05',
  'c7176a703d4dd84fba3c0b760d10670f2a2053fa2c39ccc64ec7fd7792ac037a',
  'ecffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f',
  'edffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f',
  'eeffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f',
]);

const isWeak = (raw: Buffer): boolean => {
  const unsigned = Buffer.from(raw);
  unsigned[31]! &= 0x7f;
  return WEAK.has(unsigned.toString('hex'));
};

/** The prefix of the raw key in a SubjectPublicKeyInfo of Ed25519 (RFC 8410). */
const SPKI = Buffer.from('302a300506032b6570032100', 'hex');

const keyOf = (raw: Buffer): KeyObject | undefined => {
  try {
    return createPublicKey({ key: Buffer.concat([SPKI, raw]), format: 'der', type: 'spki' });
  } catch {
    return undefined;
  }
};
