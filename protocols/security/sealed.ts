/**
 * Sealed payloads: the payload of a sensitive schema travels as a JWE (RFC 7516, compact) to the
 * receiver's key: ECDH-ES+A256KW on X25519 or P-256, A256GCM.
 *
 * The JWE is bound to its envelope: its protected header contains tenant, action and principal. An
 * attacker who copies a sealed payload into another envelope cannot have it decrypted.
 *
 * Invariants: no error contains any part of a payload; only the algorithms above are used, whatever
 * a header requests.
 */
import {
  compactDecrypt,
  CompactEncrypt,
  decodeProtectedHeader,
  generateKeyPair,
  importJWK,
  exportJWK,
} from 'jose';
import { createHash } from 'node:crypto';
import type { Envelope, Payload } from '../envelope.ts';
import { TroupeError } from '../errors.ts';

/** A public encryption key as published by `/.well-known/jwks.json` (`use` is `enc`). */
export type SealingJwk = {
  readonly kty: 'OKP' | 'EC';
  readonly crv: 'X25519' | 'P-256';
  readonly x: string;
  readonly y?: string;
};
export type SealingPrivateJwk = SealingJwk & { readonly d: string };

/** What a sealed payload is bound to; an envelope has these fields. */
export type SealedFor = Pick<Envelope, 'tenant_id' | 'action' | 'principal'>;

export type SealedPayload = { readonly schema_version: string; readonly jwe: string };

const ALG = 'ECDH-ES+A256KW';
const ENC = 'A256GCM';
/** The accepted header members; any other one is refused, including `zip` and `crit`. */
const HEADER = new Set(['alg', 'enc', 'epk', 'kid', 'apu', 'apv', 'typ', 'cty', 'for']);

/** The public part only. @throws TroupeError INVALID_ARGUMENT */
export const sealingJwk = (value: unknown): SealingJwk => {
  const { kty, crv, x, y } = (value ?? {}) as Record<string, unknown>;
  if (kty === 'OKP' && crv === 'X25519' && typeof x === 'string') return { kty, crv, x };
  if (kty === 'EC' && crv === 'P-256' && typeof x === 'string' && typeof y === 'string')
    return { kty, crv, x, y };
  throw new TroupeError(
    'INVALID_ARGUMENT',
    'the key cannot be used for sealing: give a JWK with kty "OKP" with crv "X25519" or "EC" with "P-256"',
  );
};

/** Its thumbprint (RFC 7638). */
export const sealingKidOf = (jwk: SealingJwk): string => {
  const { crv, kty, x, y } = jwk;
  const members = y === undefined ? { crv, kty, x } : { crv, kty, x, y };
  return createHash('sha256').update(JSON.stringify(members)).digest('base64url');
};

/** A new X25519 key pair. */
export const newSealingKey = async (): Promise<SealingPrivateJwk> => {
  const { privateKey } = await generateKeyPair(ALG, { crv: 'X25519', extractable: true });
  return (await exportJWK(privateKey)) as SealingPrivateJwk;
};

export const isSealed = (payload: Payload): payload is Payload & SealedPayload =>
  typeof payload['jwe'] === 'string' && Object.keys(payload).length === 2;

/**
 * Seals a payload for one envelope of this tenant, action and principal. `payload.subject` is
 * sealed too, so idempotency and order use `context_id`. @throws TroupeError INVALID_ARGUMENT when
 * the key is not an encryption key
 */
export async function sealPayload(
  payload: Payload,
  publicJwk: unknown,
  belongsTo: SealedFor,
): Promise<SealedPayload> {
  const jwk = sealingJwk(publicJwk);
  const header = { alg: ALG, enc: ENC, kid: sealingKidOf(jwk), for: bindingOf(belongsTo) };
  const jwe = await new CompactEncrypt(new TextEncoder().encode(JSON.stringify(payload)))
    .setProtectedHeader(header)
    .encrypt(await importJWK({ ...jwk }, ALG));
  return { schema_version: payload.schema_version, jwe };
}

/**
 * Decrypts a sealed payload. @param privateKeys candidates for the key @throws TroupeError
 * FORBIDDEN when it is sealed to another key or for another envelope, or was modified;
 * INVALID_ARGUMENT when it is not a supported JWE, or contains no payload
 */
export async function openPayload(
  payload: Payload,
  privateKeys: readonly SealingPrivateJwk[],
  belongsTo: SealedFor,
): Promise<Payload> {
  if (!isSealed(payload)) throw invalid('it must have schema_version and jwe, and nothing else');
  const header = headerOf(payload.jwe);
  const key = privateKeys.find((one) => sealingKidOf(one) === header.kid);
  if (!key) throw forbidden('it is sealed to an unknown key');
  if (header['for'] !== bindingOf(belongsTo))
    throw forbidden('it is sealed for another tenant, action or principal');
  const opened = payloadOf(await decrypted(payload.jwe, key));
  if (opened.schema_version !== payload.schema_version)
    throw invalid('the schema_version inside differs from the one outside');
  return opened;
}

/** Joins the three texts unambiguously. */
const bindingOf = ({ tenant_id, action, principal }: SealedFor): string =>
  JSON.stringify([tenant_id, action, principal.sub]);

function headerOf(jwe: string): Record<string, unknown> {
  let header: Record<string, unknown>;
  try {
    header = decodeProtectedHeader(jwe);
  } catch (cause) {
    throw invalid('jwe is not a compact JWE', cause);
  }
  if (header['alg'] !== ALG || header['enc'] !== ENC)
    throw invalid(`it must be sealed with alg ${ALG} and enc ${ENC}`);
  if (!Object.keys(header).every((name) => HEADER.has(name)))
    throw invalid('its header has an unsupported member');
  return header;
}

const openingKeys = new WeakMap<SealingPrivateJwk, Promise<CryptoKey | Uint8Array>>();
function openingKey(jwk: SealingPrivateJwk): Promise<CryptoKey | Uint8Array> {
  const key = openingKeys.get(jwk) ?? importJWK({ ...jwk }, ALG);
  openingKeys.set(jwk, key);
  return key;
}

async function decrypted(jwe: string, key: SealingPrivateJwk): Promise<Uint8Array> {
  try {
    const { plaintext } = await compactDecrypt(jwe, await openingKey(key), {
      keyManagementAlgorithms: [ALG],
      contentEncryptionAlgorithms: [ENC],
    });
    return plaintext;
  } catch (cause) {
    throw forbidden('it cannot be decrypted with the key that it names', cause);
  }
}

function payloadOf(bytes: Uint8Array): Payload {
  try {
    const value: unknown = JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(bytes));
    const version = (value as { schema_version?: unknown } | null)?.schema_version;
    if (typeof version === 'string' && !Array.isArray(value)) return value as Payload;
  } catch {
    // reported below; the parser's message would reveal part of the payload
  }
  throw invalid('the decrypted content is not a payload with a schema_version');
}

const invalid = (what: string, cause?: unknown) =>
  new TroupeError('INVALID_ARGUMENT', `the sealed payload: ${what}`, { cause });
const forbidden = (what: string, cause?: unknown) =>
  new TroupeError('FORBIDDEN', `the sealed payload: ${what}`, { cause });
