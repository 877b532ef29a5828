/**
 * Finds the input that crashes a shard's process (rule K).
 *
 * After two unclean starts within the crash window, the shard processes one input per record and
 * announces each by a TRY record before it runs. An input that was tried too often without
 * completing its turn is poison: it becomes a dead letter and does not run again.
 *
 * The second unclean start is often the death of another worker, not of the same input. Then the
 * guard also ends after a time, so that a slow store does not delay what waits. If an input is the
 * cause nevertheless, the next start is the third one, whose guard has no such end.
 */
import type { Fold } from '../commit/fold.ts';
import type { Limits } from '../limits.ts';

export class CrashLoopGuard {
  readonly #fold: Fold;
  readonly #limits: Limits;
  #announced: string | undefined;
  #turns = 0;
  /** shard time of the first turn */
  #sinceMs: number | undefined;
  readonly #isFirst: boolean;
  on: boolean;

  constructor(fold: Fold, limits: Limits, now: number) {
    this.#fold = fold;
    this.#limits = limits;
    const starts = fold.scalars.unclean.filter((at) => at > now - limits.crashWindowMs).length;
    this.on = starts >= 2;
    this.#isFirst = starts === 2;
  }

  /** What to do with the next input: announce it, run it, or run it no more. */
  judge(ref: string): 'try' | 'run' | 'poison' {
    if (this.#announced === ref) return 'run';
    if (this.tries(ref) >= this.#limits.triesMax) return 'poison';
    this.#announced = ref;
    return 'try';
  }

  /** TRY records of this input without its turn. */
  tries(ref: string): number {
    return this.#fold.scalars.tries[ref] ?? 0;
  }

  /** Turns were decided at this shard time. Ends the crash-loop guard after enough of them. */
  count(turns: number, nowMs: number): void {
    const { carefulTurns, carefulMs } = this.#limits;
    this.#turns += turns;
    this.#sinceMs ??= nowMs;
    const isLong = this.#isFirst && nowMs - this.#sinceMs >= carefulMs;
    if (this.#turns >= carefulTurns || isLong) this.on = false;
  }
}
