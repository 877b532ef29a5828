/**
 * Signature of an envelope (A2A-External): a detached JWS (RFC 7515 appendix F, RFC 7797) over the
 * envelope's canonical JSON (RFC 8785). The order of fields and white space do not matter; every
 * value does.
 *
 * Boundary: bytes and keys. channels/edge/identity decides who owns a key, how old it may be, and
 * how long a signature is valid.
 *
 * Invariants:
 *  1. Only Ed25519 keys from `keyOf` are used: a header value (jwk, jku, x5c) is never used as a
 *     key, and the header's `alg` never selects the algorithm.
 *  2. A header with an unsupported `crit` extension is refused.
 *  3. An error describes the fault in the request, never the expected value.
 */
import {
  createHash,
  createPrivateKey,
  createPublicKey,
  type KeyObject,
  sign,
  verify,
} from 'node:crypto';
import { canonicalize } from 'json-canonicalize';
import { TroupeError } from '../errors.ts';

/** A public key as a JWK (RFC 8037), without other members. */
export type Ed25519Jwk = { readonly kty: 'OKP'; readonly crv: 'Ed25519'; readonly x: string };
export type Ed25519PrivateJwk = Ed25519Jwk & { readonly d: string };

/** HTTP and NATS header that carries the signature. */
export const SIGNATURE_HEADER = 'x-jws-signature';
/** Longer values are refused without parsing; a valid one has about 180 characters. */
export const SIGNATURE_BYTES_MAX = 1_024;

/**
 * RFC 9864 names the exact algorithm; RFC 8037 names the family, and the key determines the curve.
 */
const ALGORITHMS: readonly unknown[] = ['Ed25519', 'EdDSA'];
/** header, empty payload, and 64 bytes */
const DETACHED = /^([A-Za-z0-9_-]{8,900})\.\.([A-Za-z0-9_-]{86})$/;
const KEY_TEXT = /^[A-Za-z0-9_-]{43}$/;

/** The public part of a value that may be a JWK. @throws TroupeError INVALID_ARGUMENT */
export const ed25519Jwk = (value: unknown): Ed25519Jwk => {
  const { kty, crv, x } = (value ?? {}) as Record<string, unknown>;
  if (kty !== 'OKP' || crv !== 'Ed25519' || typeof x !== 'string' || !KEY_TEXT.test(x))
    throw new TroupeError(
      'INVALID_ARGUMENT',
      'the key is not a public Ed25519 key: give a JWK with kty "OKP", crv "Ed25519" and x',
    );
  return { kty, crv, x };
};

/** The key's id: its thumbprint (RFC 7638), which is unique per key. */
export const kidOf = ({ crv, kty, x }: Ed25519Jwk): string =>
  createHash('sha256').update(JSON.stringify({ crv, kty, x })).digest('base64url');

export const verifyKeyOf = ({ kty, crv, x }: Ed25519Jwk): KeyObject =>
  createPublicKey({ key: { kty, crv, x }, format: 'jwk' });

const signKeys = new WeakMap<Ed25519PrivateJwk, KeyObject>();
const signKeyOf = (jwk: Ed25519PrivateJwk): KeyObject => {
  const known = signKeys.get(jwk);
  if (known) return known;
  const key = createPrivateKey({ key: { ...jwk }, format: 'jwk' });
  signKeys.set(jwk, key);
  return key;
};

/**
 * The detached JWS of an envelope, for `x-jws-signature`. The payload is signed directly, not as
 * base64 (RFC 7797). @param kid default: the key's thumbprint, which `troupe keys` registers
 * @throws TroupeError INVALID_ARGUMENT when it is not an Ed25519 key or the envelope is not JSON
 */
export async function signEnvelope(
  envelope: unknown,
  privateJwk: Ed25519PrivateJwk,
  kid: string = kidOf(ed25519Jwk(privateJwk)),
): Promise<string> {
  ed25519Jwk(privateJwk);
  const header = { alg: 'Ed25519', b64: false, crit: ['b64'], kid };
  const encoded = Buffer.from(JSON.stringify(header)).toString('base64url');
  const input = Buffer.from(`${encoded}.${canonical(envelope)}`);
  return `${encoded}..${sign(null, input, signKeyOf(privateJwk)).toString('base64url')}`;
}

/**
 * Verifies the signature of the envelope with the key that `keyOf` returns for its `kid`. Returns
 * the `kid`. @throws TroupeError UNAUTHORIZED
 */
export async function verifySignature(
  signature: string,
  envelope: unknown,
  keyOf: (kid: string) => KeyObject | undefined | Promise<KeyObject | undefined>,
): Promise<string> {
  const { encoded, kid, plain, bytes } = readSignature(signature);
  const key = await keyOf(kid);
  if (!key) throw wrong('its key is unknown, expired or revoked');
  // `verify` derives the algorithm from the key's type, so any other type is refused.
  if (key.asymmetricKeyType !== 'ed25519') throw wrong('its key is not an Ed25519 key');
  const text = canonical(envelope);
  const payload = plain ? text : Buffer.from(text).toString('base64url');
  if (!(await isSignature(bytes, Buffer.from(`${encoded}.${payload}`), key)))
    throw wrong('it is not the signature of this envelope');
  return kid;
}

/** Computed in the thread pool: it takes a tenth of a millisecond. */
const isSignature = (bytes: Uint8Array, input: Buffer, key: KeyObject): Promise<boolean> =>
  new Promise((resolve, reject) => {
    verify(null, input, key, bytes, (error, isValid) => (error ? reject(error) : resolve(isValid)));
  });

type Parts = {
  readonly encoded: string;
  readonly kid: string;
  /** the payload is signed directly (RFC 7797) and not as base64url */
  readonly plain: boolean;
  readonly bytes: Uint8Array;
};

function readSignature(signature: string): Parts {
  const [, encoded, bytes] =
    signature.length > SIGNATURE_BYTES_MAX ? [] : (DETACHED.exec(signature) ?? []);
  if (encoded === undefined || bytes === undefined)
    throw wrong('it is not a detached JWS of 64 bytes');
  const { alg, kid, crit, b64 } = headerOf(encoded);
  if (!ALGORITHMS.includes(alg)) throw wrong('its algorithm is not accepted');
  if (typeof kid !== 'string' || kid === '') throw wrong('it has no key id (kid)');
  if (crit === undefined ? b64 !== undefined : !isB64Only(crit) || typeof b64 !== 'boolean')
    throw wrong('its header requires an unsupported extension (crit)');
  return { encoded, kid, plain: b64 === false, bytes: Buffer.from(bytes, 'base64url') };
}

const isB64Only = (crit: unknown): boolean =>
  Array.isArray(crit) && crit.length === 1 && crit[0] === 'b64';

function headerOf(encoded: string): Record<string, unknown> {
  try {
    const header: unknown = JSON.parse(Buffer.from(encoded, 'base64url').toString('utf8'));
    if (typeof header === 'object' && header !== null) return header as Record<string, unknown>;
  } catch {
    // reported below, like every other invalid header
  }
  throw wrong('its header is not a JSON object');
}

/**
 * RFC 8785. @throws TroupeError INVALID_ARGUMENT for a value without JSON form, or nested too
 * deeply
 */
function canonical(envelope: unknown): string {
  try {
    return canonicalize(envelope);
  } catch (cause) {
    throw new TroupeError('INVALID_ARGUMENT', 'the envelope has no canonical JSON (RFC 8785)', {
      cause,
    });
  }
}

const wrong = (what: string) =>
  new TroupeError('UNAUTHORIZED', `the signature is not accepted: ${what}`);
