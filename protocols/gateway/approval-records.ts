/**
 * `approval.get` and `approval.resolve`: an approval and its decision, for all kinds of approvals.
 * OpenClaw's plugin and system-agent approvals have no counterpart: every approval here is about a
 * command.
 */
import { type Static, Type } from '@sinclair/typebox';
import { EXEC_DECISIONS, ExecApprovalGetParams, ExecApprovalResolveParams } from './approvals.ts';
import type { MethodArea } from './method.ts';
import { closed, Count, NonEmpty, Nullable, oneOf, Optional, Text } from './shapes.ts';

const asked = {
  id: NonEmpty,
  /** path of the page that shows the approval */
  urlPath: NonEmpty,
  createdAtMs: Count,
  expiresAtMs: Count,
  presentation: Type.Object(
    {
      kind: Type.Literal('exec'),
      commandText: NonEmpty,
      commandPreview: Nullable(Text),
      host: Nullable(Text),
      nodeId: Nullable(NonEmpty),
      agentId: Nullable(NonEmpty),
      allowedDecisions: Type.Array(oneOf(EXEC_DECISIONS), { minItems: 1, maxItems: 3 }),
    },
    closed,
  ),
};

const ended = {
  ...asked,
  resolvedAtMs: Count,
  resolver: Optional(
    Type.Object({ kind: oneOf(['device', 'channel']), id: Optional(NonEmpty) }, closed),
  ),
};

const Pending = Type.Object({ ...asked, status: Type.Literal('pending') }, closed);
const Ended = Type.Union([
  Type.Object(
    {
      ...ended,
      status: Type.Literal('allowed'),
      decision: oneOf(['allow-once', 'allow-always']),
      reason: Type.Literal('user'),
    },
    closed,
  ),
  Type.Object(
    {
      ...ended,
      status: Type.Literal('denied'),
      decision: Type.Literal('deny'),
      reason: Type.Literal('user'),
    },
    closed,
  ),
  Type.Object(
    { ...ended, status: Type.Literal('expired'), reason: Type.Literal('timeout') },
    closed,
  ),
  /** the requesting actor no longer waits for the answer */
  Type.Object(
    { ...ended, status: Type.Literal('cancelled'), reason: Type.Literal('run-aborted') },
    closed,
  ),
]);
export type ApprovalEnded = Static<typeof Ended>;

const ApprovalGetResult = Type.Object({ approval: Type.Union([Pending, Ended]) });
export type ApprovalGetResult = Static<typeof ApprovalGetResult>;

export const ApprovalResolveParams = Type.Object(
  {
    ...ExecApprovalResolveParams.properties,
    kind: oneOf(['exec', 'plugin', 'system-agent']),
    decision: oneOf(EXEC_DECISIONS),
  },
  closed,
);
export type ApprovalResolveParams = Static<typeof ApprovalResolveParams>;

/** `applied` false: it was decided before; `approval` has the decision. */
const ApprovalResolveResult = Type.Object({ applied: Type.Boolean(), approval: Ended });
export type ApprovalResolveResult = Static<typeof ApprovalResolveResult>;

export const approvalRecordMethods = {
  'approval.get': {
    params: ExecApprovalGetParams,
    result: ApprovalGetResult,
    scope: 'operator.approvals',
  },
  'approval.resolve': {
    params: ApprovalResolveParams,
    result: ApprovalResolveResult,
    scope: 'operator.approvals',
  },
} as const satisfies MethodArea;
