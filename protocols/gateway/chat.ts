/**
 * `chat.send`, `chat.history`, `chat.abort` and the event `chat`: one session as a client shows it.
 */
import { type Static, Type } from '@sinclair/typebox';
import { Attachment, BlockStreaming, InputProvenance, QueueModeSchema } from './agent.ts';
import type { MethodArea } from './method.ts';
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
  Unsupported,
} from './shapes.ts';

/**
 * The idempotency key becomes the run's id. `timeoutMs` limits the run, 0 = none. `model`,
 * `verbose`, `reasoning` and `blockStreaming` are extensions.
 */
export const ChatSendParams = Type.Object(
  {
    sessionKey: Type.String({ minLength: 1, maxLength: 512 }),
    message: Text,
    idempotencyKey: NonEmpty,
    agentId: Optional(NonEmpty),
    sessionId: NoEffect(
      NonEmpty,
      'sessionKey identifies the session; a reset changes the id under the same key',
    ),
    thinking: Optional(Text),
    queueMode: Optional(QueueModeSchema),
    model: Optional(NonEmpty),
    verbose: Optional(Type.Union([Type.Boolean(), Text])),
    reasoning: Optional(Type.Boolean()),
    blockStreaming: Optional(BlockStreaming),
    timeoutMs: Optional(Count),
    attachments: Optional(Type.Array(Attachment)),
    deliver: Unsupported(
      Type.Boolean(),
      'the reply is stored in the session, not sent to a messenger',
    ),
    replyToId: NoEffect(
      NonEmpty,
      'clients show the reference; the model receives the messages in order',
    ),
    originatingChannel: Unsupported(
      Text,
      'the reply is stored in the session, not sent to a messenger',
      ['webchat', 'last'],
    ),
    originatingTo: Unsupported(Text, 'the reply is stored in the session, not sent to a messenger'),
    originatingAccountId: Unsupported(
      Text,
      'the reply is stored in the session, not sent to a messenger',
    ),
    originatingThreadId: Unsupported(
      Text,
      'the reply is stored in the session, not sent to a messenger',
    ),
    systemInputProvenance: Unsupported(
      InputProvenance,
      'messages of clients are messages of users',
      [{ kind: 'external_user' }],
    ),
    systemProvenanceReceipt: Unsupported(Text, 'messages of clients are messages of users'),
    suppressCommandInterpretation: Optional(Type.Boolean()),
    expectedLeafEntryId: NoEffect(
      Nullable(NonEmpty),
      'a transcript has no branches: every message is appended at its end',
    ),
    expectedSessionRoutingContract: Unsupported(
      NonEmpty,
      'the capability session-routing is not offered',
    ),
    expectedPermissionMode: Unsupported(
      Type.Union([oneOf(['read-only', 'guarded', 'workspace', 'full']), Type.Null()]),
      'the policy of the agent determines permissions',
    ),
    expectedToolOverrides: Unsupported(
      Nullable(AnyObject),
      'the policy of the agent determines its tools',
      [{}],
    ),
    fastMode: Unsupported(
      Type.Union([Type.Boolean(), Type.Literal('auto')]),
      'fast mode is not supported',
      ['auto'],
    ),
    fastAutoOnSeconds: Unsupported(Type.Integer({ minimum: 1 }), 'fast mode is not supported'),
    intent: Unsupported(AnyObject, 'a client can send messages only'),
    toolBindings: Unsupported(AnyObject, 'the policy of the agent determines its tools', [{}]),
  },
  closed,
);
export type ChatSendParams = Static<typeof ChatSendParams>;

/**
 * `in_flight`: the request with this idempotency key was accepted before, and its run has not
 * ended.
 */
export const ChatSendResult = Type.Object({
  runId: NonEmpty,
  status: oneOf(['started', 'in_flight', 'ok']),
});
export type ChatSendResult = Static<typeof ChatSendResult>;

export const ChatHistoryParams = Type.Object(
  {
    sessionKey: NonEmpty,
    agentId: Optional(NonEmpty),
    sessionId: NoEffect(NonEmpty, 'sessionKey identifies the session'),
    limit: Optional(Type.Integer({ minimum: 1, maximum: 1000 })),
    offset: Optional(Count),
    cursor: Optional(Text),
    messageId: Unsupported(NonEmpty, 'read a page by offset, or one message with chat.message.get'),
    maxChars: Optional(Type.Integer({ minimum: 1, maximum: 500_000 })),
    /**
     * of the messages as JSON; the oldest are left out. Not in the published schema, but clients
     * send it
     */
    maxBytes: Optional(Type.Integer({ minimum: 1_024, maximum: 16_777_216 })),
    pendingBefore: NoEffect(
      Type.Integer({ minimum: 1 }),
      'waiting messages are counted, not listed',
    ),
    inputRunIds: NoEffect(
      Type.Array(Type.String({ minLength: 1, maxLength: 256 }), { minItems: 1, maxItems: 50 }),
      'waiting messages are counted, not listed',
    ),
  },
  closed,
);
export type ChatHistoryParams = Static<typeof ChatHistoryParams>;

export const ChatContent = Type.Object({ type: NonEmpty, text: Optional(Text) });
/** One message. Extra fields such as `toolCallId` and `usage` are allowed. */
export const ChatMessage = Type.Object({
  role: NonEmpty,
  content: Type.Union([Text, Type.Array(ChatContent)]),
  /** epoch milliseconds */
  timestamp: Optional(Count),
  /** number of the turn that wrote it. Extension, as is the next one */
  turn: Optional(Count),
  /** where a fork copied it from */
  copied: Optional(Type.Object({ key: NonEmpty, turn: Count })),
});
export type ChatMessage = Static<typeof ChatMessage>;

/** A subagent of the session, the newest first. Extension. */
export const ChatSubagent = Type.Object({
  id: NonEmpty,
  /** session key of its parent */
  runId: NonEmpty,
  sessionKey: NonEmpty,
  /** reserved, starting, running, completed, failed, timedOut, killed, refused */
  status: NonEmpty,
  task: Text,
  label: Optional(Text),
  /** why it was refused, failed or killed */
  reason: Optional(Text),
  /** beginning of its findings */
  findings: Optional(Text),
  tokens: Optional(Count),
  createdAt: Count,
  startedAt: Optional(Count),
  endedAt: Optional(Count),
});
export type ChatSubagent = Static<typeof ChatSubagent>;

export const ChatHistoryResult = Type.Object({
  sessionKey: NonEmpty,
  messages: Type.Array(ChatMessage),
  sessionId: Optional(NonEmpty),
  thinkingLevel: Optional(Text),
  verboseLevel: Optional(Text),
  hasMore: Optional(Type.Boolean()),
  totalMessages: Optional(Count),
  deltaCursor: Optional(Text),
  /** accepted but not started */
  pendingInputs: Optional(
    Type.Object({
      items: Type.Array(
        Type.Object({
          id: NonEmpty,
          runId: Optional(NonEmpty),
          message: Type.Unknown(),
          acceptedAt: Type.Number(),
          state: oneOf(['queued', 'cancelled', 'interrupted']),
        }),
        { maxItems: 20 },
      ),
      total: Count,
    }),
  ),
  inFlightRun: Optional(Type.Unknown()),
  subagents: Optional(Type.Array(ChatSubagent)),
  defaults: Optional(Type.Unknown()),
  sessionInfo: Optional(Type.Unknown()),
});
export type ChatHistoryResult = Static<typeof ChatHistoryResult>;

/** Without `runId`, all runs of the session are stopped. */
export const ChatAbortParams = Type.Object(
  {
    sessionKey: NonEmpty,
    agentId: Optional(NonEmpty),
    runId: Optional(NonEmpty),
    preserveSideRuns: NoEffect(Type.Boolean(), 'a session has no side runs'),
  },
  closed,
);
export type ChatAbortParams = Static<typeof ChatAbortParams>;

export const ChatAbortResult = Type.Object({
  ok: Type.Boolean(),
  aborted: Type.Boolean(),
  runIds: Type.Array(NonEmpty),
});
export type ChatAbortResult = Static<typeof ChatAbortResult>;

/**
 * The first request of a page: the history, and what the user can do in the session. `maxBytes`: of
 * the messages as JSON; the oldest are left out.
 */
export const ChatStartupParams = Type.Object(
  {
    sessionKey: NonEmpty,
    agentId: Optional(NonEmpty),
    sessionId: NoEffect(NonEmpty, 'sessionKey identifies the session'),
    limit: Optional(Type.Integer({ minimum: 1, maximum: 1000 })),
    maxChars: Optional(Type.Integer({ minimum: 1, maximum: 500_000 })),
    maxBytes: Optional(Type.Integer({ minimum: 1_024, maximum: 16_777_216 })),
  },
  closed,
);
export type ChatStartupParams = Static<typeof ChatStartupParams>;

export const ChatMetadataParams = Type.Object(
  {
    agentId: NoEffect(NonEmpty, 'commands and models are the same for every agent'),
    sessionKey: NoEffect(NonEmpty, 'commands and models are the same for every session'),
  },
  closed,
);
export type ChatMetadataParams = Static<typeof ChatMetadataParams>;
/** Commands and models available in the session, as from `commands.list` and `models.list`. */
export const ChatMetadataResult = Type.Object({
  commands: Type.Array(AnyObject),
  models: Type.Array(AnyObject),
});
export type ChatMetadataResult = Static<typeof ChatMetadataResult>;

export const ChatMessageGetParams = Type.Object(
  {
    sessionKey: NonEmpty,
    agentId: Optional(NonEmpty),
    messageId: NonEmpty,
    maxChars: Optional(Type.Integer({ minimum: 1, maximum: 2_000_000 })),
  },
  closed,
);
export type ChatMessageGetParams = Static<typeof ChatMessageGetParams>;
export const ChatMessageGetResult = Type.Object(
  {
    ok: Type.Boolean(),
    message: Optional(ChatMessage),
    unavailableReason: Optional(oneOf(['not_found', 'not_visible'])),
  },
  closed,
);
export type ChatMessageGetResult = Static<typeof ChatMessageGetResult>;

/** A note in the transcript that belongs to no run. Models receive it as an assistant message. */
export const ChatInjectParams = Type.Object(
  {
    sessionKey: NonEmpty,
    agentId: Optional(NonEmpty),
    message: NonEmpty,
    label: Optional(Type.String({ maxLength: 100 })),
  },
  closed,
);
export type ChatInjectParams = Static<typeof ChatInjectParams>;
export const ChatInjectResult = Type.Object({ ok: Type.Literal(true), messageId: NonEmpty });

const about = {
  runId: NonEmpty,
  sessionKey: NonEmpty,
  agentId: Optional(NonEmpty),
  spawnedBy: Optional(NonEmpty),
  /** increases within a run */
  seq: Count,
};

export const ChatDelta = Type.Object(
  {
    ...about,
    state: Type.Literal('delta'),
    /** the new text; with `replace`, the complete text so far */
    deltaText: Text,
    replace: Optional(Type.Boolean()),
    message: Optional(ChatMessage),
    usage: Optional(Type.Unknown()),
  },
  closed,
);
export const ChatFinal = Type.Object(
  {
    ...about,
    state: Type.Literal('final'),
    message: Optional(ChatMessage),
    usage: Optional(Type.Unknown()),
    stopReason: Optional(Text),
  },
  closed,
);
export const ChatAborted = Type.Object(
  {
    ...about,
    state: Type.Literal('aborted'),
    message: Optional(ChatMessage),
    errorMessage: Optional(Text),
    stopReason: Optional(Text),
  },
  closed,
);
export const ChatError = Type.Object(
  {
    ...about,
    state: Type.Literal('error'),
    message: Optional(ChatMessage),
    errorMessage: Optional(Text),
    errorKind: Optional(oneOf(['refusal', 'timeout', 'rate_limit', 'context_length', 'unknown'])),
    stopReason: Optional(Text),
  },
  closed,
);
export const ChatStatus = Type.Object(
  {
    ...about,
    state: Type.Literal('status'),
    phase: oneOf(['preparing_context', 'starting_model']),
  },
  closed,
);
/** Payload of the event `chat`: any number of deltas, then exactly one of final, aborted, error. */
export const ChatEvent = Type.Union([ChatStatus, ChatDelta, ChatFinal, ChatAborted, ChatError]);
export type ChatEvent = Static<typeof ChatEvent>;

export const chatMethods = {
  'chat.send': {
    params: ChatSendParams,
    result: ChatSendResult,
    scope: 'operator.write',
  },
  'chat.history': {
    params: ChatHistoryParams,
    result: ChatHistoryResult,
    scope: 'operator.read',
  },
  'chat.startup': {
    params: ChatStartupParams,
    result: ChatHistoryResult,
    scope: 'operator.read',
  },
  'chat.metadata': {
    params: ChatMetadataParams,
    result: ChatMetadataResult,
    scope: 'operator.read',
  },
  'chat.message.get': {
    params: ChatMessageGetParams,
    result: ChatMessageGetResult,
    scope: 'operator.read',
  },
  'chat.inject': {
    params: ChatInjectParams,
    result: ChatInjectResult,
    scope: 'operator.admin',
  },
  'chat.abort': {
    params: ChatAbortParams,
    result: ChatAbortResult,
    scope: 'operator.write',
  },
} as const satisfies MethodArea;
