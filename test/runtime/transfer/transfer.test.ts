/**
 * An installation continues on another machine: its state, its pending work and its accepted
 * messages, each checked through the public functions of the new system.
 */
import { describe, expect, it } from 'vitest';
import { address } from '../../../protocols/address.ts';
import { shardOf } from '../../../protocols/address.ts';
import { Bank } from '../../../examples/order/bank.ts';
import { order } from '../../../examples/order/order.ts';
import { eventually } from '../eventually.ts';
import { Stage } from '../system/stage.ts';
import { openWorld, puppet, user, type World } from '../system/world.ts';
import { acceptOnly, Carried, exported, moved, withStore } from './carried.ts';
import { allPlaces } from './places.ts';
import type { System } from '../../../runtime/index.ts';

const SHARDS = 3;
/** Puppets of three shards. */
const [a, b, c] = [0, 1, 2].map((shard) => {
  const keys = Array.from({ length: 100 }, (_, n) => puppet(`p${n}`));
  return keys.find((actor) => shardOf(actor, SHARDS) === shard)!;
}) as [ReturnType<typeof puppet>, ReturnType<typeof puppet>, ReturnType<typeof puppet>];

const openThree = (options: Parameters<typeof openWorld>[0] = {}) =>
  openWorld({ shards: SHARDS, ...options });

const stopped = async (world: World) => {
  await world.stop();
  return exported(world.path);
};

/** The complete open dead letters. */
const lettersOf = async ({ deadLetters }: System) =>
  Promise.all(
    (await deadLetters.list()).map(({ position, domain }) => deadLetters.get(position, domain)),
  );

describe.each(allPlaces())('moved to $name, an installation', ({ make }) => {
  const carried = async (file: string, options?: Parameters<typeof Carried.open>[1]) => {
    const { place, summary } = await moved(make, file);
    return Object.assign(await Carried.open(place, options), { summary });
  };

  it('keeps its cell, its shards, its actors and its index rows', async () => {
    const world = await openThree();
    const { cell } = world.system;
    for (const [n, actor] of [a, b, c].entries()) {
      const projects = { index: 'things', key: `thing-${n}`, value: { n } };
      await world.ask(actor, { type: 'do', n, keeps: { n }, projects });
    }
    const { file, summary } = await stopped(world);
    expect(summary).toMatchObject({ cell, shards: SHARDS, actors: 3, entries: 0 });
    const there = await carried(file);
    expect(there.summary).toEqual(summary);
    expect(there.system.cell).toBe(cell);
    expect(there.system.status().map(({ state }) => state)).toEqual(['owned', 'owned', 'owned']);
    for (const [n, actor] of [a, b, c].entries())
      expect(there.known(actor)).toMatchObject({ seen: [`do:${n}`], keeps: { n } });
    const rows = there.system.index.list('things', 't').map(({ value }) => value);
    expect(rows).toEqual([{ n: 0 }, { n: 1 }, { n: 2 }]);
  });

  it('applies accepted messages without a turn, in order', async () => {
    const world = await openThree();
    await world.ask(a, { type: 'do', n: 0 });
    await world.stop();
    const more = [1, 2, 3].map((n) => [a, { type: 'do', n }] as const);
    const urgent = [b, { type: 'do', n: 'urgent' }, { lane: 'control' }] as const;
    await acceptOnly(world.path, SHARDS, [...more, urgent]);
    const { file, summary } = await exported(world.path);
    expect(summary.entries).toBe(4);
    const there = await carried(file);
    await eventually(() => expect(there.known(a).seen).toEqual(['do:0', 'do:1', 'do:2', 'do:3']));
    await eventually(() => expect(there.known(b).seen).toEqual(['do:urgent']));
  });

  it('returns the first result to a repeated request, and refuses another one with its key', async () => {
    const world = await openThree();
    const first = await world.ask(a, { type: 'do', n: 1, answer: 'one' }, { key: 'k' });
    await world.stop();
    await acceptOnly(world.path, SHARDS, [[b, { type: 'do', n: 2, answer: 'two' }, { key: 'k' }]]);
    const there = await carried((await exported(world.path)).file);
    expect(await there.ask(a, { type: 'do', n: 1, answer: 'one' }, { key: 'k' })).toEqual(first);
    expect(await there.ask(a, { type: 'do', n: 9 }, { key: 'k' })).toMatchObject({
      error: { code: 'CONFLICT' },
    });
    expect(await there.ask(b, { type: 'do', n: 2, answer: 'two' }, { key: 'k' })).toEqual({
      kind: 'answered',
      result: 'two',
    });
    expect(there.known(a).seen).toEqual(['do:1']);
    expect(there.known(b).seen).toEqual(['do:2']);
  });

  it('fires the timers that were armed', async () => {
    const world = await openThree();
    await world.ask(a, { type: 'arm', ms: 500 });
    const { file } = await stopped(world);
    const there = await carried(file);
    await eventually(() => expect(there.known(a).seen).toEqual(['arm', 'fired']));
    const { firedAt, armedAt } = there.known(a);
    expect(firedAt - armedAt).toBeGreaterThanOrEqual(500);
  });

  it('runs repeatable effects again, and leaves effects of class once to an operator', async () => {
    const stage = new Stage();
    const world = await openThree({ services: stage });
    await world.ask(a, { type: 'work', input: 'again' });
    await world.ask(b, { type: 'work', cls: 'once', input: 'once' });
    await stage.began(2);
    const { file } = await stopped(world);
    const stageThere = new Stage();
    const there = await carried(file, { services: stageThere });
    (await stageThere.began(1)).done('done there');
    await eventually(() =>
      expect(there.known(a).received).toMatchObject([{ output: 'done there' }]),
    );
    const [unknown] = await eventually(() => {
      const found = there.system.unknownEffects();
      expect(found).toHaveLength(1);
      return found;
    });
    expect(unknown).toMatchObject({ actor: b, input: 'once', attempt: 1 });
    expect(stageThere.runs.map(({ input }) => input)).toEqual(['again']);
    await there.system.decide(unknown!.id, { kind: 'done', output: 5 });
    await eventually(() => expect(there.known(b).received).toMatchObject([{ output: 5 }]));
  });

  it('applies the stashed messages of actors', async () => {
    const world = await openThree();
    await world.ask(a, { type: 'close' });
    for (const n of [1, 2]) await world.tell(a, { type: 'soft', n });
    await world.ask(a, { type: 'do', n: 'last' });
    const { file } = await stopped(world);
    const there = await carried(file);
    await there.ask(a, { type: 'open' });
    await eventually(() =>
      expect(there.known(a).seen).toEqual(['close', 'do:last', 'open', 'soft:1', 'soft:2']),
    );
  });

  it('continues the numbers of its links', async () => {
    const world = await openThree();
    const tells = (n: number) => [b, c].map((to) => ({ to, event: { type: 'notify', n } }));
    for (const n of [1, 2, 3]) await world.ask(a, { type: 'do', n, tells: tells(n) });
    await eventually(() => expect(world.known(c).seen).toHaveLength(3));
    const { file } = await stopped(world);
    const there = await carried(file);
    for (const n of [4, 5]) await there.ask(a, { type: 'do', n, tells: tells(n) });
    const received = [1, 2, 3, 4, 5].map((n) => `notify:${n}`);
    await eventually(() => expect(there.known(b).seen).toEqual(received));
    await eventually(() => expect(there.known(c).seen).toEqual(received));
  });

  it('keeps complete transcripts and appends to them', async () => {
    const world = await openThree();
    const say = (n: number) => ({ type: 'do', n, appends: [{ type: 'said', n }] });
    for (const n of [1, 2, 3]) await world.ask(a, say(n));
    await world.ask(b, say(1));
    const { file, summary } = await stopped(world);
    expect(summary.transcripts).toBe(2);
    const there = await carried(file);
    await there.ask(a, say(4));
    const entries = await there.system.transcripts.read(a);
    expect(entries.map(({ entry }) => entry)).toEqual(
      [1, 2, 3, 4].map((n) => ({ type: 'said', n })),
    );
    expect(await there.system.transcripts.read(b)).toHaveLength(1);
  });

  it('keeps dead letters, resolved and open ones', async () => {
    const world = await openThree();
    for (const n of [1, 2, 3, 4]) await world.tell(a, { type: 'do', n, throws: 'assign' });
    const letters = await world.letters(4);
    const audit = { who: 'otto', why: 'seen' };
    await world.system.deadLetters.drop(letters[1]!.position, audit);
    await world.order(a, 'sys.resume');
    const { file, summary } = await stopped(world);
    expect(summary.letters).toBe(4);
    const there = await carried(file);
    const { deadLetters } = there.system;
    const kept = await deadLetters.list();
    expect((await lettersOf(there.system)).map(({ event }) => event?.['n'])).toEqual([1, 3, 4]);
    const [dropped] = await deadLetters.audits();
    expect(dropped).toMatchObject({ ...audit, action: 'drop' });
    expect(kept.map(({ position }) => position)).not.toContain(dropped!.position);
    const again = await deadLetters.redrive(kept[0]!.position, audit);
    expect(again.kind).toBe('accepted');
    await eventually(async () => expect(await deadLetters.list()).toHaveLength(3));
    expect((await lettersOf(there.system)).map(({ event }) => event?.['n'])).toEqual([3, 4, 1]);
  });

  it('keeps the dead letters of every domain, each with its audits', async () => {
    const world = await openThree();
    const letter = (domain: string, n: number) => {
      const error = { code: 'UNAVAILABLE', message: 'no answer' };
      return { domain, reason: 'EXHAUSTED', error, to: b, event: { type: 'do', n } };
    };
    const abandons = [letter('orders', 1), letter('orders', 2), letter('stock', 3)];
    await world.ask(a, { type: 'do', n: 0, abandons });
    await world.tell(a, { type: 'do', n: 4, throws: 'assign' });
    await world.letters(4);
    const audit = { who: 'otto', why: 'seen' };
    for (const domain of ['orders', 'stock']) {
      const [first] = await world.system.deadLetters.list({ domain });
      await world.system.deadLetters.drop(first!.position, audit, domain);
    }
    const { file, summary } = await stopped(world);
    expect(summary.letters).toBe(4);
    const there = await carried(file);
    const { deadLetters } = there.system;
    expect(await deadLetters.domains()).toEqual(['actors', 'orders', 'stock']);
    const left = (await lettersOf(there.system)).map(({ domain, event }) => [domain, event?.['n']]);
    expect(left.sort()).toEqual([
      ['actors', 4],
      ['orders', 2],
    ]);
    for (const { domain, position } of await deadLetters.audits())
      expect(await deadLetters.get(position, domain)).toMatchObject({ domain });
  });

  it('keeps all blobs except snapshots', async () => {
    const world = await openThree();
    await world.stop();
    const bytes = Buffer.alloc(3_000_000, 'workspace');
    await withStore(world.path, async ({ blobs }) => {
      await blobs.put('ws/cell/f/large', bytes);
      await blobs.put('ws/cell/m/small', Buffer.from('manifest'));
      await blobs.put('snap/cell/0/9-1', Buffer.from('left behind'));
    });
    const { file, summary } = await exported(world.path);
    expect(summary.blobs).toBe(2);
    const { place } = await moved(make, file);
    const { blobs } = place.target;
    expect(Buffer.compare((await blobs.get('ws/cell/f/large'))!, bytes)).toBe(0);
    expect(await blobs.list('ws/')).toEqual(['ws/cell/f/large', 'ws/cell/m/small']);
    expect(await blobs.get('snap/cell/0/9-1')).toBeUndefined();
  });

  it('completes an order that was being paid: charged once, packed and shipped', async () => {
    const bank = new Bank();
    bank.answerMs = 60_000;
    const world = await openWorld({ actors: [order], services: bank });
    const taken = new Promise<void>((resolve) => (bank.onTaken = resolve));
    const customer = address('default', 'order', '4711');
    const place = { type: 'order.place', cents: 4_999 };
    const asked = { principal: user, key: 'cart-1', timeoutMs: 15_000 };
    void world.system.ask(customer, place, asked);
    await taken;
    const { file } = await stopped(world);
    bank.answerMs = 0;
    const there = await carried(file, { actors: [order], services: bank });
    expect(await there.system.ask(customer, place, asked)).toEqual({
      kind: 'answered',
      result: { receipt: 'receipt-1' },
    });
    expect(bank.charges).toHaveLength(1);
  });

  it('runs, stops and starts like one that was created there', async () => {
    const world = await openThree();
    await world.ask(a, { type: 'do', n: 1 });
    const { file } = await stopped(world);
    const { place } = await moved(make, file);
    for (const n of [2, 3, 4]) {
      const there = await Carried.open(place, { snapshotEvery: 2 });
      for (const part of ['x', 'y', 'z']) await there.ask(a, { type: 'do', n: `${n}${part}` });
      expect(there.alarms.filter((what) => !what.includes('shards were requested'))).toEqual([]);
      await there.system.stop();
    }
    const there = await Carried.open(place);
    const labels = [2, 3, 4].flatMap((n) => ['x', 'y', 'z'].map((part) => `do:${n}${part}`));
    expect(there.known(a).seen).toEqual(['do:1', ...labels]);
  });
});
