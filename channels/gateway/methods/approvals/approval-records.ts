/**
 * `approval.get` and `approval.resolve`: an approval and its decision, for OpenClaw's command line
 * and its page about one approval. They use the same rows and actor as `exec.approval.*`.
 */
import type { ApprovalRow } from '../../../../protocols/approval.ts';
import { TroupeError } from '../../../../protocols/errors.ts';
import type {
  ApprovalEnded,
  ApprovalGetResult,
  ApprovalResolveParams,
  ApprovalResolveResult,
  ExecApprovalGetParams,
} from '../../../../protocols/gateway/index.ts';
import { approvalOf, decisionOf, nodeOf } from '../../tenant/pending-approvals.ts';
import { type ApprovalContext, approvalResolve, rowOf } from './approvals.ts';
import { waitForDecision } from './request-approval.ts';
import { type MethodTable, published } from '../method.ts';
import type { Request } from '../request.ts';

const approvalGet = (
  { context }: Request<ApprovalContext>,
  { id }: ExecApprovalGetParams,
): ApprovalGetResult => {
  const row = rowOf(context, id);
  return {
    approval: row.state === 'asked' ? { ...askedOf(row), status: 'pending' } : endedOf(row),
  };
};

/**
 * The first decision counts: for a decided approval it returns that decision, and `applied` is
 * false.
 */
const approvalResolveOnce = async (
  request: Request<ApprovalContext>,
  { kind, ...answer }: ApprovalResolveParams,
): Promise<ApprovalResolveResult> => {
  const { context } = request;
  if (kind !== 'exec') {
    throw new TroupeError(
      'INVALID_ARGUMENT',
      '/kind must be exec: every approval is about a command',
    );
  }
  if (rowOf(context, answer.id).state !== 'asked') {
    return { applied: false, approval: endedOf(rowOf(context, answer.id)) };
  }
  let applied = true;
  try {
    await approvalResolve(request, answer);
  } catch (error) {
    if (!(error instanceof TroupeError) || error.code !== 'CONFLICT') throw error;
    applied = false;
  }
  const { row } = await waitForDecision(request, answer.id);
  return { applied, approval: endedOf(row) };
};

const askedOf = (row: ApprovalRow) => {
  const { id, request, createdAtMs, expiresAtMs } = approvalOf(row);
  return {
    id,
    urlPath: `/approve/${encodeURIComponent(id)}`,
    createdAtMs,
    expiresAtMs,
    presentation: {
      kind: 'exec' as const,
      commandText: request.command,
      commandPreview: request.detail === '' ? null : request.detail,
      host: request.host,
      nodeId: nodeOf(row) ?? null,
      agentId: request.agentId,
      allowedDecisions: request.allowedDecisions,
    },
  };
};

const endedOf = (row: ApprovalRow): ApprovalEnded => {
  const resolvedAtMs = Date.parse(row.decided_at ?? row.expires_at);
  const asked = { ...askedOf(row), resolvedAtMs };
  if (row.state === 'expired') {
    return resolvedAtMs < asked.expiresAtMs
      ? { ...asked, status: 'cancelled', reason: 'run-aborted' }
      : { ...asked, status: 'expired', reason: 'timeout' };
  }
  const by = { ...asked, ...resolverOf(row), reason: 'user' as const };
  const decision = decisionOf(row.decision);
  return row.state === 'denied' || decision === null || decision === 'deny'
    ? { ...by, status: 'denied', decision: 'deny' }
    : { ...by, status: 'allowed', decision };
};

/** A paired device by its id; any other principal by its name. */
const resolverOf = ({ decided_by: by }: ApprovalRow): Pick<ApprovalEnded, 'resolver'> => {
  if (by === undefined || by === '') return {};
  const device = /^device:(.+)$/.exec(by)?.[1];
  return {
    resolver: device === undefined ? { kind: 'channel', id: by } : { kind: 'device', id: device },
  };
};

export const approvalRecordTable: MethodTable<ApprovalContext> = [
  published('approval.get', approvalGet),
  published('approval.resolve', approvalResolveOnce),
];
