/** What is stored for how long, and what may be deleted (F4, I). */
import { expect, it } from 'vitest';
import { eventually } from '../eventually.ts';
import { puppetType } from './puppet.ts';
import { ShiftedClock } from './shifted-clock.ts';
import { openWorld, puppet, type World } from './world.ts';

const a = puppet('a');
const HOUR_MS = 3_600_000;
/**
 * Advances the clock, and waits until the gateway knows the time, which it receives from its
 * shards.
 */
const pass = async (world: World, clock: ShiftedClock, ms: number): Promise<void> => {
  clock.shift(ms);
  await eventually(() => {
    const slowest = Math.min(...world.system.status().map(({ now }) => now));
    expect(slowest).toBeGreaterThan(clock.wallMs() - HOUR_MS / 2);
  });
};
const count = (labels: readonly string[], label: string) =>
  labels.filter((one) => one === label).length;

it('a key is stored for at least 24 hours, and removed some hours later', async () => {
  const clock = new ShiftedClock();
  const world = await openWorld({ clock, shards: 1 });
  const first = await world.ask(a, { type: 'do', n: 1 }, { key: 'k' });
  await pass(world, clock, 24 * HOUR_MS);
  await world.ask(a, { type: 'do', n: 2 }, { key: 'other' });
  expect(await world.ask(a, { type: 'do', n: 1 }, { key: 'k' })).toEqual(first);
  await world.restart();
  await pass(world, clock, 2 * HOUR_MS);
  expect(await world.ask(a, { type: 'do', n: 1 }, { key: 'k' })).toEqual(first);
  await pass(world, clock, 4 * HOUR_MS);
  await world.ask(a, { type: 'do', n: 3 }, { key: 'another' });
  await world.ask(a, { type: 'do', n: 1 }, { key: 'k' });
  expect(count(world.seen(a), 'do:1')).toBe(2);
  const again = await world.ask(a, { type: 'do', n: 2 }, { key: 'other' });
  expect(again).toMatchObject({ result: ['do:1', 'do:2'] });
});

it('a key that was removed after a refusal and used again is kept as long as any other', async () => {
  const clock = new ShiftedClock();
  const actors = [puppetType({ mailbox: { capacity: 1, whenFull: 'dropOldest' } })];
  const world = await openWorld({ clock, actors, shards: 1 });
  const soft = (n: number) => ({ type: 'soft', n });
  await world.ask(a, { type: 'close' });
  const dropped = world.ask(a, soft(1), { key: 'k', ttlMs: 100 * HOUR_MS });
  await world.tell(a, soft(2), { ttlMs: 100 * HOUR_MS });
  expect(await dropped).toMatchObject({ error: { code: 'RATE_LIMIT_EXCEEDED' } });
  await pass(world, clock, 20 * HOUR_MS);
  await world.ask(a, { type: 'open' });
  const first = await world.ask(a, soft(1), { key: 'k' });
  expect(first).toMatchObject({ kind: 'answered' });
  await pass(world, clock, 10 * HOUR_MS);
  await world.ask(a, { type: 'do' }, { key: 'other' });
  expect(await world.ask(a, soft(1), { key: 'k' })).toEqual(first);
  expect(count(world.seen(a), 'soft:1')).toBe(1);
});

it('a system whose logs were trimmed continues from its state', async () => {
  const world = await openWorld({ shards: 1, journalTail: 5, limits: { groupTurnsMax: 1 } });
  await world.ask(a, { type: 'arm', ms: 3 * HOUR_MS });
  const sent = Array.from({ length: 1_500 }, (_, n) => world.tell(a, { type: 'notify', n }));
  await Promise.all(sent);
  await eventually(() => expect(world.seen(a)).toHaveLength(1_501));
  await world.restart();
  const seen = world.seen(a);
  expect(seen.slice(1)).toEqual(sent.map((_, n) => `notify:${n}`));
  expect(await world.ask(a, { type: 'do', n: 1 })).toMatchObject({ kind: 'answered' });
});

it('the number of shards of a store is fixed, and the operator is notified when another one is configured', async () => {
  const world = await openWorld({ shards: 3 });
  await world.ask(a, { type: 'do', n: 1 });
  await world.restart({ shards: 5 });
  expect(world.system.status()).toHaveLength(3);
  expect(world.alarms.join()).toMatch(/5 shards.*3/);
  expect(await world.ask(a, { type: 'do', n: 2 })).toMatchObject({ result: ['do:1', 'do:2'] });
});

it('a store keeps its name, and two systems never share its folder', async () => {
  const world = await openWorld();
  const { cell } = world.system;
  await expect(world.start()).rejects.toMatchObject({ code: 'UNAVAILABLE' });
  await world.restart();
  expect(world.system.cell).toBe(cell);
});
