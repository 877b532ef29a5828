/**
 * Fills a new cell with counters without a message for each of them: every shard gets a snapshot
 * of their rows, as an import writes it. A million actors take seconds this way.
 */
import { shardOf } from '../../protocols/address.ts';
import { journalSubject } from '../../protocols/subjects.ts';
import { InProcessBus } from '../../runtime/bus/in-process.ts';
import {
  createSystem,
  type NatsPorts,
  openNats,
  openStateCache,
  systemClock,
} from '../../runtime/index.ts';
import { MemoryBlobs } from '../../runtime/blobs/memory.ts';
import { createMemoryStore } from '../../runtime/log/memory.ts';
import { Fold, scalarsRow, TABLE } from '../../runtime/shard/commit/fold.ts';
import { decodeActorRow, encodeActorRow } from '../../runtime/shard/turn/actor-row.ts';
import { loadRows } from '../../runtime/shard/recovery/load.ts';
import { MemoryState } from '../../runtime/state/memory.ts';
import { ShardImport } from '../../runtime/transfer/import-shard.ts';
import { cacheOf, ENV, type NodeSpec } from './cell.ts';
import { counter } from './counter.ts';
import { counterAddress, tell } from './system.ts';

const PAGE_ROWS = 500;

/** The row that the runtime stores of a counter, with another key. */
async function rowOfCounter(): Promise<(key: string) => Buffer> {
  const store = createMemoryStore({ clock: systemClock, atomic: false });
  const system = await createSystem({
    store: { ...store, close: async () => {} },
    bus: new InProcessBus(),
    blobs: new MemoryBlobs(),
    actors: [counter],
    shards: 1,
  });
  await tell(system, counterAddress('model'), { type: 'add', by: 1 });
  for (let bytes; ; await new Promise((resolve) => setTimeout(resolve, 5))) {
    bytes = store.state.get(0, TABLE.actor, counterAddress('model'));
    if (!bytes) continue;
    const model = decodeActorRow(bytes);
    await system.stop();
    return (key) => {
      const { row } = model;
      const snap = { ...row.snap, c: { ...(row.snap.c as object), owner: key } };
      return encodeActorRow({ ...model, row: { ...row, snap } });
    };
  }
}

/** @param ports of a cell whose shards were never owned; keys are `k0` to `k{actors - 1}` */
export async function seedCounters(
  { store, blobs, shards }: Pick<NatsPorts, 'store' | 'blobs' | 'shards'>,
  actors: number,
): Promise<void> {
  const rowOf = await rowOfCounter();
  const { log, cell } = store;
  const { scalars } = Fold.empty(0, new MemoryState(), true, cell);
  const keys: string[][] = Array.from({ length: shards }, () => []);
  for (let at = 0; at < actors; at++)
    keys[shardOf(counterAddress(`k${at}`), shards)]!.push(`k${at}`);
  for (let shard = 0; shard < shards; shard++) {
    const bytes = scalarsRow(scalars).value;
    const into = new ShardImport({ log, blobs, env: ENV, cell, shard, scalars: bytes });
    let page: (string | Uint8Array)[] = [];
    for (const key of keys[shard]!) {
      page.push(TABLE.actor, counterAddress(key), rowOf(key));
      if (page.length < PAGE_ROWS * 3) continue;
      await into.rows(page);
      page = [];
    }
    await into.rows(page);
    await into.end();
  }
}

/**
 * Makes a cell of these counters, and the rows of the node that is to be its gateway: a gateway
 * reads all rows before it starts.
 */
export async function seedCell(gateway: NodeSpec, actors: number): Promise<void> {
  const { url, name, shards, folder } = gateway;
  const ports = await openNats({
    servers: [url],
    name,
    env: ENV,
    shards,
    state: (cell) => openStateCache({ path: cacheOf(folder, name), cell }),
    onAlarm: (what) => console.error(`bench: ${what}`),
  });
  await seedCounters(ports, actors);
  const { store, blobs } = ports;
  for (let shard = 0; shard < shards; shard++) {
    const journal = journalSubject(ENV, shard);
    await loadRows({ ...store, blobs, journal, shard });
  }
  await store.close();
}
