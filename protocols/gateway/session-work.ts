/**
 * Creating, messaging and aborting sessions by key, and subscriptions to all sessions or to the
 * messages of one.
 */
import { type Static, Type } from '@sinclair/typebox';
import { Attachment } from './agent.ts';
import { ChatMessage } from './chat.ts';
import type { EventArea, MethodArea } from './method.ts';
import { SessionsListRow } from './session-row.ts';
import {
  AnyObject,
  closed,
  Count,
  NoEffect,
  NonEmpty,
  Nullable,
  oneOf,
  Optional,
  Text,
} from './shapes.ts';

/**
 * Maximum number of sessions to whose messages one connection subscribes; another one is refused.
 */
export const SESSIONS_FOLLOWED_MAX = 64;

/**
 * `task` is an alias of `message`, the first message. Only supported published fields are listed;
 * any other is refused.
 */
export const SessionsCreateParams = Type.Object(
  {
    /** default: a new key */
    key: Optional(NonEmpty),
    idempotencyKey: Optional(NonEmpty),
    agentId: Optional(NonEmpty),
    label: Optional(Type.String({ minLength: 1, maxLength: 512 })),
    displayName: Optional(Type.String({ minLength: 1, maxLength: 500 })),
    category: Optional(Type.String({ minLength: 1, maxLength: 512 })),
    model: Optional(NonEmpty),
    thinkingLevel: Optional(NonEmpty),
    task: Optional(Text),
    message: Optional(Text),
    attachments: Optional(Type.Array(Attachment)),
    /** the session that the user came from; the new session is not its subagent */
    parentSessionKey: Optional(NonEmpty),
    succeedsParent: NoEffect(Type.Boolean(), 'the parent session never changes'),
    emitCommandHooks: NoEffect(Type.Boolean(), 'command hooks run when a user sends the command'),
    visibility: NoEffect(Type.Literal('shared'), 'all users of the tenant see every session'),
  },
  closed,
);
export type SessionsCreateParams = Static<typeof SessionsCreateParams>;
export const SessionsCreateResult = Type.Object(
  {
    ok: Type.Literal(true),
    key: NonEmpty,
    sessionId: Optional(NonEmpty),
    entry: Optional(AnyObject),
    runStarted: Optional(Type.Boolean()),
    runId: Optional(NonEmpty),
  },
  closed,
);
export type SessionsCreateResult = Static<typeof SessionsCreateResult>;

export const SessionsSendParams = Type.Object(
  {
    key: NonEmpty,
    agentId: Optional(NonEmpty),
    message: Text,
    thinking: Optional(Text),
    attachments: Optional(Type.Array(Attachment)),
    /** limits the run, milliseconds; 0 = none */
    timeoutMs: Optional(Count),
    /** default: a new key */
    idempotencyKey: Optional(NonEmpty),
  },
  closed,
);
export type SessionsSendParams = Static<typeof SessionsSendParams>;
export const SessionsSendResult = Type.Object({
  runId: NonEmpty,
  status: oneOf(['started', 'in_flight', 'ok']),
});

/** By run id, or by session key: the whole session or one run of it. */
export const SessionsAbortParams = Type.Object(
  {
    key: Optional(NonEmpty),
    runId: Optional(NonEmpty),
    agentId: Optional(NonEmpty),
    clearQueued: NoEffect(
      Type.Boolean(),
      'waiting messages are always cancelled together with the run',
    ),
  },
  closed,
);
export type SessionsAbortParams = Static<typeof SessionsAbortParams>;
export const SessionsAbortResult = Type.Object({
  ok: Type.Literal(true),
  abortedRunId: Nullable(NonEmpty),
  status: oneOf(['aborted', 'no-active-run']),
});

const Subscribed = Type.Object({ subscribed: Type.Boolean() });
const Nothing = Type.Object({}, closed);

export const SessionsMessagesSubscribeParams = Type.Object(
  {
    key: NonEmpty,
    agentId: Optional(NonEmpty),
    /** the response contains the pending approvals of the session */
    includeApprovals: Optional(Type.Literal(true)),
  },
  closed,
);
export type SessionsMessagesSubscribeParams = Static<typeof SessionsMessagesSubscribeParams>;
export const SessionsMessagesUnsubscribeParams = Type.Object(
  { key: NonEmpty, agentId: Optional(NonEmpty) },
  closed,
);
export type SessionsMessagesUnsubscribeParams = Static<typeof SessionsMessagesUnsubscribeParams>;
const MessagesSubscribed = Type.Object({
  subscribed: Type.Boolean(),
  key: NonEmpty,
  approvalReplay: Optional(AnyObject),
});

/**
 * Payload of `sessions.changed`: a field of a session changed that lists show. `session` is the
 * current row; absent when it was deleted. Several changes within a short time are sent once.
 */
export const SessionsChangedEvent = Type.Object({
  sessionKey: NonEmpty,
  agentId: NonEmpty,
  /** create, send, patch, reset, compact, delete, run, inject */
  reason: NonEmpty,
  /** of a run: start, end, error */
  phase: Optional(NonEmpty),
  runId: Optional(NonEmpty),
  ts: Count,
  session: Optional(SessionsListRow),
});
export type SessionsChangedEvent = Static<typeof SessionsChangedEvent>;

/** Payload of `session.message`: one message of the transcript; in order, each exactly once. */
export const SessionMessageEvent = Type.Object({
  sessionKey: NonEmpty,
  agentId: NonEmpty,
  sessionId: Optional(NonEmpty),
  message: ChatMessage,
  messageId: NonEmpty,
  /** position in the transcript; increases, and may have gaps */
  messageSeq: Count,
});
export type SessionMessageEvent = Static<typeof SessionMessageEvent>;

export const sessionWorkMethods = {
  'sessions.create': {
    params: SessionsCreateParams,
    result: SessionsCreateResult,
    scope: 'operator.write',
  },
  'sessions.send': {
    params: SessionsSendParams,
    result: SessionsSendResult,
    scope: 'operator.write',
  },
  'sessions.steer': {
    params: SessionsSendParams,
    result: SessionsSendResult,
    scope: 'operator.write',
  },
  'sessions.abort': {
    params: SessionsAbortParams,
    result: SessionsAbortResult,
    scope: 'operator.write',
  },
  'sessions.subscribe': { params: Nothing, result: Subscribed, scope: 'operator.read' },
  'sessions.unsubscribe': { params: Nothing, result: Subscribed, scope: 'operator.read' },
  'sessions.messages.subscribe': {
    params: SessionsMessagesSubscribeParams,
    result: MessagesSubscribed,
    scope: 'operator.read',
  },
  'sessions.messages.unsubscribe': {
    params: SessionsMessagesUnsubscribeParams,
    result: MessagesSubscribed,
    scope: 'operator.read',
  },
} as const satisfies MethodArea;

export const sessionEvents = {
  'sessions.changed': SessionsChangedEvent,
  'session.message': SessionMessageEvent,
} as const satisfies EventArea;
