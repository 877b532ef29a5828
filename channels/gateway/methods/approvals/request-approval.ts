/** Requests an approval from operators through an approval actor, and notifies all gateways. */
import type { TenantScope } from '../../tenant/tenant-scope.ts';
import {
  approvalAddress,
  type ApprovalOption,
  type ApprovalRow,
  approvalsTopic,
  TITLE_CHARACTERS_MAX,
} from '../../../../protocols/approval.ts';
import { TroupeError } from '../../../../protocols/errors.ts';
import type { ExecDecision } from '../../../../protocols/gateway/index.ts';
import type { Principal } from '../../../../runtime/index.ts';
import { decisionOf, type PendingApprovals } from '../../tenant/pending-approvals.ts';
import type { Request } from '../request.ts';

/** What requesting an approval and waiting for the decision need. */
export type ApprovalScope = TenantScope & { readonly approvals: PendingApprovals };

const ONCE: readonly ApprovalOption[] = [
  { name: 'allow-once', means: 'allowed' },
  { name: 'deny', means: 'denied' },
];
const OR_ALWAYS: readonly ApprovalOption[] = [
  { name: 'allow-once', means: 'allowed' },
  { name: 'allow-always', means: 'allowed' },
  { name: 'deny', means: 'denied' },
];

export type ApprovalQuestion = {
  readonly id: string;
  readonly command: string;
  readonly detail: string;
  readonly forMs: number;
  readonly always: boolean;
  readonly by: Principal;
};

/** Repeating an id requests the same approval. @throws TroupeError when the request is refused */
export const requestApproval = async (
  { context }: Request<ApprovalScope>,
  question: ApprovalQuestion,
): Promise<void> => {
  const { id, command, detail, forMs, always, by } = question;
  const known = context.approvals.row(id);
  if (known === undefined) {
    const event = {
      type: 'approval.ask',
      title: titleOf(command),
      detail: detail === '' ? command : detail,
      options: always ? OR_ALWAYS : ONCE,
      forMs,
    };
    const to = approvalAddress(context.tenant, id);
    const answer = await context.system.tell(to, event, { principal: by, key: `ask ${id}` });
    if (answer.kind === 'refused') throw TroupeError.from(answer.error);
  } else if (known.by !== by.sub) {
    throw new TroupeError('CONFLICT', `another principal requested the approval ${id}`);
  }
  context.system.bus.publish(approvalsTopic(context.tenant), { id });
};

/** Truncated: the detail contains the complete command. */
const titleOf = (command: string): string => command.slice(0, TITLE_CHARACTERS_MAX);

/** Waits for the decision. `decision` is null when no operator decided in time. */
export const waitForDecision = async (
  { context, connection }: Request<ApprovalScope>,
  id: string,
): Promise<{ readonly decision: ExecDecision | null; readonly row: ApprovalRow }> => {
  const gone = new AbortController();
  const release = connection.lease(() => gone.abort());
  try {
    const row = await context.approvals.decided(id, gone.signal);
    if (row === undefined || row.state === 'asked') {
      throw new TroupeError('NOT_FOUND', `no command waits for the approval ${id.slice(0, 80)}`, {
        details: { code: 'APPROVAL_NOT_FOUND' },
      });
    }
    return { decision: row.state === 'expired' ? null : decisionOf(row.decision), row };
  } finally {
    release();
  }
};
