/**
 * HandOvers: transfers shards of this node to others without a gap. The next owner first loads the
 * shard's rows; then this node commits, releases the shard, and notifies the next owner.
 *
 * Boundary: other code decides whether and to which node. A hand-over that fails leaves the shard
 * with this node, or without an owner; then placement's rule for such shards applies.
 */
import { TroupeError, errorData } from '../../protocols/errors.ts';
import type { Bus } from '../bus/bus.ts';
import type { Clock } from '../clock/clock.ts';
import { type NodeRequest, type Prepared, nodeSubject } from './heartbeat.ts';

export type HandOverEvent =
  | { readonly kind: 'move planned'; readonly shard: number; readonly to: string }
  | {
      readonly kind: 'handed off';
      readonly shard: number;
      /** '': to any node */
      readonly to: string;
      readonly tookMs: number;
    }
  | {
      readonly kind: 'move failed';
      readonly shard: number;
      readonly to: string;
      readonly why: string;
    };

export type HandOversOptions = {
  readonly bus: Bus;
  readonly clock: Clock;
  readonly prepareMs: number;
  readonly handOff: (shard: number, to: string) => Promise<void>;
  readonly epochOf: (shard: number) => number;
  readonly onEvent: (event: HandOverEvent) => void;
  /** a hand-over has ended, successfully or not */
  readonly onEnd: () => void;
};

export class HandOvers {
  readonly #o: HandOversOptions;
  readonly #running = new Map<number, Promise<boolean>>();
  /** nodes that were asked to prepare, and the functions that end the wait for their answers */
  readonly #asked = new Set<{ readonly node: string; readonly fail: (why: TroupeError) => void }>();

  constructor(options: HandOversOptions) {
    this.#o = options;
  }

  get running(): number {
    return this.#running.size;
  }

  isMoving(shard: number): boolean {
    return this.#running.has(shard);
  }

  /**
   * Resolves with whether the shard was transferred. A running hand-over is awaited instead.
   *
   * @param stillWanted called when the other node is ready; never when `to` is ''
   */
  give(shard: number, to: string, stillWanted: () => boolean): Promise<boolean> {
    const running = this.#running.get(shard);
    if (running) return running;
    const given = this.#give(shard, to, stillWanted).finally(() => {
      this.#running.delete(shard);
      this.#o.onEnd();
    });
    this.#running.set(shard, given);
    return given;
  }

  /** This node has stopped: pending requests receive no answer. */
  left(node: string): void {
    for (const asked of this.#asked)
      if (asked.node === node) asked.fail(new TroupeError('UNAVAILABLE', 'it has ended'));
  }

  async #give(shard: number, to: string, stillWanted: () => boolean): Promise<boolean> {
    const { bus, clock, handOff, epochOf, onEvent } = this.#o;
    try {
      if (to !== '') {
        onEvent({ kind: 'move planned', shard, to });
        await this.#prepare(shard, to);
        if (!stillWanted()) throw new TroupeError('CONFLICT', 'it is no longer wanted');
      }
      const fromMs = clock.monotonicMs();
      const epoch = epochOf(shard);
      await handOff(shard, to);
      const yours: NodeRequest = { kind: 'yours', shard, epoch };
      if (to !== '') bus.publish(nodeSubject(to), yours);
      onEvent({ kind: 'handed off', shard, to, tookMs: clock.monotonicMs() - fromMs });
      return true;
    } catch (error) {
      onEvent({ kind: 'move failed', shard, to, why: errorData(error).message });
      return false;
    }
  }

  async #prepare(shard: number, to: string): Promise<void> {
    const question: NodeRequest = { kind: 'prepare', shard };
    const options = { timeoutMs: this.#o.prepareMs };
    let fail: (why: TroupeError) => void = () => {};
    const left = new Promise<never>((_, reject) => {
      fail = reject;
    });
    const asked = { node: to, fail };
    this.#asked.add(asked);
    try {
      const answered = this.#o.bus.request(nodeSubject(to), question, options);
      const { ok, why } = (await Promise.race([answered, left])) as Prepared;
      if (!ok) throw new TroupeError('UNAVAILABLE', why ?? 'it is not ready');
    } finally {
      this.#asked.delete(asked);
    }
  }
}
