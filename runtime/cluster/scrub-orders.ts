/**
 * ScrubOrders: requests to other processes to remove erased bytes: the owner of a shard covers it
 * with a snapshot and trims it, and every process writes its local data again. A request is asked
 * for until it is done, so a lost message delays it only; a process that carries it out twice
 * changes nothing the second time.
 */
import { errorData, TroupeError } from '../../protocols/errors.ts';
import { escapeToken } from '../../protocols/subjects.ts';
import type { Bus } from '../bus/bus.ts';
import type { Clock } from '../clock/clock.ts';

export type ScrubOrder = {
  /** the same each time it is asked for */
  readonly id: string;
  /** to its owner; absent: local data of the process */
  readonly shard?: number;
};

export type ScrubOrdersOptions = {
  readonly bus: Bus;
  readonly clock: Pick<Clock, 'after' | 'monotonicMs'>;
  /** this process */
  readonly node: string;
  readonly carryOut: (order: ScrubOrder) => Promise<void>;
};

type Progress = { readonly state: 'running' | 'done' | 'failed'; readonly why?: string };

const ANSWER_MS = 2_000;
const ASK_EVERY_MS = 50;
/** A large cache is read and written once. */
const DONE_WITHIN_MS = 600_000;
/** Requests without an answer after which the process counts as gone. */
const SILENT_MAX = 3;

const subjectOf = (node: string): string => `nodes.scrub.${escapeToken(node)}`;

export class ScrubOrders {
  readonly #o: ScrubOrdersOptions;
  readonly #orders = new Map<string, Progress>();
  readonly #unsubscribe: () => void;

  constructor(options: ScrubOrdersOptions) {
    this.#o = options;
    this.#unsubscribe = options.bus.subscribe(subjectOf(options.node), ({ payload, respond }) =>
      respond(this.#progressOf(payload as ScrubOrder)),
    );
  }

  /**
   * Resolves when the process has carried out the order. @throws TroupeError UNAVAILABLE when it
   * failed, or the process is gone
   */
  async send(node: string, order: ScrubOrder): Promise<void> {
    const { clock } = this.#o;
    const what = `${order.shard === undefined ? 'local data' : `shard ${order.shard}`} of ${node}`;
    const untilMs = clock.monotonicMs() + DONE_WITHIN_MS;
    for (let silent = 0; silent < SILENT_MAX && clock.monotonicMs() < untilMs; ) {
      const progress = await this.#ask(node, order);
      silent = progress ? 0 : silent + 1;
      if (progress?.state === 'done') return;
      if (progress?.state === 'failed')
        throw new TroupeError('UNAVAILABLE', `${what}: ${progress.why}`);
      await new Promise<void>((resolve) => clock.after(ASK_EVERY_MS, resolve));
    }
    throw new TroupeError('UNAVAILABLE', `${what}: the process does not answer`);
  }

  close(): void {
    this.#unsubscribe();
  }

  async #ask(node: string, order: ScrubOrder): Promise<Progress | undefined> {
    try {
      const options = { timeoutMs: ANSWER_MS };
      return (await this.#o.bus.request(subjectOf(node), order, options)) as Progress;
    } catch {
      return undefined;
    }
  }

  /** Begins what is not known. What has ended is forgotten with its answer. */
  #progressOf(order: ScrubOrder): Progress {
    const known = this.#orders.get(order.id);
    if (known && known.state !== 'running') this.#orders.delete(order.id);
    if (known) return known;
    const begun: Progress = { state: 'running' };
    this.#orders.set(order.id, begun);
    this.#o.carryOut(order).then(
      () => this.#orders.set(order.id, { state: 'done' }),
      (error: unknown) =>
        this.#orders.set(order.id, { state: 'failed', why: errorData(error).message }),
    );
    return begun;
  }
}
