/**
 * Enforces revocations: closes the connections of a removed device, and those of a role whose token
 * was revoked or replaced. The change may come through any gateway.
 *
 * Guarantee: connections close when the Bus delivers the notice. If it is lost, they close within
 * GUARD_INTERVAL_MS, when the rows of connected devices are read again.
 */
import {
  type DeviceNotice,
  type DeviceRole,
  type DeviceRow,
  DEVICES_INDEX,
  devicesTopic,
} from '../../../protocols/device.ts';
import type { Clock, System } from '../../../runtime/index.ts';
import { type Client, CLOSE, type Connection } from '../transport/connection.ts';
import { GUARD_INTERVAL_MS, GUARD_SPARES_MS } from '../limits.ts';

export type DeviceGuardOptions = {
  readonly system: Pick<System, 'index' | 'bus'>;
  readonly tenant: string;
  /** the tenant's connections that completed the handshake */
  readonly connections: ReadonlySet<Connection>;
  readonly clock: Clock;
};

export class DeviceGuard {
  readonly #o: DeviceGuardOptions;
  readonly #stopListening: () => void;
  /**
   * connections that removed their own rights, with the time until which they may receive the
   * answer
   */
  readonly #spared = new Map<Connection, number>();
  #cancelCheck: (() => void) | undefined;
  #isClosed = false;

  constructor(options: DeviceGuardOptions) {
    this.#o = options;
    const { system, tenant } = options;
    this.#stopListening = system.bus.subscribe(devicesTopic(tenant), ({ payload }) =>
      // protocols/device.ts defines the payload of this topic.
      this.#onNotice(payload as DeviceNotice),
    );
  }

  /** A client completed the handshake. Starts the periodic check if the client is a device. */
  joined({ client }: Connection): void {
    if (client?.deviceId !== undefined) this.#checkLater();
  }

  /** Keeps a connection that removes its own rights open until it has received the answer. */
  spare(connection: Connection): void {
    this.#spared.set(connection, this.#o.clock.monotonicMs() + GUARD_SPARES_MS);
  }

  close(): void {
    this.#isClosed = true;
    this.#stopListening();
    this.#cancelCheck?.();
    this.#spared.clear();
  }

  #onNotice(notice: DeviceNotice): void {
    if (notice.type !== 'device.changed') return;
    if (notice.what === 'removed') this.#end(notice.deviceId, undefined, 'device removed');
    if (notice.what === 'revoked') this.#end(notice.deviceId, notice.role, 'device token revoked');
  }

  #end(deviceId: string, role: DeviceRole | undefined, why: string): void {
    const now = this.#o.clock.monotonicMs();
    for (const connection of this.#o.connections) {
      const { client } = connection;
      if (client?.deviceId !== deviceId || !isPaired(client)) continue;
      if (role !== undefined && client.role !== role) continue;
      if ((this.#spared.get(connection) ?? 0) > now) continue;
      connection.close(CLOSE.policy, why);
    }
  }

  /** Repeats while a device is connected. */
  #checkLater(): void {
    if (this.#isClosed) return;
    this.#cancelCheck ??= this.#o.clock.after(GUARD_INTERVAL_MS, () => {
      this.#cancelCheck = undefined;
      this.#check();
    });
  }

  #check(): void {
    const now = this.#o.clock.monotonicMs();
    for (const [connection, until] of this.#spared) {
      if (until <= now) this.#spared.delete(connection);
    }
    let devices = 0;
    const { system, tenant, connections } = this.#o;
    for (const connection of connections) {
      const { client } = connection;
      if (client?.deviceId === undefined || !isPaired(client)) continue;
      devices++;
      const row = system.index.get<DeviceRow>(DEVICES_INDEX, tenant, client.deviceId);
      if (!mayStay(client, row)) connection.close(CLOSE.policy, 'device no longer approved');
    }
    if (devices > 0) this.#checkLater();
  }
}

/** A proxy or Tailscale authenticates all other clients at each connect. */
const isPaired = ({ method, role }: Client): boolean =>
  role === 'node' || (method !== 'trusted-proxy' && method !== 'tailscale');

const mayStay = ({ role, method, tokenHash }: Client, row: DeviceRow | undefined): boolean => {
  const grant = row?.roles[role];
  return grant !== undefined && (method !== 'device-token' || grant.tokenHash === tokenHash);
};
