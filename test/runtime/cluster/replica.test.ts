/** A replica of a shard's rows on a log that is not atomic, as a gateway reads it. */
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { address } from '../../../protocols/address.ts';
import { journalSubject } from '../../../protocols/subjects.ts';
import { InProcessBus } from '../../../runtime/bus/in-process.ts';
import { MemoryBlobs } from '../../../runtime/blobs/memory.ts';
import { Replicas } from '../../../runtime/cluster/replicas.ts';
import { createSystem, type System, systemClock } from '../../../runtime/index.ts';
import { createMemoryStore, type MemoryStore } from '../../../runtime/log/memory.ts';
import { openStateCache } from '../../../runtime/index.ts';
import type { State } from '../../../runtime/state/state.ts';
import { MemoryState } from '../../../runtime/state/memory.ts';
import { eventually } from '../eventually.ts';
import { bossType, puppetType } from '../system/puppet.ts';

const SHARDS = 2;
const principal = { sub: 'ada', roles: ['user'] };
let store: MemoryStore;
let blobs: MemoryBlobs;
let system: System;
let copy: MemoryState;
let replicas: Replicas;
let alarms: string[];

const openSystem = () =>
  createSystem({
    actors: [puppetType(), bossType()],
    store: { ...store, close: async () => {} },
    bus: new InProcessBus(),
    blobs,
    env: 'r',
    shards: SHARDS,
    snapshotEvery: 20,
  });

const openReplicas = (state: State) => {
  const made = new Replicas({
    log: store.log,
    state,
    blobs,
    cell: store.cell,
    env: 'r',
    clock: systemClock,
    onAlarm: (what) => alarms.push(what),
  });
  for (let shard = 0; shard < SHARDS; shard++) made.keep(shard);
  return made;
};

beforeEach(async () => {
  alarms = [];
  store = createMemoryStore({ clock: systemClock, atomic: false });
  blobs = new MemoryBlobs();
  copy = new MemoryState();
  system = await openSystem();
  replicas = openReplicas(copy);
});
afterEach(async () => {
  await replicas.close();
  await system.stop();
});

const rowsOf = (state: State, shard: number) =>
  [...state.dump(shard)].map(({ table, key, value }) => [
    table,
    key,
    Buffer.from(value).toString('hex'),
  ]);

const work = async (from: number, to: number) => {
  for (let i = from; i < to; i++)
    await system.ask(
      address('t', 'puppet', `k${i % 7}`),
      { type: 'do', steps: [] },
      { principal, timeoutMs: 10_000 },
    );
};

const sameAsOwner = () =>
  eventually(() => {
    for (let shard = 0; shard < SHARDS; shard++)
      expect(rowsOf(copy, shard)).toEqual(rowsOf(store.state, shard));
  });

it('has the same rows as the owner, also across snapshots and trims', async () => {
  await work(0, 60);
  await sameAsOwner();
  await work(60, 120);
  await sameAsOwner();
  expect(alarms).toEqual([]);
});

it('starts from the latest snapshot, and continues from its rows after a stop', async () => {
  await work(0, 100);
  await replicas.close();
  await work(100, 200);
  replicas = openReplicas(copy);
  await replicas.ready(10_000);
  await sameAsOwner();
  await replicas.close();
  copy = new MemoryState();
  replicas = openReplicas(copy);
  await replicas.ready(10_000);
  await sameAsOwner();
  expect(alarms).toEqual([]);
});

it('shows the rows of a record before it reports the record as seen', async () => {
  await work(0, 10);
  for (let shard = 0; shard < SHARDS; shard++) {
    const { position } = system.status()[shard]!;
    await replicas.seen(shard, position);
    expect(rowsOf(copy, shard)).toEqual(rowsOf(store.state, shard));
  }
});

it('follows a new owner, and writes nothing after its release', async () => {
  await work(0, 10);
  await system.stop();
  system = await openSystem();
  await work(10, 20);
  await sameAsOwner();
  await replicas.release(0);
  const before = rowsOf(copy, 0);
  await work(20, 40);
  expect(rowsOf(copy, 0)).toEqual(before);
});

it('reports a damaged journal, and shows no entries after the damage', async () => {
  await work(0, 10);
  await sameAsOwner();
  const before = rowsOf(copy, 0);
  store.log.appendNow(journalSubject('r', 0), Buffer.from('damage'));
  await replicas.release(0);
  replicas.keep(0);
  await eventually(() => expect(alarms.join()).toMatch(/shard 0 cannot be read here/));
  expect(rowsOf(copy, 0)).toEqual(before);
});

it('a replica with a damaged row is rebuilt from the journal, and not read until then', async () => {
  await work(0, 30);
  const last = await store.log.last(journalSubject('r', 0));
  await eventually(() => expect(replicas.position(0)).toBe(last));
  replicas.rebuild(0);
  replicas.rebuild(0);
  expect(replicas.isRebuilding(0)).toBe(true);
  await eventually(() => expect(replicas.isRebuilding(0)).toBe(false));
  expect(rowsOf(copy, 0)).toEqual(rowsOf(store.state, 0));
  expect(alarms).toEqual([]);
});

it('rows of another format on the disk are thrown away, and the copy is made again', async () => {
  await work(0, 60);
  const path = mkdtempSync(join(tmpdir(), 'replica-'));
  const { cell } = store;
  try {
    let state = await openStateCache({ path, cell });
    await replicas.close();
    replicas = openReplicas(state);
    await replicas.ready(10_000);
    await replicas.close();
    await state.close();
    const file = join(path, 'cache.json');
    const older = { ...(JSON.parse(readFileSync(file, 'utf8')) as object), format: 0 };
    writeFileSync(file, JSON.stringify(older));
    state = await openStateCache({ path, cell });
    expect(state.emptied).toMatch(/another format/);
    expect(rowsOf(state, 0)).toEqual([]);
    replicas = openReplicas(state);
    await replicas.ready(10_000);
    for (let shard = 0; shard < SHARDS; shard++)
      expect(rowsOf(state, shard)).toEqual(rowsOf(store.state, shard));
    await replicas.close();
    await state.close();
  } finally {
    rmSync(path, { recursive: true, force: true });
  }
});

it('rewrite removes the rows of a shard, and reads them again only where it is replicated', async () => {
  await work(0, 30);
  await replicas.rewrite(0);
  await sameAsOwner();
  await replicas.release(1);
  expect(rowsOf(copy, 1).length).toBeGreaterThan(0);
  await replicas.rewrite(1);
  expect(rowsOf(copy, 1)).toEqual([]);
  expect(replicas.status(1)).toBeUndefined();
});

it('an owner that begins during a removal waits for its end', async () => {
  await replicas.release(0);
  let remove: () => void;
  const removing = new Promise<void>((resolve) => (remove = resolve));
  const order: string[] = [];
  const state: State = Object.assign(new MemoryState(), {
    clear: async () => {
      await removing;
      order.push('removed');
    },
  });
  const slow = new Replicas({
    log: store.log,
    state,
    blobs,
    cell: store.cell,
    env: 'r',
    clock: systemClock,
    onAlarm: (what) => alarms.push(what),
  });
  const removed = slow.rewrite(0);
  const released = slow.release(0).then(() => order.push('released'));
  remove!();
  await Promise.all([removed, released]);
  expect(order).toEqual(['removed', 'released']);
  await slow.close();
});
