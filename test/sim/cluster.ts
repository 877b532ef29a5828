/**
 * Cluster: workers on one store, and seeded faults between them: crashes at any moment, pauses,
 * shards that move while their owner continues, faults of the log, the bus and the blobs, a full
 * disk. Placement is as careless as the protocol allows: there are no leases, so two owners of one
 * shard are normal.
 */
import { shardOf } from '../../protocols/address.ts';
import { DEFAULT_LIMITS, type Limits } from '../../runtime/shard/limits.ts';
import type { Log } from '../../runtime/log/log.ts';
import type { Durability } from '../../runtime/log/wal-store.ts';
import { MemoryState } from '../../runtime/state/memory.ts';
import type { State } from '../../runtime/state/state.ts';
import { killer } from './actors.ts';
import { Auditor } from './auditor.ts';
import { SimProcess } from '../../library/simulation/process.ts';
import type { Random } from '../../library/simulation/random.ts';
import { type BlobFaults, SimBlobs } from './sim-blobs.ts';
import { type BusFaults, SimBus } from '../../library/simulation/sim-bus.ts';
import { type LogFaults, NO_LOG_FAULTS, SimLog } from './sim-log.ts';
import { SimStore } from './sim-store.ts';
import { VirtualClock } from '../../library/simulation/virtual-clock.ts';
import { SimWorker } from './worker.ts';
import { BOSS } from './workload.ts';

export type ClusterOptions = {
  readonly random: Random;
  /** of the embedded store, which one worker uses; absent: a cluster */
  readonly durability?: Durability;
  readonly shards: number;
  readonly workers: number;
  readonly limits: Partial<Limits>;
  readonly snapshotEvery: number;
  readonly journalTail: number;
  /** embedded: outcomes of effects need no mailbox entry (G6); default false */
  readonly ownOutcomes?: boolean;
  /** a machine that restarts finds its rows again, or an empty disk */
  readonly keepsDisk: boolean;
};

/** The fault rates of each port. */
export type Faults = {
  readonly log: LogFaults;
  readonly bus: BusFaults;
  readonly blobs: BlobFaults;
};
const NO_FAULTS: Faults = {
  log: NO_LOG_FAULTS,
  bus: { lost: 0, doubled: 0 },
  blobs: { half: 0 },
};

const CELL = 'c0ffee00c0ffee00c0ffee00c0ffee00';
const TRACE_MAX = 4_000;

export class Cluster {
  readonly clock = new VirtualClock();
  readonly log: SimLog;
  readonly bus: SimBus;
  readonly blobs: SimBlobs;
  readonly auditor: Auditor;
  readonly #o: ClusterOptions;
  readonly #random: Random;
  #trace: { readonly atMs: number; readonly line: string | (() => string) }[] = [];
  /** by machine; undefined while it is down */
  readonly #machines: (SimWorker | undefined)[];
  readonly #disks: MemoryState[];
  readonly #store: SimStore | undefined;
  #started = 0;
  #over = false;

  constructor(options: ClusterOptions) {
    this.#o = options;
    const { random, durability, shards, workers } = options;
    this.#random = random.fork('cluster');
    const { clock } = this;
    this.auditor = new Auditor(CELL, shards);
    this.auditor.now = () => clock.monotonicMs();
    this.auditor.say = (line) => this.say(line);
    if (durability !== undefined) {
      const store = { clock, random: random.fork('disk'), cell: CELL, durability };
      this.#store = new SimStore({ ...store, onStored: this.auditor.ledger.stored });
    }
    this.log = new SimLog({
      clock,
      random: random.fork('log'),
      onStored: this.auditor.ledger.stored,
    });
    this.bus = new SimBus(clock, random.fork('bus'));
    this.blobs = new SimBlobs(clock, random.fork('blobs'));
    this.#machines = Array.from({ length: workers }, () => undefined);
    this.#disks = Array.from({ length: workers }, () => new MemoryState());
    killer.kill = (actor) => {
      const shard = shardOf(actor, shards);
      this.#machines.forEach((worker, machine) => worker?.owns(shard) && this.crash(machine));
    };
  }

  /** Starts every machine, and the placement that repeatedly assigns an owner to every shard. */
  start(faults = NO_FAULTS): void {
    this.#setFaults(faults);
    this.#machines.forEach((_, machine) => this.#boot(machine));
    this.#place();
  }

  /** The log without faults. */
  get storedLog(): Log {
    return this.#store?.log ?? this.log;
  }

  get workers(): readonly SimWorker[] {
    return this.#machines.filter((worker) => worker !== undefined);
  }

  /** A worker that a client would reach; it may be paused. */
  anyWorker(random: Random): SimWorker | undefined {
    return this.workers.length > 0 ? random.pick(this.workers) : undefined;
  }

  ownerOf(shard: number): SimWorker | undefined {
    return this.workers.find((worker) => worker.process.running && worker.owns(shard));
  }

  say(line: string | (() => string)): void {
    if (this.#trace.length >= TRACE_MAX) this.#trace = this.#trace.slice(TRACE_MAX / 2);
    this.#trace.push({ atMs: this.clock.monotonicMs(), line });
  }

  /** The last events, in order. */
  get trace(): readonly string[] {
    return this.#trace.map(
      ({ atMs, line }) => `${atMs} ${typeof line === 'string' ? line : line()}`,
    );
  }

  /** Injects one fault. */
  disturb(): void {
    const what = this.#random.pick(this.#store ? EMBEDDED_TROUBLE : CLUSTER_TROUBLE);
    const machine = this.#random.whole(0, this.#machines.length - 1);
    const shard = this.#random.whole(0, this.#o.shards - 1);
    switch (what) {
      case 'crash':
        return this.crash(machine);
      case 'pause':
        return this.#pause(machine, this.#random.whole(50, 5_000));
      case 'steal':
        return this.#machines[machine]?.take(shard);
      case 'handOff':
        return this.#handOff(shard, machine);
      case 'shortWrite':
        return void (this.#store!.disk.nextWrite = 'short');
      case 'full':
        return this.#fill(this.#random.whole(50, 2_000));
      case 'fullMachine':
        return this.#fillMachine(machine, this.#random.whole(50, 2_000));
      case 'rot':
        return this.#rot(shard);
    }
  }

  crash(machine: number): void {
    const worker = this.#machines[machine];
    if (!worker) return;
    this.say(`${worker.process.name} crashes`);
    worker.kill();
    this.#machines[machine] = undefined;
    if (this.#store) this.say(this.#store.crash());
    if (!this.#o.keepsDisk) this.#disks[machine] = new MemoryState();
    this.clock.after(this.#random.whole(10, 1_000), () => this.#boot(machine));
  }

  crashAll(): void {
    this.#machines.forEach((_, machine) => this.crash(machine));
  }

  /** Stops the injection of faults; earlier faults are not undone. */
  calm(): void {
    this.#setFaults(NO_FAULTS);
    this.log.full = false;
    this.#store?.calm();
    this.#full.clear();
    for (const { process } of this.workers) process.resume();
  }

  #setFaults({ log, bus, blobs }: Faults): void {
    this.log.faults = log;
    this.bus.faults = bus;
    this.blobs.faults = blobs;
  }

  stop(): void {
    this.#over = true;
    for (const worker of this.workers) worker.kill();
    this.#machines.fill(undefined);
  }

  get #running(): readonly SimWorker[] {
    return this.workers.filter(({ process }) => process.running);
  }

  #boot(machine: number): void {
    if (this.#over || this.#machines[machine]) return;
    const name = `w${machine}.${++this.#started}`;
    const { durability, limits, snapshotEvery, journalTail, ownOutcomes = false, shards } = this.#o;
    const skewMs = durability ? 0 : this.#random.pick([0, 0, -7_000, 90_000, 3_600_000]);
    const beliefs = this.#random.fork(`beliefs of ${name}`);
    const booted = new SimProcess(name, this.clock, skewMs);
    const worker = (log: Log, state: State) =>
      new SimWorker({
        process: booted,
        random: this.#random.fork(name),
        cell: CELL,
        shards,
        limits: { ...DEFAULT_LIMITS, ...limits },
        supervisor: BOSS,
        snapshotEvery,
        journalTail,
        ownOutcomes,
        log,
        state,
        isFull: () => this.#full.has(machine),
        blobs: this.blobs,
        bus: this.bus,
        auditor: this.auditor,
        trace: (line) => this.say(line),
        // Liveness is a guess: a worker that is considered dead may still run effects.
        alive: () =>
          this.workers.flatMap(({ process }) => (beliefs.chance(0.6) ? [process.name] : [])),
        onEnd: (_, shard, status, why) => {
          if (status === 'quarantined')
            this.auditor.ledger.fault(
              `${this.clock.monotonicMs()} ${name} quarantines shard ${shard}: ${why}`,
            );
        },
      });
    this.say(`${name} starts, its clock off by ${skewMs} ms`);
    if (!this.#store) {
      this.#machines[machine] = worker(this.log, this.#disks[machine]!);
      return;
    }
    this.#store.open(booted, (store) => {
      if (this.#over || this.#machines[machine]) return;
      const started = worker(store.log, store.state);
      this.#machines[machine] = started;
      for (let shard = 0; shard < shards; shard++) started.take(shard);
    });
  }

  /** Assigns shards without a visible owner to a running worker. */
  #place(): void {
    if (this.#over) return;
    for (let shard = 0; shard < this.#o.shards; shard++) {
      const tried = this.workers.some((worker) => worker.holds(shard));
      if (!tried && this.#running.length > 0) this.#random.pick(this.#running).take(shard);
    }
    this.clock.after(this.#random.whole(50, 400), () => this.#place());
  }

  #pause(machine: number, forMs: number): void {
    const worker = this.#machines[machine];
    if (!worker?.process.running) return;
    this.say(`${worker.process.name} pauses for ${forMs} ms`);
    worker.process.pause();
    this.clock.after(forMs, () => {
      this.say(`${worker.process.name} continues`);
      worker.process.resume();
    });
    // Placement considers the worker dead and assigns its shards to others.
    for (let shard = 0; shard < this.#o.shards; shard++) {
      if (worker.owns(shard) && this.#running.length > 0 && this.#random.chance(0.7))
        this.#random.pick(this.#running).take(shard);
    }
  }

  #handOff(shard: number, machine: number): void {
    const owner = this.ownerOf(shard);
    if (!owner) return;
    this.say(`${owner.process.name} hands off shard ${shard}`);
    void owner.handOff(shard).then(() => this.#machines[machine]?.take(shard));
  }

  #fill(forMs: number): void {
    this.say(`the disk is full for ${forMs} ms`);
    const setFull = (isFull: boolean) => {
      this.log.full = isFull;
      if (this.#store) this.#store.disk.isFull = isFull;
    };
    setFull(true);
    this.clock.after(forMs, () => setFull(false));
  }

  #fillMachine(machine: number, forMs: number): void {
    this.say(`the disk of machine ${machine} is full for ${forMs} ms`);
    this.#full.add(machine);
    this.clock.after(forMs, () => this.#full.delete(machine));
  }
  readonly #full = new Set<number>();

  /** Damages the newest snapshot of a shard, and no other: one damaged blob loses nothing (T2). */
  #rot(shard: number): void {
    void this.blobs.list(`snap/${CELL}/${shard}/`).then((names) => {
      const newest = [...names].sort((a, b) => covers(a) - covers(b)).at(-1);
      if (!newest || this.#rotten.has(shard)) return;
      this.#rotten.add(shard);
      this.say(`${newest} rots`);
      this.blobs.rot(newest);
    });
  }
  readonly #rotten = new Set<number>();
}

const covers = (name: string): number => Number(name.split('/').at(-1)!.split('-')[0]);

const EMBEDDED_TROUBLE = ['crash', 'crash', 'full', 'shortWrite'] as const;
const CLUSTER_TROUBLE = [
  'crash',
  'pause',
  'pause',
  'steal',
  'handOff',
  'full',
  'fullMachine',
  'rot',
] as const;
