/**
 * `GET /metrics`: the counters of a process, for Prometheus.
 *
 * The text contains tenants and principals, so it is not public. A gateway serves it to operators
 * (`authorization: credentials_file` in Prometheus). A worker, which has no other port, serves it
 * on a port of its own: to direct connections of the same machine, or with the gateway's token,
 * with the same limit of wrong tokens as at the gateway.
 */
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { errorData, TroupeError } from '../../protocols/errors.ts';
import { type Clock, type Metrics, wantsOpenMetrics } from '../../runtime/index.ts';
import { isLoopback, secretsEqual } from '../gateway/auth/access.ts';
import {
  BearerGuesses,
  createAuthFailures,
  tooManyGuesses,
} from '../gateway/auth/bearer-guesses.ts';
import { AddressList, whyNotDirect, remoteOf } from '../gateway/auth/client-address.ts';
import { SERVER_OPTIONS } from './listener.ts';
import { header, type Route, type RouteRequest, sendError } from './route.ts';

type Rendered = Pick<Metrics, 'text' | 'contentType' | 'openMetricsType'>;

export type MetricsRouteOptions = {
  readonly metrics: Rendered;
  /** @throws TroupeError UNAUTHORIZED, FORBIDDEN unless the caller is an operator */
  readonly operator: (request: RouteRequest) => Promise<unknown>;
};

export const metricsRoutes = ({ metrics, operator }: MetricsRouteOptions): readonly Route[] => [
  {
    method: 'GET',
    path: '/metrics',
    handle: async (incoming) => {
      await operator(incoming);
      await send(incoming, metrics);
    },
  },
];

export type ServeMetricsOptions = {
  readonly metrics: Rendered;
  readonly host: string;
  /** 0 selects a free port */
  readonly port: number;
  /** required as `Bearer` token; mandatory when other machines reach the port */
  readonly token?: string | undefined;
  readonly clock: Clock;
  /** whether this process takes part in its cluster, for `/readyz`; default: always */
  readonly isReady?: () => boolean;
};

/**
 * Opens a port for processes without a gateway. It serves `/metrics`, and to every caller
 * `/healthz` and `/readyz`.
 * @throws TroupeError INVALID_ARGUMENT for a public bind without a token; CONFLICT when the port is
 *   taken; UNAVAILABLE when the address cannot be bound
 */
export async function serveMetrics(
  options: ServeMetricsOptions,
): Promise<{ readonly port: number; close(): Promise<void> }> {
  const { host, port, token } = options;
  if (token === undefined && !isLoopback(host))
    throw new TroupeError(
      'INVALID_ARGUMENT',
      `metrics would be served to any client that reaches ${host}: set gateway.auth.token, or bind to loopback`,
    );
  const assertMayRead = token === undefined ? assertDirect : tokenAsserter(token, options.clock);
  const server = createServer(SERVER_OPTIONS, (request, response) => {
    answer(options, assertMayRead, request, response).catch((error: unknown) => {
      if (response.headersSent) response.destroy();
      else sendError(response, errorData(error));
    });
  });
  await new Promise<void>((resolve, reject) => {
    server.once('error', (cause: NodeJS.ErrnoException) => reject(listenError(cause, host, port)));
    server.listen(port, host, resolve);
  });
  return {
    port: (server.address() as AddressInfo).port,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

type AssertMayRead = (request: IncomingMessage, response: ServerResponse) => void | Promise<void>;

const NO_PROXIES = new AddressList();

/** @throws TroupeError FORBIDDEN for a forwarded request, or one with a foreign `Host` name */
const assertDirect: AssertMayRead = (request) => {
  const fault = whyNotDirect(remoteOf(request, NO_PROXIES));
  if (fault === undefined) return;
  throw new TroupeError(
    'FORBIDDEN',
    `without gateway.auth.token, metrics are served to direct connections from this machine only; ${fault}`,
  );
};

const tokenAsserter = (token: string, clock: Clock): AssertMayRead => {
  const secrets = { auth: { token } };
  const failures = createAuthFailures(secrets, clock);
  const guesses = new BearerGuesses({ ...secrets, failures, proxies: NO_PROXIES });
  return async (request, response) => {
    const refusedMs = await guesses.refusedForMs(request, response);
    if (refusedMs > 0) throw TroupeError.from(tooManyGuesses(refusedMs));
    if (secretsEqual(header(request, 'authorization') ?? '', `Bearer ${token}`)) return;
    throw new TroupeError(
      'UNAUTHORIZED',
      'metrics require the token of the gateway: send Authorization: Bearer TOKEN',
    );
  };
};

async function answer(
  { metrics, isReady = () => true }: ServeMetricsOptions,
  assertMayRead: AssertMayRead,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  const [path] = (request.url ?? '').split('?', 1);
  if (path === '/healthz') return sendHealth(response, 200, { ok: true, status: 'live' });
  if (path === '/readyz') {
    const ready = isReady();
    return sendHealth(response, ready ? 200 : 503, { ready });
  }
  await assertMayRead(request, response);
  if (path !== '/metrics')
    throw new TroupeError('NOT_FOUND', 'only /metrics, /healthz and /readyz are served here');
  if (request.method !== 'GET' && request.method !== 'HEAD') return refuseMethod(response);
  await send({ request, response }, metrics);
}

/** As a gateway answers the same paths: probes send no token. */
function sendHealth(response: ServerResponse, status: number, body: object): void {
  response.writeHead(status, { 'content-type': 'application/json', 'cache-control': 'no-store' });
  response.end(JSON.stringify(body));
}

function refuseMethod(response: ServerResponse): void {
  response.setHeader('allow', 'GET, HEAD');
  sendError(
    response,
    { code: 'INVALID_ARGUMENT', message: 'metrics are served to GET requests only' },
    405,
  );
}

/** OpenMetrics for a scraper that accepts it, such as Prometheus. */
async function send(
  { request, response }: { readonly request: IncomingMessage; readonly response: ServerResponse },
  metrics: Rendered,
): Promise<void> {
  const isOpen = wantsOpenMetrics(header(request, 'accept'));
  const text = await metrics.text(...(isOpen ? (['openmetrics'] as const) : []));
  response.writeHead(200, {
    'content-type': isOpen ? metrics.openMetricsType : metrics.contentType,
    'content-length': Buffer.byteLength(text),
    'cache-control': 'no-store',
    vary: 'accept',
    'x-content-type-options': 'nosniff',
  });
  response.end(text);
}

function listenError(cause: NodeJS.ErrnoException, host: string, port: number): TroupeError {
  const details = { port, host };
  if (cause.code !== 'EADDRINUSE')
    return new TroupeError(
      'UNAVAILABLE',
      `metrics cannot be served on ${host}:${port}: ${cause.message}`,
      { cause, details },
    );
  const message = `port ${port} of ${host} is in use: choose another as a2a.metricsPort`;
  return new TroupeError('CONFLICT', message, { cause, details });
}
