/**
 * How long a passivated actor needs until it can process its message: its row is read, decoded,
 * checked against its machine and loaded as a live machine. The store was just written, so its
 * pages are in the page cache. The activation itself is measured, without the work before and after
 * it. The asks show what a client sees of it.
 */
import { randomBytes } from 'node:crypto';
import { join } from 'node:path';
import { type Address, shardOf } from '../protocols/address.ts';
import { createRegistry } from '../runtime/actor/registry.ts';
import { openEmbeddedStore } from '../runtime/log/embedded-store.ts';
import { Fold } from '../runtime/shard/commit/fold.ts';
import { Keys } from '../runtime/shard/turn/keys.ts';
import { ActivatedActors } from '../runtime/shard/turn/activated-actors.ts';
import { counter } from './harness/counter.ts';
import { rawGetUs } from './harness/raw.ts';
import { defineScenario } from './harness/scenario.ts';
import { spread } from './harness/statistics.ts';
import { ask, counterAddress, inParallel, openSystem, SHARDS, tell } from './harness/system.ts';

const ROW_BYTES = 100;

export const activation = defineScenario({
  name: 'activation',
  question: 'how long does a passivated actor need until it can process its message?',
  secondsMax: 60,
  figures: {
    p50Ms: { label: 'activation from a warm store, p50', unit: 'ms', limit: 'getMs' },
    p99Ms: { label: '  p99', unit: 'ms', limit: 'getMs' },
    getMs: { label: '  limit: LMDB get of such a row, p50', unit: 'ms' },
    perSecond: { label: 'activations by one thread', unit: '1/s' },
    askPassiveP50Ms: { label: 'ask of a passive actor, p50', unit: 'ms', limit: 'askActiveP50Ms' },
    askPassiveP99Ms: { label: '  p99', unit: 'ms', limit: 'askActiveP99Ms' },
    askActiveP50Ms: { label: 'ask of an active actor, p50', unit: 'ms' },
    askActiveP99Ms: { label: '  p99', unit: 'ms' },
  },
  async measure({ folder, pick }) {
    const rows = pick(20_000, 5_000, 50);
    const getMs = (await rawGetUs(folder, rows, ROW_BYTES)) / 1_000;
    const actors = Array.from({ length: rows }, () =>
      counterAddress(randomBytes(8).toString('hex')),
    );
    const asks = await askThem(folder, actors, pick(1_000, 200, 10));
    const samples = await activateAll(folder, actors, pick(50_000, 10_000, 100));
    const { p50, p99 } = spread(samples);
    const total = samples.reduce((sum, ms) => sum + ms, 0);
    return { p50Ms: p50, p99Ms: p99, getMs, perSecond: (samples.length * 1_000) / total, ...asks };
  },
});

/**
 * Creates the actors in a system that keeps one actor per shard in memory. An ask of another actor
 * finds it passivated, and a second ask finds it active.
 */
async function askThem(folder: string, actors: readonly Address[], count: number) {
  const system = await openSystem(folder, { residentsMax: 1 });
  await inParallel(actors.length, 512, (at) => tell(system, actors[at]!, { type: 'add', by: at }));
  const timed = async (actor: Address) => {
    const begun = performance.now();
    await ask(system, actor, { type: 'get' });
    return performance.now() - begun;
  };
  const passive: number[] = [];
  const active: number[] = [];
  for (let at = 0; at < count; at++) {
    const actor = actors[at % actors.length]!;
    passive.push(await timed(actor));
    active.push(await timed(actor));
  }
  await system.stop();
  const [p, a] = [spread(passive), spread(active)];
  return {
    askPassiveP50Ms: p.p50,
    askPassiveP99Ms: p.p99,
    askActiveP50Ms: a.p50,
    askActiveP99Ms: a.p99,
  };
}

/** Milliseconds of each of `count` activations of actors in random order. */
async function activateAll(
  folder: string,
  actors: readonly Address[],
  count: number,
): Promise<number[]> {
  const store = await openEmbeddedStore({ path: join(folder, 'store'), durability: 'process' });
  const registry = createRegistry([counter]);
  const shards = Array.from({ length: SHARDS }, (_, shard) => {
    const fold = Fold.fromState(shard, store.state, false);
    if (!fold) throw new Error(`shard ${shard} is empty`);
    return new ActivatedActors({
      fold,
      keys: new Keys(fold),
      shards: SHARDS,
      max: 1,
      registry,
      now: () => 0,
    });
  });
  const samples: number[] = [];
  for (let i = 0; i < count + count / 10; i++) {
    const actor = actors[Math.floor(Math.random() * actors.length)]!;
    const residents = shards[shardOf(actor, SHARDS)]!;
    residents.drop(actor);
    const begun = performance.now();
    const found = residents.find(actor);
    samples.push(performance.now() - begun);
    if (!found) throw new Error(`${actor} has no row`);
  }
  await store.close();
  // The first tenth warms up the code.
  return samples.slice(count / 10);
}
