/**
 * One TenantGateway per tenant, created when its first client connects. A connection belongs to one
 * of them for its whole life: it receives events of that tenant's runs, approvals, devices and
 * clients, and of no other tenant's.
 */
import { randomUUID } from 'node:crypto';
import type { Connection } from '../transport/connection.ts';
import type { TenantGateway } from './tenant-gateway.ts';
import {
  type SharedParts,
  type OpenTenantGateway,
  openTenantGateway,
} from './open-tenant-gateway.ts';
import type { GatewayOptions } from '../options.ts';

export class TenantGateways {
  readonly #shared: SharedParts;
  readonly #open = new Map<string, OpenTenantGateway>();

  constructor(options: GatewayOptions) {
    this.#shared = { options, bootId: randomUUID(), startedAt: options.clock.monotonicMs() };
  }

  /** The map stays small: the configuration names every tenant. */
  of(tenant: string): TenantGateway {
    const open = this.#open.get(tenant);
    if (open !== undefined) return open.gateway;
    const opened = openTenantGateway(this.#shared, tenant);
    this.#open.set(tenant, opened);
    return opened.gateway;
  }

  /** Connections of every tenant that completed the handshake. */
  *connections(): Generator<Connection> {
    for (const { gateway } of this.#open.values()) yield* gateway.connections;
  }

  async close(): Promise<void> {
    await Promise.all([...this.#open.values()].map(({ close }) => close()));
  }
}
