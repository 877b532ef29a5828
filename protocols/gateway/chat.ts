/**
 * `chat.send`, `chat.history`, `chat.abort` and the event `chat`: one conversation as a client
 * shows it.
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
 * The idempotency key becomes the run's id. `timeoutMs` bounds the run, 0 = none. `model`,
 * `verbose`, `reasoning` and `blockStreaming` are ours.
 */
export const ChatSendParams = Type.Object(
  {
    sessionKey: Type.String({ minLength: 1, maxLength: 512 }),
    message: Text,
    idempotencyKey: NonEmpty,
    agentId: Optional(NonEmpty),
    sessionId: NoEffect(
      NonEmpty,
      'sessionKey says which session; a reset begins another id under the same key',
    ),
    thinking: Optional(Text),
    queueMode: Optional(QueueModeSchema),
    model: Optional(NonEmpty),
    verbose: Optional(Type.Union([Type.Boolean(), Text])),
    reasoning: Optional(Type.Boolean()),
    blockStreaming: Optional(BlockStreaming),
    timeoutMs: Optional(Count),
    attachments: Optional(Type.Array(Attachment)),
    deliver: Unsupported(Type.Boolean(), 'troupe has no messengers: the answer is in the session'),
    replyToId: NoEffect(
      NonEmpty,
      'pages show the reference; the model reads the conversation in order',
    ),
    originatingChannel: Unsupported(
      Text,
      'troupe has no messengers: the answer is in the session',
      ['webchat', 'last'],
    ),
    originatingTo: Unsupported(Text, 'troupe has no messengers: the answer is in the session'),
    originatingAccountId: Unsupported(
      Text,
      'troupe has no messengers: the answer is in the session',
    ),
    originatingThreadId: Unsupported(
      Text,
      'troupe has no messengers: the answer is in the session',
    ),
    systemInputProvenance: Unsupported(InputProvenance, 'a client speaks for a person', [
      { kind: 'external_user' },
    ]),
    systemProvenanceReceipt: Unsupported(Text, 'a client speaks for a person'),
    suppressCommandInterpretation: Optional(Type.Boolean()),
    expectedLeafEntryId: NoEffect(
      Nullable(NonEmpty),
      'a transcript has no branches: a message follows all before it',
    ),
    expectedSessionRoutingContract: Unsupported(
      NonEmpty,
      'the capability session-routing is not offered',
    ),
    expectedPermissionMode: Unsupported(
      Type.Union([oneOf(['read-only', 'guarded', 'workspace', 'full']), Type.Null()]),
      'permissions are the policy of the agent',
    ),
    expectedToolOverrides: Unsupported(Nullable(AnyObject), 'tools are the policy of the agent', [
      {},
    ]),
    fastMode: Unsupported(
      Type.Union([Type.Boolean(), Type.Literal('auto')]),
      'models have no fast mode here',
      ['auto'],
    ),
    fastAutoOnSeconds: Unsupported(Type.Integer({ minimum: 1 }), 'models have no fast mode here'),
    intent: Unsupported(AnyObject, 'a message is all that a client can send'),
    toolBindings: Unsupported(AnyObject, 'tools are the policy of the agent', [{}]),
  },
  closed,
);
export type ChatSendParams = Static<typeof ChatSendParams>;

/** `in_flight`: the same idempotency key is running already. */
export const ChatSendResult = Type.Object({
  runId: NonEmpty,
  status: oneOf(['started', 'in_flight', 'ok']),
});
export type ChatSendResult = Static<typeof ChatSendResult>;

export const ChatHistoryParams = Type.Object(
  {
    sessionKey: NonEmpty,
    agentId: Optional(NonEmpty),
    sessionId: NoEffect(NonEmpty, 'sessionKey says which session'),
    limit: Optional(Type.Integer({ minimum: 1, maximum: 1000 })),
    offset: Optional(Count),
    cursor: Optional(Text),
    messageId: Unsupported(NonEmpty, 'read a page by offset, or one message with chat.message.get'),
    maxChars: Optional(Type.Integer({ minimum: 1, maximum: 500_000 })),
    /**
     * of the messages as JSON; the oldest are left out. Its clients send it, its schema lacks it
     */
    maxBytes: Optional(Type.Integer({ minimum: 1_024, maximum: 16_777_216 })),
    pendingBefore: NoEffect(
      Type.Integer({ minimum: 1 }),
      'messages that wait are counted, not listed',
    ),
    inputRunIds: NoEffect(
      Type.Array(Type.String({ minLength: 1, maxLength: 256 }), { minItems: 1, maxItems: 50 }),
      'messages that wait are counted, not listed',
    ),
  },
  closed,
);
export type ChatHistoryParams = Static<typeof ChatHistoryParams>;

export const ChatContent = Type.Object({ type: NonEmpty, text: Optional(Text) });
/** One message. Open: clients take extra fields (`toolCallId`, `usage`, …) as they come. */
export const ChatMessage = Type.Object({
  role: NonEmpty,
  content: Type.Union([Text, Type.Array(ChatContent)]),
  /** epoch milliseconds */
  timestamp: Optional(Count),
});
export type ChatMessage = Static<typeof ChatMessage>;

/** A subagent of the session, the newest first. Ours. */
export const ChatSubagent = Type.Object({
  id: NonEmpty,
  /** of its parent */
  runId: NonEmpty,
  sessionKey: NonEmpty,
  /** reserved, starting, running, completed, failed, timedOut, killed, refused */
  status: NonEmpty,
  task: Text,
  label: Optional(Text),
  /** why it was refused, failed or killed */
  reason: Optional(Text),
  /** first words of what it found */
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
  /** accepted and not yet begun */
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

/** Without `runId` every run of the session stops. */
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
 * What a page asks first: the history, and what can be done in the session. `maxBytes`: of the
 * messages as JSON; the oldest are left out.
 */
export const ChatStartupParams = Type.Object(
  {
    sessionKey: NonEmpty,
    agentId: Optional(NonEmpty),
    sessionId: NoEffect(NonEmpty, 'sessionKey says which session'),
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
/** Commands and models that the session can be given, as `commands.list` and `models.list` say. */
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

/** A note in the transcript, under no run; models read it as words of the assistant. */
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
  /** rises within a run */
  seq: Count,
};

export const ChatDelta = Type.Object(
  {
    ...about,
    state: Type.Literal('delta'),
    /** what is new; with `replace` the whole text so far */
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
