/** What a message of a program to an agent keeps between turns. */
import type { AgentAnswer, AgentMessage } from '../../protocols/agent-message.ts';
import type { ErrorData } from '../../protocols/errors.ts';
import type { RunAccepted, RunEnded } from '../../protocols/session.ts';
import type { Delivered, ReplyRef } from '../../protocols/statechart.ts';
import { type ActionArgs, handlersOf } from '../kit/handlers.ts';

export type AskedMessage = {
  readonly agentId: string;
  readonly text: string;
  readonly sessionKey: string;
  /** `sub` of the principal */
  readonly sender?: string;
};

/** The text that the agent gets, or why it gets none. */
export type Prepared = { readonly text: string } | { readonly refusal: ErrorData };

export type MessageContext = {
  readonly tenant: string;
  /** id of the task, whose work this is */
  readonly taskId: string;
  readonly asked: AskedMessage | null;
  /** the task, which waits for the reply */
  readonly reply: ReplyRef | null;
  readonly end: { readonly result: AgentAnswer } | { readonly error: ErrorData } | null;
};

/** What a session answers to `session.receive`. */
type ReceiveReply = {
  readonly type: 'reply';
  readonly to: string;
  readonly result?: RunAccepted;
  readonly error?: ErrorData;
};

export type MessageEvent =
  | Delivered<AgentMessage>
  | Delivered<{ readonly type: 'task.cancel'; readonly task_id: string; readonly reason: string }>
  | Delivered<ReceiveReply>
  | Delivered<RunEnded>;

export type Args = ActionArgs<MessageContext, MessageEvent>;
export const { on } = handlersOf<MessageContext, MessageEvent>();
