/**
 * The action `agents.send_message`: a program sends a message to an agent, and gets its answer as
 * the result of a durable task. Programs reach it by envelopes, MCP and A2A.
 */
import { address } from '../../protocols/address.ts';
import {
  AgentAnswerSchema,
  AgentMessagePayload,
  SEND_MESSAGE,
} from '../../protocols/agent-message.ts';
import { type ActionDefinition, defineAction } from '../task/action.ts';

/** Who may request it: no principal, operators, or every principal of the tenant. */
export type MessagesFrom = 'none' | 'operators' | 'all';

/** Longer than most runs, whose own time limit ends them before. */
const ETA_SEC = 3_600;

export const agentMessageActions = (from: MessagesFrom): readonly ActionDefinition[] =>
  from === 'none'
    ? []
    : [
        defineAction({
          action: SEND_MESSAGE,
          version: '1.0.0',
          description:
            'Sends a message to an agent and returns its answer. The agent remembers earlier messages of the same conversation.',
          schemas: { '1.0': AgentMessagePayload },
          result: AgentAnswerSchema,
          agent: 'agents',
          actor: ({ tenant_id }, taskId) => address(tenant_id, 'agent-message', taskId),
          withdraws: true,
          // A message that was sent again would be answered twice.
          attemptsMax: 1,
          etaSec: ETA_SEC,
          ...(from === 'operators' ? { roles: ['operator'] } : {}),
        }),
      ];
