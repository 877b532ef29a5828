/** The effect of a message to an agent: finds the agent, and calls the hooks of a message. */
import { servicesOf } from '../../agent/services.ts';
import { isKnown } from '../../agent/known-agent.ts';
import { API_CHANNEL } from '../../protocols/agent-message.ts';
import { address, parseAddress } from '../../protocols/address.ts';
import type { AgentRow } from '../../protocols/agent.ts';
import { defined } from '../../protocols/defined.ts';
import { type ErrorData, errorData, TroupeError } from '../../protocols/errors.ts';
import type { EffectDefinition } from '../../runtime/index.ts';
import type { AskedMessage, Prepared } from './types.ts';

const TIMEOUT_MS = 60_000;

const prepare: EffectDefinition<AskedMessage, Prepared> = {
  class: 'repeatable',
  timeoutMs: TIMEOUT_MS,
  async run({ agentId, sessionKey, text, sender }, context) {
    const { tenant } = parseAddress(context.actor);
    const agent = address(tenant, 'agent', agentId);
    const row = await context.row<AgentRow>(agent, 'agents', agentId);
    const { talk, hooks } = servicesOf(context);
    if (!isKnown(talk, agentId, row)) return refused('NOT_FOUND', `there is no agent ${agentId}`);
    if (!hooks.has('message_received')) return { text };
    const message = { text, images: [], channel: API_CHANNEL, ...defined({ sender }) };
    const changed = await hooks.run('message_received', message, { tenant, agentId, sessionKey });
    if (changed?.refuse !== undefined) return refused('FORBIDDEN', changed.refuse);
    return { text: changed?.text ?? text };
  },
};

const refused = (code: ErrorData['code'], message: string): Prepared => ({
  refusal: errorData(new TroupeError(code, message)),
});

export const agentMessageEffects = { prepare };
