/**
 * `agent` and `agent.wait`: params and results (AL1). The idempotency key of `agent` becomes the
 * run's id.
 */
import { type Static, Type } from '@sinclair/typebox';
import type { MethodArea } from './method.ts';
import { AnyObject, closed, Count, NonEmpty, Nullable, oneOf, Optional, Text } from './shapes.ts';

/**
 * An image of a message; other kinds are refused. Open, as in the protocol, whose `agent` admits
 * anything: it is checked by the method.
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
/** `on`: the connection that asked is told blocks of the answer, as stream `block` of `agent`. */
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
 * Closed as in the protocol: what a client asks for and we do not know is refused, not silently
 * left out. `verbose`, `reasoning`, `queueMode` and `blockStreaming` are ours. `timeout` is in
 * seconds, 0 = none.
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
    lane: Optional(Text),
    label: Optional(Type.String({ minLength: 1, maxLength: 512 })),
    extraSystemPrompt: Optional(Text),
    promptMode: Optional(oneOf(['full', 'minimal', 'none'])),
    bootstrapContextMode: Optional(oneOf(['full', 'lightweight'])),
    bootstrapContextRunKind: Optional(oneOf(['default', 'heartbeat', 'cron'])),
    cwd: Optional(NonEmpty),
    attachments: Optional(Type.Array(Type.Unknown())),
    queueMode: Optional(QueueModeSchema),
    reasoning: Optional(Type.Boolean()),
    blockStreaming: Optional(BlockStreaming),
    inputProvenance: Optional(InputProvenance),
    // where the answer goes
    deliver: Optional(Type.Boolean()),
    bestEffortDeliver: Optional(Type.Boolean()),
    to: Optional(Text),
    replyTo: Optional(Text),
    channel: Optional(Text),
    replyChannel: Optional(Text),
    accountId: Optional(Text),
    replyAccountId: Optional(Text),
    threadId: Optional(Text),
    groupId: Optional(Text),
    groupChannel: Optional(Text),
    groupSpace: Optional(Text),
    sourceReplyDeliveryMode: Optional(oneOf(['automatic', 'message_tool_only'])),
    sessionEffects: Optional(oneOf(['visible', 'internal'])),
    voiceWakeTrigger: Optional(Text),
    // sent by OpenClaw's own processes; accepted and without meaning here
    acpTurnSource: Optional(Type.Literal('manual_spawn')),
    cleanupBundleMcpOnRunEnd: Optional(Type.Boolean()),
    disableMessageTool: Optional(Type.Boolean()),
    execApprovalFollowupExpectedSessionId: Optional(NonEmpty),
    forceCodeModeTools: Optional(Type.Boolean()),
    forceRestartSafeTools: Optional(Type.Boolean()),
    internalEvents: Optional(Type.Array(Type.Unknown())),
    internalExecutionIdentityRecoveryAttempt: Optional(Type.Integer({ minimum: 1 })),
    internalExecutionIdentityRetry: Optional(Type.Boolean()),
    internalRuntimeHandoffId: Optional(NonEmpty),
    modelRun: Optional(Type.Boolean()),
    suppressPromptPersistence: Optional(Type.Boolean()),
    swarmCollector: Optional(Type.Boolean()),
    swarmOutputSchema: Optional(AnyObject),
  },
  closed,
);
export type AgentParams = Static<typeof AgentParams>;

/** First answer of `agent`, at once. Times are epoch milliseconds. */
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

/** Tokens of a run as clients show them. */
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
    /** ours: the message was taken into that run, whose text this is */
    joined: Optional(NonEmpty),
    aborted: Optional(Type.Boolean()),
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

/** Second answer of `agent` on the same id, when the run has ended. */
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

/** How long `agent.wait` waits when it is not told. Giving up does not stop the run. */
export const AGENT_WAIT_TIMEOUT_MS = 30_000;

export const AgentWaitParams = Type.Object({ runId: NonEmpty, timeoutMs: Optional(Count) }, closed);
export type AgentWaitParams = Static<typeof AgentWaitParams>;

/** `timeout` = the run has not ended yet, or nobody knows it. */
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

/** `agent` answers twice: AgentAccepted, then AgentFinal. */
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
