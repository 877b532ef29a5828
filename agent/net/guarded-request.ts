/**
 * One HTTP request to a host that a client or an external agent chose. The resolved address is
 * checked when the connection is made (`lookup`). Redirects are not followed.
 */
import http from 'node:http';
import type { LookupFunction } from 'node:net';
import { TroupeError } from '../../protocols/errors.ts';
import { signalWithin } from '../../protocols/time-limit.ts';

export type GuardedRequest = {
  readonly method: 'GET' | 'POST' | 'DELETE';
  readonly headers: http.OutgoingHttpHeaders;
  /** JSON, unless `headers` say otherwise */
  readonly body?: string | undefined;
  readonly signal: AbortSignal;
  /** default: only `signal` ends it */
  readonly timeoutMs?: number | undefined;
  /** as `guardedLookup`; without it every address is allowed */
  readonly lookup?: LookupFunction | undefined;
  /** a connection of its own, instead of an open one to the same host */
  readonly agent?: false;
};

/** @throws TroupeError of `lookup`; UNAVAILABLE, DEADLINE_EXCEEDED */
export const guardedRequest = async (
  url: URL,
  { method, headers, body, signal, timeoutMs, lookup, ...options }: GuardedRequest,
): Promise<http.IncomingMessage> => {
  const { request } = url.protocol === 'https:' ? await import('node:https') : http;
  return new Promise((resolve, reject) => {
    const ofBody = body === undefined ? {} : jsonHeaders(body);
    const sent = request(url, {
      method,
      headers: { ...ofBody, ...headers },
      signal: timeoutMs === undefined ? signal : signalWithin(signal, timeoutMs),
      ...(lookup && { lookup }),
      ...options,
    });
    sent.on('response', resolve);
    sent.on('error', (cause) => reject(requestFailure(cause, url)));
    sent.end(body);
  });
};

const jsonHeaders = (body: string): http.OutgoingHttpHeaders => ({
  'content-type': 'application/json',
  'content-length': Buffer.byteLength(body),
});

/** The error of a request or of its response. */
export function requestFailure(cause: Error, { origin }: Pick<URL, 'origin'>): TroupeError {
  if (cause instanceof TroupeError) return cause;
  if (cause.name === 'TimeoutError' || cause.name === 'AbortError')
    return new TroupeError('DEADLINE_EXCEEDED', `${origin} did not answer in time`, { cause });
  const message = `${origin} cannot be reached: ${cause.message}`;
  return new TroupeError('UNAVAILABLE', message, { cause });
}
