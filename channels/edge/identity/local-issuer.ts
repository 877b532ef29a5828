/**
 * Tokens of `troupe token`, signed with a key of the data folder. The gateway of the same data
 * folder accepts them. Another gateway accepts them if its configuration names the issuer and the
 * key (`/.well-known/jwks.json` has it).
 */
import { generateKeyPairSync } from 'node:crypto';
import { importJWK, SignJWT } from 'jose';
import { TroupeError } from '../../../protocols/errors.ts';
import {
  ed25519Jwk,
  type Ed25519PrivateJwk,
  kidOf,
} from '../../../protocols/security/signature.ts';
import { type AnyJwk, issuerKeyFile, keepKeyFile, readKeyFile } from './key-file.ts';
import { publicPartOf } from './key-source.ts';
import type { PublishedJwk } from './sealer.ts';
import { faultOfName, type IssuerOptions, PROFILE_CLAIM } from './tokens.ts';

export const LOCAL_ISSUER = 'urn:troupe:local';

/** The issuer of a data folder, for `createIdentity`. Its key file may be created later. */
export const localIssuer = (home: string): IssuerOptions => ({
  issuer: LOCAL_ISSUER,
  jwks: issuerKeyFile(home),
});

/** Its public key; [] before the first token. @throws TroupeError as `readKeyFile` */
export async function localIssuerKeys(home: string): Promise<readonly PublishedJwk[]> {
  try {
    const keys = await readKeyFile(issuerKeyFile(home));
    return keys.map((jwk) => ({ ...publicPartOf(jwk), kid: String(jwk['kid']), use: 'sig' }));
  } catch (error) {
    if (error instanceof TroupeError && error.code === 'NOT_FOUND') return [];
    throw error;
  }
}

export type TokenRequest = {
  readonly sub: string;
  readonly tenant: string;
  readonly roles: readonly string[];
  /** `aud`: the resource of the entry point that accepts it */
  readonly resource: string;
  readonly ttlSec: number;
  /** require signed envelopes */
  readonly external: boolean;
};

/** Maximum lifetime of a token. */
const TTL_SEC_MAX = 365 * 86_400;

/**
 * Creates a signed token, and the key if it does not exist.
 * @throws TroupeError INVALID_ARGUMENT when no gateway would accept it; else as `keepKeyFile`
 */
export async function issueToken(
  home: string,
  { sub, tenant, roles, resource, ttlSec, external }: TokenRequest,
  nowMs: number,
): Promise<string> {
  const fault =
    faultOfName({ sub, tenant }) ??
    (ttlSec > 0 && ttlSec <= TTL_SEC_MAX ? undefined : 'its lifetime must be from 1 s to 365 d');
  if (fault !== undefined)
    throw new TroupeError('INVALID_ARGUMENT', `the token was not created: ${fault}`);
  const [jwk] = await keepKeyFile(issuerKeyFile(home), newIssuerKey);
  const issuedAt = Math.floor(nowMs / 1_000);
  return new SignJWT({ tenant, roles, ...(external && { [PROFILE_CLAIM]: 'A2A-External' }) })
    .setProtectedHeader({ alg: 'EdDSA', typ: 'JWT', kid: String(jwk!['kid']) })
    .setIssuer(LOCAL_ISSUER)
    .setSubject(sub)
    .setAudience(resource)
    .setIssuedAt(issuedAt)
    .setExpirationTime(issuedAt + ttlSec)
    .sign(await importJWK({ ...jwk, kty: 'OKP' }, 'EdDSA'));
}

const newIssuerKey = (): Promise<AnyJwk> => {
  const jwk = newSigningKey();
  return Promise.resolve({ ...jwk, kid: kidOf(jwk), use: 'sig' });
};

/** A new Ed25519 key pair. */
export const newSigningKey = (): Ed25519PrivateJwk => {
  const jwk = generateKeyPairSync('ed25519').privateKey.export({ format: 'jwk' });
  return { ...ed25519Jwk(jwk), d: jwk.d! };
};
