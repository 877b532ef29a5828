/**
 * A log that lost acknowledged records, because its server was restored from an older disk, and has
 * stored others at the same positions. A copy that compared positions only would keep rows of
 * records that are gone.
 */
import { cpSync, rmSync } from 'node:fs';
import { afterEach, beforeEach, expect, it, onTestFinished } from 'vitest';
import { address } from '../../../protocols/address.ts';
import { journalSubject, mailboxSubject } from '../../../protocols/subjects.ts';
import { MemoryBlobs } from '../../../runtime/blobs/memory.ts';
import { InProcessBus } from '../../../runtime/bus/in-process.ts';
import { Replicas } from '../../../runtime/cluster/replicas.ts';
import { createSystem, type System, systemClock } from '../../../runtime/index.ts';
import type { Follow, Log } from '../../../runtime/log/log.ts';
import { createMemoryStore, MemoryLog, type MemoryStore } from '../../../runtime/log/memory.ts';
import { MemoryState } from '../../../runtime/state/memory.ts';
import type { State } from '../../../runtime/state/state.ts';
import { startNats } from '../../servers/nats.ts';
import { eventually } from '../eventually.ts';
import { connectTo, makeStream, onEveryNats, openLog } from '../log/nats-under-test.ts';
import { bossType, puppetType } from '../system/puppet.ts';

const principal = { sub: 'ada', roles: ['user'] };
const JOURNAL = journalSubject('r', 0);

/** A log whose data can be exchanged while it is followed. Follows continue at their position. */
class RestorableLog {
  #log: MemoryLog;
  readonly #interrupts = new Set<() => void>();

  constructor(log: MemoryLog) {
    this.#log = log;
  }

  readonly log: Log = {
    atomic: false,
    append: (...args) => this.#log.append(...args),
    last: (subject) => this.#log.last(subject),
    readLast: (subject) => this.#log.readLast(subject),
    read: (...args) => this.#log.read(...args),
    follow: (...args) => this.#follow(...args),
    trim: (...args) => this.#log.trim(...args),
    close: async () => {},
  };

  /** Reads from other data from now on, as after the restart of a server on an older disk. */
  restore(log: MemoryLog): void {
    this.#log = log;
    for (const interrupt of this.#interrupts) interrupt();
  }

  #follow(subject: string, from: number, onInterrupted = () => {}): Follow {
    let next = from;
    let isClosed = false;
    let inner = this.#log.follow(subject, from);
    const interrupt = () => {
      const old = inner;
      inner = this.#log.follow(subject, next);
      onInterrupted();
      old.close();
    };
    this.#interrupts.add(interrupt);
    return {
      get pending() {
        return inner.pending;
      },
      next: async () => {
        while (!isClosed) {
          const entries = await inner.next();
          next = (entries.at(-1)?.position ?? next - 1) + 1;
          if (entries.length > 0) return entries;
        }
        return [];
      },
      close: () => {
        isClosed = true;
        this.#interrupts.delete(interrupt);
        inner.close();
      },
    };
  }
}

let store: MemoryStore;
let blobs: MemoryBlobs;
let restorable: RestorableLog;
let rows: MemoryState;
let replicas: Replicas;
let alarms: string[];
let system: System | undefined;

const owner = (of: MemoryStore, snapshotEvery = 1_000) =>
  createSystem({
    actors: [puppetType(), bossType()],
    store: { ...of, close: async () => {} },
    bus: new InProcessBus(),
    blobs,
    env: 'r',
    shards: 1,
    snapshotEvery,
  });

const work = async (names: readonly string[]) => {
  for (const name of names)
    await system!.ask(
      address('t', 'puppet', name),
      { type: 'do', steps: [] },
      { principal, timeoutMs: 10_000 },
    );
};

const stop = async () => {
  await system?.stop();
  system = undefined;
};

/** The data as they are now, in another store. */
const copyOfData = async (): Promise<MemoryStore> => {
  const log = new MemoryLog(systemClock, false);
  for (const subject of [
    JOURNAL,
    mailboxSubject('r', 0, 'data'),
    mailboxSubject('r', 0, 'control'),
  ])
    for (const { bytes } of await store.log.read(subject, 1)) log.appendNow(subject, bytes);
  return { log, state: new MemoryState(), cell: store.cell };
};

const rowsOf = (state: State) =>
  [...state.dump(0)].map(({ table, key, value }) => [
    table,
    key,
    Buffer.from(value).toString('hex'),
  ]);

const followed = async (of: MemoryStore) => {
  const last = await of.log.last(JOURNAL);
  await eventually(() => expect(replicas.status(0)).toEqual({ shard: 0, position: last, lag: 0 }));
};

const openReplicas = (log: Log) => {
  const made = new Replicas({
    log,
    state: rows,
    blobs,
    cell: store.cell,
    env: 'r',
    clock: systemClock,
    onAlarm: (what) => alarms.push(what),
  });
  made.keep(0);
  return made;
};

beforeEach(async () => {
  alarms = [];
  store = createMemoryStore({ clock: systemClock, atomic: false });
  blobs = new MemoryBlobs();
  rows = new MemoryState();
  restorable = new RestorableLog(store.log);
  system = await owner(store);
  replicas = openReplicas(restorable.log);
});
afterEach(async () => {
  await replicas.close();
  await stop();
});

it('drops the rows of lost records whose positions others have now', async () => {
  await work(['kept']);
  const restored = await copyOfData();
  await work(['ghost', 'ghost']);
  await stop();
  await followed(store);
  expect(JSON.stringify(rowsOf(rows))).toContain('ghost');
  const lost = await store.log.last(JOURNAL);
  system = await owner(restored);
  await work(['other', 'other', 'other']);
  expect(await restored.log.last(JOURNAL)).toBeGreaterThan(lost);
  restorable.restore(restored.log);
  await eventually(() => expect(rowsOf(rows)).toEqual(rowsOf(restored.state)));
  expect(JSON.stringify(rowsOf(rows))).not.toContain('ghost');
  expect(alarms.join()).toMatch(
    new RegExp(`shard 0 .*the journal has lost record ${lost} .*dropped and read again`),
  );

  await work(['other', 'later']);
  await followed(restored);
  expect(rowsOf(rows)).toEqual(rowsOf(restored.state));
  expect(alarms).toHaveLength(1);
});

it('drops them also when nothing has the positions yet, without a new record', async () => {
  await work(['kept']);
  const restored = await copyOfData();
  await work(['ghost']);
  await followed(store);
  restorable.restore(restored.log);
  await followed(restored);
  expect(JSON.stringify(rowsOf(rows))).not.toContain('ghost');
  expect(alarms).toHaveLength(1);
});

it('keeps the rows after an interruption without a loss', async () => {
  await work(['one', 'two']);
  await followed(store);
  let clears = 0;
  const clear = rows.clear.bind(rows);
  rows.clear = (shard) => {
    clears += 1;
    return clear(shard);
  };
  restorable.restore(store.log);
  await work(['one', 'three']);
  await followed(store);
  expect(rowsOf(rows)).toEqual(rowsOf(store.state));
  expect([clears, alarms]).toEqual([0, []]);
});

it('reports nothing when the record was trimmed during the interruption', async () => {
  await work(['one']);
  await followed(store);
  await stop();
  const end = await store.log.last(JOURNAL);
  const longer = await copyOfData();
  system = await owner(longer, 10);
  await work(Array.from({ length: 60 }, (_, i) => `k${i % 5}`));
  const [first] = await longer.log.read(JOURNAL, 1, { limit: 1 });
  expect(first!.position).toBeGreaterThan(end);
  restorable.restore(longer.log);
  await followed(longer);
  expect(rowsOf(rows)).toEqual(rowsOf(longer.state));
  expect(alarms).toEqual([]);
});

onEveryNats('a server that is started on an older copy of its disk', (path) => {
  /** Stores the records of a journal that the server does not have. */
  const feed = async (to: Log, from: MemoryStore) => {
    for (const { bytes } of await from.log.read(JOURNAL, (await to.last(JOURNAL)) + 1))
      await to.append(JOURNAL, bytes);
  };

  it.each([
    { others: true, what: 'with other records at the positions' },
    { others: false, what: 'which ends before them' },
  ])('$what: the copy is made again', async ({ others }) => {
    await replicas.close();
    await work(['kept']);
    const restored = await copyOfData();
    let server = await startNats({ path });
    const { folder, port } = server;
    const older = `${folder}-older`;
    const nc = await connectTo(port);
    onTestFinished(async () => {
      await replicas.close();
      await nc.close();
      await server.stop();
      rmSync(older, { recursive: true, force: true });
    });
    const stream = await makeStream(nc);
    const log = await openLog(nc, stream);
    await feed(log, restored);
    await server.kill('SIGTERM');
    cpSync(folder, older, { recursive: true });
    server = await startNats({ path, folder, port });

    await work(['ghost', 'ghost']);
    await stop();
    await eventually(() => feed(log, store));
    replicas = openReplicas(log);
    await followed(store);
    expect(JSON.stringify(rowsOf(rows))).toContain('ghost');

    await server.kill('SIGKILL');
    rmSync(folder, { recursive: true, force: true });
    cpSync(older, folder, { recursive: true });
    if (others) {
      system = await owner(restored);
      await work(['other', 'other', 'other']);
      await stop();
      server = await startNats({ path, folder });
      const elsewhere = await connectTo(server.port);
      await feed(await openLog(elsewhere, stream), restored);
      await elsewhere.close();
      await server.kill('SIGTERM');
    }
    server = await startNats({ path, folder, port });
    await eventually(() => expect(rowsOf(rows).toString()).not.toContain('ghost'));
    await followed(restored);
    expect(JSON.stringify(rowsOf(rows))).not.toContain('ghost');
    // Whether there is an alarm depends on whether the server was reached before the rows were read
    // again for another reason.
    expect(JSON.stringify(rowsOf(rows)).includes('other')).toBe(others);
  });
});
