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
 * Closed as in the protocol: what a client asks for and troupe does not do is refused by name.
 * `verbose`, `reasoning`, `queueMode` and `blockStreaming` are ours. `timeout` is in seconds, 0 =
 * none.
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
    lane: Unsupported(Text, 'runs of a session are serial, and there are no other lanes', ['main']),
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
      'a message starts a default run',
      ['default'],
    ),
    cwd: Unsupported(NonEmpty, 'an agent works in its own workspace'),
    attachments: Optional(Type.Array(Type.Unknown())),
    queueMode: Optional(QueueModeSchema),
    reasoning: Optional(Type.Boolean()),
    blockStreaming: Optional(BlockStreaming),
    inputProvenance: Unsupported(InputProvenance, 'a client speaks for a person', [
      { kind: 'external_user' },
    ]),
    // where the answer goes
    deliver: Unsupported(Type.Boolean(), 'troupe has no messengers: the answer is in the session'),
    bestEffortDeliver: NoEffect(
      Type.Boolean(),
      'the answer is in the session: no delivery can fail',
    ),
    to: Unsupported(Text, 'troupe has no messengers: the answer is in the session'),
    replyTo: Unsupported(Text, 'troupe has no messengers: the answer is in the session'),
    channel: Unsupported(Text, 'troupe has no messengers: the answer is in the session', [
      'webchat',
      'last',
    ]),
    replyChannel: Unsupported(Text, 'troupe has no messengers: the answer is in the session', [
      'webchat',
      'last',
    ]),
    accountId: Unsupported(Text, 'troupe has no messengers: the answer is in the session'),
    replyAccountId: Unsupported(Text, 'troupe has no messengers: the answer is in the session'),
    threadId: Unsupported(Text, 'troupe has no messengers: the answer is in the session'),
    groupId: Unsupported(Text, 'troupe has no messengers: the answer is in the session'),
    groupChannel: Unsupported(Text, 'troupe has no messengers: the answer is in the session'),
    groupSpace: Unsupported(Text, 'troupe has no messengers: the answer is in the session'),
    sourceReplyDeliveryMode: Unsupported(
      oneOf(['automatic', 'message_tool_only']),
      'troupe has no messengers: the answer is in the session',
      ['automatic'],
    ),
    sessionEffects: Unsupported(
      oneOf(['visible', 'internal']),
      'a run is always part of its session',
      ['visible'],
    ),
    voiceWakeTrigger: Unsupported(Text, 'there is no voice wake'),
    // between OpenClaw's own processes
    acpTurnSource: Unsupported(Type.Literal('manual_spawn'), 'there are no ACP sessions'),
    cleanupBundleMcpOnRunEnd: NoEffect(Type.Boolean(), 'a run leaves no MCP server behind'),
    disableMessageTool: Unsupported(Type.Boolean(), 'tools are set by policy'),
    execApprovalFollowupExpectedSessionId: Unsupported(
      NonEmpty,
      'answer the question with exec.approval.resolve',
    ),
    forceCodeModeTools: Unsupported(Type.Boolean(), 'there is no code mode'),
    forceRestartSafeTools: Unsupported(
      Type.Boolean(),
      'a tool call is never repeated blindly after a restart, whatever is asked',
    ),
    internalEvents: Unsupported(Type.Array(Type.Unknown()), 'subagents report by themselves', [[]]),
    internalExecutionIdentityRecoveryAttempt: Unsupported(
      Type.Integer({ minimum: 1 }),
      'runs recover by themselves',
    ),
    internalExecutionIdentityRetry: Unsupported(Type.Boolean(), 'runs recover by themselves'),
    internalRuntimeHandoffId: Unsupported(NonEmpty, 'runs are handed over by themselves'),
    modelRun: Unsupported(Type.Boolean(), 'a run always has its tools and session'),
    suppressPromptPersistence: Unsupported(
      Type.Boolean(),
      'every message is part of the transcript',
    ),
    swarmCollector: Unsupported(Type.Boolean(), 'there are no swarms: use sessions_spawn'),
    swarmOutputSchema: Unsupported(AnyObject, 'there are no swarms: use sessions_spawn'),
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
    /** ours: so many of the first payloads are messages that tools sent while the run went on */
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
