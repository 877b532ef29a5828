/**
 * The gateway: the WebSocket entry point for users and their programs. The same port serves health
 * and the web page over HTTP.
 *
 * Boundary: it reaches actors only through `System` and stores nothing. When it stops, runs
 * continue, and clients find the same state at another gateway.
 */
import type { Server } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import { defined } from '../../protocols/defined.ts';
import { TroupeError } from '../../protocols/errors.ts';
import { TICK_INTERVAL_MS } from '../../protocols/gateway/index.ts';
import { lateListener, routeListener } from '../http/listener.ts';
import { assertAuthValid } from './auth/access.ts';
import { BearerGuesses, createAuthFailures } from './auth/bearer-guesses.ts';
import { eventHead } from './transport/connection.ts';
import { TenantGateways } from './tenant/tenant-gateways.ts';
import { httpListener } from './http.ts';
import type { GatewayOptions } from './options.ts';
import { AddressList } from './auth/client-address.ts';
import { createHttpServer } from './transport/server.ts';
import { tickEvery } from './transport/ticks.ts';
import { Upgrades } from './transport/upgrades.ts';
import { readPage } from './web-page.ts';

export type Gateway = {
  readonly port: number;
  /** URL of the page, without a secret */
  readonly url: string;
  /**
   * Notifies clients of the reason, and closes the connections and the port. Runs continue. May be
   * repeated.
   */
  close(options?: CloseOptions): Promise<void>;
};

export type CloseOptions = { readonly reason?: string; readonly restartExpectedMs?: number };

/** While stopping: the interval in which finished connections are closed, */
const SWEEP_MS = 20;
/** and the time after which clients that still send or read are disconnected. */
const LAST_ANSWERS_MS = 2_000;

/**
 * Resolves when the port is open.
 * @throws TroupeError INVALID_ARGUMENT for a public bind without authentication or a missing
 *   secret; CONFLICT when the port is taken; UNAVAILABLE when the address cannot be bound
 */
export const startGateway = async (options: GatewayOptions): Promise<Gateway> => {
  assertAuthValid(options.auth, options.host);
  const { system, clock, log, auth } = options;
  const failures = createAuthFailures(options, clock);
  const proxies = new AddressList(auth.trustedProxy?.proxies);
  const tenants = new TenantGateways(options);
  // Follows the runs of its tenant from the start, for late subscribers.
  tenants.of(options.tenant);
  const page = readPage(options.webRoot);
  const { routes: own = [], laterRoutes: later = () => Promise.resolve([]) } = options;
  const guesses = new BearerGuesses({ auth, tenancy: options.tenancy, failures, proxies });
  const http = await createHttpServer(
    options.tls,
    httpListener({
      system,
      diskFault: options.diskFault,
      clockJump: options.clockJump,
      clock,
      page,
      routes: routeListener({ routes: own, log }),
      laterRoutes: lateListener({ routes: own, later, log }),
      authMode: auth.mode,
      guesses,
      proxies,
    }),
  );
  if (options.onConnection) http.on('connection', options.onConnection);
  const loadSockets = async () => {
    const { SocketServer, InspectionSockets } = await import('./transport/sockets.ts');
    const parts = { open: options.inspect, authMode: auth.mode, guesses, proxies };
    return {
      clients: new SocketServer(tenants, failures, proxies, options),
      inspections: new InspectionSockets(parts),
    };
  };
  const upgrades = new Upgrades(loadSockets, (err) =>
    log.error({ err }, 'gateway: the code that serves WebSockets cannot be loaded'),
  );
  http.on('upgrade', (request, socket, head) => {
    void upgrades.serve(request, socket as Socket, head);
  });
  const port = await listen(http, options);
  const stopTicks = tickEvery(TICK_INTERVAL_MS, clock, () => tenants.connections());
  log.info({ port, host: options.host, auth: auth.mode }, 'gateway: listening');

  let closed: Promise<void> | undefined;
  const close = async ({ reason = 'stopped', restartExpectedMs }: CloseOptions) => {
    const stopped = stopListening(http);
    stopTicks();
    const payload = { reason, ...defined({ restartExpectedMs }) };
    const head = eventHead('shutdown', payload);
    for (const connection of tenants.connections()) connection.event(head);
    // Connections close first, because open tenants publish their ends.
    await upgrades.close(reason);
    await tenants.close();
    await stopped;
  };
  return { port, url: urlOf(options, port), close: (how = {}) => (closed ??= close(how)) };
};

const listen = (http: Server, { host, port }: GatewayOptions): Promise<number> =>
  new Promise((resolve, reject) => {
    http.once('error', (cause: NodeJS.ErrnoException) => reject(listenError(cause, host, port)));
    http.listen(port, host, () => resolve((http.address() as AddressInfo).port));
  });

const listenError = (cause: NodeJS.ErrnoException, host: string, port: number): TroupeError => {
  if (cause.code === 'EADDRINUSE') {
    const message = `port ${port} of ${host} is in use: stop what listens there, or choose another: --port, gateway.port, or port in a call of startTroupe`;
    return new TroupeError('CONFLICT', message, { cause, details: { port, host } });
  }
  const message = `the gateway cannot listen on ${host}:${port}: ${cause.message}`;
  return new TroupeError('UNAVAILABLE', message, { cause, details: { port, host } });
};

/**
 * Finishes the answers in progress, then closes their keep-alive connections. Clients that still
 * send or read after that are disconnected.
 */
const stopListening = (http: Server): Promise<void> =>
  new Promise((resolve) => {
    const sweeping = setInterval(() => http.closeIdleConnections(), SWEEP_MS);
    const leaving = setTimeout(() => http.closeAllConnections(), LAST_ANSWERS_MS);
    http.close(() => {
      clearInterval(sweeping);
      clearTimeout(leaving);
      resolve();
    });
    http.closeIdleConnections();
  });

const urlOf = ({ host, tls }: GatewayOptions, port: number): string => {
  const reachable = host === '0.0.0.0' || host === '::' ? '127.0.0.1' : host;
  return `${tls ? 'https' : 'http'}://${reachable.includes(':') ? `[${reachable}]` : reachable}:${port}/`;
};
