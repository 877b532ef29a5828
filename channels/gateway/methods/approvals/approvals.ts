/** `exec.approval.*`: commands that require approval. The first decision counts. */
import { askOrThrow, type Clock } from '../../../../runtime/index.ts';
import { randomUUID } from 'node:crypto';
import {
  APPROVAL_MS_DEFAULT,
  APPROVAL_MS_MAX,
  type ApprovalRow,
  approvalAddress,
} from '../../../../protocols/approval.ts';
import { errorData, TroupeError } from '../../../../protocols/errors.ts';
import {
  EXEC_DECISIONS,
  type ExecApproval,
  type ExecApprovalGetParams,
  type ExecApprovalGetResult,
  type ExecApprovalRequestParams,
  type ExecApprovalResolveParams,
} from '../../../../protocols/gateway/index.ts';
import { approvalOf, decisionOf, nodeOf } from '../../tenant/pending-approvals.ts';
import { ACCEPT_TIMEOUT_MS } from '../../limits.ts';
import { type ApprovalScope, requestApproval, waitForDecision } from './request-approval.ts';
import { type MethodTable, published } from '../method.ts';
import { principalOf, type Request, respond } from '../request.ts';

/** What methods about approvals need. */
export type ApprovalContext = ApprovalScope & { readonly clock: Clock };

const approvalList = ({ context }: Request<ApprovalContext>): readonly ExecApproval[] =>
  context.approvals.list();

const approvalGet = (
  { context }: Request<ApprovalContext>,
  { id }: ExecApprovalGetParams,
): ExecApprovalGetResult => {
  const row = rowOf(context, id);
  const { request, expiresAtMs } = approvalOf(row);
  return {
    id,
    commandText: request.command,
    commandPreview: request.detail === '' ? null : request.detail,
    allowedDecisions: request.allowedDecisions,
    host: request.host,
    nodeId: nodeOf(row) ?? null,
    agentId: request.agentId,
    expiresAtMs,
  };
};

/** @throws TroupeError CONFLICT with the decision that counted, when it was decided before */
export const approvalResolve = async (
  request: Request<ApprovalContext>,
  { id, decision, reviewer, grantExpiresInDays }: ExecApprovalResolveParams,
): Promise<{ ok: true }> => {
  const { context, connection } = request;
  if (grantExpiresInDays !== undefined) {
    throw new TroupeError(
      'INVALID_ARGUMENT',
      '/grantExpiresInDays is not supported: allow-always is valid until it is revoked',
    );
  }
  if (decisionOf(decision) === null) {
    throw new TroupeError('INVALID_ARGUMENT', `/decision is one of ${EXEC_DECISIONS.join(', ')}`);
  }
  rowOf(context, id);
  const by = reviewer === undefined ? connection.client?.params.client : undefined;
  const who = reviewer
    ? `${reviewer.channel}:${reviewer.senderId}`
    : (by?.displayName ?? by?.id ?? 'a client');
  try {
    await askOrThrow(
      context.system,
      approvalAddress(context.tenant, id),
      { type: 'approval.answer', decision, why: `answered by ${who}` },
      {
        principal: principalOf(request),
        timeoutMs: ACCEPT_TIMEOUT_MS,
        timedOut: `approval ${id} has not answered: list the approvals to see its state`,
      },
    );
  } catch (error) {
    throw error instanceof TroupeError ? decided(context, id, error) : error;
  } finally {
    context.approvals.refresh();
  }
  return { ok: true };
};

/** @throws TroupeError NOT_FOUND */
export const rowOf = ({ approvals }: ApprovalScope, id: string): ApprovalRow => {
  const row = approvals.row(id);
  if (row !== undefined) return row;
  throw new TroupeError('NOT_FOUND', `no command waits for the approval ${id.slice(0, 80)}`, {
    details: { code: 'APPROVAL_NOT_FOUND' },
  });
};

/** Adds the decision that counted to a CONFLICT. */
const decided = ({ approvals }: ApprovalScope, id: string, refusal: TroupeError): TroupeError => {
  const row = approvals.row(id);
  if (refusal.code !== 'CONFLICT' || row === undefined || row.state === 'asked') return refusal;
  const { decision = null, decided_by: decidedBy = null, state } = row;
  return new TroupeError('CONFLICT', errorData(refusal).message, {
    details: { ...refusal.details, decision, decidedBy, state },
  });
};

/** @throws TroupeError INVALID_ARGUMENT when the command is missing */
const approvalRequest = async (
  request: Request<ApprovalContext>,
  params: ExecApprovalRequestParams,
) => {
  const { id = randomUUID(), cwd, warningText, timeoutMs, twoPhase = false } = params;
  const command =
    params.command ?? params.systemRunPlan?.commandText ?? params.commandArgv?.join(' ') ?? '';
  if (command === '') throw new TroupeError('INVALID_ARGUMENT', '/command is missing');
  const forMs = Math.min(timeoutMs ?? APPROVAL_MS_DEFAULT, APPROVAL_MS_MAX);
  const detail = [warningText, cwd && `In ${cwd}: ${command}`].filter(Boolean).join('\n');
  const by = principalOf(request);
  await requestApproval(request, { id, command, detail, forMs, always: false, by });
  const createdAtMs = request.context.clock.wallMs();
  const times = { id, createdAtMs, expiresAtMs: createdAtMs + forMs };
  if (twoPhase) respond(request, { status: 'accepted', ...times });
  return approvalWait(request, { id });
};

const approvalWait = async (request: Request<ApprovalContext>, { id }: ExecApprovalGetParams) => {
  const { decision, row } = await waitForDecision(request, id);
  return {
    id,
    decision,
    createdAtMs: Date.parse(row.asked_at),
    expiresAtMs: Date.parse(row.expires_at),
  };
};

export const approvalTable: MethodTable<ApprovalContext> = [
  published('exec.approval.request', approvalRequest),
  published('exec.approval.waitDecision', approvalWait),
  published('exec.approval.list', approvalList),
  published('exec.approval.get', approvalGet),
  published('exec.approval.resolve', approvalResolve),
];
