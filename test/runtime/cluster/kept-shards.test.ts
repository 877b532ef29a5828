/**
 * What waits for a take-over of this process continues when it ends, without looking repeatedly.
 */
import { expect, it } from 'vitest';
import { KeptShards } from '../../../runtime/cluster/kept-shards.ts';
import type { Replicas } from '../../../runtime/cluster/replicas.ts';
import { StillClock } from '../../channels/gateway/still-clock.ts';

const replicas = {
  keep: () => {},
  loaded: async () => {},
  release: async () => {},
} as unknown as Replicas;

const taken = (clock: StillClock) => {
  const kept = new KeptShards({ clock, replicas, isHeld: () => false });
  let end = () => {};
  const taking = kept.taking(3, () => new Promise<void>((resolve) => (end = resolve)));
  return { kept, taking, end: () => end() };
};

it('resolves when the take-over ends, although no time passes', async () => {
  const { kept, taking, end } = taken(new StillClock());
  await kept.taken(2);
  let isTaken = false;
  const waiting = kept.taken(3).then(() => (isTaken = true));
  await new Promise((resolve) => setImmediate(resolve));
  expect([isTaken, [...kept.beingTaken]]).toEqual([false, [3]]);
  end();
  await Promise.all([waiting, taking]);
  expect([...kept.beingTaken]).toEqual([]);
});

it('resolves also when the take-over fails', async () => {
  const kept = new KeptShards({ clock: new StillClock(), replicas, isHeld: () => false });
  const taking = kept.taking(3, () => Promise.reject(new Error('fenced')));
  const waiting = kept.taken(3);
  await expect(taking).rejects.toThrow('fenced');
  await waiting;
});

it('waits for the next take-over too, and gives up 15 seconds after it began to wait', async () => {
  const clock = new StillClock();
  const { kept, taking, end } = taken(clock);
  const refused = kept.taken(3).catch((error: unknown) => error);
  clock.move(10_000);
  await new Promise((resolve) => setImmediate(resolve));
  end();
  await taking;
  void kept.taking(3, () => new Promise<void>(() => {}));
  await new Promise((resolve) => setImmediate(resolve));
  clock.move(5_000);
  expect(await refused).toMatchObject({ code: 'UNAVAILABLE' });
});
