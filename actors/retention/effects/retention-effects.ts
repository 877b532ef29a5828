/** The effects of a sweeper, which the installation performs as `RetentionEffects` describes. */
import type { RetentionEffects } from '../../../protocols/retention.ts';
import type { EffectContext, EffectDefinition } from '../../../runtime/index.ts';

type RetentionServices = { readonly retention: RetentionEffects };

/** Of a large tenant. */
const TIMEOUT_MS = 600_000;

const effectOf = <Name extends keyof RetentionEffects>(
  name: Name,
): EffectDefinition<
  Parameters<RetentionEffects[Name]>[0],
  Awaited<ReturnType<RetentionEffects[Name]>>
> => ({
  class: 'repeatable',
  timeoutMs: TIMEOUT_MS,
  run: (input, { services, signal }: EffectContext) => {
    const run = (services as RetentionServices).retention[name] as (
      input: Parameters<RetentionEffects[Name]>[0],
      signal: AbortSignal,
    ) => Promise<Awaited<ReturnType<RetentionEffects[Name]>>>;
    return run(input, signal);
  },
});

export const retentionEffects = {
  plan: effectOf('plan'),
  pick: effectOf('pick'),
  remove: effectOf('remove'),
};
