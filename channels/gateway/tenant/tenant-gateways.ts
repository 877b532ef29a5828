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
  readonly #house: SharedParts;
  readonly #open = new Map<string, OpenTenantGateway>();

  constructor(options: GatewayOptions) {
    this.#house = { options, bootId: randomUUID(), startedAt: options.clock.monotonicMs() };
  }

  /** Tenants are those that the configuration names, so there are few. */
  of(tenant: string): TenantGateway {
    const known = this.#open.get(tenant);
    if (known !== undefined) return known.door;
    const opened = openTenantGateway(this.#house, tenant);
    this.#open.set(tenant, opened);
    return opened.door;
  }

  /** Connections that have said hello, of every tenant. */
  *connections(): Generator<Connection> {
    for (const { door } of this.#open.values()) yield* door.connections;
  }

  async close(): Promise<void> {
    await Promise.all([...this.#open.values()].map(({ close }) => close()));
  }
}
