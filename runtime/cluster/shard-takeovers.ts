/**
 * The shard takeovers that this node is running: at most AT_ONCE at a time, with a backoff per
 * shard after a failure.
 */
import { errorData } from '../../protocols/errors.ts';
import type { Clock } from '../clock/clock.ts';
import type { ShardStatus } from '../system.ts';

export type TakeoverEvent =
  /** `given`: its owner handed it over to this node; otherwise it had no owner */
  | {
      readonly kind: 'took';
      readonly shard: number;
      readonly given: boolean;
      readonly tookMs: number;
    }
  | { readonly kind: 'take failed'; readonly shard: number; readonly why: string };

export type ShardTakeoversOptions = {
  readonly clock: Clock;
  readonly take: (shard: number) => Promise<void>;
  readonly statusOf: (shard: number) => ShardStatus | undefined;
  readonly onEvent: (event: TakeoverEvent) => void;
  /** a take-over has ended, successfully or not */
  readonly onEnd: () => void;
};

const AT_ONCE = 16;
const AGAIN_MS = { first: 100, max: 5_000 };

export class ShardTakeovers {
  readonly #o: ShardTakeoversOptions;
  readonly #running = new Map<number, Promise<void>>();
  readonly #given = new Set<number>();
  readonly #again = new Map<number, { readonly atMs: number; readonly delayMs: number }>();

  constructor(options: ShardTakeoversOptions) {
    this.#o = options;
  }

  /** Takes over a shard that its owner gave to this node, as soon as there is capacity. */
  give(shard: number): void {
    if (this.#running.has(shard)) return;
    this.#given.add(shard);
    this.#next();
  }

  /** Takes over a shard without an owner; does nothing without capacity, or too early. */
  tryTake(shard: number): void {
    const { atMs } = this.#again.get(shard) ?? { atMs: 0 };
    if (this.#running.size >= AT_ONCE || this.#running.has(shard)) return;
    if (this.#o.clock.monotonicMs() >= atMs) this.#start(shard, false);
  }

  isTaking(shard: number): boolean {
    return this.#running.has(shard) || this.#given.has(shard);
  }

  /** The shard has an owner, so the next failure counts as the first one. */
  forget(shard: number): void {
    this.#again.delete(shard);
  }

  /** Starts no further take-overs; resolves when none is running. */
  async close(): Promise<void> {
    this.#given.clear();
    await Promise.all(this.#running.values());
  }

  #next(): void {
    for (const shard of this.#given) {
      if (this.#running.size >= AT_ONCE) return;
      this.#given.delete(shard);
      this.#start(shard, true);
    }
  }

  #start(shard: number, given: boolean): void {
    const taken = this.#take(shard, given).then(() => {
      this.#running.delete(shard);
      this.#next();
      this.#o.onEnd();
    });
    this.#running.set(shard, taken);
  }

  async #take(shard: number, given: boolean): Promise<void> {
    const { clock, take, statusOf, onEvent } = this.#o;
    const fromMs = clock.monotonicMs();
    let why: string | undefined;
    try {
      await take(shard);
    } catch (error) {
      why = errorData(error).message;
    }
    const status = statusOf(shard);
    if (status?.state === 'owned')
      return onEvent({ kind: 'took', shard, given, tookMs: clock.monotonicMs() - fromMs });
    const delayMs = Math.min((this.#again.get(shard)?.delayMs ?? 0) * 2, AGAIN_MS.max);
    this.#retry(shard, Math.max(delayMs, AGAIN_MS.first));
    onEvent({ kind: 'take failed', shard, why: why ?? status?.why ?? status?.state ?? 'lost' });
  }

  #retry(shard: number, delayMs: number): void {
    this.#again.set(shard, { atMs: this.#o.clock.monotonicMs() + delayMs, delayMs });
  }
}
