/**
 * The stage: simulates the outside world for effects; a test observes each run and decides how it
 * ends.
 */
import type { EffectContext } from '../../../runtime/index.ts';
import { eventually } from '../eventually.ts';
import type { Hands } from './puppet.ts';

export type Run = {
  readonly input: unknown;
  readonly context: EffectContext;
  done(output?: unknown): void;
  failed(error: unknown): void;
};

type Reconciled = { outcome: unknown } | 'again' | 'ask';

export class Stage implements Hands {
  readonly runs: Run[] = [];
  /** requests to the reconcile hook, and its answers */
  readonly reconciled: EffectContext[] = [];
  answer: () => Reconciled = () => 'ask';

  run(input: unknown, context: EffectContext): Promise<unknown> {
    return new Promise((resolve, reject) => {
      this.runs.push({ input, context, done: resolve, failed: reject });
    });
  }

  async reconcile(_input: unknown, context: EffectContext): Promise<Reconciled> {
    this.reconciled.push(context);
    return this.answer();
  }

  /** The nth run, from 1, as soon as it has started. */
  async began(count: number): Promise<Run> {
    return eventually(() => {
      const run = this.runs[count - 1];
      if (!run) throw new Error(`${this.runs.length} effects ran, not ${count}`);
      return run;
    });
  }
}
