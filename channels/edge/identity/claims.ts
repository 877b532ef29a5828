/**
 * Derives tenant and roles from a verified token and the configuration of its issuer
 * (`a2a.issuers`). Pure.
 *
 * Invariant: a claim that is missing, has another type or is not in the map never grants anything.
 */
import type { JWTPayload } from 'jose';
import { TOKEN_SCOPES, type TokenScope } from '../../../operations/access.ts';
import { TroupeError } from '../../../protocols/errors.ts';

export type ClaimMapping = {
  /** tenant of all tokens of the issuer; else a claim names it */
  readonly tenant?: string | undefined;
  /** default `tenant`; see `claimAt` */
  readonly tenantClaim?: string | undefined;
  /** tenant by value of the claim; other values are refused. Default: the value is the name */
  readonly tenantMap?: Readonly<Record<string, string>> | undefined;
  /** roles of all tokens of the issuer; else a claim names them */
  readonly roles?: readonly string[] | undefined;
  /** default `roles`: a list of strings, or one string separated by spaces; see `claimAt` */
  readonly rolesClaim?: string | undefined;
  /** roles by value of the claim; other values grant none. Default: the values are the roles */
  readonly rolesMap?: Readonly<Record<string, readonly string[]>> | undefined;
};

const ROLES_MAX = 64;
/** Maximum number of values: directories write one for each group of a user. */
const VALUES_MAX = 1_000;
const NAME = /^[^\p{Cc}]{1,256}$/u;

/** Whether a text is valid as a subject or role. */
export const isName = (text: unknown): text is string =>
  typeof text === 'string' && NAME.test(text);

/** @throws TroupeError UNAUTHORIZED */
export function tenantOf(payload: JWTPayload, mapping: ClaimMapping): string {
  if (mapping.tenant !== undefined) return mapping.tenant;
  const value = claimAt(payload, mapping.tenantClaim ?? 'tenant');
  if (typeof value !== 'string') throw unauthorized('its sub or tenant is missing');
  const tenant = mapping.tenantMap ? ownValue(mapping.tenantMap, value) : value;
  if (tenant === undefined) throw unauthorized('its tenant is not configured for its issuer');
  return tenant;
}

/** @throws TroupeError UNAUTHORIZED */
export function rolesOf(payload: JWTPayload, mapping: ClaimMapping): readonly string[] {
  if (mapping.roles !== undefined) return mapping.roles;
  const { rolesMap } = mapping;
  const values = textsOf(claimAt(payload, mapping.rolesClaim ?? 'roles'));
  const roles = rolesMap
    ? [...new Set(values.flatMap((value) => ownValue(rolesMap, value) ?? []))]
    : values;
  if (roles.length <= ROLES_MAX) return roles;
  throw unauthorized(NO_ROLES);
}

/**
 * The scopes of troupe that the claim `scope` names (RFC 9068, 2.2.3). A claim without any limits
 * nothing: issuers write `openid` and others into every token.
 */
export function scopesOf(payload: JWTPayload): readonly TokenScope[] | undefined {
  const claim = payload['scope'];
  const named: unknown[] = typeof claim === 'string' ? claim.split(' ') : [claim].flat();
  const scopes = TOKEN_SCOPES.filter((scope) => named.includes(scope));
  return scopes.length > 0 ? scopes : undefined;
}

/**
 * A claim by its name, which may contain dots (`https://id.test/roles`), else by the path of its
 * dotted parts (`realm_access.roles`). An email address counts only if its issuer has verified it.
 * @throws TroupeError UNAUTHORIZED
 */
function claimAt(payload: JWTPayload, name: string): unknown {
  if (name === 'email' && payload['email'] !== undefined && !isTrue(payload['email_verified']))
    throw unauthorized('its email is not verified');
  const whole = ownValue(payload, name);
  return whole === undefined
    ? name.split('.').reduce<unknown>((inner, part) => ownValue(inner, part), payload)
    : whole;
}

/** Some issuers write it as a string. */
const isTrue = (value: unknown): boolean => value === true || value === 'true';

function ownValue<Value>(of: Readonly<Record<string, Value>>, name: string): Value | undefined;
function ownValue(of: unknown, name: string): unknown;
function ownValue(of: unknown, name: string): unknown {
  if (typeof of !== 'object' || of === null || Array.isArray(of)) return undefined;
  return Object.getOwnPropertyDescriptor(of, name)?.value as unknown;
}

const NO_ROLES = 'its roles are not a list of names';

function textsOf(claim: unknown): readonly string[] {
  const values = typeof claim === 'string' ? claim.split(' ').filter(Boolean) : (claim ?? []);
  if (Array.isArray(values) && values.length <= VALUES_MAX && values.every(isName)) return values;
  throw unauthorized(NO_ROLES);
}

export const unauthorized = (what: string, cause?: unknown) =>
  new TroupeError('UNAUTHORIZED', `the token is not accepted: ${what}`, { cause });
