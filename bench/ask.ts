/**
 * The time from an ask to its reply. Both are durable before they leave, so the minimum is two
 * appends in sequence.
 */
import { rawAppend } from './harness/raw.ts';
import { defineScenario } from './harness/scenario.ts';
import { spread } from './harness/statistics.ts';
import { ask as askActor, counterAddress, inParallel, openSystem } from './harness/system.ts';

const ACTORS = 64;

export const ask = defineScenario({
  name: 'ask',
  question: 'how long does an actor take to answer, and how many answers come a second?',
  secondsMax: 60,
  figures: {
    asksPerSecond: { label: 'asks answered, 64 at once', unit: '1/s' },
    p50Ms: { label: 'one ask at a time, p50', unit: 'ms', limit: 'twoAppendsMs' },
    p99Ms: { label: '  p99', unit: 'ms', limit: 'twoAppendsMs' },
    twoAppendsMs: { label: '  limit: two appends in a row, p50', unit: 'ms' },
  },
  async measure({ folder, pick }) {
    const appends = await rawAppend(folder, pick(2_000, 500, 20), { inARow: 2 });
    const system = await openSystem(folder);
    const one = async (at: number) => {
      await askActor(system, counterAddress(`ask-${at % ACTORS}`), { type: 'get' });
    };
    await inParallel(pick(10_000, 3_000, 64), ACTORS, one);
    const count = pick(20_000, 5_000, 64);
    const begun = performance.now();
    await inParallel(count, ACTORS, one);
    const seconds = (performance.now() - begun) / 1_000;
    const alone: number[] = [];
    await inParallel(pick(3_000, 500, 10), 1, async (at) => {
      const asked = performance.now();
      await one(at);
      alone.push(performance.now() - asked);
    });
    await system.stop();
    const { p50, p99 } = spread(alone);
    return {
      asksPerSecond: count / seconds,
      p50Ms: p50,
      p99Ms: p99,
      twoAppendsMs: appends.p50,
    };
  },
});
