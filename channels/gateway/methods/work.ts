/** `tasks.*` lists and cancels background work; `send` adds a message to a user's session. */
import type { SessionScope } from '../tenant/tenant-scope.ts';
import type { LiveRuns } from '../streams/live-runs.ts';
import { address } from '../../../protocols/address.ts';
import { TroupeError } from '../../../protocols/errors.ts';
import {
  type SendParams,
  TASKS_PAGE,
  type TasksCancelParams,
  type TasksGetParams,
  type TasksListParams,
  type TaskSummary,
} from '../../../protocols/gateway/index.ts';
import type { SessionAbort } from '../../../protocols/session.ts';
import { subagentAddress, type SubagentKill } from '../../../protocols/subagent.ts';
import { taskAddress, type TaskCancel } from '../../../protocols/task.ts';
import { ACCEPT_TIMEOUT_MS } from '../limits.ts';
import { fullSessionKey } from '../sessions/session-key.ts';
import { type KnownTask, type TaskOrigin, tasksOf } from '../sessions/task-list.ts';
import { injectOnce } from './chat/inject.ts';
import { type MethodTable, published } from './method.ts';
import { principalOf, type Request } from './request.ts';
import { refuseEmpty } from './chat/run.ts';

/** What methods about tasks need. */
export type TaskContext = SessionScope & { readonly runs: Pick<LiveRuns, 'row'> };

const tasksList = ({ context }: Request<TaskContext>, params: TasksListParams) => {
  const { sortBy = 'updatedAt', limit = TASKS_PAGE, cursor = '0' } = params;
  const from = /^\d{1,9}$/.test(cursor) ? Number(cursor) : undefined;
  if (from === undefined)
    throw new TroupeError('INVALID_ARGUMENT', '/cursor does not belong to this list');
  const sorted = tasksOf(context)
    .map(({ summary }) => summary)
    .filter((task) => matches(task, params))
    .toSorted((a, b) => (b[sortBy] ?? 0) - (a[sortBy] ?? 0) || (a.id < b.id ? -1 : 1));
  const next = from + limit;
  return {
    tasks: sorted.slice(from, next),
    ...(next < sorted.length ? { nextCursor: String(next) } : {}),
  };
};

const matches = (task: TaskSummary, { status, agentId, sessionKey }: TasksListParams): boolean => {
  const wanted = typeof status === 'string' ? [status] : status;
  if (wanted !== undefined && !wanted.includes(task.status)) return false;
  if (agentId !== undefined && task.agentId !== agentId) return false;
  return sessionKey === undefined || [task.sessionKey, task.childSessionKey].includes(sessionKey);
};

const tasksGet = ({ context }: Request<TaskContext>, { taskId }: TasksGetParams) => {
  const found = find(tasksOf(context), taskId);
  if (!found) {
    throw new TroupeError('NOT_FOUND', `there is no task ${taskId.slice(0, 80)}`);
  }
  return { task: { ...found.summary, ...detailsOf(found.of, context) } };
};

const find = (tasks: readonly KnownTask[], taskId: string): KnownTask | undefined =>
  tasks.find(({ summary }) => summary.id === taskId);

const detailsOf = (of: TaskOrigin, { runs }: Request<TaskContext>['context']) => {
  switch (of.kind) {
    case 'subagent': {
      const result = runs.row(of.row.runId)?.text;
      return { prompt: of.row.task, ...(result ? { result } : {}) };
    }
    case 'cron': {
      const result = runs.row(of.fire.runId)?.text ?? of.fire.text;
      return { prompt: of.row.job?.text ?? of.row.text, ...(result ? { result } : {}) };
    }
    case 'a2a':
      return of.view.result === undefined ? {} : { result: JSON.stringify(of.view.result) };
  }
};

const tasksCancel = async (
  request: Request<TaskContext>,
  { taskId, reason }: TasksCancelParams,
) => {
  const found = find(tasksOf(request.context), taskId);
  if (!found) return { found: false, cancelled: false, reason: 'there is no such task' };
  const { summary, of } = found;
  if (summary.status !== 'queued' && summary.status !== 'running') {
    return {
      found: true,
      cancelled: false,
      reason: `it has ended: ${summary.status}`,
      task: summary,
    };
  }
  const why = await cancelled(request, of, reason ?? 'cancelled by an operator');
  const task = find(tasksOf(request.context), taskId)?.summary ?? summary;
  return why === undefined
    ? { found: true, cancelled: true, task }
    : { found: true, cancelled: false, reason: why, task };
};

/**
 * Returns why the task was not cancelled; undefined when it was.
 * @throws TroupeError DEADLINE_EXCEEDED
 */
const cancelled = async (
  request: Request<TaskContext>,
  of: TaskOrigin,
  reason: string,
): Promise<string | undefined> => {
  const { system, tenant } = request.context;
  const [to, message] = cancelMessage(tenant, of, reason);
  const answer = await system.ask(to, message, {
    principal: principalOf(request),
    timeoutMs: ACCEPT_TIMEOUT_MS,
  });
  if (answer.kind === 'refused') return answer.error.message;
  if (answer.kind === 'timeout') {
    throw new TroupeError(
      'DEADLINE_EXCEEDED',
      'the task received the request, but has not answered yet',
    );
  }
  const { killed, aborted } = answer.result as { killed?: unknown[]; aborted?: unknown[] };
  return (killed ?? aborted)?.length === 0 ? 'it has ended in the meantime' : undefined;
};

const cancelMessage = (tenant: string, of: TaskOrigin, reason: string) => {
  switch (of.kind) {
    case 'subagent': {
      const message: SubagentKill = { type: 'subagent.kill', reason };
      return [subagentAddress(tenant, of.row.id), message] as const;
    }
    case 'cron': {
      const message: SessionAbort = { type: 'session.abort', runId: of.fire.runId };
      const { sessionKey = of.row.sessionKey } = of.fire;
      return [address(tenant, 'session', sessionKey), message] as const;
    }
    case 'a2a': {
      const message: TaskCancel = { type: 'task.cancel', reason };
      return [taskAddress(tenant, of.view.task_id), message] as const;
    }
  }
};

// ---- send

/** Users read messages in the gateway's own chat, so the text is added to the session. */
const send = async (request: Request<TaskContext>, params: SendParams) => {
  const { message = '', idempotencyKey, agentId } = params;
  refuseEmpty(message);
  const { names } = request.context;
  const { sessionKey } = fullSessionKey(names, {
    sessionKey: params.sessionKey || params.to,
    ...(agentId ? { agentId } : {}),
  });
  await injectOnce(request, sessionKey, `send-${idempotencyKey}`, { text: message });
  return {
    runId: idempotencyKey,
    messageId: idempotencyKey,
    channel: 'webchat',
    to: params.to,
    sessionKey,
  } as const;
};

export const workTable: MethodTable<TaskContext> = [
  published('tasks.list', tasksList),
  published('tasks.get', tasksGet),
  published('tasks.cancel', tasksCancel),
  published('send', send),
];
