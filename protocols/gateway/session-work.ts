/**
 * Sessions that are begun, written to and stopped by their key; and what a client is told when it
 * follows all sessions, or the messages of one.
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

/** Sessions whose messages one connection follows; one more is refused. */
export const SESSIONS_FOLLOWED_MAX = 64;

/**
 * `task` is another name of `message`, the first one. Of the published fields those that a session
 * here has; any other is refused.
 */
export const SessionsCreateParams = Type.Object(
  {
    /** default: a new one */
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
    /** where the person came from; the session is none of its subagents */
    parentSessionKey: Optional(NonEmpty),
    /** the parent stays as it is either way */
    succeedsParent: NoEffect(Type.Boolean(), 'the parent stays as it is either way'),
    emitCommandHooks: NoEffect(
      Type.Boolean(),
      'hooks of commands run when a person writes the command',
    ),
    /** everybody of the tenant sees it */
    visibility: NoEffect(Type.Literal('shared'), 'everybody of the tenant sees it'),
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
    /** bounds the run, milliseconds; 0 = none */
    timeoutMs: Optional(Count),
    /** default: a new one */
    idempotencyKey: Optional(NonEmpty),
  },
  closed,
);
export type SessionsSendParams = Static<typeof SessionsSendParams>;
export const SessionsSendResult = Type.Object({
  runId: NonEmpty,
  status: oneOf(['started', 'in_flight', 'ok']),
});

/** By the run alone, or by the session: then all of it, or the one run. */
export const SessionsAbortParams = Type.Object(
  {
    key: Optional(NonEmpty),
    runId: Optional(NonEmpty),
    agentId: Optional(NonEmpty),
    /** what waits goes with what runs, either way */
    clearQueued: NoEffect(Type.Boolean(), 'what waits is stopped with what runs, either way'),
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
    /** the questions that wait in the session are in the answer */
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
 * Payload of `sessions.changed`: something of a session changed that lists show. `session` is as it
 * is now; absent when it is gone. Several changes of one moment are told once.
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

/** Payload of `session.message`: one message of the transcript, in its order, each once. */
export const SessionMessageEvent = Type.Object({
  sessionKey: NonEmpty,
  agentId: NonEmpty,
  sessionId: Optional(NonEmpty),
  message: ChatMessage,
  messageId: NonEmpty,
  /** its place in the transcript; rises, and may have gaps */
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
