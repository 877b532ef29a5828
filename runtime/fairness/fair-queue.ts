/**
 * FairQueue: waiting items of many tenants, served by deficit round robin (Shreedhar, Varghese:
 * Efficient Fair Queueing using Deficit Round Robin, 1995) over the tenants, and within a tenant
 * over its actors. So neither a flooding tenant nor one hot actor delays others by more than a
 * round.
 *
 * Boundary: it has no clock and resumes no caller; its user starts and ends waits.
 *
 * Invariants: items of one actor leave in order. Only waiting flows hold credit, so idle time gives
 * none. No bound is exceeded (I8).
 */
import { TroupeError } from '../../protocols/errors.ts';
import { Flow, Ring } from './ring.ts';

/** The maximum number of waiting items, and their maximum total cost. */
export type Bound = { readonly items: number; readonly cost: number };

export type FairQueueOptions = {
  /** relative share of a tenant; positive; default 1 for each */
  readonly weightOf?: (tenant: string) => number;
  /**
   * cost that a tenant of weight 1 may use in one round, and an actor in its tenant's; default 1.
   * Small is smooth; an item that costs n times as much needs n rounds.
   */
  readonly quantum?: number;
  /** of one tenant; default unbounded */
  readonly tenantMax?: Bound;
  /** of all together; default unbounded */
  readonly totalMax?: Bound;
};

/** A place in the queue, for `remove`. */
export type Place<T> = { readonly item: T; readonly cost: number };

export const UNBOUNDED: Bound = {
  items: Number.POSITIVE_INFINITY,
  cost: Number.POSITIVE_INFINITY,
};

type Load = { items: number; cost: number };

export class FairQueue<T> {
  readonly #weightOf: (tenant: string) => number;
  readonly #quantum: number;
  readonly #tenantMax: Bound;
  readonly #totalMax: Bound;
  readonly #tenants = new Map<string, Tenant<T>>();
  readonly #ring: Ring<Tenant<T>>;
  readonly #load: Load = { items: 0, cost: 0 };
  /** of the waiting tenants */
  #weights = 0;

  constructor(options: FairQueueOptions = {}) {
    this.#weightOf = options.weightOf ?? (() => 1);
    this.#quantum = options.quantum ?? 1;
    this.#tenantMax = options.tenantMax ?? UNBOUNDED;
    this.#totalMax = options.totalMax ?? UNBOUNDED;
    this.#ring = new Ring(this.#quantum);
  }

  get size(): number {
    return this.#load.items;
  }

  get cost(): number {
    return this.#load.cost;
  }

  /** Items of one tenant that wait. */
  sizeOf(tenant: string): number {
    return this.#tenants.get(tenant)?.load.items ?? 0;
  }

  /** The tenant's share of the service while all current tenants wait, above 0, at most 1. */
  shareOf(tenant: string): number {
    const waiting = this.#tenants.get(tenant);
    if (waiting) return waiting.weight / this.#weights;
    const weight = this.#weightOf(tenant);
    return weight / (this.#weights + weight);
  }

  /** The bound that another item would exceed; undefined if there is space. */
  boundAgainst(tenant: string, cost = 1): 'tenant' | 'total' | undefined {
    const load = this.#tenants.get(tenant)?.load;
    if (load && passes(load, cost, this.#tenantMax)) return 'tenant';
    return passes(this.#load, cost, this.#totalMax) ? 'total' : undefined;
  }

  /**
   * Appends an item; undefined when a bound would be exceeded. A first item of a tenant is bounded
   * by `totalMax` only.
   */
  push(tenant: string, actor: string, item: T, cost = 1): Place<T> | undefined {
    if (this.boundAgainst(tenant, cost)) return undefined;
    const waiting = this.#tenants.get(tenant) ?? this.#enter(tenant);
    this.#weigh(waiting);
    const place = waiting.push(actor, item, cost);
    add(this.#load, 1, cost);
    return place;
  }

  /** The item that `shift` returns next, unless items are added or removed before. */
  peek(): T | undefined {
    return this.#ring.next()?.head?.item;
  }

  shift(): T | undefined {
    const tenant = this.#ring.next();
    const place = tenant?.head;
    if (!tenant || !place) return undefined;
    this.#weigh(tenant);
    this.#ring.charge(tenant, place.cost);
    tenant.charge(place);
    this.#take(place);
    return place.item;
  }

  /** Removes an item out of order; false when it has left already. Costs its tenant nothing. */
  remove(place: Place<T>): boolean {
    const entry = place as Entry<T>;
    if (entry.actor === undefined) return false;
    this.#take(entry);
    return true;
  }

  /** Removes all items, in the order in which they would have been served. */
  drain(): T[] {
    const all: T[] = [];
    while (this.size > 0) all.push(this.shift()!);
    return all;
  }

  #enter(name: string): Tenant<T> {
    const tenant = new Tenant<T>(name, this.#weightOf(name), this.#quantum);
    this.#tenants.set(name, tenant);
    this.#ring.add(tenant);
    this.#weights += tenant.weight;
    return tenant;
  }

  /** Applies a weight that was changed while the tenant waits, from its next visit on. */
  #weigh(tenant: Tenant<T>): void {
    const weight = this.#weightOf(tenant.name);
    this.#weights += weight - tenant.weight;
    tenant.weight = weight;
  }

  #take(entry: Entry<T>): void {
    const { tenant } = entry.actor!;
    tenant.take(entry);
    add(this.#load, -1, -entry.cost);
    if (tenant.load.items > 0) return;
    this.#tenants.delete(tenant.name);
    this.#ring.delete(tenant);
    // Sums of fractions drift: without waiting items it is exactly 0.
    this.#weights = this.#tenants.size === 0 ? 0 : this.#weights - tenant.weight;
    if (this.size === 0) this.#load.cost = 0;
  }
}

class Tenant<T> extends Flow {
  readonly name: string;
  readonly load: Load = { items: 0, cost: 0 };
  readonly #actors = new Map<string, Actor<T>>();
  readonly #ring: Ring<Actor<T>>;

  constructor(name: string, weight: number, quantum: number) {
    super(weight);
    this.name = name;
    this.#ring = new Ring(quantum);
  }

  get head(): Entry<T> | undefined {
    return this.#ring.next()?.head;
  }

  get headCost(): number {
    return this.head!.cost;
  }

  push(name: string, item: T, cost: number): Entry<T> {
    let actor = this.#actors.get(name);
    if (!actor) {
      actor = new Actor(this, name);
      this.#actors.set(name, actor);
    }
    const entry: Entry<T> = { item, cost, actor, before: actor.tail, after: undefined };
    if (actor.tail) actor.tail.after = entry;
    else actor.head = entry;
    actor.tail = entry;
    if (actor.head === entry) this.#ring.add(actor);
    add(this.load, 1, cost);
    return entry;
  }

  charge({ actor, cost }: Entry<T>): void {
    this.#ring.charge(actor!, cost);
  }

  take(entry: Entry<T>): void {
    const actor = entry.actor!;
    actor.unlink(entry);
    add(this.load, -1, -entry.cost);
    if (actor.head) return;
    this.#actors.delete(actor.name);
    this.#ring.delete(actor);
  }
}

class Actor<T> extends Flow {
  readonly tenant: Tenant<T>;
  readonly name: string;
  head: Entry<T> | undefined;
  tail: Entry<T> | undefined;

  constructor(tenant: Tenant<T>, name: string) {
    super(1);
    this.tenant = tenant;
    this.name = name;
  }

  get headCost(): number {
    return this.head!.cost;
  }

  unlink(entry: Entry<T>): void {
    if (entry.before) entry.before.after = entry.after;
    else this.head = entry.after;
    if (entry.after) entry.after.before = entry.before;
    else this.tail = entry.before;
    entry.actor = undefined;
  }
}

type Entry<T> = Place<T> & {
  /** the flow of the item while it waits */
  actor: Actor<T> | undefined;
  before: Entry<T> | undefined;
  after: Entry<T> | undefined;
};

const passes = (load: Load, cost: number, max: Bound): boolean =>
  load.items + 1 > max.items || load.cost + cost > max.cost;

const add = (load: Load, items: number, cost: number): void => {
  load.items += items;
  load.cost += cost;
};

const WEIGHT = { min: 0.01, max: 100 };

/**
 * Relative shares of tenants, 0.01 to 100 each; who is not named has 1. A function is called
 * whenever a weight is needed, so its shares can change.
 */
export type TenantWeights =
  | Readonly<Record<string, number>>
  | (() => Readonly<Record<string, number>>);

/**
 * Weights by tenant as a function. What a function returns is kept within the bounds.
 * @throws TroupeError INVALID_ARGUMENT when a fixed weight is not a number from 0.01 to 100
 */
export function weightsOf(weights: TenantWeights = {}): (tenant: string) => number {
  if (typeof weights === 'function')
    return (tenant) => {
      const now = weights();
      const weight = Object.hasOwn(now, tenant) ? now[tenant]! : 1;
      return Math.min(Math.max(weight, WEIGHT.min), WEIGHT.max);
    };
  const byTenant = new Map(Object.entries(weights));
  for (const [tenant, weight] of byTenant) {
    if (weight >= WEIGHT.min && weight <= WEIGHT.max) continue;
    throw new TroupeError(
      'INVALID_ARGUMENT',
      `the weight of tenant '${tenant}' is ${weight}; it must be ${WEIGHT.min} to ${WEIGHT.max}`,
    );
  }
  return (tenant) => byTenant.get(tenant) ?? 1;
}
