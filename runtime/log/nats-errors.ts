/**
 * Interprets errors of JetStream for appends and reads. This is the only file that depends on the
 * error codes and texts of the server and its client.
 *
 * Rule (P1): only what the server or the client says before anything can have been stored counts as
 * "not stored". Every other answer, and no answer, is unknown.
 */
import { JetStreamApiCodes, JetStreamApiError } from '@nats-io/jetstream';
import { errors } from '@nats-io/transport-node';
import { TroupeError } from '../../protocols/errors.ts';
import { type AppendAnswer, AppendUnknown } from './log.ts';

/** Codes of the JetStream API (server/errors.json) that the client does not name. */
const CODE = {
  messageTooLarge: 10054,
  streamMismatch: 10060,
  storeFailed: 10077,
  tooManyRequests: 10167,
} as const;

const NO_ROOM =
  'raise its limit (max_bytes, max_msgs), or wait for trims; stored messages are not lost';

/** The answer to an append that failed, or the error that the caller of `append` gets. */
export const appendFailure = (
  stream: string,
  subject: string,
  cause: unknown,
): AppendAnswer | Error => {
  const unavailable = (why: string) => new TroupeError('UNAVAILABLE', why, { cause });
  if (isNoResponders(cause))
    return unavailable(`JetStream does not answer, or it has no stream for ${subject}`);
  if (nameOf(cause) === 'PermissionViolationError')
    return unavailable(`the NATS user may not publish to ${subject}`);
  if (!(cause instanceof JetStreamApiError)) return new AppendUnknown(subject, { cause });
  switch (cause.code) {
    case JetStreamApiCodes.StreamWrongLastSequence: {
      const last = /wrong last sequence: (\d+)/.exec(cause.message)?.[1];
      if (last !== undefined) return { kind: 'refused', last: Number(last) };
      break;
    }
    case CODE.storeFailed:
      // The same code means a failed disk; then the outcome is unknown.
      if (/^maximum .* exceeded/.test(cause.message))
        return unavailable(`the stream ${stream} is full (${cause.message}): ${NO_ROOM}`);
      break;
    case CODE.messageTooLarge:
      return unavailable(`the message is too large for the stream ${stream} (${cause.message})`);
    case CODE.streamMismatch:
      return unavailable(`${subject} does not belong to the stream ${stream}`);
    case CODE.tooManyRequests:
      return unavailable(
        `the stream ${stream} receives more messages than it can store at present`,
      );
    default:
  }
  return new AppendUnknown(subject, { cause });
};

/** A read or trim that was not answered, or not as it should be. */
export const readFailure = (what: string, cause: unknown): TroupeError =>
  cause instanceof TroupeError
    ? cause
    : new TroupeError('UNAVAILABLE', `${what}: ${textOf(cause)}`, { cause });

/**
 * No process subscribes to the subjects of JetStream: it is off, or its server is still starting.
 */
export const isNoResponders = (error: unknown): boolean =>
  error instanceof errors.NoRespondersError ||
  (nameOf(error) === 'JetStreamNotEnabled' &&
    !((error as Error).cause instanceof JetStreamApiError));

const nameOf = (error: unknown): string => (error instanceof Error ? error.name : '');

const textOf = (cause: unknown): string => {
  if (isNoResponders(cause)) return 'JetStream does not answer';
  return cause instanceof Error ? cause.message : String(cause);
};
