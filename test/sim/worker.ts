/**
 * SimWorker: one worker process of the cluster with the real runtime in it: an entry point, an
 * effect runner and the owners of its shards. It dies without notice, and its replacement is a new
 * worker.
 */
import { type Address, shardOf } from '../../protocols/address.ts';
import { decode } from '../../protocols/codec.ts';
import { createRegistry } from '../../runtime/actor/registry.ts';
import { RunningEffects } from '../../runtime/cluster/running-effects.ts';
import { MessageClient } from '../../runtime/message-client.ts';
import { EffectRunner } from '../../runtime/effects/runner.ts';
import { createIndex } from '../../runtime/reads.ts';
import { LogTranscripts } from '../../runtime/transcripts.ts';
import type { Outside } from '../../runtime/shard/commit/after-commit.ts';
import { ShardOwner } from '../../runtime/shard/owner.ts';
import { TABLE } from '../../runtime/shard/commit/fold.ts';
import type { Limits } from '../../runtime/shard/limits.ts';
import type { Blobs } from '../../runtime/blobs/blobs.ts';
import type { Bus } from '../../runtime/bus/bus.ts';
import type { Log } from '../../runtime/log/log.ts';
import type { Put, State } from '../../runtime/state/state.ts';
import type { ShardStatus } from '../../runtime/system.ts';
import { type Answer, type Call, simActors, type World } from './actors.ts';
import type { Auditor } from './auditor.ts';
import { stateFaults } from './closing.ts';
import type { SimProcess } from '../../library/simulation/process.ts';
import type { Random } from '../../library/simulation/random.ts';

export const SIM_ENV = 'sim';
const registry = createRegistry(simActors);

export type WorkerOptions = {
  readonly process: SimProcess;
  readonly random: Random;
  readonly cell: string;
  readonly shards: number;
  readonly limits: Limits;
  readonly supervisor: Address;
  readonly snapshotEvery: number;
  readonly journalTail: number;
  /** embedded: outcomes of effects need no mailbox entry (G6) */
  readonly ownOutcomes: boolean;
  readonly log: Log;
  /** rows on this worker's disk, or the store's */
  readonly state: State;
  /** whether this worker's disk is full now */
  readonly isFull: () => boolean;
  readonly blobs: Blobs;
  readonly bus: Bus;
  readonly auditor: Auditor;
  readonly trace: (line: string) => void;
  /** names of the running workers, this one included */
  readonly alive: () => readonly string[];
  /** an owner of this worker no longer owns its shard */
  readonly onEnd: (worker: SimWorker, shard: number, status: string, why: string) => void;
};

export class SimWorker {
  readonly process: SimProcess;
  readonly entryPoint: MessageClient;
  readonly #o: WorkerOptions;
  readonly #owners = new Map<number, ShardOwner>();
  readonly #leaving = new Set<number>();
  readonly #transcripts: LogTranscripts;
  readonly #effects: EffectRunner;
  readonly #runners: RunningEffects;
  readonly #log: Log;
  readonly #state: State;

  constructor(options: WorkerOptions) {
    this.#o = options;
    const { process, cell, shards } = options;
    this.process = process;
    this.#log = process.log(options.log);
    this.#state = process.state(options.state, (puts) => this.#check(puts), options.isFull);
    const bus = process.bus(options.bus);
    const { clock } = process;
    this.entryPoint = new MessageClient({
      log: this.#log,
      bus,
      clock,
      env: SIM_ENV,
      shards,
      cell,
      worker: process.name,
      format: { writes: 1 },
      registry,
      statusOf: (shard) => this.status(shard),
    });
    const publish = () => {};
    this.#transcripts = new LogTranscripts(this.#log, SIM_ENV, shards);
    this.#effects = new EffectRunner({
      registry,
      clock,
      cell,
      index: async () => createIndex(this.#state, shards),
      row: () => Promise.reject(new Error('no effect reads a row')),
      past: () => Promise.reject(new Error('no effect reads the history')),
      transcripts: this.#transcripts,
      publish,
      report: (actor, intent, attempt, outcome, cls) =>
        (cls === 'once' || !options.ownOutcomes
          ? undefined
          : this.#owners.get(shardOf(actor, shards))?.report({ intent, attempt, outcome })) ??
        this.entryPoint.report(actor, intent, attempt, outcome),
      services: this.#world(),
      alarm: () => {},
    });
    this.#runners = new RunningEffects({
      bus,
      clock,
      node: process.name,
      run: () => false,
      others: () => options.alive().filter((name) => name !== process.name),
      isRunning: (id) => this.#effects.isRunning(id),
      abort: (id) => this.#effects.abort(id),
      graceMs: options.random.fork('grace').pick([0, 2_000]),
    });
  }

  owns(shard: number): boolean {
    return this.#owners.get(shard)?.status().state === 'owned';
  }

  /** It owns the shard, is taking it over, or is handing it over. */
  holds(shard: number): boolean {
    const state = this.#owners.get(shard)?.status().state;
    return state === 'loading' || state === 'owned' || this.#leaving.has(shard);
  }

  status(shard: number): ShardStatus | undefined {
    return this.#owners.get(shard)?.status();
  }

  get state(): State {
    return this.#o.state;
  }

  /** Tries to take over a shard; the current owner detects it by itself. */
  take(shard: number): void {
    if (this.holds(shard) || !this.process.running) return;
    const { process, limits, supervisor, cell, shards, snapshotEvery, journalTail } = this.#o;
    const owner: ShardOwner = new ShardOwner({
      world: { cell, shard, shards, registry, limits, supervisor },
      env: SIM_ENV,
      worker: process.name,
      log: this.#log,
      state: this.#state,
      blobs: process.blobs(this.#o.blobs),
      clock: process.clock,
      outside: this.#outside(shard),
      transcripts: this.#transcripts,
      format: { writes: 1 },
      onEnd: (status, why) => {
        this.#o.trace(`${process.name} shard ${shard} ${status}: ${why}`);
        this.#o.onEnd(this, shard, status, why);
      },
      snapshotEvery,
      journalTail,
      onCommitted: () => this.entryPoint.floors(shard, owner.status()),
      atTurnEnd: (call) => void process.clock.after(0, call),
    });
    this.#owners.set(shard, owner);
    void owner.start().then(() => {
      const { state, epoch } = owner.status();
      this.#o.trace(`${process.name} shard ${shard} ${state} at ${epoch}`);
    });
  }

  async handOff(shard: number): Promise<void> {
    this.#leaving.add(shard);
    await this.#owners.get(shard)?.handOff();
    this.#leaving.delete(shard);
  }

  /** The process dies: its code stops, and its sent messages are in flight. */
  kill(): void {
    this.process.kill();
    for (const owner of this.#owners.values()) owner.abandon();
    this.#effects.stop();
    this.#runners.close();
    this.entryPoint.close();
  }

  /** Rows that were just written are those of the last record, if it is still the last. */
  #check(puts: readonly Put[]): void {
    const { ledger } = this.#o.auditor;
    for (const { shard, table, value } of puts) {
      if (table !== TABLE.scalars || !value) continue;
      const { recId } = decode<{ recId: string }>(value);
      if (recId !== ledger.shards[shard]!.recId) continue;
      for (const fault of stateFaults(ledger, shard, this.#o.state)) ledger.fault(fault);
    }
  }

  #outside(shard: number): Outside {
    const { auditor, bus, trace, process } = this.#o;
    const out = process.bus(bus);
    const abortsArrive = this.#o.random.fork(`aborts of ${shard}`);
    return {
      respond: (inbox, answer) => {
        if (!process.alive) return;
        auditor.sawResponse(answer);
        out.publish(inbox, answer);
      },
      publish: (topic, event) => {
        if (process.alive) auditor.sawEvent(topic, event);
      },
      run: (id, intent) => {
        if (!process.alive) return;
        auditor.sawRun(id, intent.attempt, intent.state);
        this.#effects.run(id, intent);
      },
      reconcile: (id, intent) => {
        if (!process.alive) return;
        auditor.sawRun(id, intent.attempt, intent.state);
        this.#effects.reconcile(id, intent);
      },
      abort: (id) => {
        if (this.#effects.isRunning(id)) this.#effects.abort(id);
        // The bus may lose any message.
        else if (abortsArrive.chance(0.5)) this.#runners.abortElsewhere(id);
      },
      adopt: (ids, orphaned) => this.#runners.adopt(ids, orphaned),
      alarm: (what) => trace(`${process.name} shard ${shard} alarm: ${what}`),
    };
  }

  /** The outside world as effects reach it. */
  #world(): World {
    const { auditor, random, process } = this.#o;
    return {
      work: (id, attempt, cls, { of, ms, fails }: Call) => {
        auditor.sawStart(id.slice(id.indexOf(':') + 1), attempt, cls);
        return new Promise<Answer>((resolve, reject) =>
          process.clock.after(ms, () => {
            if (fails) reject(new Error('asked to fail'));
            else resolve({ actor: id as Address, n: attempt, of });
          }),
        );
      },
      recall: (id) => {
        const fate = random.whole(0, 2);
        if (fate === 0) return 'again';
        return fate === 1 ? 'ask' : { outcome: { actor: id as Address, n: 0, of: id } };
      },
    };
  }
}
