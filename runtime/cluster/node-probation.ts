/**
 * Tracks worker names that die repeatedly. Such a worker must run for a probation period before
 * shards are moved to it, so that a machine that restarts in a loop does not disturb the cluster.
 */
import type { Clock } from '../clock/clock.ts';

const WINDOW_MS = 60_000;
const PROBATION_MS = { unit: 1_000, max: 30_000 };
/** Maximum number of stored names; the one that ended longest ago is removed first. */
const NAMES_MAX = 1_000;
/** More ends than these add nothing to the probation. */
const ENDS_MAX = 10;

export class NodeProbation {
  readonly #clock: Clock;
  /** when it ended, oldest first, by name; the name that ended last comes last */
  readonly #ends = new Map<string, number[]>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** A process of this name died or left. */
  ended(name: string): void {
    const ends = this.#recent(name);
    this.#ends.delete(name);
    this.#ends.set(name, [...ends, this.#clock.monotonicMs()].slice(-ENDS_MAX));
    if (this.#ends.size <= NAMES_MAX) return;
    const [oldest] = this.#ends.keys();
    this.#ends.delete(oldest!);
  }

  /**
   * How long a process of this name must have been a member before it counts: 0, or, when it ended
   * n > 1 times within the last minute, 1 s x 2^n, at most 30 s.
   */
  probationMs(name: string): number {
    const times = this.#recent(name).length;
    return times > 1 ? Math.min(PROBATION_MS.unit * 2 ** times, PROBATION_MS.max) : 0;
  }

  #recent(name: string): readonly number[] {
    const after = this.#clock.monotonicMs() - WINDOW_MS;
    return (this.#ends.get(name) ?? []).filter((at) => at > after);
  }
}
