/**
 * WorkerOrders: what operators request from a worker: to hand its shards over, or to take no
 * others. A request is a message on the bus, so it may be lost: heartbeats show whether the worker
 * follows it.
 */
import { escapeToken } from '../../protocols/subjects.ts';
import type { Bus } from '../bus/bus.ts';

export type WorkerOrdersOptions = {
  readonly bus: Bus;
  /** this process */
  readonly node: string;
  readonly onDrain: () => void;
  readonly onCordon: () => void;
};

const drainSubject = (node: string): string => `nodes.drain.${escapeToken(node)}`;
const cordonSubject = (node: string): string => `nodes.cordon.${escapeToken(node)}`;

export class WorkerOrders {
  readonly #bus: Bus;
  readonly #unsubscribe: readonly (() => void)[];
  #isCordoned = false;

  constructor({ bus, node, onDrain, onCordon }: WorkerOrdersOptions) {
    this.#bus = bus;
    this.#unsubscribe = [
      bus.subscribe(drainSubject(node), onDrain),
      bus.subscribe(cordonSubject(node), ({ payload }) => {
        this.#isCordoned = payload === true;
        onCordon();
      }),
    ];
  }

  /** Whether this process was asked to take no more shards. */
  get isCordoned(): boolean {
    return this.#isCordoned;
  }

  /** Requests that a worker hands its shards over. */
  drain(node: string): void {
    this.#bus.publish(drainSubject(node), null);
  }

  /** Requests that a worker takes no more shards, or does again. */
  cordon(node: string, isCordoned: boolean): void {
    this.#bus.publish(cordonSubject(node), isCordoned);
  }

  close(): void {
    for (const unsubscribe of this.#unsubscribe) unsubscribe();
  }
}
