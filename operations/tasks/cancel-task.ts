/** Cancels a background task: sends the message that its actor understands. */
import { type Address, address } from '../../protocols/address.ts';
import { TroupeError } from '../../protocols/errors.ts';
import type { TaskSummary } from '../../protocols/gateway/index.ts';
import type { SessionAbort } from '../../protocols/session.ts';
import type { Message } from '../../protocols/statechart.ts';
import { subagentAddress, type SubagentKill } from '../../protocols/subagent.ts';
import { taskAddress, type TaskCancel } from '../../protocols/task.ts';
import type { Principal, System } from '../../runtime/index.ts';
import { findTask, type TaskOrigin } from './task-list.ts';

const ANSWER_MS = 30_000;

export type CancelScope = {
  readonly system: Pick<System, 'index' | 'ask'>;
  readonly tenant: string;
  readonly principal: Principal;
};

/** `reason`: why it was not cancelled. */
export type CancelResult = {
  readonly found: boolean;
  readonly cancelled: boolean;
  readonly reason?: string;
  readonly task?: TaskSummary;
};

/** May be repeated. @throws TroupeError DEADLINE_EXCEEDED */
export async function cancelTask(
  scope: CancelScope,
  taskId: string,
  why = 'cancelled by an operator',
): Promise<CancelResult> {
  const found = findTask(scope, taskId);
  if (!found) return { found: false, cancelled: false, reason: 'there is no such task' };
  const { summary, of } = found;
  if (summary.status !== 'queued' && summary.status !== 'running') {
    const reason = `it has ended: ${summary.status}`;
    return { found: true, cancelled: false, reason, task: summary };
  }
  const reason = await refusalOf(scope, of, why);
  const task = findTask(scope, taskId)?.summary ?? summary;
  return reason === undefined
    ? { found: true, cancelled: true, task }
    : { found: true, cancelled: false, reason, task };
}

/** Why the task was not cancelled; undefined when it was. @throws TroupeError DEADLINE_EXCEEDED */
async function refusalOf(
  { system, tenant, principal }: CancelScope,
  of: TaskOrigin,
  why: string,
): Promise<string | undefined> {
  const [to, message] = cancelMessage(tenant, of, why);
  const answer = await system.ask(to, message, { principal, timeoutMs: ANSWER_MS });
  if (answer.kind === 'refused') return answer.error.message;
  if (answer.kind === 'timeout') {
    throw new TroupeError(
      'DEADLINE_EXCEEDED',
      'the task received the request, but has not answered yet',
    );
  }
  const { killed, aborted } = answer.result as { killed?: unknown[]; aborted?: unknown[] };
  return (killed ?? aborted)?.length === 0 ? 'it has ended in the meantime' : undefined;
}

function cancelMessage(
  tenant: string,
  of: TaskOrigin,
  reason: string,
): readonly [Address, Message] {
  switch (of.kind) {
    case 'subagent': {
      const message: SubagentKill = { type: 'subagent.kill', reason };
      return [subagentAddress(tenant, of.row.id), message];
    }
    case 'cron': {
      const message: SessionAbort = { type: 'session.abort', runId: of.fire.runId };
      const { sessionKey = of.row.sessionKey } = of.fire;
      return [address(tenant, 'session', sessionKey), message];
    }
    case 'a2a': {
      const message: TaskCancel = { type: 'task.cancel', reason };
      return [taskAddress(tenant, of.view.task_id), message];
    }
  }
}
