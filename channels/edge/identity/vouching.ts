/**
 * Vouching: whether an envelope is its caller's own word.
 *
 * Everybody: `tenant_id` and `principal.sub` are those of the token, `principal.roles` are among
 * its roles. A2A-External: the envelope is signed with a key of the tenant's keyring that is this
 * principal's and good now.
 *
 * Replays. A signature covers every field of its envelope and is good for `ttl_sec` from its
 * `timestamp`, 300 s at most; after that it is EXPIRED, and who still wants the answer signs anew,
 * with the same idempotency key. Within that time the same signed envelope may come again, since
 * that is how a client resends: it finds the same task, because a task is remembered by its
 * idempotency key for longer than any signature lives. So nothing has to remember signatures, and a
 * replay does nothing a resend would not. Under a token of somebody else, or of another tenant, it
 * is refused, and no other envelope passes under it. A timestamp ahead of time is the Edge's to
 * refuse.
 */
import type { KeyObject } from 'node:crypto';
import { epochMsOf } from '../../../protocols/check.ts';
import type { Envelope } from '../../../protocols/envelope.ts';
import { TroupeError } from '../../../protocols/errors.ts';
import { isGoodKey, type KeyRow, KEYS_MAX } from '../../../protocols/keyring.ts';
import {
  type Ed25519Jwk,
  SIGNATURE_HEADER,
  verifyKeyOf,
  verifySignature,
} from '../../../protocols/signature.ts';
import { LruMap } from '../../../runtime/index.ts';
import type { Caller } from '../edge.ts';

/**
 * A signature is good for so long after the envelope's `timestamp`, or its `ttl_sec` if shorter.
 */
export const SIGNATURE_LIFE_SEC = 300;

export type KeyringReader = (tenant: string, kid: string) => KeyRow | undefined;

/** What is read of an envelope here; the Edge has checked its shape. */
type Claimed = Pick<Envelope, 'tenant_id' | 'principal' | 'timestamp' | 'ttl_sec'>;

/** @throws TroupeError FORBIDDEN */
export function assertOwnWord({ sub, tenant, roles }: Caller, envelope: Claimed): void {
  const { tenant_id, principal } = envelope;
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
      `this token is of A2A-External: sign the envelope and send the signature as ${SIGNATURE_HEADER}`,
    );
  const goodUntil =
    epochMsOf(envelope.timestamp) + Math.min(envelope.ttl_sec, SIGNATURE_LIFE_SEC) * 1_000;
  if (!(nowMs < goodUntil))
    throw new TroupeError(
      'EXPIRED',
      'the signature is too old: sign the envelope anew with a new timestamp and the same idempotency_key',
    );
  await verifySignature(signature, envelope, (kid) => {
    const row = keys(tenant, kid);
    // One answer for a key that is unknown, over, or somebody else's.
    return row?.sub === sub && isGoodKey(row, nowMs) ? keyOf(row.publicJwk) : undefined;
  });
}

/** Making a key of a JWK costs a third of a verification. Whether it is good is asked each time. */
const made = new LruMap<string, KeyObject>(KEYS_MAX);

function keyOf(jwk: Ed25519Jwk): KeyObject {
  const key = made.get(jwk.x) ?? verifyKeyOf(jwk);
  made.set(jwk.x, key);
  return key;
}

const forbidden = (path: string, what: string) =>
  new TroupeError('FORBIDDEN', `the envelope's ${path} ${what}`);
