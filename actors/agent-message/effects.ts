/** The effect of a message to an agent: finds the agent. */
import { servicesOf } from '../../agent/services.ts';
import { isKnown } from '../../agent/known-agent.ts';
import { address, parseAddress } from '../../protocols/address.ts';
import type { AgentRow } from '../../protocols/agent.ts';
import type { EffectDefinition } from '../../runtime/index.ts';

const TIMEOUT_MS = 30_000;

const find: EffectDefinition<string, boolean> = {
  class: 'repeatable',
  timeoutMs: TIMEOUT_MS,
  async run(agentId, context) {
    const { tenant } = parseAddress(context.actor);
    const agent = address(tenant, 'agent', agentId);
    const row = await context.row<AgentRow>(agent, 'agents', agentId);
    return isKnown(servicesOf(context).talk, agentId, row);
  },
};

export const agentMessageEffects = { find };
