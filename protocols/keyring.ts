/**
 * Keyring: the public keys of programs outside (EN12, A2A-External), per tenant: vocabulary between
 * its actor, the door that verifies signatures, and operators.
 *
 * Rows tell times, and whoever reads one compares them with its own clock: a key ends in time even
 * if the actor that would say so is late.
 */
import { type Address, address } from './address.ts';
import type { Ed25519Jwk } from './signature.ts';

/** A key is good for so long, then it is rotated (seed 002: 90 days). */
export const KEY_LIFE_MS = 90 * 86_400_000;
/** After a rotation the old key stays good for so long. */
export const KEY_OVERLAP_MS_DEFAULT = 7 * 86_400_000;
export const KEY_OVERLAP_MS_MAX = 30 * 86_400_000;
/** Keys of one tenant; those past their life leave when room is needed. */
export const KEYS_MAX = 1_000;
/** Keys of one principal that are good at the same time. */
export const KEYS_PER_SUB_MAX = 16;

/**
 * `active`; `retiring`: another took its place, it is good until `retires_at`; `expired`: its time
 * is up; `revoked`: an operator ended it. The last two never sign again.
 */
export type KeyStatus = 'active' | 'retiring' | 'expired' | 'revoked';

/** Index `keys`, key `kid`. */
export type KeyRow = {
  /** the key's thumbprint (RFC 7638) */
  readonly kid: string;
  /** whose it is */
  readonly sub: string;
  readonly publicJwk: Ed25519Jwk;
  readonly status: KeyStatus;
  /** RFC 3339, as the next two */
  readonly created_at: string;
  readonly retires_at?: string;
  readonly expires_at: string;
};
export const KEYS_INDEX = 'keys';

export const keyringAddress = (tenant: string): Address => address(tenant, 'keyring', 'keys');

/** When the key ends by itself, epoch milliseconds. */
export const keyEnd = ({ retires_at, expires_at }: KeyRow): number =>
  Math.min(Date.parse(retires_at ?? expires_at), Date.parse(expires_at));

/** Whether a signature with the key counts now. */
export const isGoodKey = (row: KeyRow, nowMs: number): boolean =>
  (row.status === 'active' || row.status === 'retiring') &&
  nowMs < keyEnd(row) &&
  nowMs < Date.parse(row.created_at) + KEY_LIFE_MS;

/**
 * A further key of a principal. Answer: KeyRow; the same key again answers its row. CONFLICT when
 * the key is another's, is over, or there are too many.
 */
export type KeyringAdd = {
  readonly type: 'keyring.add';
  readonly sub: string;
  readonly publicJwk: Ed25519Jwk;
};
/**
 * A key in the place of all that the principal has: those are good for `overlapMs` more (default
 * KEY_OVERLAP_MS_DEFAULT, 0 to KEY_OVERLAP_MS_MAX), never longer than they were. Answer: KeyRow of
 * the new one. NOT_FOUND when it has none.
 */
export type KeyringRotate = {
  readonly type: 'keyring.rotate';
  readonly sub: string;
  readonly publicJwk: Ed25519Jwk;
  readonly overlapMs?: number;
};
/** Ends a key at once and for good. Answer: KeyRow. NOT_FOUND. */
export type KeyringRevoke = { readonly type: 'keyring.revoke'; readonly kid: string };
