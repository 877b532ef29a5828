/**
 * Verifies that an envelope is its caller's.
 *
 * Always: `tenant_id` and `principal.sub` are those of the token, `principal.roles` are among its
 * roles, and its scopes allow the action. A2A-External: the envelope is signed with a valid key of
 * this principal in the tenant's keyring.
 *
 * Replays. A signature covers every field of its envelope and is valid for `ttl_sec` from its
 * `timestamp`, at most 300 s; later it is EXPIRED, and a client that still needs the answer signs
 * again, with the same idempotency key. Within that time the same signed envelope may arrive again,
 * because clients resend: it finds the same task, which is stored under its idempotency key for
 * longer than any signature is valid. So signatures need not be stored, and a replay has no other
 * effect than a resend. With the token of another principal or tenant it is refused, and no other
 * envelope is accepted with it. The Edge refuses a timestamp in the future.
 */
import type { KeyObject } from 'node:crypto';
import { epochMsOf } from '../../../protocols/check.ts';
import type { Envelope } from '../../../protocols/envelope.ts';
import { assertScope } from '../../../operations/access.ts';
import { TroupeError } from '../../../protocols/errors.ts';
import { isGoodKey, type KeyRow, KEYS_MAX } from '../../../protocols/security/keyring.ts';
import {
  type Ed25519Jwk,
  SIGNATURE_HEADER,
  verifyKeyOf,
  verifySignature,
} from '../../../protocols/security/signature.ts';
import { LruMap } from '../../../runtime/index.ts';
import type { Caller } from '../edge.ts';

/** Lifetime of a signature after the envelope's `timestamp`, or its `ttl_sec` if shorter. */
export const SIGNATURE_LIFE_SEC = 300;

export type KeyringReader = (tenant: string, kid: string) => KeyRow | undefined;

/** The fields of an envelope that are read here; the Edge has checked its shape. */
type Claimed = Pick<Envelope, 'action' | 'tenant_id' | 'principal' | 'timestamp' | 'ttl_sec'>;

/** @throws TroupeError FORBIDDEN */
export function assertClaimsMatch(caller: Caller, envelope: Claimed): void {
  const { sub, tenant, roles } = caller;
  const { tenant_id, principal, action } = envelope;
  assertScope(caller, action === 'task.get_status' ? 'readTasks' : 'call');
  if (tenant_id !== tenant) throw forbidden('tenant_id', 'is not the tenant of the token');
  if (principal.sub !== sub) throw forbidden('principal.sub', 'is not the sub of the token');
  if (!principal.roles.every((role) => roles.includes(role)))
    throw forbidden('principal.roles', 'names a role that the token does not have');
}

/** @throws TroupeError UNAUTHORIZED; EXPIRED when the signature is too old */
export async function assertSigned(
  { sub, tenant }: Caller,
  envelope: Claimed,
  signature: string | undefined,
  { keys, nowMs }: { keys: KeyringReader; nowMs: number },
): Promise<void> {
  if (!signature)
    throw new TroupeError(
      'UNAUTHORIZED',
      `this token requires A2A-External: sign the envelope and send the signature as ${SIGNATURE_HEADER}`,
    );
  const goodUntil =
    epochMsOf(envelope.timestamp) + Math.min(envelope.ttl_sec, SIGNATURE_LIFE_SEC) * 1_000;
  if (!(nowMs < goodUntil))
    throw new TroupeError(
      'EXPIRED',
      'the signature is too old: sign the envelope again with a new timestamp and the same idempotency_key',
    );
  await verifySignature(signature, envelope, (kid) => {
    const row = keys(tenant, kid);
    // The same answer for a key that is unknown, expired, or another principal's.
    return row?.sub === sub && isGoodKey(row, nowMs) ? keyOf(row.publicJwk) : undefined;
  });
}

/** Creating a key from a JWK costs a third of a verification. Its validity is checked each time. */
const made = new LruMap<string, KeyObject>(KEYS_MAX);

function keyOf(jwk: Ed25519Jwk): KeyObject {
  const key = made.get(jwk.x) ?? verifyKeyOf(jwk);
  made.set(jwk.x, key);
  return key;
}

const forbidden = (path: string, what: string) =>
  new TroupeError('FORBIDDEN', `the envelope's ${path} ${what}`);
