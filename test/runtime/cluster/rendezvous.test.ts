import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  type Candidate,
  placeAll,
  placeOne,
  rankOf,
  score,
} from '../../../runtime/cluster/rendezvous.ts';

const worker = (name: string, weight = 1): Candidate => ({ node: `${name}.1`, name, weight });
const workers = (count: number): Candidate[] =>
  Array.from({ length: count }, (_, at) => worker(`w${at}`));

const someWorkers = fc.uniqueArray(
  fc.record({
    name: fc.stringMatching(/^[a-z0-9_-]{1,20}$/),
    weight: fc.integer({ min: 1, max: 40 }).map((tenths) => tenths / 10),
  }),
  { selector: ({ name }) => name, minLength: 1, maxLength: 12 },
);
const SHARDS = 64;

describe('rendezvous hashing', () => {
  it('never changes: workers of two versions place a shard on the same worker', () => {
    const scores = ['a', 'worker-1', 'worker-2'].flatMap((name) =>
      [0, 1, 63, 1_023].map((shard) => score(name, 1, shard).toPrecision(12)),
    );
    expect(scores).toMatchInlineSnapshot(`
      [
        "4.68877965443",
        "1.11121738923",
        "1.74245643145",
        "2.23955108448",
        "0.848187867717",
        "68.8977261361",
        "2.15079846171",
        "0.409219828007",
        "0.827169047909",
        "2.88515620703",
        "1.65186615507",
        "0.903250865743",
      ]
    `);
    expect(
      placeAll(workers(3), 24)
        .map((node) => node?.[1])
        .join(''),
    ).toMatchInlineSnapshot(`"211211101010111022002220"`);
  });

  it('returns the same result for any order of the workers', () => {
    fc.assert(
      fc.property(someWorkers, fc.nat(), (some, turn) => {
        const all = some.map(({ name, weight }) => worker(name, weight));
        const at = turn % all.length;
        const turned = [...all.slice(at), ...all.slice(0, at)].reverse();
        expect(placeAll(turned, SHARDS)).toEqual(placeAll(all, SHARDS));
      }),
    );
  });

  it('moves only the share of the worker that joins or leaves', () => {
    fc.assert(
      fc.property(someWorkers, (some) => {
        const [one, ...rest] = some.map(({ name, weight }) => worker(name, weight));
        const without = placeAll(rest, SHARDS);
        const withOne = placeAll([...rest, one!], SHARDS);
        const stays = withOne.map((node, shard) => (node === one!.node ? without[shard] : node));
        expect(stays).toEqual(without);
      }),
    );
  });

  it('moves shards only away from a worker whose weight falls', () => {
    fc.assert(
      fc.property(someWorkers, (some) => {
        const [one, ...rest] = some.map(({ name, weight }) => worker(name, weight));
        const before = placeAll([one!, ...rest], SHARDS);
        const after = placeAll([{ ...one!, weight: one!.weight * 0.9 }, ...rest], SHARDS);
        const givers = before.filter((node, shard) => node !== after[shard]);
        expect(givers.every((node) => node === one!.node)).toBe(true);
      }),
    );
  });

  it('ranks the assigned worker of a shard first, and gives every worker a different rank', () => {
    const all = workers(5);
    for (let shard = 0; shard < SHARDS; shard++) {
      const ranks = all.map(({ node }) => rankOf(all, node, shard));
      expect([...ranks].sort()).toEqual([0, 1, 2, 3, 4]);
      expect(all[ranks.indexOf(0)]!.node).toBe(placeOne(all, shard));
    }
  });

  it('returns no worker when there is none', () => {
    expect(placeOne([], 7)).toBeUndefined();
  });

  it('chooses the same of two processes of one name on every worker', () => {
    const old = { node: 'w.1', name: 'w', weight: 1 };
    const young = { node: 'w.2', name: 'w', weight: 1 };
    expect(placeAll([old, young], SHARDS)).toEqual(placeAll([young, old], SHARDS));
  });

  it.each([64, 1_024])('assigns shares of %d shards in proportion to the weights', (shards) => {
    // Of one set of names by chance, so the mean over many is looked at, and the spread of each.
    const weights = [1, 1, 2, 0.5];
    const sets = 40;
    const total = weights.reduce((sum, weight) => sum + weight, 0);
    const got = weights.map(() => 0);
    for (let set = 0; set < sets; set++) {
      const all = weights.map((weight, at) => worker(`set${set}-${at}`, weight));
      const placed = placeAll(all, shards);
      all.forEach(({ node, weight }, at) => {
        const count = placed.filter((one) => one === node).length;
        const share = weight / total;
        const deviation = Math.sqrt(shards * share * (1 - share));
        expect(Math.abs(count - shards * share)).toBeLessThan(4.5 * deviation);
        got[at]! += count;
      });
    }
    weights.forEach((weight, at) => {
      const share = weight / total;
      const deviation = Math.sqrt((share * (1 - share)) / (shards * sets));
      expect(Math.abs(got[at]! / (shards * sets) - share)).toBeLessThan(4 * deviation);
    });
  });
});
