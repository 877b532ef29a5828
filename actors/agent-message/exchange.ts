/** Exchange: what the session is asked, and what its answer means for the task. Pure. */
import { address } from '../../protocols/address.ts';
import {
  type AgentAnswer,
  API_CHANNEL,
  conversationKeyOf,
  messageRunId,
  SEND_MESSAGE,
} from '../../protocols/agent-message.ts';
import { defined } from '../../protocols/defined.ts';
import type { ErrorData } from '../../protocols/errors.ts';
import type { RunEnded, SessionAbort, SessionReceive } from '../../protocols/session.ts';
import type { ActorInput, Reply, Tell } from '../../protocols/statechart.ts';
import { type Args, type AskedMessage, type MessageContext, on, type Prepared } from './types.ts';

type Change = Partial<MessageContext>;
type State = Pick<Args, 'context'>;

export const initialContext = ({ tenant, key }: ActorInput): MessageContext => ({
  tenant,
  taskId: key,
  asked: null,
  reply: null,
  end: null,
});

export const begin = on(SEND_MESSAGE, ({ event }): Change => {
  const { agent_id: agentId, message: text, conversation, task_context, task_id, meta } = event;
  const sender = meta.principal?.sub;
  const name = conversation ?? task_context ?? task_id;
  return {
    reply: meta.reply ?? null,
    asked: {
      agentId,
      text,
      sessionKey: conversationKeyOf(agentId, sender ?? task_id, name),
      ...defined({ sender }),
    },
  };
});

const askedOf = ({ asked, taskId }: MessageContext): NonNullable<typeof asked> => {
  if (asked) return asked;
  throw new Error(`the task ${taskId} has sent no message`);
};
const runIdOf = ({ taskId }: MessageContext): string => messageRunId(taskId);
const sessionOf = (context: MessageContext) =>
  address(context.tenant, 'session', askedOf(context).sessionKey);

// ---- requests

export const prepareInput = ({ context }: State): AskedMessage => askedOf(context);

export const notePrepared = ({ context }: State, { prepared }: { prepared: Prepared }): Change =>
  'refusal' in prepared
    ? failed(prepared.refusal)
    : { asked: { ...askedOf(context), text: prepared.text } };

export function send({ context }: State): Tell {
  const { text, sender } = askedOf(context);
  const event: SessionReceive = {
    type: 'session.receive',
    runId: runIdOf(context),
    text,
    ...defined({ sender }),
    queue: 'followup',
    channel: API_CHANNEL,
    notify: true,
  };
  return { to: sessionOf(context), event, ask: true };
}

export function abort({ context }: State): Tell {
  const event: SessionAbort = { type: 'session.abort', runId: runIdOf(context) };
  return { to: sessionOf(context), event };
}

// ---- answers

export const isOwnRun = on(
  'run.ended',
  ({ context, event }): boolean => event.runId === runIdOf(context),
);
export const isRefusal = on(
  'reply',
  ({ context, event }): boolean =>
    event.error !== undefined && event.meta.from === sessionOf(context),
);

const failed = (error: ErrorData): Change => ({ end: { error } });

export const noteEnded = on('run.ended', ({ context, event }): Change => {
  const error = errorOf(event);
  if (error) return failed(error);
  const { inputTokens, outputTokens, costUsd = 0 } = event.usage;
  const result: AgentAnswer = {
    text: event.text,
    session_key: askedOf(context).sessionKey,
    run_id: event.runId,
    usage: { input_tokens: inputTokens, output_tokens: outputTokens, cost_usd: costUsd },
  };
  return { end: { result } };
});

function errorOf({ status, error, joined }: RunEnded): ErrorData | undefined {
  if (joined !== undefined)
    return {
      code: 'CONFLICT',
      message: `the queue of the session was full: the message joined the run ${joined}, whose answer is in the transcript`,
    };
  if (status === 'ok') return undefined;
  if (error) return error;
  return status === 'timeout'
    ? { code: 'DEADLINE_EXCEEDED', message: 'the run of the agent took longer than its limit' }
    : { code: 'CANCELLED', message: 'the run of the agent was aborted' };
}

export const noteRefused = on('reply', ({ event }): Change => failed(event.error!));
export const noteLost = (): Change =>
  failed({ code: 'UNAVAILABLE', message: 'the session of the agent did not end the run in time' });
export const noteWithdrawn = (): Change =>
  failed({ code: 'CANCELLED', message: 'the message was withdrawn before it was sent' });

export const answer = ({ context: { reply, end } }: State): Reply => ({
  to: reply ?? undefined,
  ...end,
});
/** A repeat of the task gets the answer that there is, and sends no second message. */
export const answerAgain = ({ context: { end }, event }: Args): Reply => ({
  to: event.meta.reply,
  ...end,
});
