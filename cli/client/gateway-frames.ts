/** Parses frames for a client, and creates the errors of requests that it stops waiting for. */
import { TroupeError } from '../../protocols/errors.ts';
import type { EventFrame, ResponseFrame } from '../../protocols/gateway/index.ts';

/** Undefined for anything that no gateway sends. Tests validate the shapes of real frames. */
export function parse(data: Buffer): ResponseFrame | EventFrame | undefined {
  try {
    return JSON.parse(data.toString('utf8')) as ResponseFrame | EventFrame;
  } catch {
    return undefined;
  }
}

export const isAccepted = (payload: unknown) =>
  (payload as { status?: unknown } | undefined)?.status === 'accepted';

export const late = (method: string, timeoutMs: number) =>
  new TroupeError(
    'DEADLINE_EXCEEDED',
    `the gateway did not respond to ${method} within ${timeoutMs} ms`,
  );

export const given = (signal: AbortSignal | undefined) =>
  new TroupeError('CANCELLED', 'the caller cancelled the request', { cause: signal?.reason });
