/**
 * The gateway: the WebSocket door for people and their programs (GW1, GW2, GW5), with health and
 * the web page over HTTP on the same port.
 *
 * Boundary: reaches actors by `System` only and keeps nothing that matters: when it dies no run
 * ends, and a client that connects to the next one finds everything again (GW6, AL9).
 */
import { randomUUID } from 'node:crypto';
import { createServer, type Server } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import { TroupeError } from '../../protocols/errors.ts';
import { TICK_INTERVAL_MS } from '../../protocols/gateway/index.ts';
import { type RunEvent, runEventsOfTenant } from '../../protocols/session.ts';
import type { Clock, System } from '../../runtime/index.ts';
import { routeListener, SERVER_OPTIONS } from '../http/listener.ts';
import type { Route } from '../http/route.ts';
import { assertAuthFits, type GatewayAuth } from './access.ts';
import { type Connection, eventHead } from './connection.ts';
import { ApprovalBook } from './approval-book.ts';
import { CommandDesk, type OnCommand } from './command-desk.ts';
import { type Door, type OnMessage, OPERATOR } from './door.ts';
import { httpListener } from './http.ts';
import type { Logger } from './log.ts';
import { MessageCounts } from './message-counts.ts';
import { Presence } from './presence.ts';
import { RunBlocks } from './run-blocks.ts';
import { RunBook } from './run-book.ts';
import { RunEvents } from './run-events.ts';
import type { AgentNames } from './session-key.ts';
import { SocketServer } from './socket-server.ts';
import { readPage } from './web-page.ts';

export type GatewayOptions = AgentNames & {
  readonly system: System;
  /** 0 takes a free one */
  readonly port: number;
  readonly host: string;
  readonly auth: GatewayAuth;
  readonly tenant: string;
  /** of troupe, told to clients */
  readonly version: string;
  /** folder of the built page; without it there is no page */
  readonly webRoot?: string;
  /** plain HTTP beside the page */
  readonly routes?: readonly Route[];
  /** hooks of commands (AL6) */
  readonly onCommand?: OnCommand;
  /** hooks of messages (AL6) */
  readonly onMessage?: OnMessage;
  readonly log: Logger;
  readonly clock: Clock;
};

export type Gateway = {
  readonly port: number;
  /** of the page, without a secret */
  readonly url: string;
  /** Tells every client why, closes the connections and the port. Runs go on. May be repeated. */
  close(options?: CloseOptions): Promise<void>;
};

export type CloseOptions = { readonly reason?: string; readonly restartExpectedMs?: number };

/** While it stops: between two looks for connections whose answer has ended, */
const SWEEP_MS = 20;
/** and until whoever is still sending or reading is left. */
const LAST_ANSWERS_MS = 2_000;

/**
 * Resolves when the port is open.
 * @throws TroupeError INVALID_ARGUMENT for a public bind without authentication or a missing
 * secret;
 *   CONFLICT when the port is taken; UNAVAILABLE when the address can not be bound
 */
export const startGateway = async (options: GatewayOptions): Promise<Gateway> => {
  assertAuthFits(options.auth, options.host);
  const { system, clock, tenant, log } = options;
  const ready = new Set<Connection>();
  const { door, close: closeDoor } = openDoor(options, ready);
  const sockets = new SocketServer(door, options.auth, ready);
  const page = readPage(options.webRoot);
  const routes = routeListener({ routes: options.routes ?? [], log });
  const http = createServer(
    SERVER_OPTIONS,
    httpListener({ system, page, routes, authMode: options.auth.mode }),
  );
  http.on('upgrade', (request, socket, head) => sockets.upgrade(request, socket as Socket, head));
  const port = await listen(http, options);
  // The type of what travels on this topic is a contract of protocols/session.ts.
  const unsubscribe = system.bus.subscribe(runEventsOfTenant(tenant), ({ payload }) =>
    hear(door, payload as RunEvent),
  );
  const stopTicks = tickEvery(TICK_INTERVAL_MS, clock, ready);
  log.info({ port, host: options.host, auth: options.auth.mode }, 'gateway: listening');

  let closed: Promise<void> | undefined;
  const close = async ({ reason = 'stopped', restartExpectedMs }: CloseOptions) => {
    const stopped = stopListening(http);
    unsubscribe();
    stopTicks();
    const payload = { reason, ...(restartExpectedMs === undefined ? {} : { restartExpectedMs }) };
    const head = eventHead('shutdown', payload);
    for (const connection of ready) connection.event(head);
    closeDoor();
    await sockets.close(reason);
    await stopped;
  };
  return { port, url: urlOf(options.host, port), close: (how = {}) => (closed ??= close(how)) };
};

/** What the methods share. `ready`: the connections that get events, as they come and go. */
const openDoor = (
  options: GatewayOptions,
  ready: ReadonlySet<Connection>,
): { readonly door: Door; readonly close: () => void } => {
  const { system, clock, tenant, log } = options;
  const blocks = new RunBlocks(clock);
  const events = new RunEvents(ready, clock, blocks);
  const runs = new RunBook(system.index, tenant, clock, events);
  const presence = new Presence(ready, clock);
  const approvals = new ApprovalBook(system.index, tenant, clock, ready);
  const commands = new CommandDesk({
    system,
    tenant,
    names: options,
    clock,
    log,
    runs,
    principal: OPERATOR,
    connections: ready,
    tell: (end, connections) => events.tellEnd(end, connections),
    onCommand: options.onCommand,
  });
  const door: Door = {
    system,
    tenant,
    names: options,
    authMode: options.auth.mode,
    version: options.version,
    clock,
    log,
    runs,
    presence,
    approvals,
    blocks,
    commands,
    counts: new MessageCounts(),
    onMessage: options.onMessage,
    bootId: randomUUID(),
    startedAt: clock.monotonicMs(),
  };
  const close = () => {
    for (const part of [events, runs, presence, approvals]) part.close();
  };
  return { door, close };
};

const hear = ({ runs, approvals }: Door, event: RunEvent): void => {
  runs.heard(event);
  if (event.stream === 'tool' && event.phase === 'approval') approvals.heard(event.approvalId);
};

const listen = (http: Server, { host, port }: GatewayOptions): Promise<number> =>
  new Promise((resolve, reject) => {
    http.once('error', (cause: NodeJS.ErrnoException) => reject(listenError(cause, host, port)));
    http.listen(port, host, () => resolve((http.address() as AddressInfo).port));
  });

const listenError = (cause: NodeJS.ErrnoException, host: string, port: number): TroupeError => {
  if (cause.code === 'EADDRINUSE') {
    const message = `port ${port} of ${host} is in use: stop what listens there, or choose another with --port`;
    return new TroupeError('CONFLICT', message, { cause, details: { port, host } });
  }
  const message = `the gateway can not listen on ${host}:${port}: ${cause.message}`;
  return new TroupeError('UNAVAILABLE', message, { cause, details: { port, host } });
};

/**
 * Answers that are under way are told to their end, and their connections closed then, which would
 * else stay for the next request. Whoever is still sending or reading after that is left.
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

/** `tick` to everybody; who did not answer the ping of the last one is gone. */
const tickEvery = (
  intervalMs: number,
  clock: Clock,
  connections: ReadonlySet<Connection>,
): (() => void) => {
  let cancel = clock.after(intervalMs, tick);
  function tick(): void {
    const head = eventHead('tick', { ts: clock.wallMs() });
    for (const connection of connections) {
      if (!connection.alive) {
        connection.terminate();
        continue;
      }
      connection.event(head);
      connection.ping();
    }
    cancel = clock.after(intervalMs, tick);
  }
  return () => cancel();
};

const urlOf = (host: string, port: number): string => {
  const reachable = host === '0.0.0.0' || host === '::' ? '127.0.0.1' : host;
  return `http://${reachable.includes(':') ? `[${reachable}]` : reachable}:${port}/`;
};
