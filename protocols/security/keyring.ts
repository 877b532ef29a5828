/**
 * Keyring: the public keys of external programs, per tenant. Messages and rows that its actor, the
 * entry points that verify signatures, and operators share.
 *
 * Rows contain expiry times, and each reader compares them with its own clock, so a key expires
 * even when its actor is late.
 */
import { type Address, address } from '../address.ts';
import type { Ed25519Jwk } from './signature.ts';

/** Lifetime of a key before rotation (90 days). */
export const KEY_LIFE_MS = 90 * 86_400_000;
/** How long the old key stays valid after a rotation. */
export const KEY_OVERLAP_MS_DEFAULT = 7 * 86_400_000;
export const KEY_OVERLAP_MS_MAX = 30 * 86_400_000;
/** Maximum number of keys per tenant; expired ones are removed to make room. */
export const KEYS_MAX = 1_000;
/** Maximum number of valid keys per principal. */
export const KEYS_PER_SUB_MAX = 16;

/**
 * `active`; `retiring`: replaced, and valid until `retires_at`; `expired`: its time is up;
 * `revoked`: revoked by an operator. Expired and revoked keys never become valid again.
 */
export type KeyStatus = 'active' | 'retiring' | 'expired' | 'revoked';

/** Index `keys`, key `kid`. */
export type KeyRow = {
  /** the key's thumbprint (RFC 7638) */
  readonly kid: string;
  /** `sub` of the owner */
  readonly sub: string;
  readonly publicJwk: Ed25519Jwk;
  readonly status: KeyStatus;
  /** RFC 3339, as are the next two */
  readonly created_at: string;
  readonly retires_at?: string;
  readonly expires_at: string;
};
export const KEYS_INDEX = 'keys';

export const keyringAddress = (tenant: string): Address => address(tenant, 'keyring', 'keys');

/** When the key expires, in epoch milliseconds. */
export const keyEnd = ({ retires_at, expires_at }: KeyRow): number =>
  Math.min(Date.parse(retires_at ?? expires_at), Date.parse(expires_at));

/** Whether a signature with the key is valid now. */
export const isGoodKey = (row: KeyRow, nowMs: number): boolean =>
  (row.status === 'active' || row.status === 'retiring') &&
  nowMs < keyEnd(row) &&
  nowMs < Date.parse(row.created_at) + KEY_LIFE_MS;

/**
 * Adds a key of a principal. Reply: KeyRow; a repeat returns the existing row. CONFLICT when the
 * key belongs to another principal, is no longer valid, or there are too many.
 */
export type KeyringAdd = {
  readonly type: 'keyring.add';
  readonly sub: string;
  readonly publicJwk: Ed25519Jwk;
};
/**
 * Replaces all keys of the principal. The old keys stay valid for `overlapMs` more (default
 * KEY_OVERLAP_MS_DEFAULT, 0 to KEY_OVERLAP_MS_MAX), but never longer than before. Reply: KeyRow of
 * the new key. NOT_FOUND when the principal has no key.
 */
export type KeyringRotate = {
  readonly type: 'keyring.rotate';
  readonly sub: string;
  readonly publicJwk: Ed25519Jwk;
  readonly overlapMs?: number;
};
/** Revokes a key permanently, with immediate effect. Reply: KeyRow. NOT_FOUND. */
export type KeyringRevoke = { readonly type: 'keyring.revoke'; readonly kid: string };
