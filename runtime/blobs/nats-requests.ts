/**
 * Requests to JetStream that may be repeated: they are retried while there is no answer. A refusal
 * of the server is an error at once.
 */
import { JetStreamApiCodes, JetStreamApiError } from '@nats-io/jetstream';
import { errors } from '@nats-io/transport-node';
import { TroupeError } from '../../protocols/errors.ts';

/** Timeout of one attempt. */
export const ATTEMPT_MS = 3_000;
/** Time without an answer after which a request fails. */
const GIVE_UP_MS = 30_000;
const RETRY_MS = { first: 20, max: 1_000 };

/**
 * Errors that may pass: a cluster without a leader, a server that recovers (10008 to 10010), a
 * fence that has moved or is used by a concurrent append.
 */
const NOT_YET: ReadonlySet<number> = new Set([
  10_008,
  10_009,
  10_010,
  JetStreamApiCodes.StreamWrongLastSequence,
  JetStreamApiCodes.StreamWrongLastSequenceUnknown,
]);

/**
 * Calls until there is an answer. @throws TroupeError UNAVAILABLE when there is none, or when it is
 * a refusal; what `call` throws as TroupeError
 */
export const answered = async <T>(what: string, call: () => Promise<T>): Promise<T> => {
  const untilMs = performance.now() + GIVE_UP_MS;
  for (let delayMs = RETRY_MS.first; ; delayMs = Math.min(2 * delayMs, RETRY_MS.max)) {
    try {
      return await call();
    } catch (error) {
      if (error instanceof TroupeError) throw error;
      if (!isNoAnswer(error) || performance.now() > untilMs) throw unavailable(what, error);
    }
    await new Promise((resolve) => setTimeout(resolve, delayMs));
  }
};

/** The outcome of the request is unknown, or the request may be repeated. */
const isNoAnswer = (error: unknown): boolean => {
  if (error instanceof JetStreamApiError) return NOT_YET.has(error.code);
  return !(
    error instanceof errors.ClosedConnectionError ||
    error instanceof errors.DrainingConnectionError ||
    error instanceof errors.InvalidArgumentError ||
    error instanceof errors.PermissionViolationError
  );
};

/** The answer, or undefined for a message that does not exist. */
export const present = async <T>(asked: Promise<T | null>): Promise<T | undefined> => {
  try {
    return (await asked) ?? undefined;
  } catch (error) {
    const isAbsent =
      error instanceof JetStreamApiError && error.code === JetStreamApiCodes.NoMessageFound;
    if (isAbsent) return undefined;
    throw error;
  }
};

const unavailable = (what: string, cause: unknown): TroupeError => {
  const why = cause instanceof Error ? cause.message : String(cause);
  return new TroupeError('UNAVAILABLE', `${what}: ${why}`, { cause });
};
