/**
 * One HTTP request of a command to a gateway: JSON in, JSON out, with the same URL and secret as
 * the WebSocket connection.
 */
import { request as httpRequest } from 'node:http';
import { request as httpsRequest, type RequestOptions } from 'node:https';
import { isErrorCode, TroupeError } from '../../protocols/errors.ts';
import { type ClientOptions, gatewayOf } from '../options.ts';
import { connectionError } from '../../client/gateway-errors.ts';

export type HttpRequest = {
  readonly method: 'GET' | 'POST' | 'DELETE';
  /** including the query */
  readonly path: string;
  readonly body?: unknown;
};

/**
 * Longer than the gateway itself waits for an actor (operations/ask-actor.ts), so that it can say
 * why.
 */
const TIMEOUT_MS = 25_000;

/** Sends requests to the gateway that the options name. */
export async function gatewayHttp(options: ClientOptions): Promise<GatewayHttp> {
  const { url, token, password } = await gatewayOf(options);
  const secret = token ?? password;
  return (request) => send(httpOf(url), secret, request);
}

/**
 * @throws TroupeError the gateway's error; UNAVAILABLE with `details.connection` when no gateway
 * responds; DEADLINE_EXCEEDED
 */
export type GatewayHttp = <T>(request: HttpRequest) => Promise<T>;

export const httpOf = (url: string): string => url.replace(/^ws/, 'http').replace(/\/$/, '');

async function send<T>(
  origin: string,
  secret: string | undefined,
  { method, path, body }: HttpRequest,
): Promise<T> {
  const headers = {
    accept: 'application/json',
    ...(body === undefined ? {} : { 'content-type': 'application/json' }),
    ...(secret === undefined ? {} : { authorization: `Bearer ${secret}` }),
  };
  const signal = AbortSignal.timeout(TIMEOUT_MS);
  const sent = body === undefined ? undefined : JSON.stringify(body);
  const { status, text } = await exchange(`${origin}${path}`, { method, headers, signal }, sent)
    // The error of a request that was aborted has the reason as its cause.
    .catch((error: unknown) => {
      throw failureOf(signal.aborted ? signal.reason : error, origin);
    });
  const answer = parsed(text);
  if (status < 400 && answer !== undefined) return answer as T;
  throw refusalOf(answer, status, `${origin}${path}`);
}

/**
 * Not `fetch`, which takes longer to load than most commands to run. Follows no redirect.
 * @param options `bytesMax` bounds the answer; without it, none is too long
 */
export function exchange(
  url: string,
  { bytesMax = Infinity, ...options }: RequestOptions & { readonly bytesMax?: number },
  body?: string,
): Promise<{ readonly status: number; readonly text: string }> {
  const open = url.startsWith('https:') ? httpsRequest : httpRequest;
  return new Promise((resolve, reject) => {
    const request = open(url, options, (response) => {
      const parts: Buffer[] = [];
      let bytes = 0;
      response.on('data', (part: Buffer) => {
        bytes += part.length;
        if (bytes > bytesMax) response.destroy(new Error('the answer is too long'));
        parts.push(part);
      });
      response.on('error', reject);
      response.on('end', () =>
        resolve({ status: response.statusCode ?? 0, text: Buffer.concat(parts).toString() }),
      );
    });
    request.on('error', reject);
    request.end(body);
  });
}

export const parsed = (text: string): unknown => {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
};

export function failureOf(error: unknown, origin: string): TroupeError {
  const { name, cause } = error as Error;
  if (name === 'TimeoutError')
    return new TroupeError(
      'DEADLINE_EXCEEDED',
      `${origin} did not respond within ${TIMEOUT_MS} ms`,
    );
  return connectionError('unreachable', origin, cause instanceof Error ? cause : (error as Error));
}

/** A response without our error taxonomy is from another program or an older gateway. */
export function refusalOf(answer: unknown, status: number, url: string): TroupeError {
  const { code, message, details, retry_after_sec } =
    (answer as { error?: Record<string, unknown> } | undefined)?.error ?? {};
  if (!isErrorCode(code) || typeof message !== 'string')
    return new TroupeError(
      'UNAVAILABLE',
      `${url} responded with status ${status} and an unknown body: is it a gateway of this version?`,
    );
  return new TroupeError(code, message, {
    ...(details ? { details: details as Record<string, unknown> } : {}),
    ...(typeof retry_after_sec === 'number' ? { retryAfterMs: retry_after_sec * 1_000 } : {}),
  });
}
