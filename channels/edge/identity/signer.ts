/**
 * Signs envelopes that this installation sends to external agents, as A2A-External requires. The
 * agents read its key from `/.well-known/jwks.json`.
 *
 * In a cluster every worker needs the same key file.
 */
import type { Envelope } from '../../../protocols/envelope.ts';
import { TroupeError } from '../../../protocols/errors.ts';
import {
  ed25519Jwk,
  type Ed25519PrivateJwk,
  kidOf,
  signEnvelope,
} from '../../../protocols/security/signature.ts';
import { keepKeyFile } from './key-file.ts';
import { newSigningKey } from './local-issuer.ts';
import type { PublishedJwk } from './sealer.ts';

export type Signer = {
  /** the public key for verification; its `alg` distinguishes it from the keys of tokens */
  readonly publicJwk: PublishedJwk;
  /** the detached JWS, for `x-jws-signature` */
  sign(envelope: Envelope): Promise<string>;
};

/**
 * @param file private key (JWK), created if it does not exist; of a set, the first key signs
 * @throws TroupeError INVALID_ARGUMENT when it is not a private Ed25519 key; UNAVAILABLE
 */
export async function openSigner(file: string): Promise<Signer> {
  const [first] = await keepKeyFile(file, () => Promise.resolve(newSigningKey()));
  const jwk = ed25519Jwk(first);
  const d = first?.['d'];
  if (typeof d !== 'string')
    throw new TroupeError(
      'INVALID_ARGUMENT',
      `${file} contains a public key: the private key is required`,
    );
  const key: Ed25519PrivateJwk = { ...jwk, d };
  return {
    publicJwk: { ...jwk, kid: kidOf(jwk), use: 'sig', alg: 'Ed25519' },
    sign: (envelope) => signEnvelope(envelope, key),
  };
}
