/**
 * Admission: fair access to the mailboxes of the shards (J2, J4). A mailbox is one queue for all
 * tenants, which cannot be fair. So every message client keeps it short and lets messages wait
 * here: one window of entries in transit per shard and lane, and a fair queue before each.
 *
 * Boundary: one per process; several processes share a shard, each with its own window. It never
 * sees a payload. Outcomes of effects and messages between actors do not pass here: they are never
 * refused (J3).
 *
 * Invariants: an entry is admitted or refused within `waitMs`, never lost. No timer runs while
 * nothing waits. The control lane never waits behind data. Windows and queues are bounded (I8).
 */
import type { Address } from '../../protocols/address.ts';
import { TroupeError } from '../../protocols/errors.ts';
import type { Lane } from '../../protocols/statechart.ts';
import type { Clock } from '../clock/clock.ts';
import type { Position } from '../log/log.ts';
import { type TenantWeights, weightsOf } from './fair-queue.ts';
import { type Arrival, Gate } from './gate.ts';
import type { Ticket } from './window.ts';

export type AdmissionLimits = {
  /** maximum data entries of one shard in transit from this process */
  readonly windowEntries: number;
  readonly windowBytes: number;
  readonly controlEntries: number;
  readonly controlBytes: number;
  /** maximum number of waiting messages per shard, lane and tenant */
  readonly tenantEntries: number;
  /** the same in bytes; each entry counts 1,024 bytes more than its size */
  readonly tenantBytes: number;
  /** maximum number of waiting messages per shard and lane */
  readonly shardEntries: number;
  readonly shardBytes: number;
  /** entries of all processes in one mailbox, above which data is refused at once */
  readonly lagMax: number;
  /** longest wait of a caller, milliseconds */
  readonly waitMs: number;
  /** silence of a shard after which its entries count as applied, milliseconds */
  readonly staleMs: number;
};

export const ADMISSION_LIMITS: AdmissionLimits = {
  windowEntries: 512,
  windowBytes: 8 * 2 ** 20,
  controlEntries: 64,
  controlBytes: 2 ** 20,
  tenantEntries: 1_000,
  tenantBytes: 16 * 2 ** 20,
  shardEntries: 20_000,
  shardBytes: 64 * 2 ** 20,
  lagMax: 50_000,
  waitMs: 10_000,
  staleMs: 5_000,
};

export type AdmissionOptions = {
  readonly clock: Clock;
  /** default 1 each */
  readonly tenantWeights?: TenantWeights | undefined;
  /** whether the shard has an owner according to the directory; default: always */
  readonly isOwned?: (shard: number) => boolean;
  readonly limits?: Partial<AdmissionLimits>;
};

export type AdmissionRequest = {
  readonly shard: number;
  readonly to: Address;
  readonly lane: Lane;
  /** size of the encoded entry */
  readonly bytes: number;
  /** shortens the longest wait; milliseconds */
  readonly ttlMs?: number | undefined;
  readonly signal?: AbortSignal | undefined;
};

export type Floors = {
  readonly mailFloor: Position;
  readonly ctlFloor?: Position;
  /** waiting entries of all processes in the mailbox */
  readonly lag: number;
};

type Shard = {
  readonly data: Gate;
  readonly control: Gate;
  lag: number;
  /** when the lag was last past its limit, on the monotonic clock */
  lagAt: number;
};

const LAG_RETRY_MS = 1_000;

export class Admission {
  readonly #clock: Clock;
  readonly #limits: AdmissionLimits;
  readonly #weightOf: (tenant: string) => number;
  readonly #isOwned: (shard: number) => boolean;
  readonly #shards = new Map<number, Shard>();
  #closed = false;

  /** @throws TroupeError INVALID_ARGUMENT when a weight is out of range */
  constructor({ clock, tenantWeights, isOwned = () => true, limits }: AdmissionOptions) {
    this.#clock = clock;
    this.#limits = { ...ADMISSION_LIMITS, ...limits };
    this.#weightOf = weightsOf(tenantWeights);
    this.#isOwned = isOwned;
  }

  /**
   * Resolves when the entry may be appended, in the order of the calls for one actor and lane. The
   * caller reports the end of the append to the ticket.
   * @throws TroupeError RATE_LIMIT_EXCEEDED with retryAfterMs when too many wait, or it waited too
   * long; CANCELLED by the signal; UNAVAILABLE after close
   */
  admit({ shard, to, lane, bytes, ttlMs, signal }: AdmissionRequest): Promise<Ticket> {
    if (this.#closed) return Promise.reject(stopping());
    const gates = this.#shards.get(shard) ?? this.#open(shard);
    const tenant = to.slice(0, to.indexOf('/'));
    const arrival: Arrival = { tenant, actor: to, bytes, ttlMs, signal };
    if (lane === 'control') return gates.control.enter(arrival);
    if (gates.lag > this.#limits.lagMax) {
      const refusal = this.#lagging(shard, gates);
      if (refusal) return Promise.reject(refusal);
    }
    return gates.data.enter(arrival);
  }

  /**
   * Reports what the shard's owner has applied. May be called any number of times; reports older
   * than a known one do no harm. Admits waiting entries.
   */
  floors(shard: number, { mailFloor, ctlFloor, lag }: Floors): void {
    const gates = this.#shards.get(shard);
    if (!gates && lag <= this.#limits.lagMax) return;
    const { data, control } = gates ?? this.#open(shard);
    this.#heardLag(shard, lag);
    data.applied(mailFloor);
    if (ctlFloor !== undefined) control.applied(ctlFloor);
  }

  /** The state of one shard and lane, for pages and metrics. */
  load(shard: number, lane: Lane): { readonly waiting: number; readonly inFlight: number } {
    const gate = this.#shards.get(shard)?.[lane];
    return { waiting: gate?.waiting ?? 0, inFlight: gate?.inFlight ?? 0 };
  }

  /** Refuses all waiting and all later messages. */
  close(): void {
    this.#closed = true;
    for (const { data, control } of this.#shards.values())
      for (const gate of [data, control]) gate.close(stopping());
  }

  #heardLag(shard: number, lag: number): void {
    const gates = this.#shards.get(shard)!;
    gates.lag = lag;
    if (lag > this.#limits.lagMax) gates.lagAt = this.#clock.monotonicMs();
  }

  /** A lag that was not confirmed recently refuses no message. */
  #lagging(shard: number, { lag, lagAt }: Shard): TroupeError | undefined {
    const { staleMs, lagMax } = this.#limits;
    if (this.#clock.monotonicMs() - lagAt > staleMs) return undefined;
    return new TroupeError(
      'RATE_LIMIT_EXCEEDED',
      `${lag} messages wait in the mailbox of shard ${shard}, ${lagMax} are allowed`,
      { retryAfterMs: LAG_RETRY_MS },
    );
  }

  #open(shard: number): Shard {
    const { waitMs, staleMs, ...limits } = this.#limits;
    const queue = {
      clock: this.#clock,
      weightOf: this.#weightOf,
      tenantMax: { items: limits.tenantEntries, cost: limits.tenantBytes },
      totalMax: { items: limits.shardEntries, cost: limits.shardBytes },
      waitMs,
      staleMs,
      isOwned: () => this.#isOwned(shard),
    };
    const gates: Shard = {
      data: new Gate({
        ...queue,
        name: `shard ${shard}`,
        window: { entries: limits.windowEntries, bytes: limits.windowBytes },
      }),
      control: new Gate({
        ...queue,
        name: `the control lane of shard ${shard}`,
        window: { entries: limits.controlEntries, bytes: limits.controlBytes },
      }),
      lag: 0,
      lagAt: 0,
    };
    this.#shards.set(shard, gates);
    return gates;
  }
}

const stopping = () =>
  new TroupeError('UNAVAILABLE', 'the system is stopping and accepts no new messages');
