/**
 * One shard as in a cluster: a log that is not atomic, snapshots as files, and a cache of rows for
 * each process that owns it, one after the other.
 */
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { onTestFinished } from 'vitest';
import { address } from '../../../protocols/address.ts';
import { journalSubject } from '../../../protocols/subjects.ts';
import { createRegistry } from '../../../runtime/actor/registry.ts';
import type { Blobs } from '../../../runtime/blobs/blobs.ts';
import { openFileBlobs } from '../../../runtime/blobs/files.ts';
import { InProcessBus } from '../../../runtime/bus/in-process.ts';
import { type Clock, systemClock } from '../../../runtime/clock/clock.ts';
import { MessageClient } from '../../../runtime/message-client.ts';
import type { Log } from '../../../runtime/log/log.ts';
import { MemoryLog } from '../../../runtime/log/memory.ts';
import type { Outside } from '../../../runtime/shard/commit/after-commit.ts';
import { ShardOwner } from '../../../runtime/shard/owner.ts';
import type { OwnerOptions } from '../../../runtime/shard/owner-options.ts';
import { decodeRecord, type JournalRecord } from '../../../runtime/shard/commit/records.ts';
import { DEFAULT_LIMITS } from '../../../runtime/shard/limits.ts';
import { openStateCache, type StateCache } from '../../../runtime/state/lmdb-cache.ts';
import { Ahead, ShiftedLog } from '../../cluster/shifted-log.ts';
import { type Answer, type Command, simActors } from '../../sim/actors.ts';

export const ENV = 'test';
export const CELL = 'cell';
export const JOURNAL = journalSubject(ENV, 0);
export const SNAPSHOTS = `snap/${CELL}/0/`;
const registry = createRegistry(simActors);

type Settings = Pick<OwnerOptions, 'snapshotEvery' | 'snapshotBytes'>;

export class ClusterShard {
  readonly log: Log;
  readonly alarms: string[] = [];
  readonly path: string;
  readonly blobs: Blobs;
  /** why the last owner lost the shard */
  ended: string | undefined;
  readonly #settings: Settings;
  readonly #bus = new InProcessBus();
  readonly #client: MessageClient;
  #owner: ShardOwner | undefined;
  #cache: StateCache | undefined;

  readonly #clock: Clock;

  /** @param clock the server's, and a worker's where it names no other */
  constructor(path: string, blobs: Blobs, settings: Settings, clock: Clock) {
    const stored = new MemoryLog(systemClock, false);
    // A server's time falls when its clock is set back; that of a MemoryLog never does.
    this.log = clock === systemClock ? stored : new ShiftedLog(stored, new Ahead(clock));
    this.#clock = clock;
    this.path = path;
    this.blobs = blobs;
    this.#settings = settings;
    const { log } = this;
    const at = { log, bus: this.#bus, clock, env: ENV, shards: 1, cell: CELL, worker: 'client' };
    this.#client = new MessageClient({
      ...at,
      format: { writes: 1 },
      registry,
      statusOf: () => this.#owner?.status(),
    });
  }

  get owner(): ShardOwner {
    if (!this.#owner) throw new Error('the shard has no owner');
    return this.#owner;
  }

  get cache(): StateCache {
    if (!this.#cache) throw new Error('the shard has no owner');
    return this.#cache;
  }

  /** A process takes over the shard; returns its state: owned, lost or quarantined. */
  async take(process: string, ports: Partial<OwnerOptions> = {}): Promise<string> {
    this.ended = undefined;
    this.#cache = await openStateCache({ path: join(this.path, process), cell: CELL });
    this.#owner = new ShardOwner({
      world: { cell: CELL, shard: 0, shards: 1, registry, limits: DEFAULT_LIMITS },
      env: ENV,
      worker: process,
      log: this.log,
      state: this.#cache,
      blobs: this.blobs,
      clock: this.#clock,
      outside: this.#outside(),
      format: { writes: 1 },
      onEnd: (status, why) => void (this.ended = `${status}: ${why}`),
      ...this.#settings,
      ...ports,
    });
    await this.#owner.start();
    return this.#owner.status().state;
  }

  /** The process hands the shard over, or dies. */
  async leave(how: 'hands over' | 'dies' = 'hands over'): Promise<void> {
    if (how === 'hands over') await this.#owner?.handOff();
    else this.#owner?.abandon();
    await this.#cache?.close();
    this.#owner = undefined;
    this.#cache = undefined;
  }

  /** How many inputs the actor has applied, this one included. */
  async ask(key: string, event: Partial<Command> = {}): Promise<number> {
    const to = address('t', 'plain', key);
    const options = { principal: { sub: 'c', roles: [] }, timeoutMs: 20_000 };
    const answer = await this.#client.ask(to, { type: 'hard', ...event }, options);
    if (answer.kind !== 'answered') throw new Error(`no answer: ${JSON.stringify(answer)}`);
    return (answer.result as Answer).n;
  }

  /** Sends asks one after the other, so that each has its own record. */
  async askTimes(times: number, key = 'a', event: Partial<Command> = {}): Promise<void> {
    for (let i = 0; i < times; i++) await this.ask(key, event);
  }

  async journal(): Promise<JournalRecord[]> {
    const entries = await this.log.read(JOURNAL, 1, { limit: 100_000 });
    return entries.map(({ bytes }) => decodeRecord(bytes));
  }

  async snapshots(): Promise<Extract<JournalRecord, { t: 'SNAPSHOT' }>[]> {
    return (await this.journal()).flatMap((record) => (record.t === 'SNAPSHOT' ? [record] : []));
  }

  /** Inverts a byte in the middle of a blob's file. */
  async rot(name: string): Promise<void> {
    const slash = name.lastIndexOf('/');
    const file = join(this.path, 'blobs', name.slice(0, slash), `=${name.slice(slash + 1)}`);
    const bytes = await readFile(file);
    bytes[bytes.length >> 1]! ^= 0xff;
    await writeFile(file, bytes);
  }

  async close(): Promise<void> {
    await this.leave('dies');
    this.#client.close();
    // Pending writes end by themselves.
    await rm(this.path, { recursive: true, force: true, maxRetries: 20, retryDelay: 50 });
  }

  #outside(): Outside {
    const nothing = (): void => {};
    return {
      respond: (inbox, answer) => this.#bus.publish(inbox, answer),
      publish: nothing,
      run: nothing,
      reconcile: nothing,
      abort: nothing,
      adopt: () => nothing,
      alarm: (what) => void this.alarms.push(what),
    };
  }
}

export const openClusterShard = async (
  settings: Settings = {},
  clock: Clock = systemClock,
): Promise<ClusterShard> => {
  const path = await mkdtemp(join(tmpdir(), 'troupe-shard-'));
  const shard = new ClusterShard(path, await openFileBlobs(join(path, 'blobs')), settings, clock);
  onTestFinished(() => shard.close());
  return shard;
};
