/**
 * `agent` and `agent.wait`: params and results. The idempotency key of `agent` becomes the
 * run's id.
 */
import { type Static, Type } from '@sinclair/typebox';
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
 * An image of a message; other types are refused. The schema allows extra fields because the
 * published `agent` does; the method validates it.
 */
export const Attachment = Type.Object({
  type: Optional(Text),
  mimeType: Optional(Text),
  fileName: Optional(Text),
  /** base64, or a data URL */
  content: Optional(Type.Unknown()),
  sizeBytes: Optional(Type.Number()),
});
export type Attachment = Static<typeof Attachment>;

export const QueueModeSchema = oneOf(['steer', 'followup', 'collect', 'interrupt']);
/** `on`: the calling connection receives blocks of the reply, as stream `block` of `agent`. */
export const BlockStreaming = oneOf(['on', 'off']);

export const InputProvenance = Type.Object(
  {
    kind: oneOf(['external_user', 'inter_session', 'internal_system']),
    originSessionId: Optional(Text),
    sourceSessionKey: Optional(Text),
    sourceChannel: Optional(Text),
    sourceTool: Optional(Text),
  },
  closed,
);

/**
 * No extra fields, as in the protocol: a request that sets an unsupported parameter is refused, and
 * the error names the parameter. `verbose`, `reasoning`, `queueMode` and `blockStreaming` are
 * extensions. `timeout` is in seconds, 0 = none.
 */
export const AgentParams = Type.Object(
  {
    message: NonEmpty,
    idempotencyKey: NonEmpty,
    agentId: Optional(NonEmpty),
    sessionKey: Optional(Text),
    sessionId: Optional(Text),
    expectedExistingSessionId: Optional(NonEmpty),
    provider: Optional(Text),
    model: Optional(Text),
    thinking: Optional(Text),
    verbose: Optional(Type.Union([Type.Boolean(), Text])),
    timeout: Optional(Count),
    lane: Unsupported(Text, 'a session runs one run at a time and has no other lanes', ['main']),
    label: Unsupported(Type.String({ minLength: 1, maxLength: 512 }), 'set it with sessions.patch'),
    extraSystemPrompt: Optional(Text),
    promptMode: Unsupported(oneOf(['full', 'minimal', 'none']), 'an agent has one prompt', [
      'full',
    ]),
    bootstrapContextMode: Unsupported(oneOf(['full', 'lightweight']), 'an agent has one context', [
      'full',
    ]),
    bootstrapContextRunKind: Unsupported(
      oneOf(['default', 'heartbeat', 'cron']),
      'a message always starts a default run',
      ['default'],
    ),
    cwd: Unsupported(NonEmpty, 'an agent works in its own workspace'),
    attachments: Optional(Type.Array(Type.Unknown())),
    queueMode: Optional(QueueModeSchema),
    reasoning: Optional(Type.Boolean()),
    blockStreaming: Optional(BlockStreaming),
    inputProvenance: Unsupported(InputProvenance, 'messages of clients are messages of users', [
      { kind: 'external_user' },
    ]),
    // where the reply is sent
    deliver: Unsupported(
      Type.Boolean(),
      'the reply is stored in the session, not sent to a messenger',
    ),
    bestEffortDeliver: NoEffect(
      Type.Boolean(),
      'the reply is stored in the session, so no delivery can fail',
    ),
    to: Unsupported(Text, 'the reply is stored in the session, not sent to a messenger'),
    replyTo: Unsupported(Text, 'the reply is stored in the session, not sent to a messenger'),
    channel: Unsupported(Text, 'the reply is stored in the session, not sent to a messenger', [
      'webchat',
      'last',
    ]),
    replyChannel: Unsupported(Text, 'the reply is stored in the session, not sent to a messenger', [
      'webchat',
      'last',
    ]),
    accountId: Unsupported(Text, 'the reply is stored in the session, not sent to a messenger'),
    replyAccountId: Unsupported(
      Text,
      'the reply is stored in the session, not sent to a messenger',
    ),
    threadId: Unsupported(Text, 'the reply is stored in the session, not sent to a messenger'),
    groupId: Unsupported(Text, 'the reply is stored in the session, not sent to a messenger'),
    groupChannel: Unsupported(Text, 'the reply is stored in the session, not sent to a messenger'),
    groupSpace: Unsupported(Text, 'the reply is stored in the session, not sent to a messenger'),
    sourceReplyDeliveryMode: Unsupported(
      oneOf(['automatic', 'message_tool_only']),
      'the reply is stored in the session, not sent to a messenger',
      ['automatic'],
    ),
    sessionEffects: Unsupported(
      oneOf(['visible', 'internal']),
      'a run is always part of its session',
      ['visible'],
    ),
    voiceWakeTrigger: Unsupported(Text, 'voice wake is not supported'),
    // between OpenClaw's own processes
    acpTurnSource: Unsupported(Type.Literal('manual_spawn'), 'ACP sessions are not supported'),
    cleanupBundleMcpOnRunEnd: NoEffect(Type.Boolean(), 'runs start no MCP servers of their own'),
    disableMessageTool: Unsupported(Type.Boolean(), 'the policy of the agent determines its tools'),
    execApprovalFollowupExpectedSessionId: Unsupported(
      NonEmpty,
      'decide the approval with exec.approval.resolve',
    ),
    forceCodeModeTools: Unsupported(Type.Boolean(), 'code mode is not supported'),
    forceRestartSafeTools: Unsupported(
      Type.Boolean(),
      'after a restart, a tool call is repeated only if its class allows it',
    ),
    internalEvents: Unsupported(Type.Array(Type.Unknown()), 'subagents report automatically', [[]]),
    internalExecutionIdentityRecoveryAttempt: Unsupported(
      Type.Integer({ minimum: 1 }),
      'runs recover automatically',
    ),
    internalExecutionIdentityRetry: Unsupported(Type.Boolean(), 'runs recover automatically'),
    internalRuntimeHandoffId: Unsupported(NonEmpty, 'runs are handed over automatically'),
    modelRun: Unsupported(Type.Boolean(), 'a run always has its tools and session'),
    suppressPromptPersistence: Unsupported(
      Type.Boolean(),
      'every message is part of the transcript',
    ),
    swarmCollector: Unsupported(Type.Boolean(), 'swarms are not supported: use sessions_spawn'),
    swarmOutputSchema: Unsupported(AnyObject, 'swarms are not supported: use sessions_spawn'),
  },
  closed,
);
export type AgentParams = Static<typeof AgentParams>;

/** First response of `agent`, sent at once. Times are epoch milliseconds. */
export const AgentAccepted = Type.Object(
  {
    runId: NonEmpty,
    status: Type.Literal('accepted'),
    acceptedAt: Count,
    sessionKey: Optional(NonEmpty),
    agentId: Optional(NonEmpty),
  },
  closed,
);
export type AgentAccepted = Static<typeof AgentAccepted>;

/** Token usage of a run as clients show it. */
export const RunUsage = Type.Object({
  input: Optional(Count),
  output: Optional(Count),
  total: Optional(Count),
  costUsd: Optional(Type.Number()),
});

export const RunResult = Type.Object({
  payloads: Type.Array(Type.Object({ text: Optional(Text), mediaUrl: Optional(Nullable(Text)) })),
  meta: Type.Object({
    durationMs: Count,
    /** extension: the message joined that run, and the text is the reply of that run */
    joined: Optional(NonEmpty),
    aborted: Optional(Type.Boolean()),
    /** extension: the first N payloads are messages that tools sent during the run */
    messages: Optional(Count),
    agentMeta: Optional(
      Type.Object({
        sessionId: Optional(Text),
        provider: Optional(Text),
        model: Optional(Text),
        usage: Optional(RunUsage),
      }),
    ),
  }),
});

/** Second response of `agent` to the same request, when the run has ended. */
export const AgentFinal = Type.Object(
  {
    runId: NonEmpty,
    status: oneOf(['ok', 'error', 'timeout']),
    summary: Text,
    result: Optional(RunResult),
    sessionKey: Optional(NonEmpty),
  },
  closed,
);
export type AgentFinal = Static<typeof AgentFinal>;

/** Default timeout of `agent.wait`. A timeout does not stop the run. */
export const AGENT_WAIT_TIMEOUT_MS = 30_000;

export const AgentWaitParams = Type.Object({ runId: NonEmpty, timeoutMs: Optional(Count) }, closed);
export type AgentWaitParams = Static<typeof AgentWaitParams>;

/** `timeout`: the run has not ended yet, or it is unknown. */
export const AgentWaitResult = Type.Object(
  {
    runId: NonEmpty,
    status: oneOf(['ok', 'error', 'timeout', 'pending']),
    startedAt: Optional(Count),
    endedAt: Optional(Count),
    error: Optional(Text),
  },
  closed,
);
export type AgentWaitResult = Static<typeof AgentWaitResult>;

/** `agent` responds twice: AgentAccepted, then AgentFinal. */
export const runMethods = {
  agent: {
    params: AgentParams,
    result: Type.Union([AgentAccepted, AgentFinal]),
    scope: 'operator.write',
  },
  'agent.wait': {
    params: AgentWaitParams,
    result: AgentWaitResult,
    scope: 'operator.write',
  },
} as const satisfies MethodArea;
