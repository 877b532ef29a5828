/**
 * What idle actors cost. In a fresh process, a system is opened and used until its code is warm and
 * its buffers are allocated. Then all garbage is collected and private memory is read (RssAnon:
 * heap and native memory, without LMDB's map, which belongs to the page cache). Then every actor is
 * created by one message, in random order of keys. When all are passivated, memory is read again.
 * The size of the store is that on disk with its free pages, minus that of an empty store.
 */
import { randomBytes } from 'node:crypto';
import { statSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { shardOf } from '../protocols/address.ts';
import type { System } from '../runtime/index.ts';
import { openEmbeddedStore } from '../runtime/log/embedded-store.ts';
import { TABLE } from '../runtime/shard/commit/fold.ts';
import { stateKey } from '../runtime/state/row.ts';
import { collectGarbage, memoryOf } from './harness/computer.ts';
import { rawRowBytes, type RowSizes } from './harness/raw.ts';
import { defineScenario } from './harness/scenario.ts';
import { ask, counterAddress, inParallel, openSystem, SHARDS, tell } from './harness/system.ts';

const PASSIVE_DEADLINE_MS = 60_000;

export const idle = defineScenario({
  name: 'idle',
  question: 'what do a million idle actors cost? (a hundred thousand with --quick)',
  secondsMax: 600,
  repeats: 1,
  figures: {
    actors: { label: 'idle actors', unit: 'count' },
    diskBytesPerActor: { label: 'disk per actor', unit: 'bytes', limit: 'rowBytes' },
    rowBytes: { label: '  limit: bare LMDB with the same rows', unit: 'bytes' },
    memoryGrowthMb: { label: 'growth of private memory', unit: 'MB' },
    memoryBeforeMb: { label: '  what it was before', unit: 'MB' },
    createdPerSecond: { label: 'actors created', unit: '1/s' },
    reopenMs: { label: 'opening the store again with all of them', unit: 'ms' },
  },
  async measure({ folder, pick, scale }) {
    const actors = pick(1_000_000, 100_000, 500);
    const system = await openSystem(folder);
    await create(system, pick(50_000, 20_000, 100));
    if (scale !== 'smoke') await everybodyPassive(system);
    await collectGarbage();
    const [memoryBefore, diskBefore] = [memoryOf('self', 'RssAnon'), diskBytes(folder)];
    const begun = performance.now();
    await create(system, actors);
    const createdPerSecond = (actors * 1_000) / (performance.now() - begun);
    if (scale !== 'smoke') await everybodyPassive(system);
    await collectGarbage();
    const memoryGrowth = memoryOf('self', 'RssAnon') - memoryBefore;
    const disk = diskBytes(folder) - diskBefore;
    await system.stop();
    return {
      actors,
      diskBytesPerActor: disk / actors,
      rowBytes: await rawRowBytes(folder, actors, await rowSizes(folder)),
      memoryGrowthMb: memoryGrowth,
      memoryBeforeMb: memoryBefore,
      createdPerSecond,
      reopenMs: await timeToOpen(folder),
    };
  },
});

async function create(system: System, count: number): Promise<void> {
  await inParallel(count, 512, () =>
    tell(system, counterAddress(randomBytes(8).toString('hex')), { type: 'add', by: 1 }),
  );
  // At least one ask per shard; its reply comes after the turns of all earlier tells.
  await inParallel(64, 64, async (at) => {
    await ask(system, counterAddress(`end-${at}`), { type: 'get' });
  });
}

async function everybodyPassive(system: System): Promise<void> {
  const deadline = performance.now() + PASSIVE_DEADLINE_MS;
  const residents = () => system.status().reduce((sum, shard) => sum + shard.residents, 0);
  while (residents() > 0) {
    if (performance.now() > deadline) throw new Error(`${residents()} actors are still in memory`);
    await sleep(250);
  }
}

/** Allocated blocks of the store's files. */
function diskBytes(folder: string): number {
  const { blocks } = statSync(join(folder, 'store', 'data.mdb'));
  return blocks * 512;
}

/** Bytes of the key and the value of one actor's row in the store. */
async function rowSizes(folder: string): Promise<RowSizes> {
  const store = await openEmbeddedStore({ path: join(folder, 'store'), durability: 'process' });
  const actor = counterAddress('end-0');
  const shard = shardOf(actor, SHARDS);
  const value = store.state.get(shard, TABLE.actor, actor)?.length ?? 0;
  await store.close();
  // Keys of the million are longer than this one.
  const key = stateKey(shard, TABLE.actor, counterAddress('0'.repeat(16))).length;
  return { key, value };
}

async function timeToOpen(folder: string): Promise<number> {
  const begun = performance.now();
  const system = await openSystem(folder);
  const opened = performance.now() - begun;
  await system.stop();
  return opened;
}
