/**
 * `troupe actors`: looks at single actors, in a cluster (`--nats`) or in the data folder of a
 * troupe that is stopped. Reads what is stored, wakes nobody, changes nothing.
 */
import { type Address, isAddress, shardOf } from '../protocols/address.ts';
import { decode } from '../protocols/codec.ts';
import { defined } from '../protocols/defined.ts';
import { TroupeError } from '../protocols/errors.ts';
import { journalSubject } from '../protocols/subjects.ts';
import { inspectActor } from '../runtime/reads.ts';
import { type Config, natsServers, storeFolder } from '../runtime/config/index.ts';
import { decodeActorRow } from '../runtime/shard/actor-row.ts';
import { TABLE } from '../runtime/shard/fold.ts';
import { catchUp, loadShard } from '../runtime/shard/load.ts';
import { type ShownTurn, turnsOf } from './actor-turns.ts';
import { type ClusterLink, linkCluster } from './cluster-link.ts';
import { exitCodes } from './exit.ts';
import { type CommonOptions, loadFrom } from './options.ts';
import { table } from '../operations/text.ts';
import { printJson } from './output.ts';
import { untilSignal } from './signals.ts';

export type ActorsOptions = CommonOptions;
export type ListOptions = ActorsOptions & { readonly type?: string; readonly limit?: number };
export type WatchOptions = ActorsOptions & { readonly turns?: number };

type Listed = { readonly actor: string; readonly status: string; readonly state: unknown };

const LIST_MAX = 1_000;
/** How many rows of a shard are looked at in one go. */
const PAGE = 1_000;

export async function list(options: ListOptions): Promise<number> {
  const { type, limit = LIST_MAX } = options;
  const rows = await reading(options, async (place) => {
    const found: Listed[] = [];
    for (let shard = 0; shard < place.shards && found.length < limit; shard++) {
      await place.load(shard);
      found.push(...actorsOf(place, shard, type));
      await place.forget(shard);
    }
    return found.toSorted((a, b) => (a.actor < b.actor ? -1 : 1)).slice(0, limit);
  });
  if (options.json) printJson(rows);
  else {
    const cells = rows.map((row) => [row.actor, row.status, JSON.stringify(row.state)]);
    process.stdout.write(table(['actor', 'status', 'state'], cells));
  }
  return exitCodes.ok;
}

export async function show(text: string, options: ActorsOptions): Promise<number> {
  const actor = addressOf(text);
  const found = await reading(options, async (place) => {
    await place.load(shardOf(actor, place.shards));
    return inspectActor(place.store.state, place.shards, actor);
  });
  if (!found) throw new TroupeError('NOT_FOUND', `there is no actor ${actor}`);
  printJson({ actor, ...found });
  return exitCodes.ok;
}

/** Ends at the first signal, or after `turns` turns. */
export async function watch(text: string, options: WatchOptions): Promise<number> {
  const actor = addressOf(text);
  const { config } = await loadFrom(options);
  if (natsServers(config.nats).length === 0) {
    throw new TroupeError(
      'INVALID_ARGUMENT',
      'actors can be watched in a cluster only: give --nats. On its embedded store troupe alone reads its journal; troupe actors show reads it when troupe is stopped',
    );
  }
  const asked = untilSignal();
  const link = await linkCluster(config, asked);
  try {
    let left = options.turns ?? Number.POSITIVE_INFINITY;
    for await (const turn of turnsOf(actor, link, asked)) {
      process.stdout.write(`${options.json ? JSON.stringify(turn) : lineOf(turn)}\n`);
      if (--left <= 0) break;
    }
    return asked.aborted ? exitCodes.interrupted : exitCodes.ok;
  } finally {
    await link.store.close();
  }
}

function lineOf({ at, input, from, result, why, state, sent }: ShownTurn): string {
  const told = sent.map(({ to, type }) => `${type} to ${to}`).join(', ');
  return [
    new Date(at).toISOString().slice(11, 23),
    `${input}${from === undefined ? '' : ` from ${from}`}`,
    result === 'applied' ? '' : `[${result}${why === undefined ? '' : `: ${why}`}]`,
    state === undefined ? '' : `-> ${JSON.stringify(state)}`,
    told === '' ? '' : `sends ${told}`,
  ]
    .filter((part) => part !== '')
    .join('  ');
}

function addressOf(text: string): Address {
  if (isAddress(text)) return text;
  throw new TroupeError('INVALID_ARGUMENT', `${text} is no address: write tenant/type/key`);
}

type Place = Pick<ClusterLink, 'store' | 'shards'> & {
  /** brings the rows of a shard into `store.state` */
  load(shard: number): Promise<void>;
  forget(shard: number): Promise<void>;
};

function actorsOf({ store }: Place, shard: number, type: string | undefined): Listed[] {
  const found: Listed[] = [];
  for (let from: string | undefined; ; ) {
    const rows = store.state.range(shard, TABLE.actor, {
      limit: PAGE,
      ...defined({ from }),
    });
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

async function reading<T>(options: ActorsOptions, use: (place: Place) => Promise<T>): Promise<T> {
  const { config } = await loadFrom(options);
  const clustered = natsServers(config.nats).length > 0;
  const place = clustered ? await inCluster(config) : await inFolder(config);
  try {
    return await use(place);
  } finally {
    await place.store.close();
  }
}

/** Rows are folded from snapshot and journal into memory, one shard at a time. */
async function inCluster(config: Config): Promise<Place> {
  const { store, blobs, env, shards } = await linkCluster(config, untilSignal());
  const { log, state, cell } = store;
  return {
    store,
    shards,
    load: async (shard) => {
      const journal = journalSubject(env, shard);
      await catchUp(await loadShard({ log, state, blobs, journal, shard, cell }), state);
    },
    forget: (shard) => state.clear(shard),
  };
}

/** @throws TroupeError UNAVAILABLE while troupe runs on it */
async function inFolder(config: Config): Promise<Place> {
  const { openLmdbStore } = await import('../runtime/log/lmdb.ts');
  const store = await openLmdbStore({
    path: storeFolder(config),
    durability: config.runtime.durability,
  });
  const record = await store.log.readLast('cell.local');
  return {
    store,
    shards: record ? decode<{ shards: number }>(record.bytes).shards : 0,
    load: async () => {},
    forget: async () => {},
  };
}
