/**
 * SimBus: the Bus port with every fault that the port permits: latency, loss and duplicates.
 */
import { TroupeError } from '../../protocols/errors.ts';
import type { Bus, BusMessage } from '../../runtime/bus/bus.ts';
import type { Random } from './random.ts';
import type { VirtualClock } from './virtual-clock.ts';

export type BusFaults = { readonly lost: number; readonly doubled: number };

type Subscriber = { readonly pattern: readonly string[]; readonly on: (m: BusMessage) => void };

export class SimBus implements Bus {
  readonly connected = true;
  faults: BusFaults = { lost: 0, doubled: 0 };
  readonly #clock: VirtualClock;
  readonly #random: Random;
  readonly #subscribers = new Set<Subscriber>();

  constructor(clock: VirtualClock, random: Random) {
    this.#clock = clock;
    this.#random = random;
  }

  publish(subject: string, payload: unknown): void {
    if (this.#random.chance(this.faults.lost)) return;
    const copies = this.#random.chance(this.faults.doubled) ? 2 : 1;
    for (let copy = 0; copy < copies; copy++) {
      this.#clock.after(this.#random.whole(0, 5), () =>
        this.#deliver({ subject, payload, respond: () => {} }),
      );
    }
  }

  subscribe(pattern: string, on: (message: BusMessage) => void): () => void {
    const subscriber = { pattern: pattern.split('.'), on };
    this.#subscribers.add(subscriber);
    return () => void this.#subscribers.delete(subscriber);
  }

  request(
    subject: string,
    payload: unknown,
    { timeoutMs }: { timeoutMs: number },
  ): Promise<unknown> {
    return new Promise((resolve, reject) => {
      const late = new TroupeError('DEADLINE_EXCEEDED', `no subscriber answered on ${subject}`);
      this.#clock.after(timeoutMs, () => reject(late));
      this.#clock.after(this.#random.whole(0, 5), () =>
        this.#deliver({ subject, payload, respond: resolve }),
      );
    });
  }

  async close(): Promise<void> {
    this.#subscribers.clear();
  }

  #deliver(message: BusMessage): void {
    const subject = message.subject.split('.');
    const subscribers = [...this.#subscribers].filter(({ pattern }) => matches(pattern, subject));
    for (const { on } of subscribers) on(message);
  }
}

function matches(pattern: readonly string[], subject: readonly string[]): boolean {
  const rest = pattern.at(-1) === '>';
  if (rest ? subject.length < pattern.length : subject.length !== pattern.length) return false;
  return pattern.every((token, i) => token === '*' || token === '>' || token === subject[i]);
}
