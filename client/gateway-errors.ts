/** Maps errors of the gateway and of the socket to our error taxonomy. */
import { defined } from '../protocols/defined.ts';
import type { GatewayErrorShape, ResponseFrame } from '../protocols/gateway/index.ts';
import { type ErrorCode, TroupeError, isErrorCode } from '../protocols/errors.ts';

/**
 * `unreachable` before the first handshake, `lost` after it, `closed` by the client or permanently.
 */
export type ConnectionFailure = 'unreachable' | 'lost' | 'closed';

/** UNAVAILABLE with `details.connection`. */
export function connectionError(
  connection: ConnectionFailure,
  url: string,
  cause?: Error,
): TroupeError {
  const why = reason(cause);
  const messages: Record<ConnectionFailure, string> = {
    unreachable: `no gateway responds at ${url}${why}`,
    lost: `the connection to ${url} was lost${why}`,
    closed: `there is no connection to ${url}`,
  };
  return new TroupeError('UNAVAILABLE', messages[connection], { details: { connection }, cause });
}

/** The connection state of an error that has one. */
export function connectionFailure(error: unknown): ConnectionFailure | undefined {
  return error instanceof TroupeError
    ? (error.details?.connection as ConnectionFailure | undefined)
    : undefined;
}

function reason(cause: Error | undefined): string {
  if (!cause) return '';
  const { code } = cause as NodeJS.ErrnoException;
  return ` (${code ?? cause.message})`;
}

/** The error of a failed response; its payload becomes `details.payload`. */
export function errorOf({ error, payload }: ResponseFrame): TroupeError {
  const shape = error ?? { code: 'INTERNAL', message: 'the gateway refused without a reason' };
  const details = {
    ...(shape.details as Record<string, unknown> | undefined),
    ...defined({ retryable: shape.retryable, payload }),
  };
  return new TroupeError(codeOf(shape), shape.message, {
    details,
    ...defined({ retryAfterMs: shape.retryAfterMs }),
  });
}

/** Whether a refused client should retry. */
export const mayRetry = (error: TroupeError): boolean => error.details?.retryable === true;

/** Our own code is in `details.reason`; a refused handshake has `details.code`. */
function codeOf({ code, details }: GatewayErrorShape): ErrorCode {
  const { reason: own, code: connect } = (details ?? {}) as { reason?: unknown; code?: unknown };
  if (isErrorCode(own)) return own;
  if (typeof connect === 'string' && /^(AUTH|PAIRING|DEVICE|CONTROL_UI)_/.test(connect)) {
    return connect === 'AUTH_RATE_LIMITED' ? 'RATE_LIMIT_EXCEEDED' : 'UNAUTHORIZED';
  }
  if (code === 'FORBIDDEN') return 'FORBIDDEN';
  if (code === 'AGENT_TIMEOUT') return 'DEADLINE_EXCEEDED';
  return code === 'INVALID_REQUEST' ? 'INVALID_ARGUMENT' : 'UNAVAILABLE';
}

export const timedOut = (method: string, timeoutMs: number): TroupeError =>
  new TroupeError(
    'DEADLINE_EXCEEDED',
    `the gateway did not respond to ${method} within ${timeoutMs} ms`,
  );

export const cancelled = (signal: AbortSignal | undefined): TroupeError =>
  new TroupeError('CANCELLED', 'the caller cancelled the request', { cause: signal?.reason });
