/**
 * `fetch` to servers of others, for SDKs that accept one: addresses are checked when a connection
 * is made, no redirect is followed, and responses are limited.
 */
import { isIP } from 'node:net';
import { Readable, Transform } from 'node:stream';
import { TroupeError } from '../../protocols/errors.ts';
import { guardedLookup } from './guarded-lookup.ts';
import { guardedRequest, requestFailure } from './guarded-request.ts';
import { hostOf, isPublicAddress } from './public-address.ts';

export type GuardedFetch = (url: string | URL, init?: RequestInit) => Promise<Response>;

export type GuardedFetchOptions = {
  /** whether private addresses are allowed, those of this machine included */
  readonly allowPrivate: boolean;
  /** the error for a host with a private address */
  readonly refusal: (host: string) => TroupeError;
  /** largest response; of an event stream the largest event. Bytes */
  readonly bytesMax: number;
};

/** The function throws TroupeError UNAVAILABLE, DEADLINE_EXCEEDED, or what `refusal` returns. */
export function createGuardedFetch(options: GuardedFetchOptions): GuardedFetch {
  const { allowPrivate, refusal, bytesMax } = options;
  const lookup = allowPrivate ? undefined : guardedLookup({ refusal });
  return async (target, init = {}) => {
    const url = new URL(target);
    const host = hostOf(url);
    // A connection to an address makes no lookup.
    if (!allowPrivate && isIP(host) !== 0 && !isPublicAddress(host)) throw refusal(host);
    const response = await guardedRequest(url, {
      method: methodOf(init.method),
      headers: Object.fromEntries(new Headers(init.headers)),
      signal: init.signal ?? new AbortController().signal,
      body: bodyOf(init.body),
      lookup,
    });
    const status = response.statusCode ?? 500;
    const headers = new Headers();
    for (let at = 0; at < response.rawHeaders.length; at += 2)
      headers.append(response.rawHeaders[at]!, response.rawHeaders[at + 1]!);
    const isStream = headers.get('content-type')?.startsWith('text/event-stream') ?? false;
    const limited = response.pipe(limit(bytesMax, isStream, url));
    response.on('error', (cause) => limited.destroy(requestFailure(cause, url)));
    limited.on('close', () => response.destroy());
    const hasBody = status !== 204 && status !== 205 && status !== 304;
    if (!hasBody) limited.resume();
    // sound: the two types of web streams differ only in their declarations
    const body = hasBody ? (Readable.toWeb(limited) as unknown as ReadableStream) : null;
    return new Response(body, { status, statusText: response.statusMessage ?? '', headers });
  };
}

/** @throws Error */
function methodOf(method = 'GET'): 'GET' | 'POST' | 'DELETE' {
  const name = method.toUpperCase();
  if (name === 'GET' || name === 'POST' || name === 'DELETE') return name;
  throw new Error(`requests with ${name} are not supported`);
}

/** @throws Error */
function bodyOf(body: RequestInit['body']): string | undefined {
  if (body === undefined || body === null) return undefined;
  if (typeof body === 'string' || body instanceof URLSearchParams) return body.toString();
  throw new Error('the body of a request must be text');
}

/** Passes bytes on, and fails when there are too many; in a stream a blank line ends an event. */
function limit(bytesMax: number, isStream: boolean, { origin }: URL): Transform {
  let bytes = 0;
  return new Transform({
    transform(chunk: Buffer, _encoding, done) {
      bytes += chunk.length;
      if (isStream && /\r\r|\n\n|\r\n\r\n/.test(chunk.toString('latin1'))) bytes = 0;
      if (bytes <= bytesMax) return done(null, chunk);
      const why = `${origin} answered with more than ${bytesMax} bytes`;
      done(new TroupeError('PAYLOAD_TOO_LARGE', why));
    },
  });
}
