/**
 * SimCluster: many nodes on a virtual clock, each with the real members, directory and placement.
 * An observer checks every few milliseconds which shards have no owner.
 */
import { Directory } from '../../../runtime/cluster/directory.ts';
import { Members } from '../../../runtime/cluster/members.ts';
import { Placement, type PlacementEvent } from '../../../runtime/cluster/placement.ts';
import { placeAll } from '../../../runtime/cluster/rendezvous.ts';
import { SimProcess } from '../../../library/simulation/process.ts';
import { Random } from '../../../library/simulation/random.ts';
import { VirtualClock } from '../../../library/simulation/virtual-clock.ts';
import { SimHost, SimJournals } from './sim-host.ts';
import { Link, SimNetwork } from './sim-network.ts';

export type NodeOptions = { readonly weight?: number; readonly types?: readonly string[] };

const LOAD = { cpu: 0, eventLoop: 0, effects: 0, rssBytes: 0, turnsPerSecond: 0 };
const JUDGE_MS = 10;

export class SimNode {
  readonly id: string;
  readonly name: string;
  readonly process: SimProcess;
  readonly link: Link;
  readonly host: SimHost;
  readonly members: Members;
  readonly directory: Directory;
  readonly placement: Placement;
  readonly events: PlacementEvent[] = [];
  weight: number;
  types: readonly string[];
  isDraining = false;
  isCordoned = false;
  hasStarted = false;

  constructor(id: string, name: string, cluster: SimCluster, options: NodeOptions) {
    this.id = id;
    this.name = name;
    this.weight = options.weight ?? 1;
    this.types = options.types ?? ['order@1'];
    const { clock: time, network, journals, shards, random } = cluster;
    this.process = new SimProcess(id, time, 0);
    this.link = new Link(network, this.process);
    this.host = new SimHost(shards, journals, this.link, random.fork(id), () =>
      this.placement.changed(),
    );
    const { link: bus, host } = this;
    const { clock } = this.process;
    this.members = new Members({ bus, clock, self: () => this.#self() });
    const { members } = this;
    this.directory = new Directory(members, id, () => host.status());
    const { directory } = this;
    const onEvent = (event: PlacementEvent) => void this.events.push(event);
    this.placement = new Placement({ bus, clock, members, directory, host, onEvent });
    members.start();
    void this.placement.start(30_000).then(() => (this.hasStarted = true));
  }

  count(kind: PlacementEvent['kind']): number {
    return this.events.filter((event) => event.kind === kind).length;
  }

  /** The result of each take-over of one shard on this node. */
  takesOf(shard: number): PlacementEvent[] {
    return this.events.filter(
      (event) => (event.kind === 'took' || event.kind === 'take failed') && event.shard === shard,
    );
  }

  get shards(): number {
    return this.host.status().filter(({ state }) => state === 'owned').length;
  }

  /**
   * Stops as a process does that receives a signal: hands its shards over, leaves and ends.
   */
  async stop(): Promise<void> {
    this.isDraining = true;
    await this.placement.drain();
    this.members.leave();
    this.process.kill();
  }

  #self() {
    return {
      node: this.id,
      name: this.name,
      role: 'worker' as const,
      startedAtMs: 0,
      version: '1',
      weight: this.weight,
      draining: this.isDraining,
      cordoned: this.isCordoned,
      leaving: false,
      types: this.types,
      format: this.host.format,
      load: LOAD,
      shards: this.host.status(),
    };
  }
}

export class SimCluster {
  readonly clock = new VirtualClock();
  readonly random: Random;
  readonly network: SimNetwork;
  readonly journals = new SimJournals();
  readonly shards: number;
  readonly nodes: SimNode[] = [];
  /** the longest time without an owner, of the shards that had one before */
  longestGapMs = 0;
  readonly #unownedSinceMs = new Map<number, number>();
  readonly #wereHeld = new Set<number>();

  constructor(shards: number, seed = 1) {
    this.shards = shards;
    this.random = new Random(seed);
    this.network = new SimNetwork(this.clock, this.random.fork('network'));
    this.#judge();
  }

  start(name: string, options: NodeOptions = {}): SimNode {
    const node = new SimNode(`${name}.${this.nodes.length}`, name, this, options);
    this.nodes.push(node);
    return node;
  }

  startAll(count: number): SimNode[] {
    return Array.from({ length: count }, (_, at) => this.start(`w${at}`));
  }

  get running(): SimNode[] {
    return this.nodes.filter(({ process }) => process.running);
  }

  /** Name of the worker that serves each shard: the one with the journal's epoch, if it can. */
  servers(): (string | undefined)[] {
    const names: (string | undefined)[] = Array.from({ length: this.shards });
    for (const { name, host, link } of this.running)
      for (const { shard, state, epoch } of host.status())
        if (link.reaches && state === 'owned' && epoch === this.journals.epochOf(shard))
          names[shard] = name;
    return names;
  }

  /** Shards that are not owned by exactly their assigned worker. */
  misplaced(): number[] {
    const candidates = this.running
      .filter(({ weight, isDraining, link }) => weight > 0 && !isDraining && link.reaches)
      .map(({ id, name, weight }) => ({ node: id, name, weight }));
    const placed = placeAll(candidates, this.shards);
    const owners = this.#owners();
    return placed.flatMap((node, shard) =>
      owners[shard]?.length === 1 && owners[shard][0] === node ? [] : [shard],
    );
  }

  /** Runs until every shard is at its assigned worker; returns the time that it took. */
  async converge(withinMs = 60_000): Promise<number> {
    const fromMs = this.clock.monotonicMs();
    while (this.misplaced().length > 0) {
      if (this.clock.monotonicMs() - fromMs > withinMs)
        throw new Error(`misplaced after ${withinMs} ms: ${this.misplaced().join()}`);
      await this.run(20);
    }
    return this.clock.monotonicMs() - fromMs;
  }

  run(ms: number): Promise<void> {
    return this.clock.run(this.clock.monotonicMs() + ms);
  }

  /** Resets the measurements; returns the number of take-overs before. */
  mark(): number {
    this.longestGapMs = 0;
    return this.journals.takes;
  }

  #owners(): string[][] {
    const owners: string[][] = Array.from({ length: this.shards }, () => []);
    for (const { id, host } of this.running)
      for (const { shard, state } of host.status()) if (state === 'owned') owners[shard]!.push(id);
    return owners;
  }

  #judge(): void {
    const nowMs = this.clock.monotonicMs();
    this.servers().forEach((name, shard) => {
      if (name !== undefined) {
        this.#wereHeld.add(shard);
        this.#unownedSinceMs.delete(shard);
      } else if (this.#wereHeld.has(shard)) {
        const sinceMs = this.#unownedSinceMs.get(shard) ?? nowMs;
        this.#unownedSinceMs.set(shard, sinceMs);
        this.longestGapMs = Math.max(this.longestGapMs, nowMs - sinceMs);
      }
    });
    this.clock.after(JUDGE_MS, () => this.#judge());
  }
}

/** A cluster with a stable placement; `takes` so far. */
export async function steadyCluster(workers: number, shards = 64, seed = 1) {
  const cluster = new SimCluster(shards, seed);
  const nodes = cluster.startAll(workers);
  await cluster.converge();
  await cluster.run(3_000);
  return { cluster, nodes, takes: cluster.mark() };
}
