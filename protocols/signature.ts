/**
 * Signature of an envelope (EN12, A2A-External): a detached JWS (RFC 7515 appendix F, RFC 7797)
 * over the envelope's canonical JSON (RFC 8785), so that neither the order of fields nor white
 * space matters and every value does.
 *
 * Boundary: bytes and keys. Whose key it is, how old it may be and how long a signature is good is
 * decided where the keys are known (channels/edge/identity).
 *
 * Invariants:
 *  1. The one kind of key is Ed25519, and it comes from `keyOf` only: nothing that a header carries
 *     (jwk, jku, x5c) is ever a key, and the header's `alg` never chooses how the key is used.
 *  2. A header that asks for what is not understood (`crit`) is refused.
 *  3. An error says what is wrong with what was sent, never what would be right.
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
import { TroupeError } from './errors.ts';

/** A public key as a JWK (RFC 8037), nothing else in it. */
export type Ed25519Jwk = { readonly kty: 'OKP'; readonly crv: 'Ed25519'; readonly x: string };
export type Ed25519PrivateJwk = Ed25519Jwk & { readonly d: string };

/** HTTP and NATS header that carries the signature. */
export const SIGNATURE_HEADER = 'x-jws-signature';
/** Longer ones are refused unread; ours have about 180. */
export const SIGNATURE_BYTES_MAX = 1_024;

/** RFC 9864 names the algorithm exactly; RFC 8037 names the family, whose curve our keys fix. */
const ALGORITHMS: readonly unknown[] = ['Ed25519', 'EdDSA'];
/** header, nothing, and 64 bytes */
const DETACHED = /^([A-Za-z0-9_-]{8,900})\.\.([A-Za-z0-9_-]{86})$/;
const KEY_TEXT = /^[A-Za-z0-9_-]{43}$/;

/** A public key, and nothing more, of what may be a JWK. @throws TroupeError INVALID_ARGUMENT */
export const ed25519Jwk = (value: unknown): Ed25519Jwk => {
  const { kty, crv, x } = (value ?? {}) as Record<string, unknown>;
  if (kty !== 'OKP' || crv !== 'Ed25519' || typeof x !== 'string' || !KEY_TEXT.test(x))
    throw new TroupeError(
      'INVALID_ARGUMENT',
      'the key is no public Ed25519 key: give a JWK with kty "OKP", crv "Ed25519" and x',
    );
  return { kty, crv, x };
};

/** The key's name: its thumbprint (RFC 7638). Another key has another name. */
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
 * The detached JWS of an envelope, for `x-jws-signature`. The payload is signed as it is, not in
 * base64 (RFC 7797). @param kid default the key's thumbprint, which is what `troupe keys` registers
 * @throws TroupeError INVALID_ARGUMENT when it is no Ed25519 key or the envelope is no JSON
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
 * Whether the signature is that of the envelope, with the key that `keyOf` has for its `kid`.
 * Answers the `kid`. @throws TroupeError UNAUTHORIZED
 */
export async function verifySignature(
  signature: string,
  envelope: unknown,
  keyOf: (kid: string) => KeyObject | undefined | Promise<KeyObject | undefined>,
): Promise<string> {
  const { encoded, kid, plain, bytes } = readSignature(signature);
  const key = await keyOf(kid);
  if (!key) throw wrong('its key is not known here, or not good any more');
  // `verify` goes by the kind of the key: with any other it would be another algorithm.
  if (key.asymmetricKeyType !== 'ed25519') throw wrong('its key is of another kind');
  const text = canonical(envelope);
  const payload = plain ? text : Buffer.from(text).toString('base64url');
  if (!verify(null, Buffer.from(`${encoded}.${payload}`), key, bytes))
    throw wrong('it is not the signature of this envelope');
  return kid;
}

type Parts = {
  readonly encoded: string;
  readonly kid: string;
  /** the payload is signed as it is (RFC 7797) and not as base64url */
  readonly plain: boolean;
  readonly bytes: Uint8Array;
};

function readSignature(signature: string): Parts {
  const [, encoded, bytes] =
    signature.length > SIGNATURE_BYTES_MAX ? [] : (DETACHED.exec(signature) ?? []);
  if (encoded === undefined || bytes === undefined)
    throw wrong('it is no detached JWS of 64 bytes');
  const { alg, kid, crit, b64 } = headerOf(encoded);
  if (!ALGORITHMS.includes(alg)) throw wrong('its algorithm is not accepted');
  if (typeof kid !== 'string' || kid === '') throw wrong('it names no key (kid)');
  if (crit === undefined ? b64 !== undefined : !isB64Only(crit) || typeof b64 !== 'boolean')
    throw wrong('its header asks for what is not understood (crit)');
  return { encoded, kid, plain: b64 === false, bytes: Buffer.from(bytes, 'base64url') };
}

const isB64Only = (crit: unknown): boolean =>
  Array.isArray(crit) && crit.length === 1 && crit[0] === 'b64';

function headerOf(encoded: string): Record<string, unknown> {
  try {
    const header: unknown = JSON.parse(Buffer.from(encoded, 'base64url').toString('utf8'));
    if (typeof header === 'object' && header !== null) return header as Record<string, unknown>;
  } catch {
    // said below, as of every other header that is none
  }
  throw wrong('its header is no JSON object');
}

/**
 * RFC 8785. @throws TroupeError INVALID_ARGUMENT for what JSON can not say, or is nested too deep
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
