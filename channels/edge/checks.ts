/**
 * The checks of an envelope that need no other part: size, shape, time, locality. They throw; the
 * Edge turns errors into its answer.
 *
 * Invariant: no message contains any part of a payload, which may be sensitive.
 */
import { type CheckError, describeErrors, epochMsOf } from '../../protocols/check.ts';
import { checkEnvelope, type Envelope, ENVELOPE_BYTES_MAX } from '../../protocols/envelope.ts';
import { TroupeError } from '../../protocols/errors.ts';
import { isSamePlace, LOCALITY_LABEL } from '../../protocols/locality.ts';
import type { NodeStatus, Principal } from '../../runtime/index.ts';
import { assertScope } from '../../operations/access.ts';
import type { Caller, EdgeRequest } from './edge.ts';

/** Maximum nesting of objects and lists: deeper ones would exhaust the stack of recursive code. */
const DEPTH_MAX = 64;
/** Maximum lead of a sender's clock over this process's clock. */
const CLOCK_AHEAD_MS = 60_000;
/** Longest id that an error repeats. */
const ECHO_CHARACTERS_MAX = 128;

/** Retry delay for a sender when no worker is in the requested locality. */
const NO_WORKER_RETRY_MS = 5_000;

const UTF8 = new TextDecoder('utf-8', { fatal: true });

/**
 * @throws TroupeError PAYLOAD_TOO_LARGE; INVALID_ARGUMENT when it is not JSON, is nested too deep,
 *   or has a lone surrogate (RFC 7493), which cannot be stored
 */
export const readJson = (bytes: Uint8Array): unknown => {
  if (bytes.byteLength > ENVELOPE_BYTES_MAX) throw envelopeTooLarge();
  let text: string;
  let value: unknown;
  try {
    text = UTF8.decode(bytes);
    value = JSON.parse(text);
  } catch (cause) {
    // The parser's own message would contain a part of the payload.
    throw new TroupeError('INVALID_ARGUMENT', 'the envelope is not JSON in UTF-8', { cause });
  }
  // Text in UTF-8 has no lone surrogate but an escaped one, so most texts need not be searched.
  const fault = faultOf(value, DEPTH_MAX, text.includes('\\u'));
  if (fault !== undefined) throw new TroupeError('INVALID_ARGUMENT', `the envelope ${fault}`);
  return value;
};

/** Does not name the size, because an entry point may stop reading before it is known. */
export const envelopeTooLarge = (): TroupeError =>
  new TroupeError(
    'PAYLOAD_TOO_LARGE',
    `the envelope has more than ${ENVELOPE_BYTES_MAX} bytes: ${AS_ARTIFACT}`,
    { details: { bytesMax: ENVELOPE_BYTES_MAX } },
  );

const AS_ARTIFACT = 'store it as an artifact and send artifact_uri and artifact_hash (SHA-256)';

function faultOf(value: unknown, depth: number, hasEscapes: boolean): string | undefined {
  if (typeof value === 'string')
    return hasEscapes && LONE_SURROGATE.test(value) ? HALF_CHARACTER : undefined;
  if (typeof value !== 'object' || value === null) return undefined;
  if (depth === 0) return `is nested more than ${DEPTH_MAX} levels deep`;
  for (const name in value) {
    const inner = (value as Record<string, unknown>)[name];
    const fault = faultOf(name, depth, hasEscapes) ?? faultOf(inner, depth - 1, hasEscapes);
    if (fault !== undefined) return fault;
  }
  return undefined;
}

const LONE_SURROGATE = /\p{Surrogate}/u;
const HALF_CHARACTER = 'contains a text with a lone UTF-16 surrogate (half a character)';

/** The ids that a refusal repeats, if they could be read. */
export const idsOf = (value: unknown): { requestId?: string; traceId?: string } => {
  if (typeof value !== 'object' || value === null) return {};
  const { request_id, trace_id } = value as Record<string, unknown>;
  return {
    ...(isShort(request_id) ? { requestId: request_id } : {}),
    ...(isShort(trace_id) ? { traceId: trace_id } : {}),
  };
};
const isShort = (value: unknown): value is string =>
  typeof value === 'string' && value !== '' && value.length <= ECHO_CHARACTERS_MAX;

/** @throws TroupeError INVALID_ARGUMENT with `details.errors` */
export const envelopeOf = (value: unknown): Envelope => {
  const answer = checkEnvelope(value);
  if (answer.ok) return answer.envelope;
  throw schemaFault('the envelope is not valid', answer.errors);
};

/** INVALID_ARGUMENT with `details.errors`: each has the path of the field and a correction. */
export const schemaFault = (what: string, errors: readonly CheckError[]): TroupeError =>
  new TroupeError('INVALID_ARGUMENT', `${what}: ${describeErrors(errors)}`, {
    details: { errors },
  });

/** Checks that the subject is the one that the envelope names. @throws TroupeError FORBIDDEN */
export const checkSubject = (
  { action, tenant_id }: Envelope,
  subject: EdgeRequest['subject'],
): void => {
  if (subject === undefined) return;
  if (subject.tenant !== tenant_id)
    throw new TroupeError(
      'FORBIDDEN',
      `the envelope of tenant ${tenant_id} was sent to the subject of tenant ${subject.tenant}`,
    );
  if (subject.domain !== action.slice(0, action.indexOf('.')))
    throw new TroupeError(
      'INVALID_ARGUMENT',
      `the action ${action} does not belong to the domain of its subject, ${subject.domain}`,
    );
};

/**
 * The remaining time to live in milliseconds, above 0.
 * @throws TroupeError EXPIRED; INVALID_ARGUMENT for a timestamp over 60 s ahead
 */
export const timeLeftMs = ({ timestamp, ttl_sec }: Envelope, nowMs: number): number => {
  const sentMs = epochMsOf(timestamp);
  if (sentMs > nowMs + CLOCK_AHEAD_MS)
    throw schemaFault('the timestamp of the envelope is in the future', [
      {
        path: '/timestamp',
        message: 'is over 60 s ahead: synchronize the clock of the sender',
        value: timestamp,
      },
    ]);
  const leftMs = sentMs + ttl_sec * 1_000 - nowMs;
  if (leftMs > 0) return Math.ceil(leftMs);
  throw new TroupeError(
    'EXPIRED',
    `the envelope expired ${ttl_sec} s after its timestamp ${timestamp}: send it again with a new timestamp and the same idempotency_key`,
    { details: { expired_at: new Date(sentMs + ttl_sec * 1_000).toISOString() } },
  );
};

export type Localities = {
  /** locality of this process */
  readonly locality?: string;
  /** other localities whose data this cell may process */
  readonly localities?: readonly string[];
  /** workers of a cluster; empty if this process does the work */
  readonly nodes: readonly Pick<NodeStatus, 'role' | 'draining' | 'labels'>[];
};

/**
 * @throws TroupeError FORBIDDEN when the data may not be processed here; UNAVAILABLE when this
 *   process has no configured locality, or no worker is in the requested one
 */
export const checkLocality = (
  wanted: string | undefined,
  { locality: ours, localities = [], nodes }: Localities,
): void => {
  if (wanted === undefined) return;
  if (isSamePlace(wanted, ours) || localities.some((one) => isSamePlace(wanted, one)))
    return checkWorkers(wanted, ours, nodes);
  if (ours === undefined && localities.length === 0)
    throw new TroupeError(
      'UNAVAILABLE',
      `the data must stay in ${wanted}, and this cell has no configured locality (a2a.locality)`,
      { details: { data_locality: wanted } },
    );
  throw new TroupeError(
    'FORBIDDEN',
    `the data must stay in ${wanted}, and this cell is in ${ours}: send it to a cell in ${wanted}`,
    { details: { data_locality: wanted, locality: ours } },
  );
};

function checkWorkers(wanted: string, ours: string | undefined, nodes: Localities['nodes']): void {
  const isServed = nodes.some(
    ({ role, draining, labels }) =>
      role === 'worker' && !draining && isSamePlace(wanted, labels[LOCALITY_LABEL]),
  );
  if (isServed || (nodes.length === 0 && isSamePlace(wanted, ours))) return;
  throw new TroupeError('UNAVAILABLE', `no worker is in ${wanted} at present`, {
    details: { data_locality: wanted },
    retryAfterMs: NO_WORKER_RETRY_MS,
  });
}

/** Whether a principal with these roles may request an action. @param needed none: any may */
export const mayRequest = (needed: readonly string[], has: readonly string[]): boolean =>
  needed.length === 0 || needed.some((role) => has.includes(role));

/** @throws TroupeError FORBIDDEN */
export const checkRoles = (
  action: string,
  needed: readonly string[],
  has: readonly string[],
): void => {
  if (mayRequest(needed, has)) return;
  throw new TroupeError(
    'FORBIDDEN',
    `${action} requires one of the roles ${needed.join(', ')}, and the principal claims none of them`,
    { details: { roles: needed } },
  );
};

/** @throws TroupeError PAYLOAD_TOO_LARGE */
export const checkPayloadSize = (canonical: string, bytesMax: number): void => {
  // A character has at most three bytes, so most payloads need not be measured.
  if (canonical.length * 3 <= bytesMax) return;
  const bytes = Buffer.byteLength(canonical);
  if (bytes <= bytesMax) return;
  throw new TroupeError(
    'PAYLOAD_TOO_LARGE',
    `the payload has ${bytes} bytes, ${bytesMax} are allowed: ${AS_ARTIFACT}`,
    { details: { bytes, bytesMax } },
  );
};

/**
 * The caller of a change without an envelope.
 * @throws TroupeError UNAUTHORIZED if it must sign; FORBIDDEN without the scope
 */
export const unsignedOf = (caller: Caller, action: string): Principal => {
  assertScope(caller, 'call');
  const { sub, roles, profile } = caller;
  if (profile === 'A2A-Basic') return { sub, roles };
  throw new TroupeError(
    'UNAUTHORIZED',
    `this token requires A2A-External: send ${action} as a signed envelope`,
  );
};
