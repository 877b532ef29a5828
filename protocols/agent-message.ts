/**
 * Messages of programs to agents: the action `agents.send_message`, whose work is an actor
 * `{tenant}/agent-message/{task id}`. It sends the message to a session of the agent and reports
 * the end of the run.
 */
import { hash } from 'node:crypto';
import { type Static, Type } from '@sinclair/typebox';
import { formatSessionKey, SESSION_KEY_BYTES_MAX } from './session-key.ts';

export const SEND_MESSAGE = 'agents.send_message';
/** The entry point of these messages, for queue modes and hooks of the agent. */
export const API_CHANNEL = 'api';

const TEXT_CHARACTERS_MAX = 32_768;
export const AgentMessagePayload = Type.Object(
  {
    schema_version: Type.Literal('1.0'),
    agent_id: Type.String({
      pattern: '^[a-z0-9][a-z0-9_-]{0,62}$',
      description: 'id of the agent',
    }),
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

/** The run in which the agent answers. */
export const messageRunId = (taskId: string): string => `task-${taskId}`;

/** The message of a task to its actor. */
export type AgentMessage = Static<typeof AgentMessagePayload> & {
  readonly type: typeof SEND_MESSAGE;
  readonly task_id: string;
  /** `context_id` of the envelope */
  readonly task_context?: string;
};

export const AgentAnswerSchema = Type.Object({
  text: Type.String({ description: 'the answer; empty if the agent chose not to reply' }),
  session_key: Type.String(),
  run_id: Type.String(),
  usage: Type.Object({
    input_tokens: Type.Integer(),
    output_tokens: Type.Integer(),
    cost_usd: Type.Number(),
  }),
});
export type AgentAnswer = Static<typeof AgentAnswerSchema>;

/**
 * The session of a conversation, `agent:{agentId}:api:{sender}:dm:{conversation}`: principals with
 * conversations of the same name have different sessions. With long names it is
 * `agent:{agentId}:api:dm:{digest of both}`, a form that no names have.
 */
export function conversationKeyOf(agentId: string, sender: string, conversation: string): string {
  const parts = { type: 'dm', agentId, channel: API_CHANNEL } as const;
  // Escapes triple the length at most.
  const isShort =
    Buffer.byteLength(agentId + sender + conversation) * 3 < SESSION_KEY_BYTES_MAX - 32;
  return formatSessionKey(
    isShort
      ? { ...parts, accountId: sender, peerId: conversation }
      : { ...parts, peerId: hash('sha256', JSON.stringify([sender, conversation]), 'hex') },
  );
}
