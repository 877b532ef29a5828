/**
 * Validates messages before they are stored. Entry points validate before they accept, turns before
 * they commit. A value that the codec does not restore exactly must never reach a record, because
 * the shard could not be loaded again.
 */
import { encode } from '../../../protocols/codec.ts';
import { type ErrorData, TroupeError } from '../../../protocols/errors.ts';
import type { Lane, Message } from '../../../protocols/statechart.ts';
import type { Principal } from '../../system.ts';
import { unfitValue } from '../../statechart/values.ts';

/** Maximum length of event types: they are part of the rows of idempotency keys. */
export const EVENT_TYPE_BYTES_MAX = 200;

/** Control characters would break rows that contain it; lone surrogates have no UTF-8 encoding. */
const UNFIT = /[\u0000-\u001f\u007f]|\p{Surrogate}/u;

/** @throws TroupeError INVALID_ARGUMENT with the reason */
export function checkMessage(event: unknown): asserts event is Message {
  if (typeof event !== 'object' || event === null)
    throw invalid(`a message is an object with a type, not ${JSON.stringify(event) ?? 'nothing'}`);
  checkValue(event, 'message');
  const { type } = event as { type?: unknown };
  if (
    typeof type !== 'string' ||
    type === '' ||
    type === '*' ||
    type.startsWith('xstate.') ||
    Buffer.byteLength(type) > EVENT_TYPE_BYTES_MAX ||
    UNFIT.test(type)
  ) {
    throw invalid(
      `an event's type is a text of 1 to ${EVENT_TYPE_BYTES_MAX} bytes without control characters that is not '*' and does not begin with 'xstate.', not ${JSON.stringify(type)}`,
    );
  }
}

/**
 * The sender of a message: a text and a list of texts, and other values that the store returns.
 * @throws TroupeError INVALID_ARGUMENT with the place of what is wrong
 */
export function checkPrincipal(principal: unknown): asserts principal is Principal {
  const { sub, roles } = (principal ?? {}) as Partial<Record<keyof Principal, unknown>>;
  if (typeof sub !== 'string' || !Array.isArray(roles))
    throw invalid('the message has no sender: add the option principal: { sub, roles }');
  checkValue(principal, 'principal');
  const odd = roles.findIndex((role) => typeof role !== 'string');
  if (odd >= 0)
    throw invalid(
      `principal.roles[${odd}] is ${JSON.stringify(roles[odd]) ?? 'undefined'}, each role must be a text`,
    );
}

/** @throws TroupeError INVALID_ARGUMENT unless the store returns the value unchanged */
export function checkValue(value: unknown, what: string): void {
  const unfit = unfitValue(value, what);
  if (unfit) throw invalid(`${unfit}, which cannot be stored: send JSON values or bytes`);
}

/** @throws TroupeError INVALID_ARGUMENT */
export function checkTtl(ttlMs: number | undefined): void {
  if (ttlMs !== undefined && !(Number.isSafeInteger(ttlMs) && ttlMs >= 0))
    throw invalid(`ttlMs is ${ttlMs}, it must be a whole number of milliseconds`);
}

/** @throws TroupeError INVALID_ARGUMENT for another lane, which has no reader */
export function checkLane(lane: Lane | undefined): void {
  if (lane !== undefined && lane !== 'data' && lane !== 'control')
    throw invalid(`the lane is ${JSON.stringify(lane)}, it must be data or control`);
}

const DOMAIN = /^[a-z][a-z0-9_]{0,127}$/;

/**
 * A domain of dead letters, as in the name of an action. Names of the runtime's own logs contain a
 * `-`, so they are no domains. @throws TroupeError INVALID_ARGUMENT
 */
export function checkDomain(domain: unknown): asserts domain is string {
  if (typeof domain !== 'string' || !DOMAIN.test(domain))
    throw invalid(
      `${JSON.stringify(domain) ?? 'nothing'} is not a domain: write 1 to 128 lower-case letters, digits and '_', a letter first`,
    );
}

/** Longest message of an error that is stored; the rest is cut. */
const ERROR_CHARACTERS_MAX = 4_096;
const ERROR_DETAILS_BYTES_MAX = 16_384;

/** The error as it can be stored: a long message is cut, details that do not fit are left out. */
export function storableError({ code, message, details, retryAfterMs }: ErrorData): ErrorData {
  return {
    code,
    message: message.slice(0, ERROR_CHARACTERS_MAX),
    ...(details && isSmall(details) ? { details } : {}),
    ...(Number.isFinite(retryAfterMs) ? { retryAfterMs: retryAfterMs! } : {}),
  };
}

const isSmall = (details: unknown): boolean =>
  unfitValue(details) === undefined && encode(details).length <= ERROR_DETAILS_BYTES_MAX;

const invalid = (message: string) => new TroupeError('INVALID_ARGUMENT', message);
