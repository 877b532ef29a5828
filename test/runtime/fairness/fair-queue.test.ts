/** Deficit round robin over tenants and their actors. */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { FairQueue, weightsOf } from '../../../runtime/fairness/fair-queue.ts';

type Item = { readonly tenant: string; readonly actor: string; readonly n: number; cost: number };

const TENANTS = ['a', 'b', 'c'];
const someItem = fc.record({
  tenant: fc.constantFrom(...TENANTS),
  actor: fc.constantFrom('x', 'y'),
  cost: fc.integer({ min: 1, max: 9 }),
});
const weights = fc.record({
  a: fc.constantFrom(0.5, 1, 2, 3),
  b: fc.constantFrom(0.5, 1, 2, 3),
  c: fc.constantFrom(0.5, 1, 2, 3),
});

const fill = (queue: FairQueue<Item>, tenant: string, actor: string, count: number, cost = 1) => {
  for (let n = 0; n < count; n++) queue.push(tenant, actor, { tenant, actor, n, cost }, cost);
};
const serve = (queue: FairQueue<Item>, count: number) =>
  Array.from({ length: count }, () => queue.shift()!);
const costOf = (items: readonly Item[], tenant: string) =>
  items.filter((item) => item.tenant === tenant).reduce((sum, { cost }) => sum + cost, 0);

describe('shares', () => {
  it("of the service follow the weights while all wait, regardless of the items' costs", () => {
    fc.assert(
      fc.property(
        weights,
        fc.array(fc.integer({ min: 1, max: 9 }), { minLength: 1 }),
        (shares, costs) => {
          const queue = new FairQueue<Item>({ weightOf: weightsOf(shares) });
          for (const tenant of TENANTS)
            for (let n = 0; n < 600; n++) fill(queue, tenant, 'x', 1, costs[n % costs.length]);
          const served = serve(queue, 600);
          const perWeight = TENANTS.map(
            (tenant) => costOf(served, tenant) / shares[tenant as keyof typeof shares],
          );
          // One item's cost, and one round's credit, over the least weight.
          expect(Math.max(...perWeight) - Math.min(...perWeight)).toBeLessThan((9 + 3) / 0.5);
        },
      ),
      { numRuns: 60 },
    );
  });

  it('of a tenant do not grow while it is idle', () => {
    const queue = new FairQueue<Item>();
    fill(queue, 'a', 'x', 200);
    serve(queue, 100);
    fill(queue, 'b', 'x', 100);
    const served = serve(queue, 20);
    expect(costOf(served, 'b')).toBe(10);
  });

  it('of a tenant are divided among its actors', () => {
    const queue = new FairQueue<Item>();
    fill(queue, 'a', 'hot', 1_000);
    fill(queue, 'a', 'calm', 3);
    fill(queue, 'b', 'x', 1_000);
    const served = serve(queue, 12);
    expect(served.filter(({ actor }) => actor === 'calm')).toHaveLength(3);
    expect(costOf(served, 'b')).toBe(6);
  });

  it('are reported: the share of a tenant while the same tenants wait', () => {
    const queue = new FairQueue<Item>({ weightOf: weightsOf({ a: 3 }) });
    expect(queue.shareOf('a')).toBe(1);
    fill(queue, 'a', 'x', 1);
    fill(queue, 'b', 'x', 1);
    expect([queue.shareOf('a'), queue.shareOf('b'), queue.shareOf('c')]).toEqual([0.75, 0.25, 0.2]);
  });
});

it('no tenant starves: the tenant with the lowest weight is served among floods of heavy ones', () => {
  const queue = new FairQueue<Item>({ weightOf: weightsOf({ a: 100, b: 0.01 }) });
  fill(queue, 'a', 'x', 11_000);
  fill(queue, 'b', 'x', 1);
  expect(costOf(serve(queue, 10_001), 'b')).toBe(1);
});

type Command =
  | { readonly kind: 'push'; readonly item: { tenant: string; actor: string; cost: number } }
  | { readonly kind: 'shift' }
  | { readonly kind: 'remove'; readonly which: number };
const command: fc.Arbitrary<Command> = fc.oneof(
  { weight: 3, arbitrary: someItem.map((item) => ({ kind: 'push' as const, item })) },
  { weight: 2, arbitrary: fc.constant({ kind: 'shift' as const }) },
  { weight: 1, arbitrary: fc.nat(50).map((which) => ({ kind: 'remove' as const, which })) },
);

it('keeps order per actor, its bounds and its sums, for any sequence of operations', () => {
  const tenantMax = { items: 6, cost: 30 };
  const totalMax = { items: 12, cost: 60 };
  fc.assert(
    fc.property(weights, fc.array(command, { maxLength: 200 }), (shares, commands) => {
      const queue = new FairQueue<Item>({ weightOf: weightsOf(shares), tenantMax, totalMax });
      let places: NonNullable<ReturnType<typeof queue.push>>[] = [];
      const sum = (tenant?: string) => {
        const items = places.filter(({ item }) => !tenant || item.tenant === tenant);
        return { items: items.length, cost: items.reduce((all, { cost }) => all + cost, 0) };
      };
      const fits = ({ tenant, cost }: Item) =>
        [[sum(tenant), tenantMax] as const, [sum(), totalMax] as const].every(
          ([load, max]) => load.items < max.items && load.cost + cost <= max.cost,
        );
      commands.forEach((step, n) => {
        if (step.kind === 'push') {
          const item = { ...step.item, n };
          const expected = fits(item);
          const place = queue.push(item.tenant, item.actor, item, item.cost);
          expect(place !== undefined).toBe(expected);
          if (place) places.push(place);
        } else if (step.kind === 'shift') {
          const peeked = queue.peek();
          const item = queue.shift();
          expect(item).toBe(peeked);
          expect(item === undefined).toBe(places.length === 0);
          const oldest = places.find(
            (place) => place.item.tenant === item?.tenant && place.item.actor === item.actor,
          );
          expect(oldest?.item).toBe(item);
          places = places.filter((place) => place.item !== item);
        } else {
          const place = places[step.which];
          if (!place) return;
          expect([queue.remove(place), queue.remove(place)]).toEqual([true, false]);
          places.splice(step.which, 1);
        }
        expect({ items: queue.size, cost: queue.cost }).toEqual(sum());
        for (const tenant of TENANTS) expect(queue.sizeOf(tenant)).toBe(sum(tenant).items);
      });
      expect(new Set(queue.drain())).toEqual(new Set(places.map(({ item }) => item)));
    }),
  );
});

it.each([0, -1, Number.NaN, 101])(
  'a weight of %s is refused with the tenant that has it',
  (weight) => {
    expect(() => weightsOf({ acme: weight })).toThrow("'acme'");
  },
);

it('a tenant may have the name of a property of every object', () => {
  expect(weightsOf({ a: 2 })('constructor')).toBe(1);
});
