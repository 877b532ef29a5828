/**
 * Reads stored actors and transcripts without the program: from the data folder of a killed
 * program, or from the log of a running cluster. It activates no actor and changes nothing.
 */
import { join } from 'node:path';
import { type Address, shardOf } from '../../protocols/address.ts';
import { Listener } from '../../cli/cluster/cluster-link.ts';
import { viewOf } from '../../cli/cluster/cluster-view.ts';
import type { SessionEntry } from '../../protocols/session.ts';
import { journalSubject } from '../../protocols/subjects.ts';
import { decodeCell } from '../../runtime/cell-record.ts';
import { openFileBlobs } from '../../runtime/blobs/files.ts';
import { openNats, type Store } from '../../runtime/index.ts';
import { openEmbeddedStore } from '../../runtime/log/embedded-store.ts';
import { inspectActor } from '../../runtime/reads.ts';
import { loadRows } from '../../runtime/shard/recovery/load.ts';
import { MemoryState } from '../../runtime/state/memory.ts';
import { LogTranscripts } from '../../runtime/transcripts.ts';

/** Every process sends heartbeats more often than this. */
const HEARD_WITHIN_MS = 5_000;

export type Stored = {
  /** The active states; undefined if the actor does not exist. */
  stateOf(actor: Address): Promise<unknown>;
  /** The context; undefined if the actor does not exist. */
  contextOf(actor: Address): Promise<unknown>;
  entriesOf(session: Address): Promise<SessionEntry[]>;
  close(): Promise<void>;
};

const entriesIn =
  ({ log }: Store, env: string) =>
  async (session: Address): Promise<SessionEntry[]> =>
    (await new LogTranscripts(log, env, 1).read(session, { limit: 10_000 })).map(
      ({ entry }) => entry as SessionEntry,
    );

/** Opens the store of a program that has exited. */
export async function openDead(data: string): Promise<Stored> {
  const store = await openEmbeddedStore({ path: join(data, 'store'), durability: 'process' });
  const cell = await store.log.readLast('cell.local');
  const { shards } = decodeCell<{ shards: number }>(cell!);
  // The rows are those of the last checkpoint; the journals contain later turns.
  const blobs = await openFileBlobs(join(data, 'store', 'blobs'));
  for (let shard = 0; shard < shards; shard++) {
    const journal = journalSubject('local', shard);
    await loadRows({ ...store, blobs, journal, shard });
  }
  return {
    stateOf: async (actor) => inspectActor(store.state, shards, actor)?.value,
    contextOf: async (actor) => inspectActor(store.state, shards, actor)?.context,
    entriesOf: entriesIn(store, 'local'),
    close: () => store.close(),
  };
}

export type StoredCluster = Stored & {
  readonly shards: number;
  /** By shard, the name of the worker that reports it as its own; undefined if there is none. */
  owners(): readonly (string | undefined)[];
  /** The workers that report a copy of the shard. */
  copies(shard: number): readonly string[];
};

/** Opens the store of a running cluster. Each read folds the newer records of the actor's shard. */
export async function openCluster(url: string): Promise<StoredCluster> {
  const env = 'main';
  const { store, blobs, bus, shards } = await openNats({
    servers: [url],
    name: 'looks on',
    env,
    // ignored: the cell has its own number of shards
    shards: 1,
    create: false,
    state: () => new MemoryState(),
    onAlarm: () => {},
  });
  const { log, state, cell } = store;
  const listener = new Listener(bus);
  let looked: Promise<unknown> = Promise.resolve();
  // One after the other: the rows stay, and the next look folds only the later records onto them.
  const inspect = (actor: Address) => {
    const look = looked.then(async () => {
      const shard = shardOf(actor, shards);
      const journal = journalSubject(env, shard);
      await loadRows({ log, state, blobs, journal, shard, cell });
      return inspectActor(state, shards, actor);
    });
    looked = look.catch(() => {});
    return look;
  };
  const view = () => viewOf({ env, cell, shards }, listener.received(HEARD_WITHIN_MS)).shards;
  return {
    shards,
    owners: () => view().map(({ owner }) => owner),
    copies: (shard) => (view()[shard]?.copies ?? []).map(({ worker }) => worker),
    stateOf: async (actor) => (await inspect(actor))?.value,
    contextOf: async (actor) => (await inspect(actor))?.context,
    entriesOf: entriesIn(store, env),
    close: async () => {
      listener.stop();
      await store.close();
    },
  };
}
