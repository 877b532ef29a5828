/**
 * `exec.approval.*`: approvals of commands, which operators decide from any client. Names, params
 * and decisions are the published ones. The published document has no schemas for results and
 * events; these follow what OpenClaw's clients read.
 */
import { type Static, Type } from '@sinclair/typebox';
import type { MethodArea } from './method.ts';
import { closed, Count, NonEmpty, Nullable, oneOf, Optional, Text } from './shapes.ts';

export const EXEC_DECISIONS = ['allow-once', 'allow-always', 'deny'] as const;
export type ExecDecision = (typeof EXEC_DECISIONS)[number];

/** The question. */
export const ExecApprovalRequest = Type.Object({
  command: Text,
  host: Nullable(Text),
  agentId: Nullable(Text),
  sessionKey: Nullable(Text),
  /** extension: details shown with the command */
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

/** Payload of `exec.approval.resolved`. `decision` null: the approval timed out. */
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

/**
 * A request with `grantExpiresInDays` is refused: a permanent permission lasts until it is revoked.
 */
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
 * Requests approval of a command. Only the published fields that are shown to the operator are
 * read. Fields that bind an approval to a file or policy of OpenClaw are ignored.
 */
export const ExecApprovalRequestParams = Type.Object({
  id: Optional(Type.String({ pattern: '^[A-Za-z0-9_.:-]{1,128}$' })),
  command: Optional(Type.String({ minLength: 1, maxLength: 8_192 })),
  commandArgv: Optional(Type.Array(Text)),
  systemRunPlan: Optional(Type.Object({ commandText: Text })),
  cwd: Optional(Nullable(Text)),
  warningText: Optional(Nullable(Text)),
  timeoutMs: Optional(Type.Integer({ minimum: 1 })),
  /** responds twice to the same request: when the approval is created and when it is decided */
  twoPhase: Optional(Type.Boolean()),
});
export type ExecApprovalRequestParams = Static<typeof ExecApprovalRequestParams>;
const ExecApprovalWord = Type.Object({
  status: Optional(Type.Literal('accepted')),
  id: NonEmpty,
  /** null: the approval timed out */
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
