/**
 * Careful: how a shard finds the input that kills its process (rule K). After two unclean starts
 * within the crash window every input is announced by a TRY record before it runs, one per record;
 * an input that was tried too often without its turn is poison and ends as a dead letter without
 * running.
 */
import type { Fold } from './fold.ts';
import type { Limits } from './size.ts';

export class Careful {
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

  /** Ends careful mode after enough committed turns. */
  count(turns: number): void {
    this.#turns += turns;
    if (this.#turns >= this.#limits.carefulTurns) this.on = false;
  }
}
