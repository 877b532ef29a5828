/**
 * `exec.approval.*`: questions about commands, for operators to answer from any client. The
 * names, params and decisions are the published ones; the published document has no schema for the
 * results and the events, which follow what its clients read.
 */
import { type Static, Type } from '@sinclair/typebox';
import type { MethodArea } from './method.ts';
import { closed, Count, NonEmpty, Nullable, oneOf, Optional, Text } from './shapes.ts';

export const EXEC_DECISIONS = ['allow-once', 'allow-always', 'deny'] as const;
export type ExecDecision = (typeof EXEC_DECISIONS)[number];

/** What is asked. */
export const ExecApprovalRequest = Type.Object({
  command: Text,
  host: Nullable(Text),
  agentId: Nullable(Text),
  sessionKey: Nullable(Text),
  /** ours: what a person reads beside the command */
  detail: Text,
  allowedDecisions: Type.Array(oneOf(EXEC_DECISIONS)),
});

/** Payload of `exec.approval.requested`, and one of `exec.approval.list`. Times: epoch ms. */
export const ExecApproval = Type.Object({
  id: NonEmpty,
  request: ExecApprovalRequest,
  createdAtMs: Count,
  expiresAtMs: Count,
});
export type ExecApproval = Static<typeof ExecApproval>;

/** Payload of `exec.approval.resolved`. `decision` null: nobody answered in time. */
export const ExecApprovalResolved = Type.Object({
  id: NonEmpty,
  decision: Nullable(oneOf(EXEC_DECISIONS)),
  resolvedBy: Nullable(Text),
  ts: Count,
  request: ExecApprovalRequest,
});
export type ExecApprovalResolved = Static<typeof ExecApprovalResolved>;

export const ExecApprovalListParams = Type.Object({}, closed);
export type ExecApprovalListParams = Static<typeof ExecApprovalListParams>;
export const ExecApprovalListResult = Type.Array(ExecApproval);

export const ExecApprovalGetParams = Type.Object({ id: NonEmpty }, closed);
export type ExecApprovalGetParams = Static<typeof ExecApprovalGetParams>;
export const ExecApprovalGetResult = Type.Object({
  id: NonEmpty,
  commandText: Text,
  commandPreview: Nullable(Text),
  allowedDecisions: Type.Array(oneOf(EXEC_DECISIONS)),
  host: Nullable(Text),
  nodeId: Nullable(Text),
  agentId: Nullable(Text),
  expiresAtMs: Count,
});
export type ExecApprovalGetResult = Static<typeof ExecApprovalGetResult>;

/** `grantExpiresInDays` is refused: what is allowed permanently stays until it is taken back. */
export const ExecApprovalResolveParams = Type.Object(
  {
    id: NonEmpty,
    decision: NonEmpty,
    reviewer: Optional(
      Type.Object({ channel: NonEmpty, accountId: NonEmpty, senderId: NonEmpty }, closed),
    ),
    grantExpiresInDays: Optional(Type.Integer({ minimum: 1, maximum: 3650 })),
  },
  closed,
);
export type ExecApprovalResolveParams = Static<typeof ExecApprovalResolveParams>;
export const ExecApprovalResolveResult = Type.Object({ ok: Type.Literal(true) });

/**
 * Asks people about a command. Of the published fields those that a person is shown are read; what
 * binds an approval to a file or a policy of OpenClaw is not, because nothing here runs by it.
 */
export const ExecApprovalRequestParams = Type.Object({
  id: Optional(Type.String({ pattern: '^[A-Za-z0-9_.:-]{1,128}$' })),
  command: Optional(Type.String({ minLength: 1, maxLength: 8_192 })),
  commandArgv: Optional(Type.Array(Text)),
  systemRunPlan: Optional(Type.Object({ commandText: Text })),
  cwd: Optional(Nullable(Text)),
  warningText: Optional(Nullable(Text)),
  timeoutMs: Optional(Type.Integer({ minimum: 1 })),
  /** answered twice on one id: when it is asked, and when it is decided */
  twoPhase: Optional(Type.Boolean()),
});
export type ExecApprovalRequestParams = Static<typeof ExecApprovalRequestParams>;
const ExecApprovalWord = Type.Object({
  status: Optional(Type.Literal('accepted')),
  id: NonEmpty,
  /** null: nobody answered in time */
  decision: Optional(Nullable(oneOf(EXEC_DECISIONS))),
  createdAtMs: Count,
  expiresAtMs: Count,
});

export const approvalMethods = {
  'exec.approval.request': {
    params: ExecApprovalRequestParams,
    result: ExecApprovalWord,
    scope: 'operator.approvals',
  },
  'exec.approval.waitDecision': {
    params: ExecApprovalGetParams,
    result: ExecApprovalWord,
    scope: 'operator.approvals',
  },
  'exec.approval.list': {
    params: ExecApprovalListParams,
    result: ExecApprovalListResult,
    scope: 'operator.approvals',
  },
  'exec.approval.get': {
    params: ExecApprovalGetParams,
    result: ExecApprovalGetResult,
    scope: 'operator.approvals',
  },
  'exec.approval.resolve': {
    params: ExecApprovalResolveParams,
    result: ExecApprovalResolveResult,
    scope: 'operator.approvals',
  },
} as const satisfies MethodArea;
