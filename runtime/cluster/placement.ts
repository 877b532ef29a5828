/**
 * Placement: which shards this worker owns. Every worker decides for itself by the same rule, from
 * the heartbeats of the nodes:
 *
 *  - a shard without an owner is taken by the worker that rendezvous hashing selects, among those
 *    with a copy of its rows if there are any, and after a while by the next best;
 *  - a shard of this worker that another should own is handed over, when both have been members for
 *    long enough;
 *  - a shard that its owner cannot read, because only a newer program can, is taken over by a
 *    worker that can;
 *  - a worker that stops hands over everything;
 *  - a cordoned worker keeps its shards and takes no others, unless every worker is cordoned.
 *
 * Boundary: it decides which worker tries to own a shard, and when. Two workers with different
 * views may both try; the journal admits one of them (A1, I1). Nothing is taken or moved while this
 * node cannot tell which nodes are alive.
 */
import { errorData } from '../../protocols/errors.ts';
import type { Bus, BusMessage } from '../bus/bus.ts';
import type { Clock } from '../clock/clock.ts';
import type { ShardStatus } from '../system.ts';
import {
  DEFAULT_TIMINGS,
  formatOf,
  type NodeRequest,
  type Prepared,
  type Timings,
} from './heartbeat.ts';
import {
  ShardAssignment,
  isWorking,
  moveCandidates,
  successor,
  takeoverCandidates,
} from './shard-assignment.ts';
import type { Directory, ShardOwner } from './directory.ts';
import { type HandOverEvent, HandOvers } from './hand-overs.ts';
import type { MemberEvent, Members } from './members.ts';
import { type TakeoverEvent, ShardTakeovers } from './shard-takeovers.ts';

/** What placement requests from the code that runs the shards of this process. */
export interface ShardHost {
  /** shards of the cell */
  readonly shards: number;
  /** the current state of all shards that this process has ever owned */
  status(): readonly ShardStatus[];
  /** the current state of a shard that this process has ever owned */
  statusOf(shard: number): ShardStatus | undefined;
  /** Resolves when the shard is owned, lost or quarantined; at once when it is owned. */
  take(shard: number): Promise<void>;
  /** Commits open turns and releases the shard. @param toNode '': to any node */
  handOff(shard: number, toNode: string): Promise<void>;
  /** Loads the data for a take-over without owning the shard. */
  prepare(shard: number): Promise<void>;
}

export type PlacementEvent = MemberEvent | TakeoverEvent | HandOverEvent;

export type PlacementOptions = {
  readonly bus: Bus;
  readonly clock: Clock;
  readonly members: Members;
  readonly directory: Directory;
  readonly host: ShardHost;
  readonly timings?: Partial<Timings>;
  readonly onEvent?: (event: PlacementEvent) => void;
};

const LOOK_MS = { every: 100, afterChange: 10 };
const MOVES_AT_ONCE = { balancing: 4, draining: 8 };
const PREPARES_AT_ONCE = 16;
/** Number of other nodes that a draining node asks for readiness before it releases the shard. */
const SUCCESSORS_ASKED = 2;
const HAND_OFFS_TRIED = 3;

export class Placement {
  readonly #o: PlacementOptions;
  readonly #timings: Timings;
  readonly #takes: ShardTakeovers;
  readonly #handOvers: HandOvers;
  readonly #takers: ShardAssignment;
  readonly #movers: ShardAssignment;
  readonly #unsubscribe: (() => void)[];
  /** the last known owner of each shard */
  readonly #lastOwner: (string | undefined)[] = [];
  readonly #unownedSinceMs = new Map<number, number>();
  /** of the shards that this process owns */
  readonly #ownedSinceMs = new Map<number, number>();
  readonly #moveAgainMs = new Map<number, number>();
  #preparing = 0;
  #state: 'new' | 'running' | 'draining' | 'closed' = 'new';
  #onPlaced: (() => void) | undefined;
  #cancelLook = () => {};
  #cancelSoon: (() => void) | undefined;

  constructor(options: PlacementOptions) {
    this.#o = options;
    this.#timings = { ...DEFAULT_TIMINGS, ...options.timings };
    const { bus, clock, members, directory, host } = options;
    const { prepareMs } = this.#timings;
    this.#takers = new ShardAssignment(host.shards);
    this.#movers = new ShardAssignment(host.shards);
    const statusOf = (shard: number) => host.statusOf(shard);
    const onEvent = (event: PlacementEvent) => options.onEvent?.(event);
    const onEnd = () => this.changed();
    const epochOf = (shard: number) => statusOf(shard)?.epoch ?? 0;
    const take = (shard: number) => host.take(shard);
    const handOff = (shard: number, to: string) => host.handOff(shard, to);
    this.#takes = new ShardTakeovers({ clock, take, statusOf, onEvent, onEnd });
    this.#handOvers = new HandOvers({ bus, clock, prepareMs, handOff, epochOf, onEvent, onEnd });
    members.answer((request, respond) => this.#asked(request, respond));
    this.#unsubscribe = [
      directory.onChange(() => this.#lookSoon()),
      members.onEvent((event) => {
        if (event.kind === 'left' || event.kind === 'died')
          this.#handOvers.left(event.heartbeat.node);
        onEvent(event);
        this.#lookSoon();
      }),
    ];
  }

  /**
   * Resolves when every shard has an owner and those of this worker are ready, or after
   * `timeoutMs`; placement continues.
   */
  async start(timeoutMs: number): Promise<void> {
    this.#state = 'running';
    await new Promise<void>((resolve) => {
      const cancel = this.#o.clock.after(timeoutMs, resolve);
      this.#onPlaced = () => {
        cancel();
        resolve();
      };
      this.#look();
    });
    this.#onPlaced = undefined;
  }

  /** Call it when the shards of this worker have changed, for example when one was lost. */
  changed(): void {
    this.#o.members.heartbeatSoon();
    this.#lookSoon();
  }

  /**
   * Hands every shard to the worker that should own it next. Resolves when this worker owns none,
   * when no worker accepts the rest, or after `drainMs`. Its heartbeats must say `draining` before.
   */
  async drain(): Promise<void> {
    if (this.#state === 'closed') return;
    this.#state = 'draining';
    this.#onPlaced?.();
    this.#o.members.heartbeatSoon();
    await new Promise<void>((resolve) => {
      const cancel = this.#o.clock.after(this.#timings.drainMs, resolve);
      void this.#handAll().then(() => {
        cancel();
        resolve();
      });
    });
    this.close();
  }

  /** Stops taking over and moving shards; keeps its own. May be repeated. */
  close(): void {
    this.#state = 'closed';
    this.#onPlaced?.();
    this.#cancelLook();
    this.#cancelSoon?.();
    for (const unsubscribe of this.#unsubscribe) unsubscribe();
  }

  #lookSoon(): void {
    if (this.#state !== 'running') return;
    this.#cancelSoon ??= this.#o.clock.after(LOOK_MS.afterChange, () => this.#look());
  }

  #look(): void {
    this.#cancelLook();
    this.#cancelSoon?.();
    this.#cancelSoon = undefined;
    if (this.#state !== 'running') return;
    this.#cancelLook = this.#o.clock.after(LOOK_MS.every, () => this.#look());
    if (this.#o.members.settled) this.#decide();
  }

  /** One pass over all shards. */
  #decide(): void {
    const { members, directory, host } = this.#o;
    const self = members.self.node;
    const nowMs = this.#o.clock.monotonicMs();
    this.#takers.among(takeoverCandidates(members));
    this.#movers.among(moveCandidates(members, this.#timings));
    const owners = directory.owners();
    let isPlaced = true;
    for (let shard = 0; shard < host.shards; shard++) {
      const owner = this.#isForUs(owners[shard]) ? undefined : owners[shard];
      if (owner?.node !== self) this.#ownedSinceMs.delete(shard);
      if (!owner) this.#unowned(shard, nowMs);
      else this.#owned(shard, owner, nowMs);
      if (!owner || (owner.node === self && owner.status.state === 'loading')) isPlaced = false;
    }
    if (isPlaced) this.#onPlaced?.();
  }

  /** Whether the owner waits for a program that can read a newer format, such as this one. */
  #isForUs(owner: ShardOwner | undefined): boolean {
    const { state, formatNeeded } = owner?.status ?? {};
    if (state !== 'quarantined' || formatNeeded === undefined) return false;
    return formatNeeded <= formatOf(this.#o.members.self);
  }

  /**
   * A live owner that released the shard notified the next one, which has some time. A shard of a
   * dead node is taken at once, by the best worker; if that one fails, by the next.
   */
  #unowned(shard: number, nowMs: number): void {
    const { members } = this.#o;
    const { reservedMs, nextBestMs } = this.#timings;
    const self = members.self.node;
    const sinceMs = this.#unownedSinceMs.get(shard) ?? nowMs;
    this.#unownedSinceMs.set(shard, sinceMs);
    if (this.#takes.isTaking(shard) || !isWorking(members.self)) return;
    const last = this.#lastOwner[shard];
    const graceMs = last !== undefined && members.isAlive(last) ? reservedMs : 0;
    const waitedMs = nowMs - sinceMs - graceMs;
    if (waitedMs < 0) return;
    const copied = this.#copied(shard);
    if (this.#takers.preferring((node) => copied.has(node), shard) !== self) {
      if (members.self.cordoned === true && !this.#takers.includes(self)) return;
      if (waitedMs < nextBestMs) return;
      if (waitedMs < nextBestMs * this.#takers.rankOf(self, shard)) return;
    }
    this.#takes.tryTake(shard);
  }

  /** Workers that have the rows of the shard. */
  #copied(shard: number): ReadonlySet<string> {
    const having = this.#o.members
      .alive()
      .filter(({ heartbeat: { copies = [] } }) => copies.some((copy) => copy.shard === shard));
    return new Set(having.map(({ heartbeat }) => heartbeat.node));
  }

  #owned(shard: number, { node, status }: ShardOwner, nowMs: number): void {
    this.#unownedSinceMs.delete(shard);
    if (status.state === 'loading') return;
    this.#takes.forget(shard);
    this.#lastOwner[shard] = node;
    if (node !== this.#o.members.self.node || status.state !== 'owned') return;
    const sinceMs = this.#ownedSinceMs.get(shard) ?? nowMs;
    this.#ownedSinceMs.set(shard, sinceMs);
    if (nowMs - sinceMs >= this.#timings.minStayMs) this.#moveOn(shard, nowMs);
  }

  #moveOn(shard: number, nowMs: number): void {
    const to = this.#movers.of(shard);
    if (to === undefined || to === this.#o.members.self.node) return;
    if (this.#handOvers.running >= MOVES_AT_ONCE.balancing) return;
    if (this.#handOvers.isMoving(shard)) return;
    if (nowMs < (this.#moveAgainMs.get(shard) ?? 0)) return;
    const stillWanted = () => this.#state === 'running' && this.#isWanted(shard, to);
    void this.#handOvers.give(shard, to, stillWanted).then((went) => {
      if (went) return this.#moveAgainMs.delete(shard);
      const againMs = this.#o.clock.monotonicMs() + this.#timings.moveAgainMs;
      return this.#moveAgainMs.set(shard, againMs);
    });
  }

  #isWanted(shard: number, to: string): boolean {
    const { members } = this.#o;
    return (
      members.settled && this.#movers.among(moveCandidates(members, this.#timings)).of(shard) === to
    );
  }

  #asked(request: NodeRequest, respond: BusMessage['respond']): void {
    if (request.kind === 'prepare') void this.#prepare(request.shard).then(respond);
    if (request.kind !== 'yours' || this.#state !== 'running') return;
    const { shard, epoch } = request;
    // A late copy of the message does not give the shard again to a worker that has passed it on.
    if (this.#o.directory.epochOf(shard) <= epoch) this.#takes.give(shard);
  }

  async #prepare(shard: number): Promise<Prepared> {
    if (this.#state !== 'running') return { ok: false, why: `it is ${this.#state}` };
    if (this.#preparing >= PREPARES_AT_ONCE) return { ok: false, why: 'it is busy' };
    this.#preparing++;
    try {
      await this.#o.host.prepare(shard);
      return { ok: true };
    } catch (error) {
      return { ok: false, why: errorData(error).message };
    } finally {
      this.#preparing--;
    }
  }

  async #handAll(): Promise<void> {
    await this.#takes.close();
    const shards = this.#o.host
      .status()
      .filter(({ state }) => state === 'owned' || state === 'loading')
      .map(({ shard }) => shard);
    const lane = async (): Promise<void> => {
      for (let shard = shards.shift(); shard !== undefined; shard = shards.shift())
        await this.#handOne(shard);
    };
    await Promise.all(Array.from({ length: MOVES_AT_ONCE.draining }, lane));
  }

  async #handOne(shard: number): Promise<void> {
    const { members } = this.#o;
    const except = new Set([members.self.node]);
    for (let tries = 1; tries <= SUCCESSORS_ASKED + HAND_OFFS_TRIED; tries++) {
      const named =
        tries > SUCCESSORS_ASKED ? undefined : successor(members, this.#timings, shard, except);
      const stillWanted = () => named !== undefined && members.isAlive(named);
      if (await this.#handOvers.give(shard, named ?? '', stillWanted)) return;
      if (named !== undefined) except.add(named);
    }
  }
}
