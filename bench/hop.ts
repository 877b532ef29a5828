/**
 * How fast messages pass from actor to actor. 64 relays in a ring over 8 shards pass balls on. A
 * hop is one durable turn whose message is stored with it in one frame. A ball makes 30 hops,
 * because a chain of messages may pass 32 actors.
 */
import { rawAppend } from './harness/raw.ts';
import { defineScenario } from './harness/scenario.ts';
import { spread } from './harness/statistics.ts';
import { inParallel, openSystem } from './harness/system.ts';
import { HOPS, thrower } from './harness/thrower.ts';

export const hop = defineScenario({
  name: 'hop',
  question: 'how long does a message take from actor to actor, and how many go a second?',
  secondsMax: 60,
  figures: {
    hopsPerSecond: { label: 'hops, 512 balls at once', unit: '1/s' },
    hopP50Ms: { label: 'a hop of one ball alone, p50', unit: 'ms', limit: 'appendP50Ms' },
    hopP99Ms: { label: '  p99', unit: 'ms', limit: 'appendP99Ms' },
    appendP50Ms: { label: '  limit: one append, p50', unit: 'ms' },
    appendP99Ms: { label: '  p99', unit: 'ms' },
  },
  async measure({ folder, pick }) {
    const append = await rawAppend(folder, pick(2_000, 500, 20));
    const system = await openSystem(folder);
    const balls = thrower(system);
    await inParallel(pick(1_000, 300, 10), 512, balls.pass);
    const count = pick(3_000, 600, 10);
    const begun = performance.now();
    await inParallel(count, 512, balls.pass);
    const seconds = (performance.now() - begun) / 1_000;
    const alone: number[] = [];
    await inParallel(pick(200, 40, 3), 1, async (at) => {
      const thrown = performance.now();
      await balls.pass(at);
      // The first message came from outside: it is accepted, then applied like a hop.
      alone.push((performance.now() - thrown) / (HOPS + 2));
    });
    balls.close();
    await system.stop();
    const { p50, p99 } = spread(alone);
    return {
      hopsPerSecond: (count * HOPS) / seconds,
      hopP50Ms: p50,
      hopP99Ms: p99,
      appendP50Ms: append.p50,
      appendP99Ms: append.p99,
    };
  },
});
