/**
 * Gate: one lane of one shard as one process sees it: a window of entries in transit, and a fair
 * queue before it. Nothing waits while the window has room. Later items pass earlier ones only by
 * the turn of their tenant or actor.
 *
 * Invariant: while anything waits, the window is full, and a timer ends each wait.
 */
import { TroupeError } from '../../protocols/errors.ts';
import type { Clock } from '../clock/clock.ts';
import type { Position } from '../log/log.ts';
import { DrainRate } from './drain-rate.ts';
import { type Bound, FairQueue, type Place } from './fair-queue.ts';
import { type Ticket, Window, type WindowBound } from './window.ts';

export type GateOptions = {
  readonly clock: Clock;
  /** `shard 3`, `the control lane of shard 3` */
  readonly name: string;
  readonly weightOf: (tenant: string) => number;
  readonly window: WindowBound;
  /** of one tenant and of all that wait; `cost` is in bytes, ENTRY_COST included */
  readonly tenantMax: Bound;
  readonly totalMax: Bound;
  /** longest wait of a caller, milliseconds */
  readonly waitMs: number;
  /** silence of an owner after which appended entries count as applied; milliseconds */
  readonly staleMs: number;
  readonly isOwned: () => boolean;
};

export type Arrival = {
  readonly tenant: string;
  readonly actor: string;
  readonly bytes: number;
  /** shortens the longest wait */
  readonly ttlMs?: number | undefined;
  /** ends the wait */
  readonly signal?: AbortSignal | undefined;
};

/** Cost of a message without bytes: it is a turn, and uses memory while it waits. */
export const ENTRY_COST = 1_024;
/** Two short messages, or a part of a long one, per round and weight 1. */
const QUANTUM = 4_096;

export class Gate {
  readonly #o: GateOptions;
  readonly #window: Window;
  readonly #queue: FairQueue<Waiting>;
  readonly #rate: DrainRate;
  #newsAt = Number.NEGATIVE_INFINITY;
  #cancelStale: (() => void) | undefined;

  constructor(options: GateOptions) {
    this.#o = options;
    const { clock, window, weightOf, tenantMax, totalMax } = options;
    this.#window = new Window(window, () => this.#admitWaiting());
    this.#queue = new FairQueue({ weightOf, quantum: QUANTUM, tenantMax, totalMax });
    this.#rate = new DrainRate(clock);
  }

  /** The number of waiting callers. */
  get waiting(): number {
    return this.#queue.size;
  }

  /** Entries of this process in transit. */
  get inFlight(): number {
    return this.#window.entries;
  }

  enter(arrival: Arrival): Promise<Ticket> {
    if (this.#queue.size === 0 && this.#window.fits(arrival.bytes))
      return Promise.resolve(this.#window.take(arrival.bytes));
    return new Promise((resolve, reject) => this.#wait(arrival, resolve, reject));
  }

  /** Every entry up to the position is applied. */
  applied(floor: Position): void {
    if (this.#queue.size > 0) this.#newsAt = this.#o.clock.monotonicMs();
    this.#window.applied(floor);
  }

  /** Refuses all waiting callers. */
  close(error: TroupeError): void {
    for (const waiting of this.#queue.drain()) waiting.refuse(error);
    this.#emptied();
  }

  #wait(
    arrival: Arrival,
    resolve: (ticket: Ticket) => void,
    reject: (error: TroupeError) => void,
  ): void {
    const { tenant, actor, bytes, signal } = arrival;
    const cost = bytes + ENTRY_COST;
    if (signal?.aborted) return reject(cancelled());
    const bound = this.#queue.boundAgainst(tenant, cost);
    if (bound) return reject(this.#pastBound(tenant, bound));
    const leave = (error: TroupeError) => {
      this.#queue.remove(place);
      waiting.refuse(error);
      if (this.#queue.size === 0) this.#emptied();
      else this.#admitWaiting();
    };
    const waitMs = Math.min(this.#o.waitMs, arrival.ttlMs ?? Number.POSITIVE_INFINITY);
    const cancelTimer = this.#o.clock.after(waitMs, () => leave(this.#tooLong(tenant, waitMs)));
    const onAbort = () => leave(cancelled());
    signal?.addEventListener('abort', onAbort, { once: true });
    const release = () => {
      cancelTimer();
      signal?.removeEventListener('abort', onAbort);
    };
    const waiting: Waiting = {
      bytes,
      admit: (ticket) => (release(), resolve(ticket)),
      refuse: (error) => (release(), reject(error)),
    };
    const place: Place<Waiting> = this.#queue.push(tenant, actor, waiting, cost)!;
    if (this.#queue.size === 1) this.#began();
  }

  #admitWaiting(): void {
    for (;;) {
      const waiting = this.#queue.peek();
      if (!waiting || !this.#window.fits(waiting.bytes)) return;
      this.#queue.shift();
      this.#rate.left();
      waiting.admit(this.#window.take(waiting.bytes));
      if (this.#queue.size === 0) return this.#emptied();
    }
  }

  #began(): void {
    this.#rate.begin();
    this.#newsAt = this.#o.clock.monotonicMs();
    this.#watchNews();
  }

  #emptied(): void {
    this.#rate.end();
    this.#cancelStale?.();
    this.#cancelStale = undefined;
  }

  /**
   * Notices of owners may be lost; a window that waits for one must not block while the owner
   * works.
   */
  #watchNews(): void {
    const { clock, staleMs, isOwned } = this.#o;
    const silentMs = clock.monotonicMs() - this.#newsAt;
    this.#cancelStale = clock.after(staleMs - silentMs, () => {
      if (clock.monotonicMs() - this.#newsAt >= staleMs) {
        this.#newsAt = clock.monotonicMs();
        if (isOwned()) this.#window.presumeApplied();
      }
      if (this.#queue.size > 0) this.#watchNews();
    });
  }

  #pastBound(tenant: string, bound: 'tenant' | 'total'): TroupeError {
    const { name, tenantMax, totalMax } = this.#o;
    const max = bound === 'tenant' ? tenantMax : totalMax;
    const mine = this.#queue.sizeOf(tenant);
    const who = bound === 'tenant' ? `of tenant '${tenant}' ` : '';
    const waiting = bound === 'tenant' ? mine : this.#queue.size;
    return this.#limited(
      tenant,
      `${waiting} messages ${who}wait for ${name}; ${max.items} messages or ${max.cost} bytes are allowed`,
    );
  }

  #tooLong(tenant: string, waitMs: number): TroupeError {
    const { name, window } = this.#o;
    return this.#limited(
      tenant,
      `the message waited ${waitMs} ms for ${name}, where ${this.#window.entries} messages are on their way` +
        ` (at most ${window.entries}) and ${this.#queue.size} others wait`,
    );
  }

  #limited(tenant: string, message: string): TroupeError {
    const waiting = this.#queue.sizeOf(tenant);
    const retryAfterMs = this.#rate.retryAfterMs(waiting, this.#queue.shareOf(tenant));
    return new TroupeError('RATE_LIMIT_EXCEEDED', message, { retryAfterMs });
  }
}

type Waiting = {
  readonly bytes: number;
  readonly admit: (ticket: Ticket) => void;
  readonly refuse: (error: TroupeError) => void;
};

const cancelled = () =>
  new TroupeError('CANCELLED', 'the request was aborted while its message waited');
