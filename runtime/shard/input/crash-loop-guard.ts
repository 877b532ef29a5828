/**
 * Finds the input that crashes a shard's process (rule K).
 *
 * After two unclean starts within the crash window, the shard processes one input per record and
 * announces each by a TRY record before it runs. An input that was tried too often without
 * completing its turn is poison: it becomes a dead letter and does not run again.
 */
import type { Fold } from '../commit/fold.ts';
import type { Limits } from '../limits.ts';

export class CrashLoopGuard {
  readonly #fold: Fold;
  readonly #limits: Limits;
  #announced: string | undefined;
  #turns = 0;
  on: boolean;

  constructor(fold: Fold, limits: Limits, now: number) {
    this.#fold = fold;
    this.#limits = limits;
    this.on = fold.scalars.unclean.filter((at) => at > now - limits.crashWindowMs).length >= 2;
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

  /** Ends the crash-loop guard after enough committed turns. */
  count(turns: number): void {
    this.#turns += turns;
    if (this.#turns >= this.#limits.carefulTurns) this.on = false;
  }
}
