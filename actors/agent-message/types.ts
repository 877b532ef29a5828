/** What a message of a program to an agent keeps between turns. */
import type { AgentMessage } from './action.ts';
import type { ErrorData } from '../../protocols/errors.ts';
import type { RunAccepted, RunEnded } from '../../protocols/session.ts';
import type { Delivered, ReplyRef } from '../../protocols/statechart.ts';
import { type ActionArgs, handlersOf } from '../kit/handlers.ts';

export type MessageContext = {
  readonly tenant: string;
  /** id of the task, whose work this is */
  readonly taskId: string;
  readonly asked: {
    readonly agentId: string;
    readonly text: string;
    readonly sessionKey: string;
    readonly sender?: string;
  } | null;
  /** the task, which waits for the reply */
  readonly reply: ReplyRef | null;
  readonly end: { readonly result: AgentAnswer } | { readonly error: ErrorData } | null;
};

/** Result of the action. */
export type AgentAnswer = {
  readonly text: string;
  readonly session_key: string;
  readonly run_id: string;
  readonly usage: {
    readonly input_tokens: number;
    readonly output_tokens: number;
    readonly cost_usd: number;
  };
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
