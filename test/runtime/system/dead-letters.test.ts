/** Dead letters: kept with their reason until an operator has resolved them by name (I9). */
import { describe, expect, it } from 'vitest';
import { eventually } from '../eventually.ts';
import { bossType, puppetType } from './puppet.ts';
import { openWorld, puppet, type World } from './world.ts';

const a = puppet('a');
const audit = { who: 'otto', why: 'the fault is fixed' };
/** The listed letters, each with its message. */
const list = async (
  { system: { deadLetters } }: World,
  options?: { domain?: string; from?: number; limit?: number },
) =>
  Promise.all(
    (await deadLetters.list(options)).map(({ position, domain }) =>
      deadLetters.get(position, domain),
    ),
  );

/** Position of the nth listed letter, from 1: positions rise and may have gaps. */
const positionOf = async (world: World, nth: number): Promise<number> => {
  const letter = (await world.letters(nth))[nth - 1];
  return letter!.position;
};

/** Messages to an actor that was quarantined. */
async function withLetters(count: number): Promise<World> {
  const world = await openWorld();
  await world.ask(a, { type: 'do', n: 'x' });
  await world.order(a, 'sys.quarantine');
  for (let n = 0; n < count; n++) await world.tell(a, { type: 'do', n });
  await world.letters(count);
  return world;
}

describe('dead letters', () => {
  it('contain sender, receiver, message, time and reason, also after a restart', async () => {
    const world = await withLetters(1);
    await world.restart();
    const [letter] = await list(world);
    expect(letter).toMatchObject({
      to: a,
      reason: 'QUARANTINED',
      event: { type: 'do', n: 0 },
      error: { code: 'INTERNAL' },
    });
    expect(letter!.at).toBeGreaterThan(0);
    const b = puppet('b');
    await world.ask(b, { type: 'do', tells: [{ to: a, event: { type: 'do', n: 9 } }] });
    expect((await world.letters(2))[1]).toMatchObject({ from: b, event: { n: 9 } });
  });

  it('are listed in pages, oldest first', async () => {
    const world = await withLetters(5);
    const all = await list(world);
    expect(all.map(({ event }) => event)).toMatchObject([0, 1, 2, 3, 4].map((n) => ({ n })));
    expect(await list(world, { limit: 2 })).toEqual(all.slice(0, 2));
    const from = all[2]!.position;
    expect(await list(world, { from, limit: 2 })).toEqual(all.slice(2, 4));
    expect(await list(world, { from: all[4]!.position + 1 })).toEqual([]);
  });
});

describe('a dead letter that is redriven', () => {
  it('is redriven once for any number of requests, and records who did it and why', async () => {
    const world = await withLetters(1);
    await world.order(a, 'sys.resume');
    const position = await positionOf(world, 1);
    const redriven = await world.system.deadLetters.redrive(position, audit);
    expect(redriven).toMatchObject({ kind: 'accepted' });
    await eventually(() => expect(world.seen(a)).toEqual(['do:x', 'do:0']));
    expect(await list(world)).toEqual([]);
    const again = { kind: 'already', who: audit.who };
    expect(await world.system.deadLetters.redrive(position, audit)).toMatchObject(again);
    await world.restart();
    expect(await world.system.deadLetters.redrive(position, audit)).toMatchObject(again);
    await world.ask(a, { type: 'do', n: 1 });
    expect(world.seen(a)).toEqual(['do:x', 'do:0', 'do:1']);
    const [first, ...others] = await world.system.deadLetters.audits();
    expect(others).toEqual([]);
    expect(first).toMatchObject({ ...audit, position, action: 'redrive' });
  });

  it('and fails again is a new dead letter', async () => {
    const world = await withLetters(1);
    const next = (after: number) =>
      eventually(async () => {
        const all = await list(world);
        expect(all).toMatchObject([{ event: { n: 0 } }]);
        expect(all[0]!.position).toBeGreaterThan(after);
        return all[0]!.position;
      });
    const first = await positionOf(world, 1);
    await world.system.deadLetters.redrive(first, audit);
    const second = await next(first);
    await world.order(a, 'sys.stop');
    await world.system.deadLetters.redrive(second, audit);
    await next(second);
  });

  it('and is refused stays in the list', async () => {
    const world = await withLetters(1);
    const position = await positionOf(world, 1);
    await world.restart({ actors: [bossType()] });
    expect(await world.system.deadLetters.redrive(position, audit)).toMatchObject({
      error: { code: 'NOT_FOUND' },
    });
    expect(await list(world)).toHaveLength(1);
    await world.restart({ actors: [puppetType()] });
    await world.order(a, 'sys.resume');
    const redriven = await world.system.deadLetters.redrive(position, audit);
    expect(redriven).toMatchObject({ kind: 'accepted' });
    await eventually(() => expect(world.seen(a)).toEqual(['do:x', 'do:0']));
    expect(await list(world)).toEqual([]);
  });
});

describe('a dead letter that is dropped', () => {
  it('leaves the list and is not sent', async () => {
    const world = await withLetters(2);
    const [dropped, kept] = await list(world);
    const { position } = dropped!;
    await world.system.deadLetters.drop(position, audit);
    expect(await list(world)).toEqual([kept]);
    await world.restart();
    expect(await list(world)).toEqual([kept]);
    expect(await world.system.deadLetters.audits()).toMatchObject([
      { ...audit, position, action: 'drop' },
    ]);
    expect(world.seen(a)).toEqual(['do:x']);
  });
});

describe('a dead letter is not resolved', () => {
  it('without a name and a reason', async () => {
    const world = await withLetters(1);
    const position = await positionOf(world, 1);
    for (const no of [
      { who: '', why: 'x' },
      { who: 'x', why: '' },
    ]) {
      const refused = { code: 'INVALID_ARGUMENT' };
      await expect(world.system.deadLetters.redrive(position, no)).rejects.toMatchObject(refused);
      await expect(world.system.deadLetters.drop(position, no)).rejects.toMatchObject(refused);
    }
    expect(await world.system.deadLetters.audits()).toEqual([]);
    expect(await list(world)).toHaveLength(1);
  });

  it('that does not exist', async () => {
    const world = await withLetters(1);
    const last = await positionOf(world, 1);
    for (const position of [0, last + 1, last + 0.5, -1]) {
      await expect(world.system.deadLetters.redrive(position, audit)).rejects.toThrow(
        /dead letter|position/,
      );
      await expect(world.system.deadLetters.drop(position, audit)).rejects.toThrow(
        /dead letter|position/,
      );
    }
    expect(await world.system.deadLetters.audits()).toEqual([]);
  });
});

it('a refusal that its receiver does not handle is a dead letter, and causes no further message', async () => {
  const world = await openWorld();
  const gone = puppet('gone');
  await world.ask(gone, { type: 'end' });
  await world.ask(a, { type: 'do', n: 1, tells: [{ to: gone, event: { type: 'do' } }] });
  await eventually(() => expect(world.known(a).received).toHaveLength(1));
  await world.ask(a, {
    type: 'do',
    tells: [
      { to: gone, event: { type: 'do' } },
      { to: gone, event: { type: 'do' } },
    ],
  });
  await world.ask(a, { type: 'end' });
  const letters = await eventually(async () => {
    const all = await list(world);
    expect(all.length + world.known(a).received.length).toBe(3);
    return all;
  });
  for (const letter of letters) expect(letter).toMatchObject({ to: a, event: { type: 'refused' } });
});

const b = puppet('b');
const error = { code: 'UNAVAILABLE', message: 'it never answered', details: { tries: 7 } } as const;
const abandon = (domain: string, n: number) => ({
  domain,
  reason: 'EXHAUSTED',
  error,
  to: b,
  event: { type: 'do', n },
});

describe('a message that a machine abandons', () => {
  it('is in the log of its domain with all that an operator needs, also after a restart', async () => {
    const world = await openWorld();
    expect(await world.system.deadLetters.domains()).toEqual(['actors']);
    await world.ask(a, { type: 'do', abandons: [abandon('orders', 1), abandon('stock_eu', 2)] });
    await world.letters(2);
    await world.restart();
    const { deadLetters } = world.system;
    expect(await deadLetters.domains()).toEqual(['actors', 'orders', 'stock_eu']);
    const [letter] = await list(world, { domain: 'orders' });
    expect(letter).toMatchObject({
      domain: 'orders',
      reason: 'EXHAUSTED',
      error,
      from: a,
      to: b,
      event: { type: 'do', n: 1 },
    });
    expect(await deadLetters.get(letter!.position, 'orders')).toEqual(letter);
    await expect(deadLetters.get(letter!.position, 'stock')).rejects.toMatchObject({
      code: 'NOT_FOUND',
    });
    expect(await list(world, { domain: 'actors' })).toEqual([]);
    expect(await list(world)).toMatchObject([{ domain: 'orders' }, { domain: 'stock_eu' }]);
  });

  it('becomes a dead letter with its turn or not at all', async () => {
    const world = await openWorld();
    const abandons = [abandon('orders', 1)];
    await world.ask(a, { type: 'do', n: 1 });
    await world.ask(a, { type: 'do', abandons, throws: 'params' });
    for (const bad of [
      { domain: 'Orders' },
      { domain: 'actors-audit' },
      { domain: 'a.b' },
      { reason: '' },
      { error: { code: 'NONE', message: 'x' } },
      { to: 'nowhere' },
      { event: { n: 1 } },
    ])
      await world.ask(puppet(JSON.stringify(bad)), {
        type: 'do',
        abandons: [...abandons, { ...abandons[0]!, ...bad }],
      });
    await world.letters(8);
    expect(await list(world, { domain: 'orders' })).toEqual([]);
    expect(await world.system.deadLetters.domains()).toEqual(['actors']);
  });

  it('is redriven or dropped by domain and position, with an audit that names both', async () => {
    const world = await openWorld();
    const { deadLetters } = world.system;
    const abandons = [1, 2, 3].map((n) => abandon('orders', n));
    await world.ask(a, { type: 'do', abandons: [...abandons, abandon('stock', 9)] });
    await world.letters(4);
    const [first, second, third] = (await list(world, { domain: 'orders' })).map(
      ({ position }) => position,
    );
    expect(await deadLetters.redrive(first!, audit, 'orders')).toMatchObject({ kind: 'accepted' });
    await deadLetters.redrive(first!, audit, 'orders');
    await eventually(() => expect(world.seen(b)).toEqual(['do:1']));
    await deadLetters.drop(second!, audit, 'orders');
    expect((await list(world)).map(({ domain, event }) => [domain, event?.['n']])).toEqual([
      ['orders', 3],
      ['stock', 9],
    ]);
    expect(await list(world, { domain: 'orders', from: third! })).toHaveLength(1);
    expect(await deadLetters.audits({ domain: 'orders' })).toMatchObject([
      { domain: 'orders', position: first, action: 'redrive', ...audit },
      { domain: 'orders', position: second, action: 'drop' },
    ]);
    expect(await deadLetters.audits({ domain: 'stock' })).toEqual([]);
    for (const name of ['actors-audit', 'Orders', '']) {
      const refused = { code: 'INVALID_ARGUMENT' };
      await expect(deadLetters.list({ domain: name })).rejects.toMatchObject(refused);
      await expect(deadLetters.drop(first!, audit, name)).rejects.toMatchObject(refused);
    }
  });
});

it('poison messages never block their shard or the messages behind them', async () => {
  const world = await openWorld({ shards: 1 });
  const poison = { type: 'do', throws: 'assign' } as const;
  const others = Array.from({ length: 40 }, (_, n) => puppet(`n${n}`));
  const sent: Promise<unknown>[] = [];
  for (const [n, other] of others.entries()) {
    sent.push(world.tell(a, { ...poison, n }));
    sent.push(world.ask(other, { type: 'do', n }).then((answer) => answer.kind));
  }
  await Promise.all(sent);
  for (const [n, other] of others.entries()) expect(world.seen(other)).toEqual([`do:${n}`]);
  const letters = await world.letters(40);
  expect(letters.map(({ to, event }) => [to, event?.['n']])).toEqual(others.map((_, n) => [a, n]));
  // Three crashes suspend the actor; an operator resumes it, and it continues.
  expect(world.statusOf(a)).toBe('quarantined');
  await world.order(a, 'sys.resume');
  expect(await world.ask(a, { type: 'do', n: 'good' })).toMatchObject({ kind: 'answered' });
});
