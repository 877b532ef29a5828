/**
 * createSystem: connects ports, registered types and shards to a running System. In the embedded
 * form one process owns every shard.
 */
import { randomBytes } from 'node:crypto';
import { type Address, parseAddress, shardOf } from '../protocols/address.ts';
import { errorData } from '../protocols/errors.ts';
import type { Message } from '../protocols/statechart.ts';
import { createRegistry } from './actor/registry.ts';
import type { Bus } from './bus/bus.ts';
import { CellFormat } from './cell-format.ts';
import { ClockWatch } from './clock/clock-watch.ts';
import { type Clock, systemClock } from './clock/clock.ts';
import { DeadLetterLog } from './dead-letters.ts';
import { StoreErasing } from './erasing.ts';
import { LogRetaining } from './retaining.ts';
import { ClusterNode } from './cluster/cluster-node.ts';
import { type ScrubOrder, ScrubOrders } from './cluster/scrub-orders.ts';
import { MessageClient } from './message-client.ts';
import { Dispatch } from './effects/dispatch.ts';
import { EffectRunner } from './effects/runner.ts';
import type { Floors } from './fairness/admission.ts';
import { EmbeddedHosting, type Hosting } from './hosting.ts';
import { labelsText, meets } from './labels.ts';
import { type HistoryRules, historyRules } from './history/policy.ts';
import { openCell } from './open-cell.ts';
import { OpenEffects } from './open-effects.ts';
import { createIndex, inspectActor, listDomains, rowIn } from './reads.ts';
import { lateActors } from './inspect/late-actors.ts';
import { LogTranscripts } from './transcripts.ts';
import type { ClientAnswer, Outside } from './shard/commit/after-commit.ts';
import type { OutcomeReport } from './shard/input/outcome-queue.ts';
import type { Intent } from './shard/turn/intents.ts';
import { registeredCharts } from './statechart/picture/registered-charts.ts';
import { checkedReads, type ReadableState } from './state/checked-reads.ts';
import type { SendOptions, System } from './system.ts';
import { checkSystemOptions, type SystemOptions } from './system-options.ts';
import { Upgrade } from './upgrade.ts';

/**
 * Replaces an answer that is too large for the bus. The turn is committed; a repeat with the same
 * key receives the same answer.
 */
const TOO_LARGE_TO_SEND = {
  code: 'PAYLOAD_TOO_LARGE',
  message: 'the message was applied, but its answer cannot be sent: it is too large',
} as const;

const DEFAULT_ENV = 'local';

/** How long running effects may finish when a node of a cluster stops. */
const DRAIN_MS = 20_000;
/** A name that no other process ever had, for EPOCH records. */
const nodeName = (name?: string): string =>
  [...(name === undefined ? [] : [name]), randomBytes(8).toString('hex')].join('-');

/**
 * Starts every shard; resolves when each is owned or quarantined. The system owns bus and store: it
 * closes them when it stops, and when it cannot start, so that they can be opened again.
 * @throws TroupeError when the cell cannot be opened, or an option is not valid
 * @example
 * ```ts
 * import { createSystem, openEmbedded, supervisionActors } from 'troupe';
 *
 * const ports = await openEmbedded({ path: 'system' });
 * const system = await createSystem({ ...ports, actors: supervisionActors() });
 * assert.equal(system.status().length, 8);
 * await system.stop();
 * ```
 */
export async function createSystem(options: SystemOptions): Promise<System> {
  const system = await opened(options).catch(async (error: unknown) => {
    const { bus, store }: Partial<SystemOptions> = { ...options };
    // What is no port has nothing to close, and must not hide the error.
    await Promise.allSettled([bus, store].map(async (port) => port?.close()));
    throw error;
  });
  try {
    await system.start();
  } catch (error) {
    await system.stop();
    throw error;
  }
  return system;
}

async function opened(options: SystemOptions): Promise<RunningSystem> {
  checkSystemOptions(options);
  const { cluster, shards } = options;
  const all = cluster ? shards! : await openCell(options);
  const format = await CellFormat.open(options.store.log, options.env ?? DEFAULT_ENV);
  return new RunningSystem(options, all, format);
}

class RunningSystem implements System {
  readonly cell: string;
  readonly bus: Bus;
  readonly index: System['index'];
  readonly transcripts: LogTranscripts;
  readonly deadLetters: DeadLetterLog;
  readonly erasing: StoreErasing;
  readonly retaining: LogRetaining;
  readonly actors: System['actors'];
  readonly charts: System['charts'];
  readonly upgrade = new Upgrade(() => {
    const own = { registry: this.#registry, hosting: this.#hosting };
    return { ...this.#o, ...own };
  });
  readonly #o: SystemOptions & { clock: Clock; env: string; shards: number; format: CellFormat };
  readonly #registry: ReturnType<typeof createRegistry>;
  readonly #hosting: Hosting;
  readonly #effects: EffectRunner;
  readonly #dispatch: Dispatch;
  readonly #client: MessageClient;
  /** unique per process */
  readonly #worker: string;
  readonly #openEffects: OpenEffects;
  /** absent where its alarms have no receiver */
  readonly #clockWatch: ClockWatch | undefined;
  readonly #reads: ReadableState;
  /** of a process of a cluster */
  readonly #scrubOrders: ScrubOrders | undefined;
  readonly #history: HistoryRules;
  #stopping: Promise<void> | undefined;
  /**
   * A running system keeps its process alive, as a server does; every other timer here does not. On
   * a virtual clock it does not, because a simulated process may be killed.
   */
  #alive: NodeJS.Timeout | undefined;

  constructor(options: SystemOptions, shards: number, format: CellFormat) {
    const { store, bus, clock = systemClock, env = DEFAULT_ENV } = options;
    this.#o = { ...options, clock, env, shards, format };
    this.cell = store.cell;
    this.#worker = options.newId?.() ?? nodeName(options.cluster?.name);
    this.bus = bus;
    this.#registry = createRegistry(options.actors);
    this.#history = historyRules(this.#registry, shards, options.history);
    this.#reads = checkedReads(store.state, {
      damaged: (shard, error) => this.#hosting.damaged(shard, error),
      unreadable: (shard) => this.#hosting.unreadable(shard),
    });
    this.index = createIndex(this.#reads, shards);
    this.transcripts = new LogTranscripts(store.log, env, shards);
    const at = { log: store.log, env, shards, cell: store.cell };
    this.#client = new MessageClient({
      ...at,
      bus,
      clock,
      worker: this.#worker,
      registry: this.#registry,
      format,
      statusOf: (shard) => this.#hosting.statusOf(shard),
      seen: (shard, position) => this.#hosting.seen(shard, position),
      tenantWeights: options.tenantWeights,
      asksAgain: options.cluster !== undefined,
      newId: options.newId,
    });
    this.#openEffects = new OpenEffects(this.#reads, shards, this.#client);
    const domains = async () => {
      await this.#hosting.readsAll();
      return listDomains(this.#reads, shards);
    };
    const { log } = store;
    const tidies = options.tidiesDeadLetters;
    this.deadLetters = new DeadLetterLog({ log, env, clock, client: this, domains, tidies });
    this.erasing = this.#erasingOf(env, shards);
    const { deadLetters: letters, transcripts } = this;
    this.retaining = new LogRetaining({ log, env, shards, letters, transcripts });
    this.charts = registeredCharts(this.#registry);
    this.actors = lateActors({
      ...at,
      state: this.#reads,
      registry: this.#registry,
      supervisor: options.supervisor,
      history: this.#history,
      wallMs: () => clock.wallMs(),
      hosting: () => this.#hosting,
      unmetLabels: (intent) => this.#unmetLabels(intent),
    });
    this.#effects = this.#runnerOf(options);
    this.#dispatch = this.#dispatchOn(clock, shards);
    this.#hosting = this.#host(clock, env, shards);
    this.#scrubOrders = this.#scrubOrdersOn(bus, clock);
    this.#clockWatch =
      options.onAlarm && new ClockWatch(clock, () => this.#hosting.status(), this.#alarm);
  }

  #scrubOrdersOn(bus: Bus, clock: Clock): ScrubOrders | undefined {
    if (!this.#o.cluster) return undefined;
    const carryOut = (order: ScrubOrder) => this.erasing.carryOut(order);
    return new ScrubOrders({ bus, clock, node: this.#worker, carryOut });
  }

  #erasingOf(env: string, shards: number): StoreErasing {
    const { ask, deadLetters: letters, transcripts } = this;
    const { store, blobs, workspaces } = this.#o;
    const own = { store, blobs, workspaces, ask, letters, transcripts };
    const later = { hosting: () => this.#hosting, orders: () => this.#scrubOrders };
    return new StoreErasing({ ...own, ...later, env, shards });
  }

  #runnerOf(options: SystemOptions): EffectRunner {
    const { store, bus, clock = systemClock } = options;
    return new EffectRunner({
      registry: this.#registry,
      clock,
      cell: store.cell,
      index: async (asNewAs) => {
        await (asNewAs === undefined ? this.#hosting.readsAll() : this.caughtUp(asNewAs));
        return this.index;
      },
      row: async (of, index, key) => {
        const shard = shardOf(of, this.#o.shards);
        await this.#hosting.catchesUp(shard);
        return rowIn(this.#reads, shard, { index, tenant: parseAddress(of).tenant, key });
      },
      transcripts: this.transcripts,
      past: (actor, turn) => this.actors.past(actor, turn),
      now: (actor) => this.#logClockMs(actor),
      publish: (topic, event) => bus.publish(topic, event),
      report: (actor, intent, attempt, outcome, cls) =>
        this.#reportToOwner(actor, { intent, attempt, outcome }, cls) ??
        this.#client.report(actor, intent, attempt, outcome),
      services: options.services,
      tenantWeights: options.tenantWeights,
      tenantRunningMax: options.tenantRunningMax,
      workspaces: options.workspaces,
      alarm: this.#alarm,
    });
  }

  /**
   * Without a mailbox entry, if the owner accepts that. Not that of a `once` effect, which must not
   * be lost: it is never run again.
   */
  #reportToOwner(
    actor: Address,
    report: OutcomeReport,
    cls: Intent['cls'],
  ): Promise<void> | undefined {
    if (cls === 'once') return undefined;
    return this.#hosting.report(shardOf(actor, this.#o.shards), report);
  }

  async start(): Promise<void> {
    if (this.#o.clock === systemClock) this.#alive = setInterval(() => {}, 2 ** 31 - 1);
    await this.#hosting.start();
    await this.erasing.started().catch((error: unknown) => {
      this.#alarm(`local data were not scrubbed: ${errorData(error).message}`);
    });
  }

  readonly tell: System['tell'] = async (to, event, options) =>
    this.#refused(event, options) ?? this.#client.tell(to, event, options);
  readonly ask: System['ask'] = async (to, event, options) =>
    this.#refused(event, options) ?? this.#client.ask(to, event, options);
  readonly inspect: System['inspect'] = (actor) => inspectActor(this.#reads, this.#o.shards, actor);
  readonly caughtUp: System['caughtUp'] = async (actor) => {
    await this.#hosting.readsAll();
    await this.#hosting.catchesUp(shardOf(actor, this.#o.shards));
  };
  readonly status: System['status'] = () => this.#hosting.status();
  readonly nodes: System['nodes'] = () => this.#hosting.nodes();
  readonly drain: System['drain'] = (node) => this.#hosting.drain(node);
  readonly cordon: System['cordon'] = (...request) => this.#hosting.cordon(...request);
  readonly unknownEffects: System['unknownEffects'] = () => this.#openEffects.unknown();
  readonly decide: System['decide'] = (id, decision) => this.#openEffects.decide(id, decision);
  readonly cancelEffect: System['cancelEffect'] = (id, why) => this.#openEffects.cancel(id, why);

  #refused(event: Message, options: SendOptions) {
    const error = this.#o.refusalOf?.(event, options);
    return error && ({ kind: 'refused', error } as const);
  }

  /** What the effect requires and no process has; undefined if it can run. */
  #unmetLabels(intent: Intent): string | undefined {
    const required = this.#dispatch.required(intent);
    if (meets(this.#o.labels ?? {}, required)) return undefined;
    const worker = this.#hosting.workerWith(required, shardOf(intent.actor, this.#o.shards));
    return worker === undefined ? labelsText(required) : undefined;
  }

  stop(): Promise<void> {
    this.#stopping ??= this.#stop();
    return this.#stopping;
  }

  /**
   * Ports close only after the effects have ended, so that no effect reports a failure that only
   * the stop has caused. In a cluster, running effects continue while the shards move, and report
   * to the next owners. Effects that do not end in time are aborted and start again there.
   */
  async #stop(): Promise<void> {
    const { cluster } = this.#o;
    this.#clockWatch?.close();
    this.#scrubOrders?.close();
    if (!cluster) this.#endEffects();
    await this.#hosting.release();
    if (cluster) await this.#effects.finished(cluster.drainMs ?? DRAIN_MS);
    this.#endEffects();
    await this.#hosting.close();
    await this.bus.close();
    await this.#o.store.close();
    clearInterval(this.#alive);
  }

  /** Aborts running effects, then closes the message client, which ends waiting asks. */
  #endEffects(): void {
    this.#dispatch.close();
    this.#effects.stop();
    this.#client.close();
  }

  #dispatchOn(clock: Clock, shards: number): Dispatch {
    const { cluster, labels = {}, workspaces } = this.#o;
    return new Dispatch({
      registry: this.#registry,
      clock,
      labels,
      clustered: cluster !== undefined,
      workspaces,
      workerWith: (wanted, { actor }) => this.#hosting.workerWith(wanted, shardOf(actor, shards)),
      handTo: (node, id, intent) => this.#hosting.handTo(node, id, intent),
      report: (id, { actor, attempt }, outcome) => this.#client.report(actor, id, attempt, outcome),
      alarm: this.#alarm,
    });
  }

  #host(clock: Clock, env: string, shards: number): Hosting {
    const { store, cluster } = this.#o;
    const node = this.#worker;
    const registry = this.#registry;
    const outside = this.#outside;
    const { transcripts } = this;
    const history = this.#history;
    const own = { clock, env, shards, node, registry, outside, transcripts, history };
    const ports = { ...this.#o, ...store, ...own };
    const onFloors = (shard: number, floors: Floors) => this.#client.floors(shard, floors);
    if (!cluster) return new EmbeddedHosting(ports, onFloors);
    return new ClusterNode({
      ...ports,
      ...cluster,
      onFloors,
      onOwnersChanged: () => this.#client.ownersChanged(),
      onReconnected: () => this.#client.repliesMayBeLost(),
      effects: this.#effects,
      labels: this.#o.labels ?? {},
      mayRun: (intent) => this.#dispatch.mayRun(intent),
      onAlarm: this.#alarm,
    });
  }

  /** The log's clock, as measured by the owner of the actor's shard. */
  #logClockMs(actor: Address): number {
    const { clock, shards } = this.#o;
    const status = this.#hosting.statusOf(shardOf(actor, shards));
    if (status === undefined || status.now === 0) return clock.wallMs();
    return status.now - (status.clockAheadMs ?? 0);
  }

  get #outside(): Outside {
    return {
      // None of these may throw, because what they report is already committed.
      respond: (inbox, answer) => {
        const { id, at } = answer;
        if (!this.#publish(inbox, answer))
          this.#publish(inbox, { id, at, error: TOO_LARGE_TO_SEND } satisfies ClientAnswer);
      },
      publish: (topic, event) => void this.#publish(topic, event),
      run: (id, intent) => this.#effects.run(id, intent),
      elsewhere: (id, intent) => this.#dispatch.elsewhere(id, intent),
      reconcile: (id, intent) => this.#effects.reconcile(id, intent),
      abort: (id) => {
        this.#dispatch.abort(id);
        if (this.#effects.isRunning(id)) this.#effects.abort(id);
        else this.#hosting.abortElsewhere(id);
      },
      adopt: (ids, orphaned) => this.#hosting.adopt(ids, orphaned),
      abandoned: (letter) => this.#o.onDeadLetter?.(letter),
      alarm: this.#alarm,
    };
  }

  /** False if the bus refuses it: it is too large, or the subject is not valid. */
  #publish(subject: string, payload: unknown): boolean {
    try {
      this.bus.publish(subject, payload);
      return true;
    } catch (error) {
      this.#alarm(`${subject} could not be notified: ${errorData(error).message}`);
      return false;
    }
  }

  readonly #alarm = (what: string): void => this.#o.onAlarm?.(what);
}
