/**
 * endSession: calls the hooks for the end of a session, after a reset or a deletion. `repeatable`:
 * if the worker dies, the hooks are called again.
 */
import type { EffectDefinition } from '../../../runtime/index.ts';
import { servicesOf } from '../../../agent/services.ts';
import type { EndSessionInput } from '../types.ts';

/** Time limit of all hooks together: a deletion is answered after them. */
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
