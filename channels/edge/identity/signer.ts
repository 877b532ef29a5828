/**
 * Signs envelopes that this installation sends to external agents, as A2A-External requires, and
 * agent cards and notifications of the Agent2Agent protocol. Others read its keys from
 * `/.well-known/jwks.json`.
 *
 * In a cluster every worker needs the same key file.
 */
import { createPrivateKey, type KeyObject } from 'node:crypto';
import type { Envelope } from '../../../protocols/envelope.ts';
import { TroupeError } from '../../../protocols/errors.ts';
import {
  ed25519Jwk,
  type Ed25519PrivateJwk,
  kidOf,
  signEnvelope,
} from '../../../protocols/security/signature.ts';
import { type AnyJwk, keepKeyFile } from './key-file.ts';
import { newSigningKey } from './local-issuer.ts';
import type { PublishedJwk } from './sealer.ts';

/** `alg` of every signature, and of the published keys. */
export const SIGNING_ALG = 'Ed25519';

export type SigningKey = { readonly kid: string; readonly key: KeyObject };

export type Signer = {
  /** the public keys for verification; their `alg` distinguishes them from the keys of tokens */
  readonly publicJwks: readonly PublishedJwk[];
  /** the private keys of the file: one, or two during a rotation. The first signs envelopes */
  readonly keys: readonly [SigningKey, ...SigningKey[]];
  /** the detached JWS, for `x-jws-signature` */
  sign(envelope: Envelope): Promise<string>;
};

/**
 * @param file private key (JWK), created if it does not exist; of a set, the first key signs
 * @throws TroupeError INVALID_ARGUMENT when it is not a private Ed25519 key; UNAVAILABLE
 */
export async function openSigner(file: string): Promise<Signer> {
  const stored = await keepKeyFile(file, () => Promise.resolve(newSigningKey()));
  const [first, ...others] = stored.filter((jwk) => typeof jwk['d'] === 'string').map(privateJwk);
  if (!first || stored[0]?.['d'] === undefined)
    throw new TroupeError(
      'INVALID_ARGUMENT',
      `${file} contains a public key: the private key is required`,
    );
  return {
    publicJwks: stored.map((jwk) => {
      const published = ed25519Jwk(jwk);
      return { ...published, kid: kidOf(published), use: 'sig', alg: SIGNING_ALG };
    }),
    keys: [signingKey(first), ...others.map(signingKey)],
    sign: (envelope) => signEnvelope(envelope, first),
  };
}

const privateJwk = (stored: AnyJwk): Ed25519PrivateJwk => ({
  ...ed25519Jwk(stored),
  d: String(stored['d']),
});

const signingKey = (jwk: Ed25519PrivateJwk): SigningKey => ({
  kid: kidOf(jwk),
  key: createPrivateKey({ key: { ...jwk }, format: 'jwk' }),
});
