/**
 * Verifies a JWT and its principal: signature, issuer, audience (RFC 8707), times and claims (RFC
 * 7519, RFC 8725).
 *
 * Invariants: the issuer is looked up before any key is used, and only its keys count. An algorithm
 * outside the list is never tried. A token can request the stricter profile, never the weaker one.
 * No external token can name the operator of this installation.
 */
import { decodeJwt, errors, type JWTPayload, jwtVerify } from 'jose';
import { defined } from '../../../protocols/defined.ts';
import { TroupeError } from '../../../protocols/errors.ts';
import type { Clock } from '../../../runtime/index.ts';
import type { Caller, Profile } from '../edge.ts';
import { type ClaimMapping, isName, rolesOf, scopesOf, tenantOf, unauthorized } from './claims.ts';
import { type KeySource, openKeySource } from './key-source.ts';

export type IssuerOptions = ClaimMapping & {
  /** the issuer's `iss` */
  readonly issuer: string;
  /**
   * its public keys: a file (JWKS or one JWK; may be created later), or an http(s) URL of a JWKS
   */
  readonly jwks: string;
  /** accepted `aud` values, of which a token must have one; default the resource */
  readonly audience?: string | readonly string[] | undefined;
  /** default A2A-Basic */
  readonly profile?: Profile | undefined;
};

export type TokenOptions = {
  readonly issuers: readonly IssuerOptions[];
  /** name of this entry point in `aud` */
  readonly resource: string;
  /** the installation's own tenant, the only one in which tokens may have the role `operator` */
  readonly tenant: string;
  readonly clock: Clock;
  readonly warn: (what: string) => void;
};

/** A caller, and the expiry of its token in epoch milliseconds. */
export type Verified = { readonly caller: Caller; readonly expiresAt: number };

/** The principal of the gateway's own token. No JWT has this `sub`. */
export const OPERATOR = 'operator';
/** Claim with which a token requires signatures. */
export const PROFILE_CLAIM = 'a2a_profile';
/** Allowed clock difference. */
export const SKEW_SEC = 30;

const ALGORITHMS = ['EdDSA', 'Ed25519', 'ES256', 'RS256', 'PS256'];
/** Why no gateway would accept the token; undefined when one would. */
export const faultOfName = ({ sub, tenant }: { sub: string; tenant: string }) => {
  if (!isName(sub)) return 'its sub is not a valid name';
  if (sub === OPERATOR) return 'its sub is a reserved name';
  if (RANDOM_INBOX.test(tenant))
    return 'its tenant has the form of a random NATS inbox name, which is reserved';
  return TENANT.test(tenant) ? undefined : 'its tenant is not a valid name';
};

const TENANT = /^[a-z0-9][a-z0-9_-]{0,62}$/;
/**
 * Random inboxes of NATS clients: replies to them are always allowed, so no tenant has such a name.
 */
const RANDOM_INBOX = /^[0-9A-Za-z]{22}$/;

type Issuer = IssuerOptions & { readonly source: KeySource };

export class Tokens {
  readonly #issuers: ReadonlyMap<string, Issuer>;
  readonly #options: TokenOptions;

  constructor(options: TokenOptions) {
    this.#options = options;
    this.#issuers = new Map(
      options.issuers.map((one) => [
        one.issuer,
        { ...one, source: openKeySource({ ...options, jwks: one.jwks }) },
      ]),
    );
  }

  /** Rises when the keys of an issuer change. */
  epoch(): number {
    let sum = 0;
    for (const { source } of this.#issuers.values()) sum += source.epoch();
    return sum;
  }

  /** @throws TroupeError UNAUTHORIZED; UNAVAILABLE when the issuer's keys cannot be fetched */
  async verify(token: string): Promise<Verified> {
    const issuer = this.#issuers.get(issuerOf(token));
    if (!issuer) throw unauthorized('its issuer is not configured (a2a.issuers)');
    const { clock, resource, tenant } = this.#options;
    try {
      const { payload } = await jwtVerify(token, issuer.source.keyOf, {
        issuer: issuer.issuer,
        audience: [issuer.audience ?? resource].flat(),
        algorithms: ALGORITHMS,
        clockTolerance: SKEW_SEC,
        currentDate: new Date(clock.wallMs()),
        requiredClaims: ['exp', 'sub'],
      });
      return {
        caller: callerOf(payload, issuer, tenant),
        expiresAt: (payload.exp! + SKEW_SEC) * 1_000,
      };
    } catch (error) {
      throw refusalOf(error);
    }
  }
}

function issuerOf(token: string): string {
  try {
    const { iss } = decodeJwt(token);
    if (typeof iss === 'string') return iss;
  } catch {
    throw unauthorized('it is not a JWT');
  }
  throw unauthorized('its claim iss is missing');
}

function callerOf(payload: JWTPayload, issuer: Issuer, own: string): Caller {
  const { sub } = payload;
  const tenant = tenantOf(payload, issuer);
  if (typeof sub !== 'string') throw unauthorized('its sub or tenant is missing');
  const fault = faultOfName({ sub, tenant });
  if (fault !== undefined) throw unauthorized(fault);
  const roles = rolesOf(payload, issuer);
  return {
    sub,
    tenant,
    roles: tenant === own ? roles : roles.filter((role) => role !== OPERATOR),
    profile:
      payload[PROFILE_CLAIM] === 'A2A-External' ? 'A2A-External' : (issuer.profile ?? 'A2A-Basic'),
    ...defined({ scopes: scopesOf(payload) }),
  };
}

/** The fault, without a hint at the expected value. */
function refusalOf(error: unknown): TroupeError {
  if (error instanceof TroupeError) return error;
  if (error instanceof errors.JWTExpired) return unauthorized('it has expired', error);
  if (error instanceof errors.JWTClaimValidationFailed)
    return unauthorized(`its claim ${error.claim} is missing or has a wrong value`, error);
  return unauthorized('its signature is not valid', error);
}
