/** The effects of an erasure, which the installation performs as `ErasureEffects` describes. */
import type {
  ErasureEffects,
  ErasureScrub,
  ErasureTarget,
  ErasureWork,
} from '../../../protocols/erasure.ts';
import type { EffectContext, EffectDefinition } from '../../../runtime/index.ts';

type ErasureServices = { readonly erasure: ErasureEffects };

const SURVEY_MS = 600_000;
/** Of a large tenant. */
const WORK_MS = 3_600_000;

const effectOf = <Input, Output>(
  timeoutMs: number,
  run: (input: Input, effects: ErasureEffects, signal: AbortSignal) => Promise<Output>,
): EffectDefinition<Input, Output> => ({
  class: 'repeatable',
  timeoutMs,
  run: (input, { services, signal }: EffectContext) =>
    run(input, (services as ErasureServices).erasure, signal),
});

export const erasureEffects = {
  survey: effectOf(SURVEY_MS, (target: ErasureTarget, effects) => effects.survey(target)),
  remove: effectOf(WORK_MS, (work: ErasureWork, effects, signal) => effects.remove(work, signal)),
  scrub: effectOf(WORK_MS, (work: ErasureScrub, effects, signal) => effects.scrub(work, signal)),
};
