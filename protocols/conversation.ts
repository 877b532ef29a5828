/**
 * Conversations: a message from one agent's session to another, its answer, up to five alternating
 * replies, and the announcement to the target's channel. An address is
 * `{tenant}/conversation/{id}`.
 *
 *   tool          ─ session.converse ─────▶ requester     (reply: ConversationResult)
 *   requester     ─ conversation.begin ───▶ conversation
 *   conversation  ─ session.receive ──────▶ target
 *   conversation ◀─ run.ended ────────────  target
 *   requester    ◀─ conversation.answered ─ conversation
 *
 * The requester's session decides in one turn whether the message may be sent (hops, visited
 * sessions, remaining messages). It also tracks what its run waits for, so `session.probe` can
 * detect a cycle of waits.
 */
import { type Address, address } from './address.ts';
import type { ErrorData } from './errors.ts';
import type { Lineage, LineageLimits } from './lineage.ts';

/** Maximum number of replies after the first answer. */
export const PING_PONG_TURNS_MAX = 5;
/** Maximum length of a message, including the quoted context. */
export const MESSAGE_CHARACTERS_MAX = 32_768;
export const CONTEXT_CHARACTERS_MAX = 8_192;
/** Maximum number of conversations that one run may start. */
export const CONVERSATIONS_PER_RUN_MAX = 64;

/** Exact replies: REPLY_SKIP ends the exchange; ANNOUNCE_SKIP suppresses the announcement. */
export const REPLY_SKIP = 'REPLY_SKIP';
export const ANNOUNCE_SKIP = 'ANNOUNCE_SKIP';

export const conversationAddress = (tenant: string, id: string): Address =>
  address(tenant, 'conversation', id);

export type Priority = 'low' | 'normal' | 'high';

/**
 * To a session, from a tool of its run, under the call's key: sends a message to another session.
 * Reply: ConversationResult, at once or when there is an answer, within `waitMs`.
 */
export type SessionConverse = {
  type: 'session.converse';
  /** of the conversation: a UUID derived from the call's key */
  id: string;
  runId: string;
  callId: string;
  /** session key */
  target: string;
  text: string;
  priority: Priority;
  /** 0: does not wait for the answer */
  waitMs: number;
  /** replies after the first answer, 0 to PING_PONG_TURNS_MAX */
  turns: number;
  limits: LineageLimits;
};

/** The state when the caller receives the reply; the exchange may continue afterwards. */
export type ConversationResult = {
  conversationId: string;
  /** of the target's run */
  runId: string;
  sessionKey: string;
  /**
   * - `accepted`: sent or delivered; the caller does not wait for the answer (`reason` is
   *    `wait-cycle` if waiting would close a cycle);
   *  - `ok`: `reply` is the answer;
   *  - `timeout`: the target received it and is working on it;
   *  - `error`: the target's run failed;
   *  - `refused`: not sent, or the target did not accept it; `reason` says why.
   */
  status: 'accepted' | 'ok' | 'timeout' | 'error' | 'refused';
  /** the target's session has stored it and will answer, even after a crash */
  delivered: boolean;
  reply?: string;
  /** milliseconds from the call to the answer */
  responseTime?: number;
  /**
   * `wait-cycle`, `loop`, `hops`, `messages`, `conversations`, `run-ended`, or the target's text
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
  /** lineage of the message to the target */
  lineage: Lineage;
};
/** From the requester's session: it no longer waits; reply with the current state. */
export type ConversationUnwait = { type: 'conversation.unwait'; reason: string };
/** From an operator: no further replies. Reply: { ended }. */
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
  /** when it was requested */
  at: number;
  endedAt?: number;
  status?: 'ok' | 'error' | 'aborted' | 'timeout' | 'refused';
  /** the reply was empty or a skip text */
  skipped?: true;
};

export type ConversationStatus = 'asking' | 'replying' | 'announcing' | 'ended';

/** Index `conversations`, key `{requester session key}|{id}`; removed 28 hours after the end. */
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
  /** beginning of the message */
  text: string;
  hops: number;
  createdAt: number;
  endedAt?: number;
  /** why the exchange ended */
  end?: 'skipped' | 'turns' | 'failed' | 'refused' | 'ended' | 'lost';
  reason?: string;
};
