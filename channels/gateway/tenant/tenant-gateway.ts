/**
 * One tenant's gateway: the connections of the tenant's clients, and the parts that serve them.
 * `openTenantGateway` creates it. The socket server calls `join` after a successful handshake and
 * `leave` when the socket has closed, and serves each request with `serving`.
 *
 * Boundary: it imports no methods, which are loaded with the first connection.
 */
import type { DeviceGuard } from '../auth/device-guard.ts';
import type { Accepted } from '../auth/handshake.ts';
import type { HelloFacts, helloOk } from '../auth/hello-ok.ts';
import type { TenantDevices } from '../devices/tenant-devices.ts';
import type { Logger } from '../log.ts';
import type { ServeParts } from '../methods/index.ts';
import type { MethodContext } from '../methods/method-context.ts';
import type { Replay } from '../streams/replay.ts';
import type { Connection } from '../transport/connection.ts';
import type { AuditTrail } from './audit-trail.ts';
import type { Presence } from './presence.ts';

/** The parts that a connection joins and leaves. */
export type MembershipParts = {
  /** connections of this tenant that completed the handshake */
  readonly connections: Set<Connection>;
  readonly replay: Pick<Replay, 'joined' | 'left'>;
  readonly presence: Pick<Presence, 'joined' | 'left'>;
  readonly guard: Pick<DeviceGuard, 'joined'>;
  readonly devices: Pick<TenantDevices, 'joined' | 'left'>;
};

export type TenantGatewayParts = {
  readonly membership: MembershipParts;
  readonly hello: HelloFacts;
  /** what methods receive with each request */
  readonly methods: MethodContext;
  readonly audit: AuditTrail;
  readonly log: Logger;
};

export class TenantGateway {
  readonly #parts: TenantGatewayParts;
  /** serves requests of members */
  readonly serving: ServeParts;

  constructor(parts: TenantGatewayParts) {
    this.#parts = parts;
    const { methods: context, audit, log } = parts;
    this.serving = { context, audit, log };
  }

  /** Connections of this tenant that completed the handshake. */
  get connections(): Iterable<Connection> {
    return this.#parts.membership.connections;
  }

  /** Adds the connection and answers its `connect` request with what `answer` returns. */
  join(
    connection: Connection,
    requestId: string,
    accepted: Accepted,
    answer: typeof helloOk,
  ): void {
    const { membership, hello, audit } = this.#parts;
    const { client } = accepted;
    membership.connections.add(connection);
    membership.replay.joined(connection);
    membership.presence.joined(connection);
    connection.respondEncoded(requestId, answer(hello, connection, accepted));
    audit.connected(client, connection.remoteAddress);
    membership.guard.joined(connection);
    if (client.role === 'node') void membership.devices.joined(connection);
  }

  /** Does nothing if the connection is not a member. */
  leave(connection: Connection): void {
    const { connections, replay, devices, presence } = this.#parts.membership;
    if (!connections.delete(connection)) return;
    replay.left(connection);
    devices.left(connection);
    presence.left(connection);
  }

  /** Records in the audit trail that a `connect` request was refused. */
  recordRefusal(clientName: string, remoteAddress: string, code: string): void {
    this.#parts.audit.connectRefused(clientName, remoteAddress, code);
  }
}
