/**
 * Reads actors from a store without activating them: the data folder of a stopped process, or the
 * journals of a running cluster. It writes at most a checkpoint.
 */
import { join } from 'node:path';
import { type Address, shardOf } from '../../protocols/address.ts';
import { decodeCell } from '../cell-record.ts';
import { defined } from '../../protocols/defined.ts';
import { journalSubject } from '../../protocols/subjects.ts';
import type { Blobs } from '../blobs/blobs.ts';
import type { Store } from '../system-options.ts';
import { inspectActor } from '../reads.ts';
import { decodeActorRow } from '../shard/turn/actor-row.ts';
import { TABLE } from '../shard/commit/fold.ts';
import { loadRows } from '../shard/recovery/load.ts';
import type { System } from '../system.ts';

export type StoredActor = {
  readonly actor: string;
  readonly status: string;
  /** state value of the machine */
  readonly state: unknown;
};

export interface StoredActors {
  /** Actors in the order of their addresses. */
  list(options: { readonly type?: string; readonly limit: number }): Promise<StoredActor[]>;
  inspect(actor: Address): Promise<ReturnType<System['inspect']>>;
  close(): Promise<void>;
}

/** A store, and how the rows of one shard get into its state. */
type Source = {
  readonly store: Pick<Store, 'state' | 'close'>;
  readonly shards: number;
  load(shard: number): Promise<void>;
  unload(shard: number): Promise<void>;
};

/** Rows of a shard that are read at once. */
const PAGE = 1_000;

/** Folds snapshot and journal of one shard at a time into memory. */
export function actorsInCluster({
  store,
  blobs,
  env,
  shards,
}: {
  readonly store: Store;
  readonly blobs: Blobs;
  readonly env: string;
  readonly shards: number;
}): StoredActors {
  const { log, state, cell } = store;
  return storedActors({
    store,
    shards,
    load: async (shard) => {
      const journal = journalSubject(env, shard);
      await loadRows({ log, state, blobs, journal, shard, cell });
    },
    unload: (shard) => state.clear(shard),
  });
}

/** @throws TroupeError UNAVAILABLE while a process uses the folder */
export async function actorsInFolder(options: {
  readonly path: string;
  readonly durability: 'process' | 'power';
}): Promise<StoredActors> {
  const [{ openEmbeddedStore }, { openFileBlobs }] = await Promise.all([
    import('../log/embedded-store.ts'),
    import('../blobs/files.ts'),
  ]);
  const store = await openEmbeddedStore(options);
  const { log, state, cell } = store;
  const record = await log.readLast('cell.local');
  const blobs = await openFileBlobs(join(options.path, 'blobs'));
  return storedActors({
    store,
    shards: record ? decodeCell<{ shards: number }>(record).shards : 0,
    load: async (shard) => {
      const journal = journalSubject('local', shard);
      await loadRows({ log, state, blobs, journal, shard, cell });
    },
    unload: async () => {},
  });
}

const storedActors = (source: Source): StoredActors => ({
  async list({ type, limit }) {
    const found: StoredActor[] = [];
    for (let shard = 0; shard < source.shards && found.length < limit; shard++) {
      await source.load(shard);
      found.push(...actorsOf(source, shard, type));
      await source.unload(shard);
    }
    return found.toSorted((a, b) => (a.actor < b.actor ? -1 : 1)).slice(0, limit);
  },
  async inspect(actor) {
    await source.load(shardOf(actor, source.shards));
    return inspectActor(source.store.state, source.shards, actor);
  },
  close: () => source.store.close(),
});

function actorsOf({ store }: Source, shard: number, type: string | undefined): StoredActor[] {
  const found: StoredActor[] = [];
  for (let from: string | undefined; ; ) {
    const rows = store.state.range(shard, TABLE.actor, { limit: PAGE, ...defined({ from }) });
    for (const { key, value } of rows) {
      if (type !== undefined && key.split('/')[1] !== type) continue;
      const { status, row } = decodeActorRow(value);
      found.push({ actor: key, status, state: row.snap.v });
    }
    const last = rows.at(-1);
    if (!last || rows.length < PAGE) return found;
    from = `${last.key}\0`;
  }
}
