/**
 * SimNetwork: one NATS server between simulated processes. Messages take a few milliseconds and
 * some are lost. A node can be cut off silently, or lose its connection and be notified. A request
 * without a subscriber gets a separate error.
 */
import { TroupeError } from '../../../protocols/errors.ts';
import type { Bus, BusMessage } from '../../../runtime/bus/bus.ts';
import type { SimProcess } from '../../../library/simulation/process.ts';
import type { Random } from '../../../library/simulation/random.ts';
import type { VirtualClock } from '../../../library/simulation/virtual-clock.ts';

type Subscriber = { readonly link: Link; readonly on: (message: BusMessage) => void };

export class SimNetwork {
  /** probability that a message does not reach one of its receivers */
  lost = 0;
  readonly clock: VirtualClock;
  readonly #random: Random;
  readonly #subscribers = new Map<string, Set<Subscriber>>();

  constructor(clock: VirtualClock, random: Random) {
    this.clock = clock;
    this.#random = random;
  }

  subscribe(subject: string, subscriber: Subscriber): () => void {
    const all = this.#subscribers.get(subject) ?? new Set();
    this.#subscribers.set(subject, all.add(subscriber));
    return () => void all.delete(subscriber);
  }

  /** Calls when the message has arrived; never when it is lost. */
  travel(from: Link, to: Link, arrived: () => void): void {
    if (this.#random.chance(this.lost)) return;
    this.clock.after(this.#random.whole(1, 5), () => {
      if (from.reaches && to.reaches) arrived();
    });
  }

  publish(from: Link, subject: string, payload: unknown): void {
    if (!from.reaches) return;
    this.clock.after(this.#random.whole(1, 5), () => {
      for (const { link, on } of this.#listening(subject)) {
        if (!link.reaches || (link !== from && this.#random.chance(this.lost))) continue;
        link.process.enter(() => on({ subject, payload, respond: () => {} }));
      }
    });
  }

  request(from: Link, subject: string, payload: unknown, timeoutMs: number): Promise<unknown> {
    const { process } = from;
    return new Promise((resolve, reject) => {
      const fail = (code: 'DEADLINE_EXCEEDED' | 'UNAVAILABLE', why: string) =>
        process.enter(() => reject(new TroupeError(code, why)));
      this.clock.after(timeoutMs, () => fail('DEADLINE_EXCEEDED', `no answer on ${subject}`));
      if (!from.connected) return fail('UNAVAILABLE', 'there is no connection');
      this.travel(from, from, () => {
        const [to] = this.#listening(subject);
        if (!to) return fail('UNAVAILABLE', `no subscriber listens on ${subject}`);
        const respond = (answer: unknown) =>
          this.travel(to.link, from, () => process.enter(() => resolve(answer)));
        this.travel(from, to.link, () =>
          to.link.process.enter(() => to.on({ subject, payload, respond })),
        );
      });
    });
  }

  /** The processes that are connected and have subscribed; a dead process is neither. */
  #listening(subject: string): Subscriber[] {
    const all = [...(this.#subscribers.get(subject) ?? [])];
    return all.filter(({ link }) => link.process.alive && link.connected);
  }
}

/** The connection of one process, which is its Bus. */
export class Link implements Bus {
  connected = true;
  /** cut off without a notification */
  isCut = false;
  readonly process: SimProcess;
  readonly #network: SimNetwork;

  constructor(network: SimNetwork, process: SimProcess) {
    this.#network = network;
    this.process = process;
  }

  get reaches(): boolean {
    return this.connected && !this.isCut;
  }

  publish(subject: string, payload: unknown): void {
    if (this.process.alive) this.#network.publish(this, subject, payload);
  }

  subscribe(subject: string, on: (message: BusMessage) => void): () => void {
    return this.#network.subscribe(subject, { link: this, on });
  }

  request(subject: string, payload: unknown, { timeoutMs }: { timeoutMs: number }) {
    return this.#network.request(this, subject, payload, timeoutMs);
  }

  async close(): Promise<void> {
    this.connected = false;
  }
}
