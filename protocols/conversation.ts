/**
 * Conversations: one message from an agent's session to another, its answer, up to five replies in
 * turn, and what the people of the target are told (AA3, AA4). An address is
 * `{tenant}/conversation/{id}`.
 *
 *   tool          ─ session.converse ─────▶ requester     (answer: ConversationResult)
 *   requester     ─ conversation.begin ───▶ conversation
 *   conversation  ─ session.receive ──────▶ target
 *   conversation ◀─ run.ended ────────────  target
 *   requester    ◀─ conversation.answered ─ conversation
 *
 * The requester's session decides in its own turn whether the message may go (hops, visited
 * sessions, messages left) and knows what its run waits for; so waits that would close a cycle are
 * found (`session.probe`).
 */
import { type Address, address } from './address.ts';
import type { ErrorData } from './errors.ts';
import type { Lineage, LineageLimits } from './lineage.ts';

/** Hard limit of the replies after the first answer. */
export const PING_PONG_TURNS_MAX = 5;
/** Longest message, with the context that is quoted in it. */
export const MESSAGE_CHARACTERS_MAX = 32_768;
export const CONTEXT_CHARACTERS_MAX = 8_192;
/** Conversations that one run may begin. */
export const CONVERSATIONS_PER_RUN_MAX = 64;

/** Exact replies that end the exchange, and that keep the target's people from hearing of it. */
export const REPLY_SKIP = 'REPLY_SKIP';
export const ANNOUNCE_SKIP = 'ANNOUNCE_SKIP';

export const conversationAddress = (tenant: string, id: string): Address =>
  address(tenant, 'conversation', id);

export type Priority = 'low' | 'normal' | 'high';

/**
 * To a session, from a tool of its run, under the call's key: say this to another session. Answer:
 * ConversationResult, at once or when there is one, within `waitMs`.
 */
export type SessionConverse = {
  type: 'session.converse';
  /** of the conversation: a uuid made of the call's key */
  id: string;
  runId: string;
  callId: string;
  /** session key */
  target: string;
  text: string;
  priority: Priority;
  /** 0: the answer is not waited for */
  waitMs: number;
  /** replies after the first answer, 0 to PING_PONG_TURNS_MAX */
  turns: number;
  limits: LineageLimits;
};

/** What is known at the moment when the caller is answered; the exchange may go on behind it. */
export type ConversationResult = {
  conversationId: string;
  /** of the target's run */
  runId: string;
  sessionKey: string;
  /**
   *  - `accepted`: it is on its way or there, and the answer is not waited for (`reason` where it
   *    would have been: `wait-cycle`);
   *  - `ok`: `reply` is the answer;
   *  - `timeout`: the target has it and works on it;
   *  - `error`: the target's run failed;
   *  - `refused`: it was not sent, or the target did not take it; `reason` says why.
   */
  status: 'accepted' | 'ok' | 'timeout' | 'error' | 'refused';
  /** the target's session has taken it in: it will be answered, whatever dies */
  delivered: boolean;
  reply?: string;
  /** milliseconds from the call to the answer */
  responseTime?: number;
  /**
   * `wait-cycle`, `loop`, `hops`, `messages`, `conversations`, `run-ended`, or the target's words
   */
  reason?: string;
  error?: ErrorData;
};

/** From the requester's session, once. */
export type ConversationBegin = {
  type: 'conversation.begin';
  requester: string;
  requesterRunId: string;
  target: string;
  text: string;
  priority: Priority;
  waitMs: number;
  turns: number;
  /** of the message to the target */
  lineage: Lineage;
};
/** From the requester's session: it does not wait any more; answer with what is known. */
export type ConversationUnwait = { type: 'conversation.unwait'; reason: string };
/** From an operator: no more turns. Answer: { ended }. */
export type ConversationEnd = { type: 'conversation.end' };

/** To the requester's session, once. */
export type ConversationAnswered = {
  type: 'conversation.answered';
  id: string;
  result: ConversationResult;
};

/** One run of the exchange. */
export type ConversationTurn = {
  /** 0: the first answer; then 1 to 5; `announce` last */
  turn: number | 'announce';
  sessionKey: string;
  runId: string;
  /** when it was asked */
  at: number;
  endedAt?: number;
  status?: 'ok' | 'error' | 'aborted' | 'timeout' | 'refused';
  /** it said nothing, or that it wants no more */
  skipped?: true;
};

export type ConversationStatus = 'asking' | 'replying' | 'announcing' | 'ended';

/** Index `conversations`, key `{requester session key}|{id}`; for 28 hours after its end. */
export const CONVERSATIONS_INDEX = 'conversations';
export const conversationRowKey = (requester: string, id: string): string => `${requester}|${id}`;
export type ConversationRow = {
  id: string;
  requester: string;
  requesterRunId: string;
  target: string;
  status: ConversationStatus;
  delivered: boolean;
  turns: readonly ConversationTurn[];
  /** first words of the message */
  text: string;
  hops: number;
  createdAt: number;
  endedAt?: number;
  /** why there was no further turn */
  end?: 'skipped' | 'turns' | 'failed' | 'refused' | 'ended' | 'lost';
  reason?: string;
};
