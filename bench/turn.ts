/**
 * How many durable turns a second, and how long one takes. 64 actors on 8 shards, durability
 * `process`. A turn counts when its record is committed: the throughput run ends when every actor
 * has answered with its complete sum.
 */
import { rawAppend, rawCosts, turnUs } from './harness/raw.ts';
import { defineScenario } from './harness/scenario.ts';
import { spread } from './harness/statistics.ts';
import { ask, counterAddress, inParallel, openSystem, tell } from './harness/system.ts';
import { MARKED } from './harness/counter.ts';
import type { System } from '../runtime/index.ts';

const ACTORS = 64;
/** Tells in flight at saturation. */
const WINDOW = 512;

const actors = Array.from({ length: ACTORS }, (_, at) => counterAddress(`turn-${at}`));
const actorAt = (at: number) => actors[at % ACTORS]!;

export const turn = defineScenario({
  name: 'turn',
  question: 'how many durable turns a second with 64 actors, and how long does one take?',
  secondsMax: 60,
  figures: {
    turnsPerSecond: { label: 'durable turns at saturation', unit: '1/s', limit: 'limitPerSecond' },
    limitPerSecond: { label: '  limit: 1 / sum of raw costs', unit: '1/s' },
    ofLimit: { label: '  turns as a share of the limit', unit: 'ratio' },
    ofPublicLimit: { label: '  the same with XState’s public transition()', unit: 'ratio' },
    cpuUs: { label: 'processor time of a turn, all threads', unit: 'µs', limit: 'limitUs' },
    limitUs: { label: '  limit: sum of raw costs', unit: 'µs' },
    decodeUs: { label: '    1 × decode', unit: 'µs' },
    transitionUs: { label: '    1 × transition, bare', unit: 'µs' },
    publicTransitionUs: { label: '        (public transition())', unit: 'µs' },
    encodeUs: { label: '    1 × persist and encode', unit: 'µs' },
    putUs: { label: '    3 × put, each', unit: 'µs' },
    acceptP50Ms: {
      label: 'one at a time: send to accepted, p50',
      unit: 'ms',
      limit: 'appendP50Ms',
    },
    acceptP99Ms: { label: '  p99', unit: 'ms', limit: 'appendP99Ms' },
    applyP50Ms: { label: '  accepted to applied, p50', unit: 'ms', limit: 'appendP50Ms' },
    applyP99Ms: { label: '  p99', unit: 'ms', limit: 'appendP99Ms' },
    appendP50Ms: { label: '  limit: one append, p50', unit: 'ms' },
    appendP99Ms: { label: '  p99', unit: 'ms' },
  },
  async measure({ folder, pick }) {
    const costs = await rawCosts(folder, { milliseconds: pick(1_000, 200, 5) });
    const append = await rawAppend(folder, pick(2_000, 500, 20));
    const system = await openSystem(folder);
    await saturate(system, pick(30_000, 10_000, 100));
    const { turnsPerSecond, cpuUs } = await saturate(system, pick(100_000, 20_000, 200));
    const { accept, apply } = await oneAtATime(system, pick(3_000, 500, 20));
    await system.stop();
    const limitUs = turnUs(costs);
    return {
      ...costs,
      turnsPerSecond,
      limitPerSecond: 1e6 / limitUs,
      ofLimit: (turnsPerSecond * limitUs) / 1e6,
      ofPublicLimit:
        (turnsPerSecond * turnUs({ ...costs, transitionUs: costs.publicTransitionUs })) / 1e6,
      cpuUs,
      limitUs,
      acceptP50Ms: accept.p50,
      acceptP99Ms: accept.p99,
      applyP50Ms: apply.p50,
      applyP99Ms: apply.p99,
      appendP50Ms: append.p50,
      appendP99Ms: append.p99,
    };
  },
});

const sumOf = async (system: System): Promise<number> => {
  const sums = await Promise.all(actors.map((actor) => ask(system, actor, { type: 'get' })));
  return sums.reduce<number>((sum, n) => sum + (n as number), 0);
};

/** Closed loop with a wide window. @throws Error when a turn was lost or duplicated */
async function saturate(
  system: System,
  count: number,
): Promise<{ turnsPerSecond: number; cpuUs: number }> {
  const before = await sumOf(system);
  const processor = process.cpuUsage();
  const begun = performance.now();
  await inParallel(count, WINDOW, (at) => tell(system, actorAt(at), { type: 'add', by: 1 }));
  const after = await sumOf(system);
  const seconds = (performance.now() - begun) / 1_000;
  const { user, system: kernel } = process.cpuUsage(processor);
  if (after - before !== count)
    throw new Error(`${count} turns were accepted and ${after - before} applied`);
  const turns = count + ACTORS;
  return { turnsPerSecond: turns / seconds, cpuUs: (user + kernel) / turns };
}

/**
 * Closed loop with one tell in flight: time from sending to accepted, and from there to committed.
 */
async function oneAtATime(system: System, count: number) {
  let applied: (at: number) => void = () => {};
  const unsubscribe = system.bus.subscribe(MARKED, () => applied(performance.now()));
  const accept: number[] = [];
  const apply: number[] = [];
  for (let id = 0; id < count; id++) {
    const done = new Promise<number>((resolve) => (applied = resolve));
    const sent = performance.now();
    await tell(system, actorAt(id), { type: 'mark', by: 1, id });
    const accepted = performance.now();
    accept.push(accepted - sent);
    apply.push(Math.max(0, (await done) - accepted));
  }
  unsubscribe();
  return { accept: spread(accept), apply: spread(apply) };
}
