/**
 * Turns HTTP upgrades into connections, performs the handshake of each, and passes its requests to
 * the gateway of its tenant. Owns the set of all connections.
 *
 * Invariants:
 *  1. Before `hello-ok` a client can make the gateway hold 64 KiB for 15 seconds, and an IP 32
 *     times that.
 *  2. A connection has one attempt to authenticate: a refused `connect` ends it.
 */
import { randomUUID } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import type { Socket } from 'node:net';
import { type RawData, type WebSocket, WebSocketServer } from 'ws';
import { describeErrors } from '../../../protocols/check.ts';
import { isTooDeep, JSON_DEPTH_MAX } from '../../../protocols/json-depth.ts';
import {
  checkRequestFrame,
  FRAME_BYTES_MAX,
  type GatewayErrorShape,
  HANDSHAKE_FRAME_BYTES_MAX,
  HANDSHAKE_TIMEOUT_MS,
  type RequestFrame,
} from '../../../protocols/gateway/index.ts';
import type { AuthFailures } from '../auth/failed-attempts.ts';
import { CLOSE, Connection } from './connection.ts';
import { refuseUpgrade } from './refuse-upgrade.ts';
import type { TenantGateway } from '../tenant/tenant-gateway.ts';
import type { TenantGateways } from '../tenant/tenant-gateways.ts';
import type { GatewayOptions } from '../options.ts';
import {
  type ConnectOrigin,
  challengeFrame,
  type HandshakeContext,
  handleConnect,
} from '../auth/handshake.ts';
import {
  CLOSE_GRACE_MS,
  CONNECTIONS_MAX,
  HANDSHAKE_BYTES_MAX,
  UNAUTHENTICATED_PER_IP_MAX,
} from '../limits.ts';
import { accountOf, type AddressList, remoteOf } from '../auth/client-address.ts';
import { helloOk } from '../auth/hello-ok.ts';
import { whoisByTailscale } from '../auth/tailscale.ts';
import { serve } from '../methods/index.ts';

type SocketOptions = Pick<
  GatewayOptions,
  'auth' | 'clock' | 'log' | 'system' | 'tenancy' | 'tenant' | 'whois'
>;

/** A connection that has not completed the handshake. */
type PendingConnection = {
  readonly arrival: Pick<ConnectOrigin, 'remote' | 'nonce'>;
  /**
   * ends the limits of unauthenticated connections; called when it completes the handshake or ends
   */
  readonly end: () => void;
  /** releases its slot while it waits for a turn of AuthFailures, which bounds the waiting ones */
  readonly releaseSlot: () => void;
  /** frames received while `connect` is checked; HANDSHAKE_BYTES_MAX bounds them */
  early: [bytes: RawData, isBinary: boolean][] | undefined;
};

export class SocketServer {
  readonly #all = new Set<Connection>();
  readonly #slotsInUse = new Map<string, number>();
  readonly #pending = new Map<Connection, PendingConnection>();
  readonly #context: HandshakeContext;
  readonly #proxies: AddressList;
  readonly #tenants: TenantGateways;
  readonly #options: SocketOptions;
  readonly #server = new WebSocketServer({
    noServer: true,
    maxPayload: FRAME_BYTES_MAX,
    perMessageDeflate: false,
    clientTracking: false,
  });
  #closing = false;

  constructor(
    tenants: TenantGateways,
    failures: AuthFailures,
    proxies: AddressList,
    options: SocketOptions,
  ) {
    this.#tenants = tenants;
    this.#options = options;
    const { auth, clock, log, system, tenant, tenancy } = options;
    const { whois = whoisByTailscale('tailscale', clock) } = options;
    this.#context = { auth, failures, whois, clock, log, system, tenancy, home: tenant };
    this.#proxies = proxies;
  }

  /** For the HTTP server's `upgrade` event. */
  upgrade(request: IncomingMessage, socket: Socket, head: Buffer): void {
    const remote = remoteOf(request, this.#proxies);
    const path = (request.url ?? '/').split(/[?#]/, 1)[0];
    if (path !== '/') return refuseUpgrade(socket, 404);
    if (this.#closing || this.#all.size >= CONNECTIONS_MAX) return refuseUpgrade(socket, 503);
    if (!this.#hasSlot(accountOf(remote))) return refuseUpgrade(socket, 429);
    this.#server.handleUpgrade(request, socket, head, (ws) =>
      this.#connected(ws, socket, { remote, nonce: randomUUID() }),
    );
  }

  /**
   * Whether the account has a free slot. If not, its oldest connection that has sent nothing is
   * terminated, so that idle connections do not block other clients of their address.
   */
  #hasSlot(account: string): boolean {
    if ((this.#slotsInUse.get(account) ?? 0) < UNAUTHENTICATED_PER_IP_MAX) return true;
    for (const [connection, { arrival, early, end }] of this.#pending) {
      if (early !== undefined || accountOf(arrival.remote) !== account) continue;
      this.#pending.delete(connection);
      end();
      connection.terminate();
      return true;
    }
    return false;
  }

  /** Closes all connections; resolves when all are closed. */
  async close(reason: string): Promise<void> {
    this.#closing = true;
    const gone = [...this.#all].map(
      (connection) => new Promise<void>((resolve) => connection.onClosed(resolve)),
    );
    for (const connection of this.#all) connection.close(CLOSE.restart, reason);
    // Also terminates connections whose closing handshake does not complete.
    const cancel = this.#options.clock.after(CLOSE_GRACE_MS, () => {
      for (const connection of this.#all) connection.terminate();
    });
    await Promise.all(gone);
    cancel();
    this.#server.close();
  }

  #connected(ws: WebSocket, socket: Socket, arrival: PendingConnection['arrival']): void {
    const { clock, log } = this.#options;
    const connection = new Connection(randomUUID(), ws, socket, arrival.remote.address, clock);
    this.#all.add(connection);
    const bounds = this.#limitHandshake(connection, socket, accountOf(arrival.remote));
    this.#pending.set(connection, { arrival, ...bounds, early: undefined });
    ws.on('pong', () => {
      connection.alive = true;
    });
    ws.on('error', (error) => {
      log.debug({ conn: connection.id, err: error }, 'gateway: a connection failed');
    });
    ws.on('close', () => this.#onClosed(connection));
    ws.on('message', (bytes, isBinary) => {
      connection.alive = true;
      const pending = this.#pending.get(connection);
      if (pending === undefined) this.#request(connection, bytes, isBinary);
      else if (pending.early !== undefined) pending.early.push([bytes, isBinary]);
      else this.#onFirstFrame(connection, pending, bytes, isBinary);
    });
    connection.send(challengeFrame(arrival.nonce, clock.wallMs()));
  }

  /** Limits bytes and time until the handshake is complete; `end` removes the limits. */
  #limitHandshake(
    connection: Connection,
    socket: Socket,
    account: string,
  ): Pick<PendingConnection, 'end' | 'releaseSlot'> {
    const releaseSlot = this.#takeSlot(account);
    let bytes = 0;
    const onData = (chunk: Buffer) => {
      bytes += chunk.length;
      if (bytes <= HANDSHAKE_BYTES_MAX) return;
      closeTooBig(connection);
      // Further bytes are not read.
      socket.off('data', onData).pause();
    };
    socket.on('data', onData);
    const cancel = this.#options.clock.after(HANDSHAKE_TIMEOUT_MS, () =>
      connection.close(CLOSE.policy, 'handshake timeout'),
    );
    const end = () => {
      cancel();
      socket.off('data', onData);
      releaseSlot();
    };
    return { end, releaseSlot };
  }

  /** Occupies a slot of the account. The returned function releases it and may be repeated. */
  #takeSlot(account: string): () => void {
    this.#slotsInUse.set(account, (this.#slotsInUse.get(account) ?? 0) + 1);
    let isReleased = false;
    return () => {
      if (isReleased) return;
      isReleased = true;
      const others = (this.#slotsInUse.get(account) ?? 1) - 1;
      if (others === 0) this.#slotsInUse.delete(account);
      else this.#slotsInUse.set(account, others);
    };
  }

  #onFirstFrame(
    connection: Connection,
    pending: PendingConnection,
    bytes: RawData,
    isBinary: boolean,
  ): void {
    // `ws` returns one Buffer by default.
    if ((bytes as Buffer).length > HANDSHAKE_FRAME_BYTES_MAX) return closeTooBig(connection);
    pending.early = [];
    const frame = requestOf(bytes, isBinary);
    if (frame.ok && frame.value.method === 'connect') {
      void this.#handshake(connection, pending, frame.value);
      return;
    }
    const id = frame.ok ? frame.value.id : frame.id;
    const message = frame.ok ? 'the first request must be connect' : frame.message;
    refuseConnect(connection, id, { code: 'INVALID_REQUEST', message });
  }

  /** Never rejects. */
  async #handshake(
    connection: Connection,
    pending: PendingConnection,
    frame: RequestFrame,
  ): Promise<void> {
    const { log, tenant } = this.#options;
    const { id, params } = frame;
    const attempt = { isOpen: () => connection.open, onWait: pending.releaseSlot };
    const result = await handleConnect(this.#context, { ...pending.arrival, ...attempt }, params);
    // The client may have disconnected, or timed out, during the check.
    if (!connection.open) return;
    if (!result.ok) {
      const { error } = result;
      log.warn({ ip: connection.remoteAddress, error }, 'gateway: connect refused');
      const code = (error.details as { code?: string } | undefined)?.code ?? error.code;
      this.#tenants.of(tenant).recordRefusal(nameOf(params), connection.remoteAddress, code);
      return refuseConnect(connection, id, error);
    }
    this.#pending.delete(connection);
    pending.end();
    const { client } = result;
    connection.client = client;
    this.#tenants.of(client.tenant).join(connection, id, result, helloOk);
    for (const [bytes, isBinary] of pending.early ?? []) {
      this.#request(connection, bytes, isBinary);
    }
  }

  /** Requests on a closing connection are ignored, because the client may have lost its rights. */
  #request(connection: Connection, bytes: RawData, isBinary: boolean): void {
    if (!connection.open) return;
    const tenant = this.#tenantOf(connection);
    if (tenant === undefined) return;
    const frame = requestOf(bytes, isBinary);
    if (frame.ok) void serve(tenant.serving, connection, frame.value);
    else connection.refuse(frame.id, { code: 'INVALID_REQUEST', message: frame.message });
  }

  /** Undefined until the handshake has completed. */
  #tenantOf({ client }: Connection): TenantGateway | undefined {
    return client && this.#tenants.of(client.tenant);
  }

  #onClosed(connection: Connection): void {
    connection.ended();
    this.#all.delete(connection);
    this.#pending.get(connection)?.end();
    this.#pending.delete(connection);
    this.#tenantOf(connection)?.leave(connection);
  }
}

/** The client id that an unauthenticated client claims. */
const nameOf = (params: unknown): string => {
  const { client } = (params ?? {}) as { readonly client?: { readonly id?: unknown } | null };
  return typeof client?.id === 'string' ? client.id.slice(0, 64) : 'unknown';
};

const closeTooBig = (connection: Connection): void =>
  connection.close(
    CLOSE.tooBig,
    `a frame before hello-ok has at most ${HANDSHAKE_FRAME_BYTES_MAX} bytes`,
  );

/** Answers a refused `connect`, then closes the connection. */
const refuseConnect = (connection: Connection, id: string, error: GatewayErrorShape): void => {
  connection.refuse(id, error);
  connection.close(CLOSE.policy, error.message);
};

type Parsed =
  | { readonly ok: true; readonly value: RequestFrame }
  | { readonly ok: false; readonly id: string; readonly message: string };

/** `id` of an invalid frame: its own if it has one, so that the client can correlate the error. */
const requestOf = (bytes: RawData, isBinary: boolean): Parsed => {
  if (isBinary) return { ok: false, id: 'invalid', message: 'invalid frame: send JSON text' };
  const text = textOf(bytes);
  if (isTooDeep(text)) {
    const message = `invalid frame: it is nested more than ${JSON_DEPTH_MAX} deep`;
    return { ok: false, id: 'invalid', message };
  }
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    return { ok: false, id: 'invalid', message: 'invalid frame: this is not JSON' };
  }
  const checked = checkRequestFrame(value);
  if (checked.ok) return { ok: true, value: checked.value };
  const id = (value as { id?: unknown } | null)?.id;
  return {
    ok: false,
    id: typeof id === 'string' && id !== '' ? id.slice(0, 200) : 'invalid',
    message: `invalid request frame: ${describeErrors(checked.errors)}`,
  };
};

/** `ws` returns one Buffer by default. */
const textOf = (bytes: RawData): string => (bytes as Buffer).toString('utf8');
