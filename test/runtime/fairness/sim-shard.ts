/**
 * A shard that applies a fixed number of entries per second, behind an entry point's Admission, on
 * a virtual clock.
 */
import { address } from '../../../protocols/address.ts';
import { Admission, type AdmissionOptions } from '../../../runtime/fairness/admission.ts';
import { VirtualClock } from '../../../library/simulation/virtual-clock.ts';

const TICK_MS = 10;

export class SimShard {
  readonly clock = new VirtualClock();
  readonly admission: Admission;
  readonly #perTick: number;
  /** applied, in this order */
  readonly applied: string[] = [];
  readonly #mailbox: string[] = [];
  #position = 0;
  /** true: it does not publish its floors */
  silent = false;

  constructor(perSecond: number, options: Omit<AdmissionOptions, 'clock'> = {}) {
    this.admission = new Admission({ clock: this.clock, ...options });
    this.#perTick = (perSecond * TICK_MS) / 1_000;
    if (perSecond > 0) this.clock.after(TICK_MS, () => this.#apply());
  }

  /** Resolves with the wait before the append, in milliseconds. */
  async send(tenant: string, key: string, bytes = 200): Promise<number> {
    const began = this.clock.monotonicMs();
    const to = address(tenant, 'actor', key);
    const ticket = await this.admission.admit({ shard: 0, to, lane: 'data', bytes });
    this.#mailbox.push(to);
    ticket.appended(++this.#position);
    return this.clock.monotonicMs() - began;
  }

  #apply(): void {
    this.applied.push(...this.#mailbox.splice(0, this.#perTick));
    if (!this.silent)
      this.admission.floors(0, { mailFloor: this.applied.length, lag: this.#mailbox.length });
    this.clock.after(TICK_MS, () => this.#apply());
  }
}

export const percentile = (values: readonly number[], share: number): number =>
  [...values].sort((a, b) => a - b)[Math.ceil(values.length * share) - 1]!;
