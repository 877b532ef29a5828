/**
 * Credits: owners publish their progress (J2), so that message clients add no more to a mailbox
 * than its owner processes. A credit is a hint: a lost or late one delays a client for a moment and
 * loses no message.
 */
import type { Bus } from '../bus/bus.ts';
import type { Clock } from '../clock/clock.ts';
import type { Floors } from '../fairness/admission.ts';
import type { ShardStatus } from '../system.ts';

export type CreditsOptions = {
  readonly bus: Bus;
  readonly clock: Clock;
  /** of a shard that this process owns */
  readonly statusOf: (shard: number) => ShardStatus | undefined;
  /** receives the credits of this process's own shards and of all others */
  readonly onFloors: (shard: number, floors: Floors) => void;
};

/** Floors that moved within this time are published together. */
const PUBLISH_MS = 20;
const SUBJECT = 'cluster.credit';

type Credit = readonly [shard: number, mailFloor: number, ctlFloor: number, lag: number];

export class Credits {
  readonly #o: CreditsOptions;
  readonly #moved = new Set<number>();
  readonly #unsubscribe: () => void;
  #cancel: (() => void) | undefined;

  constructor(options: CreditsOptions) {
    this.#o = options;
    this.#unsubscribe = options.bus.subscribe(SUBJECT, ({ payload }) => {
      for (const [shard, mailFloor, ctlFloor, lag] of payload as readonly Credit[])
        options.onFloors(shard, { mailFloor, ctlFloor, lag });
    });
  }

  /** Called when a record of a shard of this process counts. */
  moved(shard: number): void {
    const status = this.#o.statusOf(shard);
    if (!status) return;
    this.#o.onFloors(shard, status);
    this.#moved.add(shard);
    this.#cancel ??= this.#o.clock.after(PUBLISH_MS, () => this.#publish());
  }

  close(): void {
    this.#cancel?.();
    this.#unsubscribe();
  }

  #publish(): void {
    this.#cancel = undefined;
    const credits: Credit[] = [];
    for (const shard of this.#moved) {
      const status = this.#o.statusOf(shard);
      if (status) credits.push([shard, status.mailFloor, status.ctlFloor, status.lag]);
    }
    this.#moved.clear();
    if (credits.length > 0) this.#o.bus.publish(SUBJECT, credits);
  }
}
