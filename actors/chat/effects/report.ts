/**
 * report: runs the hook `message_sent` for a delivery that has ended. `repeatable`: after a crash
 * the hook may run again.
 */
import { servicesOf } from '../../../agent/services.ts';
import type { ReportInput } from '../../../protocols/channel-effects.ts';
import { defined } from '../../../protocols/defined.ts';
import { parseSessionKey } from '../../../protocols/session-key.ts';
import type { EffectDefinition } from '../../../runtime/index.ts';

const TIMEOUT_MS = 60_000;

export const report: EffectDefinition<ReportInput, null> = {
  class: 'repeatable',
  timeoutMs: TIMEOUT_MS,
  async run(input, context) {
    const { tenant, runId, sessionKey = '', ...sent } = input;
    const { hooks } = servicesOf(context);
    const parts = parseSessionKey(sessionKey);
    const agentId = 'agentId' in parts ? parts.agentId : '';
    await hooks.run('message_sent', sent, { tenant, agentId, sessionKey, ...defined({ runId }) });
    return null;
  },
};
