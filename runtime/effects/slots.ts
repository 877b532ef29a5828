/**
 * Slots: which effects may run now, in total and per tenant. Past the total limit, effects wait in
 * one fair queue; past the limit of its tenant, an effect waits with its tenant only and does not
 * delay others.
 *
 * Boundary: it knows no effects; the holder of a slot releases it.
 *
 * Invariants: no limit is exceeded. A tenant that waits for its own limit holds that many slots, or
 * places in the fair queue, and each is released eventually, so no tenant starves.
 */
import { TroupeError } from '../../protocols/errors.ts';
import { FairQueue, type Place } from '../fairness/fair-queue.ts';

export type SlotsOptions = {
  /** effects running at once */
  readonly max: number;
  /** of one tenant, read at each use if it is a function; default no limit */
  readonly tenantMax?: number | (() => number) | undefined;
  readonly weightOf: (tenant: string) => number;
};

/** A waiting or running effect; opaque to its holder. */
export type Slot = {
  readonly tenant: string;
  readonly actor: string;
  readonly begin: () => void;
  state: 'held' | 'waiting' | 'begun' | 'gone';
  place?: Place<Slot> | undefined;
};

type Tenant = {
  /** slots and places in the fair queue */
  taken: number;
  /** beyond its limit; actors take turns */
  readonly held: FairQueue<Slot>;
};

export class Slots {
  readonly #max: number;
  readonly #tenantMax: () => number;
  /** No bound of its own: what is here is an open intent, and those are bounded per actor (J1). */
  readonly #waiting: FairQueue<Slot>;
  readonly #tenants = new Map<string, Tenant>();
  #begun = 0;
  #closed = false;

  /** @throws TroupeError INVALID_ARGUMENT for a limit below 1 */
  constructor({ max, tenantMax = Number.POSITIVE_INFINITY, weightOf }: SlotsOptions) {
    const limit = typeof tenantMax === 'function' ? tenantMax : () => tenantMax;
    if (!(max >= 1 && limit() >= 1))
      throw new TroupeError(
        'INVALID_ARGUMENT',
        `at least 1 effect must be able to run, of all and of each tenant; not ${Math.min(max, limit())}`,
      );
    this.#max = max;
    this.#tenantMax = limit;
    this.#waiting = new FairQueue({ weightOf });
  }

  /** Calls `begin` once there is room: before it answers, or some time later. */
  take(tenant: string, actor: string, begin: (slot: Slot) => void): Slot {
    const slot: Slot = { tenant, actor, begin: () => begin(slot), state: 'held' };
    const of = this.#tenantOf(tenant);
    if (of.held.size === 0 && of.taken < this.#tenantMax()) this.#admit(slot, of);
    else slot.place = of.held.push(tenant, actor, slot);
    return slot;
  }

  /** Stops waiting. An effect that has begun keeps its slot until it ends. */
  withdraw(slot: Slot): void {
    const { state, tenant, place } = slot;
    if (state !== 'held' && state !== 'waiting') return;
    slot.state = 'gone';
    const of = this.#tenantOf(tenant);
    if (state === 'held') of.held.remove(place!);
    else {
      this.#waiting.remove(place!);
      this.#leaveTenant(tenant, of);
    }
  }

  /** Releases the slot of an effect that has ended. */
  leave(slot: Slot): void {
    if (slot.state !== 'begun') return;
    slot.state = 'gone';
    this.#begun--;
    const next = this.#closed ? undefined : this.#waiting.shift();
    if (next) this.#begin(next);
    this.#leaveTenant(slot.tenant, this.#tenantOf(slot.tenant));
  }

  /** Nothing begins any more. */
  close(): void {
    this.#closed = true;
  }

  #tenantOf(name: string): Tenant {
    let tenant = this.#tenants.get(name);
    if (!tenant) this.#tenants.set(name, (tenant = { taken: 0, held: new FairQueue() }));
    return tenant;
  }

  #admit(slot: Slot, of: Tenant): void {
    of.taken++;
    if (this.#begun < this.#max) return this.#begin(slot);
    slot.state = 'waiting';
    slot.place = this.#waiting.push(slot.tenant, slot.actor, slot);
  }

  #begin(slot: Slot): void {
    slot.state = 'begun';
    slot.place = undefined;
    this.#begun++;
    slot.begin();
  }

  #leaveTenant(name: string, of: Tenant): void {
    of.taken--;
    while (!this.#closed && of.held.size > 0 && of.taken < this.#tenantMax())
      this.#admit(of.held.shift()!, of);
    if (of.taken === 0 && of.held.size === 0) this.#tenants.delete(name);
  }
}
