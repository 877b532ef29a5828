/**
 * Doors: one door per tenant, opened when its first client comes (SX4). A connection belongs to one
 * door for its whole life: it is told of that tenant's runs, approvals, devices and clients, and of
 * no other's.
 */
import { randomUUID } from 'node:crypto';
import type { Connection } from '../transport/connection.ts';
import type { Door } from './tenant.ts';
import { type House, type OpenDoor, openDoor } from './open-tenant.ts';
import type { GatewayOptions } from '../options.ts';

export class Doors {
  readonly #house: House;
  readonly #open = new Map<string, OpenDoor>();

  constructor(options: GatewayOptions) {
    this.#house = { options, bootId: randomUUID(), startedAt: options.clock.monotonicMs() };
  }

  /** Tenants are those that the configuration names, so there are few. */
  of(tenant: string): Door {
    const known = this.#open.get(tenant);
    if (known !== undefined) return known.door;
    const opened = openDoor(this.#house, tenant);
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
