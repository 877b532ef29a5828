/**
 * The credentials of the conformance suite. The caller passes them, or they are created for the
 * gateway of this data folder: tokens of its own issuer, and a new signing key that is registered
 * and later revoked.
 */
import { randomUUID } from 'node:crypto';
import { importJWK } from 'jose';
import {
  ed25519Jwk,
  type Ed25519PrivateJwk,
  kidOf,
  signEnvelope,
} from '../../protocols/security/signature.ts';
import { TroupeError } from '../../protocols/errors.ts';
import { issueToken, newSigningKey } from '../../channels/edge/identity/local-issuer.ts';
import type { Config } from '../../runtime/config/index.ts';
import type { GatewayHttp } from '../client/gateway-http.ts';
import type { Signer, Who } from '../../conformance/trial.ts';

export type Credentials = {
  readonly token: string;
  readonly who: Who;
  readonly external?: Signer;
  readonly strangerToken?: string;
  /** Revokes what was created for the suite. */
  forget(): Promise<void>;
};

const TTL_SEC = 3_600;
const SUB = 'conformance';
const ROLES = ['agent'];

/** @throws TroupeError when the gateway of the data folder refuses */
export async function localCredentials(
  { home, a2a }: Pick<Config, 'home' | 'a2a'>,
  tenant: string,
  ask: GatewayHttp,
): Promise<Credentials> {
  const issue = (sub: string, of: string, external = false) =>
    issueToken(
      home,
      { sub, tenant: of, roles: ROLES, resource: a2a.resource, ttlSec: TTL_SEC, external },
      Date.now(),
    );
  // A new principal per run, so that keys of interrupted runs do not accumulate under one name.
  const externalSub = `conformance-${randomUUID()}`;
  const jwk = newSigningKey();
  const { d: _, ...public_jwk } = jwk;
  const body = { tenant, sub: externalSub, public_jwk };
  const { kid } = await ask<{ kid: string }>({ method: 'POST', path: '/v1/keys', body });
  return {
    token: await issue(SUB, tenant),
    who: { tenant, sub: SUB, roles: ROLES },
    external: signerOf(jwk, await issue(externalSub, tenant, true), {
      tenant,
      sub: externalSub,
      roles: ROLES,
    }),
    strangerToken: await issue(SUB, `${tenant}-stranger`.slice(0, 63)),
    async forget() {
      const path = `/v1/keys/${encodeURIComponent(kid)}?tenant=${tenant}`;
      await ask({ method: 'DELETE', path });
    },
  };
}

export const signerOf = (
  jwk: Ed25519PrivateJwk,
  token: string,
  who: Who,
  kid = kidOf(ed25519Jwk(jwk)),
): Signer => ({
  token,
  who,
  kid,
  sign: (envelope, other = kid) => signEnvelope(envelope, jwk, other),
});

/** The claims of a token, not verified; empty if they cannot be read. */
export function whoOf(token: string): Partial<Who> {
  try {
    const text = Buffer.from(token.split('.')[1] ?? '', 'base64url').toString('utf8');
    const { sub, tenant, roles } = JSON.parse(text) as Record<string, unknown>;
    return {
      ...(typeof sub === 'string' ? { sub } : {}),
      ...(typeof tenant === 'string' ? { tenant } : {}),
      ...(Array.isArray(roles) ? { roles: roles.map(String) } : {}),
    };
  } catch {
    return {};
  }
}

/** A private Ed25519 key as JWK. @throws TroupeError INVALID_ARGUMENT */
export async function privateKeyIn(text: string): Promise<Ed25519PrivateJwk & { kid?: string }> {
  try {
    const jwk = JSON.parse(text) as Ed25519PrivateJwk & { kid?: string };
    await importJWK({ ...jwk }, 'EdDSA');
    if (typeof jwk.d === 'string') return jwk;
  } catch {
    // the parser's message could contain a part of the key
  }
  throw new TroupeError(
    'INVALID_ARGUMENT',
    'the key file must contain a private Ed25519 key (JWK)',
  );
}
