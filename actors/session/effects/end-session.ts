/**
 * endSession: hooks learn that a session is over, by a reset or by its deletion. `repeatable`: a
 * hook whose worker died is called again.
 */
import type { EffectDefinition } from '../../../runtime/index.ts';
import { servicesOf } from '../../../agent/services.ts';
import type { EndSessionInput } from '../types.ts';

/** All hooks of an end together: a deletion is answered after them. */
const TIMEOUT_MS = 20_000;

export const endSession: EffectDefinition<EndSessionInput, null> = {
  class: 'repeatable',
  timeoutMs: TIMEOUT_MS,
  async run({ tenant, agentId, sessionKey, ended }, context) {
    const { hooks } = servicesOf(context);
    if (hooks.has('session_end'))
      await hooks.run('session_end', ended, { tenant, agentId, sessionKey });
    return null;
  },
};
