/**
 * The action `agents.send_message`: a program sends a message to an agent, and gets its answer as
 * the result of a durable task. Programs reach it by envelopes, MCP and A2A.
 */
import { type Static, Type } from '@sinclair/typebox';
import { address } from '../../protocols/address.ts';
import { type ActionDefinition, defineAction } from '../task/action.ts';

/** Who may request it: no principal, operators, or every principal of the tenant. */
export type MessagesFrom = 'none' | 'operators' | 'all';

export const SEND_MESSAGE = 'agents.send_message';
const TEXT_CHARACTERS_MAX = 32_768;
/** Longer than most runs, whose own time limit ends them before. */
const ETA_SEC = 3_600;

const Payload = Type.Object(
  {
    schema_version: Type.Literal('1.0'),
    agent_id: Type.String({ minLength: 1, maxLength: 64, description: 'id of the agent' }),
    message: Type.String({ minLength: 1, maxLength: TEXT_CHARACTERS_MAX }),
    conversation: Type.Optional(
      Type.String({
        minLength: 1,
        maxLength: 128,
        description:
          'name of the conversation: messages of one principal with the same name continue it; default: the context_id of the envelope, else a new conversation',
      }),
    ),
    eta_sec: Type.Optional(Type.Integer({ minimum: 1, description: 'time limit, seconds' })),
    subject: Type.Optional(Type.String({ maxLength: 256 })),
  },
  { additionalProperties: false },
);

/** The message of a task to its actor. */
export type AgentMessage = Static<typeof Payload> & {
  readonly type: typeof SEND_MESSAGE;
  readonly task_id: string;
  /** `context_id` of the envelope */
  readonly task_context?: string;
};

const Answer = Type.Object({
  text: Type.String({ description: 'the answer; empty if the agent chose not to reply' }),
  session_key: Type.String(),
  run_id: Type.String(),
  usage: Type.Object({
    input_tokens: Type.Integer(),
    output_tokens: Type.Integer(),
    cost_usd: Type.Number(),
  }),
});

export const agentMessageActions = (from: MessagesFrom): readonly ActionDefinition[] =>
  from === 'none'
    ? []
    : [
        defineAction({
          action: SEND_MESSAGE,
          version: '1.0.0',
          description:
            'Sends a message to an agent and returns its answer. The agent remembers earlier messages of the same conversation.',
          schemas: { '1.0': Payload },
          result: Answer,
          agent: 'agents',
          actor: ({ tenant_id }, taskId) => address(tenant_id, 'agent-message', taskId),
          withdraws: true,
          // A message that was sent again would be answered twice.
          attemptsMax: 1,
          etaSec: ETA_SEC,
          ...(from === 'operators' ? { roles: ['operator'] } : {}),
        }),
      ];
