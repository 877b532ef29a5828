/**
 * ClusterNode: this process's part in a cluster. A worker owns the shards that placement assigns to
 * it and runs their effects; a gateway owns none and keeps replicas of all rows for its reads.
 *
 * Boundary: nothing here is safety. Only the journal of a shard decides which process may write it
 * (I1, I6); a node that is wrong about others causes delays, but loses no message.
 */
import { defined } from '../../protocols/defined.ts';
import type { TroupeError } from '../../protocols/errors.ts';
import type { Bus } from '../bus/bus.ts';
import type { HandedOver } from '../effects/dispatch.ts';
import { typesOf } from '../actor/registry.ts';
import type { EffectRunner } from '../effects/runner.ts';
import type { Floors } from '../fairness/admission.ts';
import type { Hosting } from '../hosting.ts';
import { type Labels, meets } from '../labels.ts';
import type { Position } from '../log/log.ts';
import type { CellFormat } from '../cell-format.ts';
import { FORMAT } from '../shard/commit/record-format.ts';
import { NOTHING_OWNED } from '../shard/owner.ts';
import type { OutcomeReport } from '../shard/input/outcome-queue.ts';
import type { Intent } from '../shard/turn/intents.ts';
import { Shards, type ShardsOptions } from '../shards.ts';
import type { NodeStatus, ShardStatus } from '../system.ts';
import { type Heartbeat, nodeStatusOf } from './heartbeat.ts';
import { isWorking, toCandidate } from './shard-assignment.ts';
import { Credits } from './credits.ts';
import type { ClusterOptions } from './cluster-options.ts';
import { followFormat } from './follow-format.ts';
import { Directory } from './directory.ts';
import { LoadMeter } from './load.ts';
import { isBeingTaken, KeptShards } from './kept-shards.ts';
import { Members } from './members.ts';
import { Placement, type ShardHost } from './placement.ts';
import { placeOne } from './rendezvous.ts';
import { rowsCaughtUp } from './rows-caught-up.ts';
import { Replicas } from './replicas.ts';
import { RunningEffects } from './running-effects.ts';
import { WarmCopies } from './warm-copies.ts';
import { WorkerOrders } from './worker-orders.ts';

export type ClusterNodeOptions = Omit<ShardsOptions, 'onEnd' | 'onCommitted'> &
  ClusterOptions & {
    readonly bus: Bus;
    readonly format: CellFormat;
    readonly effects: EffectRunner;
    readonly labels: Labels;
    /** whether this node has the labels for an effect that another node hands over */
    readonly mayRun: (intent: Intent) => boolean;
    /** receives the progress of each shard, for the message client of this process */
    readonly onFloors: (shard: number, floors: Floors) => void;
    /** called after shards got a new owner */
    readonly onOwnersChanged: () => void;
    /** called after messages to this process may have been lost */
    readonly onReconnected: () => void;
    readonly onAlarm: (what: string) => void;
  };

/** How long a starting node waits for its first shards and copies. */
const START_MS = 30_000;

export class ClusterNode implements Hosting {
  readonly #o: ClusterNodeOptions;
  readonly #shards: Shards;
  readonly #replicas: Replicas;
  readonly #kept: KeptShards;
  readonly #copies: WarmCopies | undefined;
  readonly #members: Members;
  readonly #directory: Directory;
  readonly #runningEffects: RunningEffects;
  readonly #credits: Credits;
  readonly #placement: Placement | undefined;
  readonly #load: LoadMeter;
  readonly #startedAtMs: number;
  /** of the shards that this process owns: the last record whose rows can be read */
  readonly #readable = new Map<number, Position>();
  /** set when this process was asked to own no shards any more */
  #drained: Promise<void> | undefined;
  readonly #orders: WorkerOrders;

  constructor(options: ClusterNodeOptions) {
    this.#o = options;
    const { bus, clock, node, effects, role, timings = {} } = options;
    this.#startedAtMs = clock.wallMs();
    this.#shards = new Shards({
      ...options,
      onEnd: (shard) => this.#letGo(shard),
      onCommitted: (shard) => this.#committed(shard),
    });
    this.#load = new LoadMeter({
      clock,
      turns: () => this.#held(),
      effects: () => effects.running,
    });
    this.#credits = new Credits({ ...options, statusOf: (shard) => this.#shards.statusOf(shard) });
    const replicas = new Replicas(options);
    this.#replicas = replicas;
    this.#kept = new KeptShards({ clock, replicas, isHeld: (shard) => this.#isHeld(shard) });
    this.#members = new Members({ bus, clock, timings, self: () => this.#heartbeat() });
    this.#directory = new Directory(this.#members, node, () => this.#held());
    this.#directory.onChange(() => {
      this.#forgetQuarantined();
      options.onOwnersChanged();
    });
    followFormat(this.#members, { ...options, onNewer: () => void this.#drain() });
    this.#members.onEvent(({ kind }) => {
      if (kind === 'settled') options.onReconnected();
    });
    this.#runningEffects = new RunningEffects({
      bus,
      clock,
      node,
      others: () => this.#others(),
      isRunning: (id) => effects.isRunning(id),
      abort: (id) => effects.abort(id),
      run: (id, intent) => this.#runFor(id, intent),
    });
    this.#orders = new WorkerOrders({
      bus,
      node,
      onDrain: () => void this.#drain(),
      onCordon: () => this.#placement?.changed(),
    });
    const view = { clock, members: this.#members, directory: this.#directory };
    if (role === 'worker') {
      const { onEvent, warmCopies: copies = 1 } = options;
      const host = this.#host();
      this.#placement = new Placement({ ...view, bus, timings, host, ...defined({ onEvent }) });
      this.#copies = new WarmCopies({ ...view, kept: this.#kept, replicas, copies });
    } else if (options.onEvent) this.#members.onEvent(options.onEvent);
  }

  async start(): Promise<void> {
    if (this.#o.role === 'gateway') this.#kept.readAll(this.#o.shards);
    this.#members.start();
    this.#copies?.start();
    await this.#placement?.start(START_MS);
    // A worker is of use without its copies.
    if (!this.#placement) await this.#replicas.ready(START_MS);
  }

  statusOf(shard: number): ShardStatus | undefined {
    const own = this.#shards.statusOf(shard);
    return own?.state === 'owned' ? own : this.#directory.ownerOf(shard)?.status;
  }

  /**
   * The rows of this process are a cache, which a new owner or replica rebuilds from the journal.
   */
  damaged(shard: number, error: TroupeError): void {
    this.#o.onAlarm(`shard ${shard}: ${error.message}; the rows are read again from the journal`);
    if (this.#isHeld(shard)) this.#shards.damaged(shard, error);
    else this.#replicas.rebuild(shard);
  }

  unreadable(shard: number): string | undefined {
    return this.#replicas.isRebuilding(shard)
      ? 'its rows are read again from the journal'
      : undefined;
  }

  ownerOf(shard: number): string | undefined {
    return this.#directory.ownerOf(shard)?.node;
  }

  status(): readonly ShardStatus[] {
    return this.#directory.all();
  }

  nodes(): readonly NodeStatus[] {
    return this.#members.alive().map(({ heartbeat, ageMs }) => nodeStatusOf(heartbeat, ageMs));
  }

  get isSettled(): boolean {
    return this.#members.settled;
  }

  adopt(ids: readonly string[], orphaned: (id: string) => void): () => void {
    return this.#runningEffects.adopt(ids, orphaned);
  }

  report(shard: number, report: OutcomeReport): Promise<void> | undefined {
    return this.#shards.report(shard, report);
  }

  abortElsewhere(id: string): void {
    this.#runningEffects.abortElsewhere(id);
  }

  workerWith(labels: Labels, shard: number): string | undefined {
    const candidates = this.#members
      .alive()
      .filter(({ heartbeat }) => isWorking(heartbeat) && meets(heartbeat.labels ?? {}, labels))
      .map(toCandidate);
    return placeOne(candidates, shard);
  }

  handTo(node: string, id: string, intent: Intent): Promise<HandedOver> {
    return this.#runningEffects.handTo(node, id, intent);
  }

  /** Another node owns the shard; the outcome is reported to the mailbox. */
  #runFor(id: string, intent: Intent): boolean {
    const { effects, mayRun, role } = this.#o;
    if (role !== 'worker' || this.#drained || !mayRun(intent)) return false;
    if (intent.state === 'unknown') effects.reconcile(id, intent);
    else effects.run(id, intent);
    return true;
  }

  seen(shard: number, position: Position): Promise<void> | undefined {
    if (!this.#kept.readsAll || this.#isHeld(shard)) return undefined;
    return this.#replicas.seen(shard, position);
  }

  async readsAll(): Promise<void> {
    if (!this.#kept.readsAll) this.#kept.readAll(this.#o.shards);
    await this.#replicas.ready(START_MS);
  }

  async catchesUp(shard: number): Promise<void> {
    this.#kept.read(shard);
    await this.#caughtUp(shard);
  }

  #caughtUp(shard: number): Promise<void> {
    const { log, env, clock } = this.#o;
    const seen = (position: Position) => this.#replicas.seen(shard, position);
    return rowsCaughtUp({
      log,
      env,
      clock,
      shard,
      seen,
      readable: () => this.#readableUpTo(shard),
    });
  }

  trimmedAll(shard: number): Promise<void> {
    return this.#shards.trimmedAll(shard);
  }

  async refreshed(): Promise<void> {
    for (let shard = 0; shard < this.#o.shards; shard++) {
      await this.#kept.taken(shard);
      if (this.#isHeld(shard) || this.#replicas.has(shard)) await this.#caughtUp(shard);
      else await this.#replicas.rewrite(shard);
    }
  }

  #readableUpTo(shard: number): Position {
    const { state, epoch = -1 } = this.#shards.statusOf(shard) ?? {};
    if (state !== 'owned') return this.#replicas.position(shard);
    // A shard without work has no record after the one with which its owner began.
    return Math.max(this.#readable.get(shard) ?? -1, epoch);
  }

  #committed(shard: number): void {
    this.#readable.set(shard, this.#shards.statusOf(shard)?.position ?? -1);
    this.#credits.moved(shard);
  }

  async release(): Promise<void> {
    await this.#drain();
    await this.#shards.close();
  }

  drain(node: string): void {
    this.#orders.drain(node);
  }

  cordon(node: string, isCordoned: boolean): void {
    this.#orders.cordon(node, isCordoned);
  }

  /** What no other worker accepts stays here. */
  #drain(): Promise<void> {
    // Its heartbeats say so from now on.
    this.#drained ??= Promise.resolve().then(() => this.#placement?.drain());
    return this.#drained;
  }

  async close(): Promise<void> {
    this.#members.leave();
    this.#orders.close();
    this.#runningEffects.close();
    this.#credits.close();
    this.#copies?.close();
    this.#kept.close();
    await this.#replicas.close();
  }

  /** The requests of placement to this process. */
  #host(): ShardHost {
    return {
      shards: this.#o.shards,
      status: () => this.#shards.status(),
      statusOf: (shard) => this.#shards.statusOf(shard),
      take: (shard) => this.#take(shard),
      handOff: async (shard, node) => {
        await this.#shards.handOff(shard, node);
        this.#letGo(shard);
      },
      prepare: (shard) => this.#prepare(shard),
    };
  }

  async #take(shard: number): Promise<void> {
    try {
      await this.#kept.taking(shard, () => this.#shards.take(shard));
    } finally {
      this.#o.onOwnersChanged();
    }
  }

  async #prepare(shard: number): Promise<void> {
    if (!this.#kept.prepare(shard)) throw isBeingTaken(shard);
    await this.#replicas.prepared(shard);
  }

  /** Shards that this process could not read, and that another one owns. */
  #forgetQuarantined(): void {
    for (const { shard, state } of this.#shards.status()) {
      if (state !== 'quarantined' || this.#directory.ownerOf(shard)?.status.state !== 'owned')
        continue;
      this.#shards.forget(shard);
      this.#letGo(shard);
    }
  }

  /** Another process owns the shard from now on. */
  #letGo(shard: number): void {
    this.#kept.resume(shard);
    this.#placement?.changed();
  }

  /** Also what it is about to own: others do not take it while a replica here ends. */
  #held(): readonly ShardStatus[] {
    const held = this.#shards.status().filter(({ state }) => HELD.has(state));
    const next = [...this.#kept.beingTaken].filter((shard) => !this.#isHeld(shard));
    return [
      ...held,
      ...next.map((shard) => ({ shard, state: 'loading' as const, epoch: 0, ...NOTHING_OWNED })),
    ];
  }

  #isHeld(shard: number): boolean {
    const state = this.#shards.statusOf(shard)?.state;
    return state !== undefined && HELD.has(state);
  }

  #others(): readonly string[] {
    const all = this.#members.alive().map(({ heartbeat }) => heartbeat.node);
    return all.filter((node) => node !== this.#o.node);
  }

  #heartbeat(): Omit<Heartbeat, 'seq'> {
    const { node, name, role, version, weight = 1, labels, registry } = this.#o;
    const notices = this.#o.notices?.() ?? [];
    const own = { node, name, role, version, weight, labels, startedAtMs: this.#startedAtMs };
    const { isCordoned: cordoned } = this.#orders;
    const leaves = { draining: this.#drained !== undefined, cordoned, leaving: false };
    const formats = { format: FORMAT, writes: this.#o.format.writes, types: typesOf(registry) };
    const copies = this.#copies?.status() ?? [];
    const shown = {
      ...formats,
      ...(notices.length > 0 && { notices }),
      ...(copies.length > 0 && { copies }),
    };
    return { ...own, ...leaves, ...shown, load: this.#load.read(), shards: this.#held() };
  }
}

const HELD = new Set<ShardStatus['state']>(['loading', 'owned', 'quarantined']);
