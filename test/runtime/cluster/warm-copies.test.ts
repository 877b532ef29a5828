/**
 * Copies of shards on the workers that take them over when the owner dies. A worker dies here by
 * losing its log and its bus at once; real processes are killed in test/kill/warm-copies.test.ts.
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it, onTestFinished } from 'vitest';
import { shardOf } from '../../../protocols/address.ts';
import type { ErasureScrub } from '../../../protocols/erasure.ts';
import { TroupeError } from '../../../protocols/errors.ts';
import { journalSubject } from '../../../protocols/subjects.ts';
import type { Blobs } from '../../../runtime/blobs/blobs.ts';
import type { Bus } from '../../../runtime/bus/bus.ts';
import { openStateCache, type System } from '../../../runtime/index.ts';
import type { Log } from '../../../runtime/log/log.ts';
import { TABLE } from '../../../runtime/shard/commit/fold.ts';
import { MemoryState } from '../../../runtime/state/memory.ts';
import type { State } from '../../../runtime/state/state.ts';
import { filesWith } from '../../installation/erasure/canary.ts';
import { eventually } from '../eventually.ts';
import { ask, ClusterWorld, known, puppet } from './world.ts';

const SHARDS = 8;
let world: ClusterWorld;
let plug: Plug;
beforeEach(() => {
  world = new ClusterWorld({ snapshotEvery: 20 });
  plug = new Plug();
});
afterEach(() => {
  plug.insert();
  return world.close();
});

/** A switch between a process and everything outside of it. */
class Plug {
  #isOut = false;
  #onIn: (() => void)[] = [];

  readonly aroundBus = (bus: Bus): Bus => {
    const isIn = () => !this.#isOut;
    return {
      get connected() {
        return bus.connected;
      },
      publish: (...args) => void (isIn() && bus.publish(...args)),
      subscribe: (pattern, on) => bus.subscribe(pattern, (message) => void (isIn() && on(message))),
      request: async (...args) => {
        await this.#in();
        return bus.request(...args);
      },
      close: () => bus.close(),
    };
  };

  readonly aroundLog = (log: Log): Log => ({
    atomic: log.atomic,
    append: async (...args) => {
      await this.#in();
      return log.append(...args);
    },
    last: async (subject) => {
      await this.#in();
      return log.last(subject);
    },
    readLast: async (subject) => {
      await this.#in();
      return log.readLast(subject);
    },
    read: async (...args) => {
      await this.#in();
      return log.read(...args);
    },
    follow: (...args) => log.follow(...args),
    trim: async (...args) => {
      await this.#in();
      return log.trim(...args);
    },
    close: () => log.close(),
  });

  pull(): void {
    this.#isOut = true;
  }

  insert(): void {
    this.#isOut = false;
    for (const call of this.#onIn.splice(0)) call();
  }

  async #in(): Promise<void> {
    if (this.#isOut) await new Promise<void>((resolve) => this.#onIn.push(resolve));
  }
}

const nameOf = (node = '') => node.split('-')[0]!;
const ownersOf = (system: System) =>
  system.status().map(({ state, node }) => (state === 'owned' ? nameOf(node) : undefined));
/** By shard, the workers that have a current copy. */
const copiesOf = (system: System): string[][] => {
  const owners = system.status();
  const all: string[][] = Array.from({ length: SHARDS }, () => []);
  for (const { name, copies = [] } of system.nodes())
    for (const { shard, position, lag } of copies)
      if (lag === 0 && position >= (owners[shard]?.position ?? 0)) all[shard]!.push(name);
  return all;
};
const copied = (system: System, workers: number) =>
  eventually(() => {
    const owners = ownersOf(system);
    expect(new Set(owners).size).toBe(workers);
    copiesOf(system).forEach((names, shard) => {
      expect(names.filter((name) => name !== owners[shard])).toHaveLength(1);
      expect(owners[shard]).toBeDefined();
    });
  });

const send = async (system: System, from: number, to: number) => {
  for (let i = from; i < to; i++) {
    const answer = await ask(system, puppet(`p${i % 24}`), { type: 'do', n: i }, { key: `k${i}` });
    expect(answer.kind).toBe('answered');
  }
};
const allSeen = (system: System, count: number) => {
  for (let p = 0; p < 24; p++) {
    const numbers = Array.from({ length: count }, (_, i) => i).filter((i) => i % 24 === p);
    expect(known(system, puppet(`p${p}`)).seen).toEqual(numbers.map((i) => `do:${i}`));
  }
};

it('every shard has a copy on one worker that is not its owner, which reports how far it is', async () => {
  await Promise.all(['a', 'b', 'c'].map((name) => world.worker(name)));
  const gateway = await world.gateway('g');
  await send(gateway, 0, 48);
  await copied(gateway, 3);
  await send(gateway, 48, 96);
  await copied(gateway, 3);
  expect(gateway.nodes().find(({ name }) => name === 'g')?.copies).toBeUndefined();
});

it('keeps none with the setting 0', async () => {
  await Promise.all(['a', 'b'].map((name) => world.worker(name, { warmCopies: 0 })));
  const c = await world.worker('c');
  await eventually(() => expect(c.nodes().find(({ name }) => name === 'c')?.copies).toBeDefined());
  const others = c.nodes().filter(({ name }) => name !== 'c');
  expect(others.map(({ copies }) => copies)).toEqual([undefined, undefined]);
});

it('takes a shard over from its copy, without a snapshot, and the former owner is fenced', async () => {
  const read: string[] = [];
  const aroundBlobs = (blobs: Blobs): Blobs => ({
    put: (...args) => blobs.put(...args),
    get: (name) => {
      read.push(name);
      return blobs.get(name);
    },
    list: (prefix) => blobs.list(prefix),
    delete: (name) => blobs.delete(name),
  });
  await world.worker('a', { aroundBus: plug.aroundBus, aroundLog: plug.aroundLog });
  await Promise.all(
    ['b', 'c'].map((name) => world.worker(name, { aroundBlobs, snapshotEvery: 1e6 })),
  );
  const gateway = await world.gateway('g');
  await send(gateway, 0, 300);
  await copied(gateway, 3);
  const lost = ownersOf(gateway).flatMap((name, shard) => (name === 'a' ? [shard] : []));
  const next = copiesOf(gateway);
  read.length = 0;
  const sending = send(gateway, 300, 400);
  plug.pull();
  await sending;
  expect(lost.length).toBeGreaterThan(0);
  expect(read.filter((name) => name.startsWith('snap/'))).toEqual([]);
  for (const shard of lost) expect(next[shard]).toContain(ownersOf(gateway)[shard]);
  plug.insert();
  const a = world.nodes.get('a')!;
  await send(gateway, 400, 500);
  await eventually(() =>
    expect(a.status().every(({ epoch }, shard) => epoch === gateway.status()[shard]!.epoch)).toBe(
      true,
    ),
  );
  allSeen(gateway, 500);
});

it('a worker that joins while a copy is being loaded, and the death of the owner, lose nothing', async () => {
  const held: (() => void)[] = [];
  let holds = true;
  const aroundBlobs = (blobs: Blobs): Blobs => ({
    put: (...args) => blobs.put(...args),
    get: async (name) => {
      if (holds) await new Promise<void>((resolve) => held.push(resolve));
      return blobs.get(name);
    },
    list: (prefix) => blobs.list(prefix),
    delete: (name) => blobs.delete(name),
  });
  await world.worker('a', { aroundBus: plug.aroundBus, aroundLog: plug.aroundLog });
  const gateway = await world.gateway('g');
  await send(gateway, 0, 400);
  const b = await world.worker('b', { aroundBlobs, snapshotEvery: 1e6 });
  await eventually(() => expect(held.length).toBeGreaterThan(0));
  await world.worker('c');
  const sending = send(gateway, 400, 450);
  plug.pull();
  holds = false;
  for (const release of held) release();
  await sending;
  expect(b.status().some(({ node, state }) => state === 'owned' && nameOf(node) !== 'a')).toBe(
    true,
  );
  allSeen(gateway, 450);
});

it('a worker that waits for its copy before it takes over says that it loads the shard', async () => {
  let holds = true;
  const held: (() => void)[] = [];
  const aroundBlobs = (blobs: Blobs): Blobs => ({
    put: (...args) => blobs.put(...args),
    get: async (name) => {
      if (holds) await new Promise<void>((resolve) => held.push(resolve));
      return blobs.get(name);
    },
    list: (prefix) => blobs.list(prefix),
    delete: (name) => blobs.delete(name),
  });
  await world.worker('a', { aroundBus: plug.aroundBus, aroundLog: plug.aroundLog });
  const gateway = await world.gateway('g');
  await send(gateway, 0, 400);
  await world.worker('b', { aroundBlobs, snapshotEvery: 1e6 });
  await eventually(() => expect(held.length).toBeGreaterThan(0));
  plug.pull();
  try {
    await eventually(() =>
      expect(gateway.status().map(({ state, node }) => `${nameOf(node)} ${state}`)).toContain(
        'b loading',
      ),
    );
  } finally {
    holds = false;
    for (const release of held) release();
  }
  await send(gateway, 400, 450);
  allSeen(gateway, 450);
});

it('an erasure removes the bytes of a copy, and the shard is taken over from the rest', {
  timeout: 180_000,
}, async () => {
  const path = mkdtempSync(join(tmpdir(), 'troupe-copy-'));
  onTestFinished(() => rmSync(path, { recursive: true, force: true }));
  const state = await openStateCache({ path, cell: world.store.cell });
  onTestFinished(() => state.close());
  await world.worker('a', { aroundBus: plug.aroundBus, aroundLog: plug.aroundLog });
  const gateway = await world.gateway('g');
  await world.worker('b', { state });
  await send(gateway, 0, 48);
  await copied(gateway, 2);
  const owners = ownersOf(gateway);
  const shard = owners.indexOf('a');
  const ofShard = (key: string) =>
    Array.from({ length: 1_000 }, (_, n) => puppet(`${key}${n}`)).find(
      (one) => shardOf(one, SHARDS) === shard,
    )!;
  const [secret, other] = [ofShard('secret'), ofShard('other')];
  await ask(gateway, secret, { type: 'do', n: 'xq7canary' });
  await ask(gateway, other, { type: 'do', n: 'zw3canary' });
  await eventually(() => expect(filesWith(path, 'xq7canary')).not.toEqual([]));

  await gateway.erasing.eraseActor(secret);
  await scrubbed(gateway);
  await eventually(() => expect(filesWith(path, 'xq7canary')).toEqual([]));
  expect(filesWith(path, 'zw3canary')).not.toEqual([]);
  expect(ownersOf(gateway)[shard]).toBe('a');

  await copied(gateway, 2);
  plug.pull();
  await send(gateway, 48, 72);
  allSeen(gateway, 72);
  const answer = await ask(gateway, secret, { type: 'do', n: 'again' });
  expect(answer).toMatchObject({ kind: 'answered' });
  // The answer may arrive before the gateway has read who the owner is.
  await eventually(() => expect(ownersOf(gateway)[shard]).toBe('b'));
  await eventually(() => expect(known(gateway, secret).seen).toEqual(['do:again']));
  expect(known(gateway, other).seen).toEqual(['do:zw3canary']);
  expect(filesWith(path, 'xq7canary')).toEqual([]);
});

/** Resolves when every owner has trimmed its shards and every process has new files. */
async function scrubbed({ erasing }: System): Promise<void> {
  const who = 'ada';
  let work: ErasureScrub = {
    tenant: 't',
    kind: 'session',
    id: 's',
    who,
    requestedAt: 1,
    reach: null,
  };
  await eventually(async () => {
    const reach = await erasing.scrub(work, new AbortController().signal);
    work = { ...work, reach };
    expect(reach.isDone).toBe(true);
  }, 60_000);
}

it('a copy that the journal has left behind is replaced by the snapshot', async () => {
  const state = new MemoryState();
  await world.worker('a');
  const gateway = await world.gateway('g');
  await world.worker('b', { state });
  await send(gateway, 0, 24);
  await copied(gateway, 2);
  await world.stop('b');
  const behind = Array.from({ length: SHARDS }, (_, shard) => [...state.dump(shard)].length);
  expect(Math.max(...behind)).toBeGreaterThan(1);
  await send(gateway, 24, 800);
  const [shard] = [shardOf(puppet('p0'), SHARDS)];
  const [first] = await world.store.log.read(journalSubject('local', shard), 1, { limit: 1 });
  expect(first!.position).toBeGreaterThan(1);
  await world.worker('b', { state });
  await copied(gateway, 2);
  await world.stop('a');
  await send(gateway, 800, 824);
  allSeen(gateway, 824);
});

it('a damaged row of a copy is found when it is used, and the shard is read again', async () => {
  const state = new DamagedState();
  await world.worker('a', { aroundBus: plug.aroundBus, aroundLog: plug.aroundLog });
  const gateway = await world.gateway('g');
  await world.worker('b', { state });
  await send(gateway, 0, 96);
  await copied(gateway, 2);
  state.damages(puppet('p1'));
  plug.pull();
  await send(gateway, 96, 120);
  allSeen(gateway, 120);
  expect(state.damaged).toBe(undefined);
});

/** A row that cannot be read until the shard is cleared. */
class DamagedState extends MemoryState implements State {
  damaged: string | undefined;

  damages(key: string): void {
    this.damaged = key;
  }

  override get(shard: number, table: string, key: string): Uint8Array | undefined {
    if (table === TABLE.actor && key === this.damaged)
      throw new TroupeError('INTERNAL', 'a damaged row', {
        details: { reason: 'CORRUPT', shard, table, key },
      });
    return super.get(shard, table, key);
  }

  override clear(shard: number): Promise<void> {
    if (this.damaged && shard === shardOf(this.damaged as never, SHARDS)) this.damaged = undefined;
    return super.clear(shard);
  }
}
