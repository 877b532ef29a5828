/**
 * InProcessBus: the Bus of one process. Handlers run from a queue in the next turn of the event
 * loop, in publish order; a payload is handed over as it is, so it must not be changed after
 * publishing.
 */
import { TroupeError } from '../../protocols/errors.ts';
import { subjectMatches } from '../../protocols/subjects.ts';
import { type Clock, systemClock } from '../clock/clock.ts';
import type { Bus, BusMessage } from './bus.ts';

type Subscription = {
  readonly pattern: string;
  readonly onMessage: (message: BusMessage) => void;
  active: boolean;
};

export type InProcessBusOptions = {
  /** for the deadlines of requests; default the system's */
  readonly clock?: Clock;
};

export class InProcessBus implements Bus {
  readonly #clock: Clock;
  /** subscriptions without wildcards, by subject */
  readonly #exact = new Map<string, Set<Subscription>>();
  readonly #wildcards = new Set<Subscription>();
  readonly #requests = new Set<(error: TroupeError) => void>();
  #queue: (() => void)[] = [];
  #scheduled = false;
  #closed = false;

  constructor({ clock = systemClock }: InProcessBusOptions = {}) {
    this.#clock = clock;
  }

  get connected(): boolean {
    return !this.#closed;
  }

  publish(subject: string, payload: unknown): void {
    this.#assertOpen();
    this.#send(subject, { subject, payload, respond: () => {} });
  }

  subscribe(pattern: string, onMessage: (message: BusMessage) => void): () => void {
    this.#assertOpen();
    const subscription: Subscription = { pattern, onMessage, active: true };
    const set = isWildcard(pattern) ? this.#wildcards : (this.#exact.get(pattern) ?? new Set());
    set.add(subscription);
    if (set !== this.#wildcards) this.#exact.set(pattern, set);
    return () => {
      subscription.active = false;
      set.delete(subscription);
      if (set.size === 0 && this.#exact.get(pattern) === set) this.#exact.delete(pattern);
    };
  }

  async request(
    subject: string,
    payload: unknown,
    { timeoutMs }: { timeoutMs: number },
  ): Promise<unknown> {
    this.#assertOpen();
    if (this.#receivers(subject).length === 0) {
      throw new TroupeError('UNAVAILABLE', `no subscriber listens on ${subject}`, {
        details: { subject },
      });
    }
    return new Promise((resolve, reject) => {
      const settle = (finish: () => void) => {
        cancel();
        this.#requests.delete(fail);
        finish();
      };
      const fail = (error: TroupeError) => settle(() => reject(error));
      const late = `no subscriber answered on ${subject} within ${timeoutMs} ms`;
      const cancel = this.#clock.after(timeoutMs, () => {
        fail(new TroupeError('DEADLINE_EXCEEDED', late, { details: { subject, timeoutMs } }));
      });
      this.#requests.add(fail);
      this.#send(subject, { subject, payload, respond: (answer) => settle(() => resolve(answer)) });
    });
  }

  async close(): Promise<void> {
    this.#closed = true;
    this.#exact.clear();
    this.#wildcards.clear();
    this.#queue = [];
    for (const fail of this.#requests) fail(closed());
  }

  #assertOpen(): void {
    if (this.#closed) throw closed();
  }

  #receivers(subject: string): Subscription[] {
    const found = [...(this.#exact.get(subject) ?? [])];
    for (const one of this.#wildcards) if (subjectMatches(one.pattern, subject)) found.push(one);
    return found;
  }

  #send(subject: string, message: BusMessage): void {
    for (const receiver of this.#receivers(subject)) {
      this.#queue.push(() => {
        if (receiver.active) receiver.onMessage(message);
      });
    }
    if (this.#queue.length > 0) this.#schedule();
  }

  #schedule(): void {
    if (this.#scheduled) return;
    this.#scheduled = true;
    setImmediate(() => {
      this.#scheduled = false;
      this.#deliver();
    });
  }

  /**
   * Messages that handlers publish wait for the next turn. A handler that throws does not affect
   * the messages of others.
   */
  #deliver(): void {
    const queue = this.#queue;
    this.#queue = [];
    for (const call of queue) {
      try {
        call();
      } catch (error) {
        queueMicrotask(() => {
          throw error;
        });
      }
    }
  }
}

const isWildcard = (pattern: string): boolean =>
  pattern.split('.').some((token) => token === '*' || token === '>');

const closed = (): TroupeError => new TroupeError('UNAVAILABLE', 'the bus is closed');
