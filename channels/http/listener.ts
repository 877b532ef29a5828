/**
 * Finds the route of a request, and answers the errors that routes throw. One table for all routes:
 * exact paths in a map, patterns by their number of segments.
 *
 * Invariants:
 *  1. Every request is answered: a thrown TroupeError by its code, any other error as INTERNAL with
 *     a log line.
 *  2. Pages of other hosts have no access: no CORS is allowed, and without a secret the gateway
 *     refuses other hosts and origins.
 */
import type { IncomingMessage, ServerOptions, ServerResponse } from 'node:http';
import { type ErrorData, TroupeError } from '../../protocols/errors.ts';
import { LazyValue } from '../../protocols/lazy-value.ts';
import { type Route, type RouteRequest, sendError } from './route.ts';

/**
 * Options of the HTTP server: slow senders are disconnected, and connections are kept alive. A
 * large file may take `requestTimeout`; other bodies must arrive within BODY_MS.
 */
export const SERVER_OPTIONS: ServerOptions = {
  headersTimeout: 15_000,
  requestTimeout: 300_000,
  connectionsCheckingInterval: 5_000,
  keepAliveTimeout: 65_000,
};

export type ListenerOptions = {
  readonly routes: readonly Route[];
  readonly log: { error(facts: object, message: string): void };
};

/** Returns true when a route serves the request. */
export type Listener = (request: IncomingMessage, response: ServerResponse) => boolean;

type Pattern = {
  readonly segments: readonly string[];
  readonly byMethod: Map<string, Route>;
};
type Found = {
  readonly byMethod: ReadonlyMap<string, Route>;
  readonly params: Readonly<Record<string, string>>;
};

/** Timeout for a body that is read completely. */
const BODY_MS = 30_000;
const NO_PARAMS: Found['params'] = {};

/** @throws TroupeError CONFLICT when two routes are the same */
export const routeListener = ({ routes, log }: ListenerOptions): Listener => {
  const find = tableOf(routes);
  return (request, response) => {
    const url = request.url ?? '/';
    const end = url.search(/[?#]/);
    const found = find(end < 0 ? url : url.slice(0, end));
    if (found === undefined) return false;
    const { method = 'GET' } = request;
    const route = found.byMethod.get(method === 'HEAD' ? 'GET' : method);
    if (route !== undefined) void serve(route, new Incoming(request, response, found.params), log);
    else refuseMethod(request, response, [...found.byMethod.keys()]);
    return true;
  };
};

export type LateListenerOptions = ListenerOptions & {
  /** loads the other routes; none has a path that one of `routes` serves */
  readonly later: () => Promise<readonly Route[]>;
};

/**
 * Serves routes that are loaded with the first request for which `routes` has none. Resolves to
 * true when the request is answered.
 */
export const lateListener = ({
  routes,
  later,
  log,
}: LateListenerOptions): ((
  request: IncomingMessage,
  response: ServerResponse,
) => Promise<boolean>) => {
  const loaded = new LazyValue(async (): Promise<Listener> => {
    const early = tableOf(routes);
    const others = await later();
    const twice = others.find(({ path }) => early(path) !== undefined);
    if (twice) throw new TroupeError('CONFLICT', `the route ${twice.path} is defined twice`);
    return routeListener({ routes: others, log });
  });
  return async (request, response) => {
    try {
      const listener = await loaded.get();
      return listener(request, response);
    } catch (thrown) {
      sendError(response, errorFor(thrown, request, log));
      return true;
    }
  };
};

const tableOf = (routes: readonly Route[]): ((path: string) => Found | undefined) => {
  const exact = new Map<string, Found & { byMethod: Map<string, Route> }>();
  const patterns = new Map<number, Pattern[]>();
  for (const route of routes) {
    const { path, method } = route;
    let byMethod: Map<string, Route>;
    if (path.includes('{')) {
      const segments = path.split('/');
      const alike = patterns.get(segments.length) ?? [];
      patterns.set(segments.length, alike);
      const known = alike.find((one) => one.segments.join('/') === path);
      if (!known) alike.push({ segments, byMethod: new Map() });
      ({ byMethod } = known ?? alike.at(-1)!);
    } else {
      const known = exact.get(path) ?? { byMethod: new Map<string, Route>(), params: NO_PARAMS };
      exact.set(path, known);
      ({ byMethod } = known);
    }
    if (byMethod.has(method))
      throw new TroupeError('CONFLICT', `the route ${method} ${path} is defined twice`);
    byMethod.set(method, route);
  }
  return (path) => exact.get(path) ?? matching(patterns, path);
};

const matching = (
  patterns: ReadonlyMap<number, readonly Pattern[]>,
  path: string,
): Found | undefined => {
  const parts = path.split('/');
  for (const { segments, byMethod } of patterns.get(parts.length) ?? []) {
    const params = paramsOf(segments, parts);
    if (params) return { byMethod, params };
  }
  return undefined;
};

const paramsOf = (
  segments: readonly string[],
  parts: readonly string[],
): Record<string, string> | undefined => {
  const params: Record<string, string> = {};
  for (let at = 0; at < segments.length; at++) {
    const segment = segments[at]!;
    const part = parts[at]!;
    const [name, suffix] = nameOf(segment);
    if (name === undefined) {
      if (segment !== part) return undefined;
      continue;
    }
    if (!part.endsWith(suffix) || part.length === suffix.length) return undefined;
    const value = decoded(part.slice(0, part.length - suffix.length));
    if (value === undefined) return undefined;
    params[name] = value;
  }
  return params;
};

/** Matches `{version}.json`: a parameter and its suffix. */
const nameOf = (segment: string): [string | undefined, string] => {
  const end = segment.indexOf('}');
  return segment.startsWith('{') && end > 0
    ? [segment.slice(1, end), segment.slice(end + 1)]
    : [undefined, ''];
};

const decoded = (part: string): string | undefined => {
  try {
    return decodeURIComponent(part);
  } catch {
    return undefined;
  }
};

const refuseMethod = (
  request: IncomingMessage,
  response: ServerResponse,
  methods: readonly string[],
): void => {
  const allowed = [...methods, ...(methods.includes('GET') ? ['HEAD'] : []), 'OPTIONS'];
  response.setHeader('allow', allowed.join(', '));
  if (request.method === 'OPTIONS') {
    response.writeHead(204).end();
    return;
  }
  const message = `${request.method} is not served here: use ${methods.join(' or ')}`;
  request.resume();
  // RFC 9110 15.5.6: the only status without a code of its own in the taxonomy.
  sendError(response, { code: 'INVALID_ARGUMENT', message }, 405);
};

const serve = async (
  route: Route,
  incoming: Incoming,
  log: ListenerOptions['log'],
): Promise<void> => {
  const { request, response } = incoming;
  try {
    await route.handle(incoming);
  } catch (thrown) {
    const error = errorFor(thrown, request, log);
    if (response.headersSent) response.destroy();
    else sendError(response, error);
  }
  // The unread rest of a refused body would be parsed as the next request.
  if (!request.complete) {
    if (!response.headersSent) response.setHeader('connection', 'close');
    request.resume();
  }
};

const errorFor = (
  thrown: unknown,
  request: IncomingMessage,
  log: ListenerOptions['log'],
): ErrorData => {
  if (thrown instanceof TroupeError) return thrown.toData();
  log.error({ err: thrown, path: request.url?.split('?', 1)[0] }, 'http: a route failed');
  return { code: 'INTERNAL', message: 'an internal error occurred: see the log of this gateway' };
};

class Incoming implements RouteRequest {
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
  readonly params: RouteRequest['params'];
  #gone: AbortController | undefined;

  constructor(
    request: IncomingMessage,
    response: ServerResponse,
    params: Readonly<Record<string, string>>,
  ) {
    this.request = request;
    this.response = response;
    this.params = params;
  }

  get query(): URLSearchParams {
    const { url = '' } = this.request;
    const at = url.indexOf('?');
    return new URLSearchParams(at < 0 ? '' : url.slice(at));
  }

  get signal(): AbortSignal {
    if (this.#gone) return this.#gone.signal;
    const gone = new AbortController();
    this.#gone = gone;
    if (this.response.destroyed) gone.abort();
    else
      this.response.once('close', () => {
        if (!this.response.writableFinished) gone.abort();
      });
    return gone.signal;
  }

  body(bytesMax: number): Promise<Uint8Array> {
    const { request, response } = this;
    return new Promise((resolve, reject) => {
      const refuse = (error: TroupeError) => {
        clearTimeout(timer);
        response.setHeader('connection', 'close');
        request.removeAllListeners('data').resume();
        reject(error);
      };
      const tooLarge = () => {
        const message = `the body has more than ${bytesMax} bytes`;
        refuse(new TroupeError('PAYLOAD_TOO_LARGE', message, { details: { bytesMax } }));
      };
      const timer = setTimeout(() => {
        const message = `the body was not complete after ${BODY_MS / 1_000} s`;
        refuse(new TroupeError('DEADLINE_EXCEEDED', message));
      }, BODY_MS).unref();
      if (Number(request.headers['content-length'] ?? 0) > bytesMax) return tooLarge();
      const chunks: Buffer[] = [];
      let bytes = 0;
      request.on('data', (chunk: Buffer) => {
        bytes += chunk.length;
        if (bytes > bytesMax) return tooLarge();
        chunks.push(chunk);
      });
      request.once('end', () => {
        clearTimeout(timer);
        resolve(chunks.length === 1 ? chunks[0]! : Buffer.concat(chunks));
      });
      request.once('close', () => {
        if (request.complete) return;
        clearTimeout(timer);
        reject(
          new TroupeError('CANCELLED', 'the client disconnected before its body was complete'),
        );
      });
    });
  }
}
