/**
 * Members: which nodes are alive. Every node sends heartbeats. A silent node is asked; it counts as
 * dead when no process listens at its subject (it ended) or when it stays silent (it is frozen or
 * cut off).
 *
 * Boundary: this determines liveness, not who may write; the journal fences a node that is wrongly
 * considered dead (I1, I6). To be wrong rarely, a node judges no other while it cannot receive:
 * when the bus is down or does not return its own heartbeats, when the process itself was frozen,
 * and until it has listened for a full period again.
 */
import { TroupeError } from '../../protocols/errors.ts';
import type { Bus, BusMessage } from '../bus/bus.ts';
import type { Clock } from '../clock/clock.ts';
import {
  HEARTBEAT_SUBJECT,
  type Heartbeat,
  DEFAULT_TIMINGS,
  type NodeRequest,
  nodeSubject,
  type Timings,
} from './heartbeat.ts';
import { NodeProbation } from './node-probation.ts';
import { LoadFactor } from './load-factor.ts';

export type Member = {
  readonly heartbeat: Heartbeat;
  /** since its last sign of life */
  readonly ageMs: number;
  /** since it joined, as seen from here */
  readonly knownMs: number;
};

export type MemberEvent =
  | { readonly kind: 'joined' | 'left'; readonly heartbeat: Heartbeat }
  | { readonly kind: 'died'; readonly heartbeat: Heartbeat; readonly why: string }
  /** its weight, or whether it drains or is cordoned */
  | { readonly kind: 'changed'; readonly heartbeat: Heartbeat }
  /** stall of this process after which it judges no node until it has listened again */
  | { readonly kind: 'stalled'; readonly lateMs: number }
  | { readonly kind: 'settled' };

export type MembersOptions = {
  readonly bus: Bus;
  readonly clock: Clock;
  /** this node at present; `weight` is the configured one */
  readonly self: () => Omit<Heartbeat, 'seq'>;
  readonly timings?: Partial<Timings>;
};

type Known = {
  heartbeat: Heartbeat;
  readonly joinedAtMs: number;
  receivedAtMs: number;
  /** received since listening began; until then the node has the full time */
  received: boolean;
  probing: boolean;
};

/** The number of heartbeats that a node listens for before it judges others. */
const LISTEN_HEARTBEATS = 2.5;
/**
 * Silence of its own heartbeats after which a node considers itself cut off; shorter than the
 * silence after which others count as dead.
 */
const DEAF_SHARE = 0.75;
/** Silence after which a node is asked. */
const SILENT_HEARTBEATS = 1.5;
const TICKS_PER_HEARTBEAT = 4;
const PROBE_MS = 500;
/** Changes within this time are sent in one heartbeat. */
const COALESCE_MS = 20;
/** Ended nodes whose late heartbeats are recognized. */
const ENDED_MAX = 1_000;

export class Members {
  readonly #o: MembersOptions;
  readonly #timings: Timings;
  readonly #known = new Map<string, Known>();
  /** last sequence number by node; Infinity when it left */
  readonly #ended = new Map<string, number>();
  readonly #probation: NodeProbation;
  readonly #factor: LoadFactor;
  readonly #onEvent = new Set<(event: MemberEvent) => void>();
  readonly #onHeartbeat = new Set<(heartbeat: Heartbeat) => void>();
  #onRequest: ((request: NodeRequest, respond: BusMessage['respond']) => void) | undefined;
  #unsubscribe: (() => void)[] = [];
  #self: Heartbeat | undefined;
  #seq = 0;
  #startedAtMs = 0;
  /** undefined while this node receives nothing */
  #listeningSinceMs: number | undefined;
  /** when it last received its own heartbeat */
  #echoedAtMs = 0;
  /** number of times that listening started; answers to earlier requests do not count */
  #listening = 0;
  #settled = false;
  #running = false;
  #tickDueMs = 0;
  #heartbeatDueMs = 0;
  #cancelTick = () => {};
  #cancelSoon: (() => void) | undefined;

  constructor(options: MembersOptions) {
    this.#o = options;
    this.#timings = { ...DEFAULT_TIMINGS, ...options.timings };
    this.#probation = new NodeProbation(options.clock);
    this.#factor = new LoadFactor(options.clock);
  }

  start(): void {
    const { bus, clock } = this.#o;
    this.#running = true;
    this.#startedAtMs = this.#tickDueMs = this.#echoedAtMs = clock.monotonicMs();
    this.#self = this.#compose(false);
    this.#unsubscribe = [
      bus.subscribe(HEARTBEAT_SUBJECT, ({ payload }) => this.#receive(payload as Heartbeat)),
      bus.subscribe(nodeSubject(this.#self.node), (message) => this.#asked(message)),
    ];
    this.#tick();
  }

  /** Announces the end of this node and stops. May be repeated. */
  leave(): void {
    if (!this.#running) return;
    this.#publish(true);
    this.#running = false;
    this.#cancelTick();
    this.#cancelSoon?.();
    for (const unsubscribe of this.#unsubscribe) unsubscribe();
  }

  /** This node as in its last heartbeat. Only after `start`. */
  get self(): Heartbeat {
    if (!this.#self) throw new TroupeError('INTERNAL', 'members were not started');
    return this.#self;
  }

  /** Every live node, this one first. */
  alive(): readonly Member[] {
    const nowMs = this.#o.clock.monotonicMs();
    const all: Member[] = [{ heartbeat: this.self, ageMs: 0, knownMs: nowMs - this.#startedAtMs }];
    for (const { heartbeat, receivedAtMs, joinedAtMs } of this.#known.values())
      all.push({ heartbeat, ageMs: nowMs - receivedAtMs, knownMs: nowMs - joinedAtMs });
    return all;
  }

  isAlive(node: string): boolean {
    return node === this.#self?.node || this.#known.has(node);
  }

  /** Whether it has listened long enough to know which nodes are alive. */
  get settled(): boolean {
    return this.#settled && !this.#isStalled;
  }

  /** How long a process of this name must have been a member before shards are moved to it. */
  probationMs(name: string): number {
    return this.#probation.probationMs(name);
  }

  /** Returns unsubscribe. */
  onEvent(call: (event: MemberEvent) => void): () => void {
    this.#onEvent.add(call);
    return () => void this.#onEvent.delete(call);
  }

  /** Calls with every heartbeat, including those of this node. Returns unsubscribe. */
  onHeartbeat(call: (heartbeat: Heartbeat) => void): () => void {
    this.#onHeartbeat.add(call);
    return () => void this.#onHeartbeat.delete(call);
  }

  /** Sets the only listener for requests of other nodes, except `alive`. */
  answer(call: (request: NodeRequest, respond: BusMessage['respond']) => void): void {
    this.#onRequest = call;
  }

  /** The state of this node has changed: it sends a heartbeat within 20 ms. */
  heartbeatSoon(): void {
    if (!this.#running) return;
    this.#cancelSoon ??= this.#o.clock.after(COALESCE_MS, () => this.#heartbeat());
  }

  #tick(): void {
    this.#checkStall();
    const { bus, clock } = this.#o;
    const { heartbeatMs } = this.#timings;
    const nowMs = clock.monotonicMs();
    this.#tickDueMs = nowMs + heartbeatMs / TICKS_PER_HEARTBEAT;
    this.#cancelTick = clock.after(heartbeatMs / TICKS_PER_HEARTBEAT, () => this.#tick());
    if (nowMs >= this.#heartbeatDueMs) this.#heartbeat();
    if (!bus.connected || this.#isDeaf(nowMs)) {
      this.#listeningSinceMs = undefined;
      this.#settled = false;
      return;
    }
    if (this.#listeningSinceMs === undefined) this.#listenAnew();
    if (!this.#settled) this.#settle();
    if (this.#settled) for (const known of this.#known.values()) this.#judge(known);
  }

  /**
   * A node that does not receive its own heartbeats is cut off, whatever the connection reports.
   */
  #isDeaf(nowMs: number): boolean {
    const echoedMs = Math.max(this.#echoedAtMs, this.#listeningSinceMs ?? -Infinity);
    return nowMs - echoedMs >= DEAF_SHARE * this.#timings.deadAfterMs;
  }

  /** The delay of its own timer shows how long this process was frozen. */
  get #lateMs(): number {
    return this.#running ? this.#o.clock.monotonicMs() - this.#tickDueMs : 0;
  }

  get #isStalled(): boolean {
    return this.#lateMs > this.#timings.deadAfterMs / 2;
  }

  /** Silence during a stall of this process is no evidence. */
  #checkStall(): void {
    if (!this.#isStalled) return;
    const lateMs = this.#lateMs;
    this.#listenAnew();
    this.#emit({ kind: 'stalled', lateMs });
  }

  #listenAnew(): void {
    const nowMs = this.#o.clock.monotonicMs();
    this.#listeningSinceMs = nowMs;
    this.#tickDueMs = Math.max(this.#tickDueMs, nowMs);
    this.#heartbeatDueMs = nowMs;
    this.#settled = false;
    this.#listening++;
    for (const known of this.#known.values())
      Object.assign(known, { receivedAtMs: nowMs, received: false, probing: false });
  }

  #settle(): void {
    const sinceMs = this.#listeningSinceMs ?? Infinity;
    const listenedMs = this.#o.clock.monotonicMs() - sinceMs;
    if (listenedMs < LISTEN_HEARTBEATS * this.#timings.heartbeatMs || this.#echoedAtMs < sinceMs)
      return;
    this.#settled = true;
    this.#emit({ kind: 'settled' });
  }

  #judge(known: Known): void {
    const silentMs = this.#o.clock.monotonicMs() - known.receivedAtMs;
    if (silentMs >= this.#timings.deadAfterMs)
      return this.#end(known, 'died', `silent for ${Math.round(silentMs)} ms`);
    if (
      known.received &&
      !known.probing &&
      silentMs >= SILENT_HEARTBEATS * this.#timings.heartbeatMs
    )
      void this.#probe(known);
  }

  async #probe(known: Known): Promise<void> {
    const { bus, clock } = this.#o;
    const { node } = known.heartbeat;
    const listening = this.#listening;
    const receivedAtMs = known.receivedAtMs;
    known.probing = true;
    let isGone = false;
    try {
      const question: NodeRequest = { kind: 'alive' };
      await bus.request(nodeSubject(node), question, { timeoutMs: PROBE_MS });
    } catch (error) {
      if (!(error instanceof TroupeError)) throw error;
      if (error.code !== 'UNAVAILABLE') return;
      isGone = true;
    } finally {
      known.probing = false;
    }
    this.#checkStall();
    if (listening !== this.#listening || this.#known.get(node) !== known) return;
    if (!isGone) known.receivedAtMs = clock.monotonicMs();
    else if (bus.connected && known.receivedAtMs === receivedAtMs)
      this.#end(known, 'died', 'no process listens at its subject');
  }

  #receive(heartbeat: Heartbeat): void {
    this.#checkStall();
    const { node, seq, leaving } = heartbeat;
    if (!this.#running) return;
    if (node === this.#self?.node) return void (this.#echoedAtMs = this.#o.clock.monotonicMs());
    if (seq <= (this.#ended.get(node) ?? 0)) return;
    const known = this.#known.get(node);
    if (known && seq <= known.heartbeat.seq) return;
    if (!known && leaving) return this.#remember(node, Infinity);
    const receivedAtMs = this.#o.clock.monotonicMs();
    const before = known?.heartbeat;
    if (known) Object.assign(known, { heartbeat, receivedAtMs, received: true });
    else
      this.#known.set(node, {
        heartbeat,
        receivedAtMs,
        joinedAtMs: receivedAtMs,
        received: true,
        probing: false,
      });
    if (known && leaving) return this.#end(known, 'left');
    this.#ended.delete(node);
    if (!before) this.#joined(heartbeat);
    else if (isChanged(before, heartbeat)) this.#emit({ kind: 'changed', heartbeat });
    for (const call of this.#onHeartbeat) call(heartbeat);
  }

  /** Lets a node that joins know all others at once. */
  #joined(heartbeat: Heartbeat): void {
    this.#emit({ kind: 'joined', heartbeat });
    this.heartbeatSoon();
  }

  #end(known: Known, kind: 'left' | 'died', why = ''): void {
    const { heartbeat } = known;
    this.#known.delete(heartbeat.node);
    this.#remember(heartbeat.node, kind === 'left' ? Infinity : heartbeat.seq);
    this.#probation.ended(heartbeat.name);
    this.#emit(kind === 'left' ? { kind, heartbeat } : { kind, heartbeat, why });
  }

  #remember(node: string, seq: number): void {
    this.#ended.set(node, seq);
    if (this.#ended.size <= ENDED_MAX) return;
    const [oldest] = this.#ended.keys();
    this.#ended.delete(oldest!);
  }

  #asked({ payload, respond }: BusMessage): void {
    const request = payload as NodeRequest;
    if (request.kind === 'alive') respond(true);
    else this.#onRequest?.(request, respond);
  }

  #heartbeat(): void {
    this.#cancelSoon?.();
    this.#cancelSoon = undefined;
    this.#publish(false);
    for (const call of this.#onHeartbeat) call(this.self);
  }

  #publish(leaving: boolean): void {
    const { bus, clock } = this.#o;
    this.#self = this.#compose(leaving);
    this.#heartbeatDueMs = clock.monotonicMs() + this.#timings.heartbeatMs;
    if (bus.connected) bus.publish(HEARTBEAT_SUBJECT, this.#self);
  }

  #compose(leaving: boolean): Heartbeat {
    const self = this.#o.self();
    const weight = self.role === 'worker' ? self.weight * this.#loadFactor(self) : 0;
    return { ...self, weight, leaving, seq: ++this.#seq };
  }

  #loadFactor(self: Omit<Heartbeat, 'seq'>): number {
    const others: number[] = [];
    for (const { heartbeat } of this.#known.values())
      if (heartbeat.role === 'worker' && !heartbeat.draining) others.push(heartbeat.load.eventLoop);
    return this.#factor.next(self.load.eventLoop, others);
  }

  #emit(event: MemberEvent): void {
    for (const call of this.#onEvent) call(event);
  }
}

const isChanged = (before: Heartbeat, now: Heartbeat): boolean =>
  before.weight !== now.weight ||
  before.draining !== now.draining ||
  before.cordoned !== now.cordoned;
