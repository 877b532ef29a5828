/**
 * Routes: plain HTTP on `node:http`, in one table. A route reads a request and answers it. Errors
 * that it throws are sent with the HTTP status of their code, without a stack.
 */
import type { IncomingMessage, ServerResponse } from 'node:http';
import { ERRORS, type ErrorData, TroupeError } from '../../protocols/errors.ts';
import { isTooDeep, JSON_DEPTH_MAX } from '../../protocols/json-depth.ts';
import { type WireRefusal, wireError } from '../../protocols/task.ts';

export type RouteRequest = {
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
  /** values of `{name}` segments in the path, decoded */
  readonly params: Readonly<Record<string, string>>;
  readonly query: URLSearchParams;
  /** aborted when the client disconnects before it has the answer */
  readonly signal: AbortSignal;
  /**
   * May be called once. @throws TroupeError PAYLOAD_TOO_LARGE above `bytesMax`, and the rest is not
   * read; DEADLINE_EXCEEDED after 30 s; CANCELLED when the client disconnected
   */
  body(bytesMax: number): Promise<Uint8Array>;
};

export type Route = {
  readonly method: 'GET' | 'POST' | 'PUT' | 'DELETE';
  /**
   * such as `/v1/tasks/{id}/events`; braces match one segment, or the start of one: `{name}.json`
   */
  readonly path: string;
  readonly handle: (request: RouteRequest) => Promise<void> | void;
};

/** The query of a request's URL. */
export const queryOf = ({ url = '/' }: Pick<IncomingMessage, 'url'>): URLSearchParams =>
  new URLSearchParams(url.split('?').slice(1).join('?'));

/** The value of a header; the first one if it is repeated. */
export const header = (request: IncomingMessage, name: string): string | undefined => {
  const value = request.headers[name];
  return typeof value === 'string' ? value : value?.[0];
};

export const sendJson = (
  response: ServerResponse,
  status: number,
  body: unknown,
  headers: Readonly<Record<string, string | number>> = {},
): void => {
  const text = JSON.stringify(body);
  response.writeHead(status, {
    'content-type': 'application/json; charset=utf-8',
    'content-length': Buffer.byteLength(text),
    'cache-control': 'no-store',
    'x-content-type-options': 'nosniff',
    ...headers,
  });
  response.end(text);
};

/** The body of a refusal, on both transports. */
export const refusalOf = (
  error: ErrorData,
  ids: { requestId?: string | undefined; traceId?: string | undefined } = {},
): WireRefusal => ({
  error: wireError(error),
  ...(ids.requestId ? { request_id: ids.requestId } : {}),
  ...(ids.traceId ? { trace_id: ids.traceId } : {}),
});

/** Headers of an error: when to retry, and how to authenticate. */
export const errorHeaders = ({
  code,
  retryAfterMs,
  details,
}: ErrorData): Record<string, string> => ({
  ...(retryAfterMs === undefined
    ? {}
    : { 'retry-after': String(Math.max(1, Math.ceil(retryAfterMs / 1_000))) }),
  ...(code === 'UNAUTHORIZED' ? { 'www-authenticate': 'Bearer realm="troupe"' } : {}),
  // RFC 6750, section 3.1: which scope to ask for.
  ...(code === 'FORBIDDEN' && typeof details?.['scope'] === 'string'
    ? {
        'www-authenticate': `Bearer realm="troupe", error="insufficient_scope", scope="${details['scope']}"`,
      }
    : {}),
});

/** @param status default: the code's own */
export const sendError = (
  response: ServerResponse,
  error: ErrorData,
  status: number = ERRORS[error.code].http,
): void => sendJson(response, status, refusalOf(error), errorHeaders(error));

/**
 * The bytes of a body with a JSON content-type.
 * @throws TroupeError INVALID_ARGUMENT for another content-type, else as `body`
 */
export const jsonBytes = (incoming: RouteRequest, bytesMax: number): Promise<Uint8Array> => {
  const type = header(incoming.request, 'content-type') ?? '';
  if (/^application\/(json|[a-z0-9.+-]+\+json)\s*(;|$)/i.test(type)) return incoming.body(bytesMax);
  throw new TroupeError('INVALID_ARGUMENT', 'send a body of content-type application/json');
};

const UTF8 = new TextDecoder('utf-8', { fatal: true });

/** JSON of a body. @throws TroupeError INVALID_ARGUMENT also when it is nested too deep */
export const parseJson = (bytes: Uint8Array): unknown => {
  let text: string;
  let value: unknown;
  try {
    text = UTF8.decode(bytes);
    value = JSON.parse(text);
  } catch (cause) {
    throw new TroupeError('INVALID_ARGUMENT', 'the body is not JSON in UTF-8', { cause });
  }
  if (!isTooDeep(text)) return value;
  throw new TroupeError('INVALID_ARGUMENT', `the body is nested more than ${JSON_DEPTH_MAX} deep`);
};
