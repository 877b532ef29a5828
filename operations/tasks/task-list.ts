/**
 * Background tasks in the shape of OpenClaw's clients: subagents, runs of schedules, and tasks that
 * other agents requested. Reads committed rows and activates no actor.
 */
import { messageRunId, SEND_MESSAGE } from '../../protocols/agent-message.ts';
import { defined } from '../../protocols/defined.ts';
import { TroupeError } from '../../protocols/errors.ts';
import {
  TASKS_PAGE,
  type TasksListParams,
  type TaskStatus,
  type TaskSummary,
} from '../../protocols/gateway/work.ts';
import {
  JOBS_MAX,
  type ScheduleFire,
  type ScheduleRow,
  SCHEDULE_RUNS_INDEX,
  type ScheduleRunsRow,
  SCHEDULES_INDEX,
} from '../../protocols/schedule.ts';
import type { RunRow } from '../../protocols/session.ts';
import {
  SUBAGENTS_INDEX,
  type SubagentRow,
  type SubagentStatus,
} from '../../protocols/subagent.ts';
import { type TaskRow, TASKS_INDEX, type TaskState, type TaskView } from '../../protocols/task.ts';
import type { System } from '../../runtime/index.ts';

/** Subagents, and tasks of other agents, that one list reads. */
const TASKS_READ_MAX = 10_000;

/** Access to the rows of one tenant. */
export type TaskRows = { readonly system: Pick<System, 'index'>; readonly tenant: string };

/** A task, and the message that cancels it. */
export type KnownTask = { readonly summary: TaskSummary; readonly of: TaskOrigin };
export type TaskOrigin =
  | { readonly kind: 'subagent'; readonly row: SubagentRow }
  | { readonly kind: 'cron'; readonly row: ScheduleRow; readonly fire: ScheduleFire }
  | { readonly kind: 'a2a'; readonly view: TaskView };

/** A page of tasks, by default the last changed first. @throws TroupeError INVALID_ARGUMENT */
export function listTasks(
  scope: TaskRows,
  params: TasksListParams,
): { readonly tasks: TaskSummary[]; readonly nextCursor?: string } {
  const { sortBy = 'updatedAt', limit = TASKS_PAGE, cursor = '0' } = params;
  const from = /^\d{1,9}$/.test(cursor) ? Number(cursor) : undefined;
  if (from === undefined)
    throw new TroupeError('INVALID_ARGUMENT', '/cursor does not belong to this list');
  const sorted = tasksOf(scope)
    .map(({ summary }) => summary)
    .filter((task) => matches(task, params))
    .toSorted((a, b) => (b[sortBy] ?? 0) - (a[sortBy] ?? 0) || (a.id < b.id ? -1 : 1));
  const next = from + limit;
  return {
    tasks: sorted.slice(from, next),
    ...(next < sorted.length ? { nextCursor: String(next) } : {}),
  };
}

const matches = (task: TaskSummary, { status, agentId, sessionKey }: TasksListParams): boolean => {
  const wanted = typeof status === 'string' ? [status] : status;
  if (wanted !== undefined && !wanted.includes(task.status)) return false;
  if (agentId !== undefined && task.agentId !== agentId) return false;
  return sessionKey === undefined || [task.sessionKey, task.childSessionKey].includes(sessionKey);
};

/** A task with its prompt and its result. @throws TroupeError NOT_FOUND */
export function showTask(scope: TaskRows, taskId: string): TaskSummary {
  const found = findTask(scope, taskId);
  if (!found) throw new TroupeError('NOT_FOUND', `there is no task ${taskId.slice(0, 80)}`);
  return { ...found.summary, ...detailsOf(found.of, scope) };
}

export const findTask = (scope: TaskRows, taskId: string): KnownTask | undefined =>
  tasksOf(scope).find(({ summary }) => summary.id === taskId);

function detailsOf(of: TaskOrigin, { system, tenant }: TaskRows) {
  const textOf = (runId: string) => system.index.get<RunRow>('runs', tenant, runId)?.text;
  switch (of.kind) {
    case 'subagent': {
      const result = textOf(of.row.runId);
      return { prompt: of.row.task, ...(result ? { result } : {}) };
    }
    case 'cron': {
      const result = textOf(of.fire.runId) ?? of.fire.text;
      return { prompt: of.row.job?.text ?? of.row.text, ...(result ? { result } : {}) };
    }
    case 'a2a':
      return of.view.result === undefined ? {} : { result: JSON.stringify(of.view.result) };
  }
}

/** At most TASKS_READ_MAX of each kind, unordered. */
const tasksOf = (scope: TaskRows): readonly KnownTask[] => [
  ...rowsOf<SubagentRow>(scope, SUBAGENTS_INDEX).map(subagentTask),
  ...cronTasks(scope),
  ...rowsOf<TaskRow>(scope, TASKS_INDEX).map(({ view }) => a2aTask(scope, view)),
];

const rowsOf = <Row>(
  { system, tenant }: TaskRows,
  index: string,
  limit = TASKS_READ_MAX,
): readonly Row[] => system.index.list<Row>(index, tenant, { limit }).map(({ value }) => value);

const cronTasks = (scope: TaskRows): readonly KnownTask[] => {
  const ended = new Map(
    rowsOf<ScheduleRunsRow>(scope, SCHEDULE_RUNS_INDEX, JOBS_MAX).map(({ jobId, runs }) => [
      jobId,
      runs,
    ]),
  );
  return rowsOf<ScheduleRow>(scope, SCHEDULES_INDEX, JOBS_MAX).flatMap((row) => {
    const running = row.last?.status === 'running' ? [row.last] : [];
    const fires = [...running, ...(ended.get(row.jobId) ?? [])];
    return fires.filter(({ status }) => status !== 'skipped').map((fire) => cronTask(row, fire));
  });
};

const SUBAGENT_STATUSES = {
  reserved: 'queued',
  starting: 'running',
  running: 'running',
  completed: 'completed',
  failed: 'failed',
  timedOut: 'timed_out',
  killed: 'cancelled',
  refused: 'failed',
} as const satisfies Record<SubagentStatus, TaskStatus>;

export const subagentTask = (row: SubagentRow): KnownTask => {
  const { id, status, parent, createdAt, startedAt, endedAt, reason } = row;
  const summary: TaskSummary = {
    ...ids(id, 'subagent'),
    status: SUBAGENT_STATUSES[status],
    title: row.label ?? row.task,
    agentId: row.agentId,
    sessionKey: parent,
    ownerKey: parent,
    childSessionKey: row.sessionKey,
    runId: row.runId,
    ...times(createdAt, startedAt, endedAt),
    ...defined({ error: reason }),
  };
  return { summary, of: { kind: 'subagent', row } };
};

const FIRE_STATUSES = {
  running: 'running',
  ok: 'completed',
  error: 'failed',
  lost: 'failed',
  skipped: 'failed',
  aborted: 'cancelled',
  timeout: 'timed_out',
} as const satisfies Record<ScheduleFire['status'], TaskStatus>;

export const cronTask = (row: ScheduleRow, fire: ScheduleFire): KnownTask => {
  const { runId, firedAt, endedAt, status, error, text, sessionKey = row.sessionKey } = fire;
  const summary: TaskSummary = {
    ...ids(runId, 'cron'),
    status: FIRE_STATUSES[status],
    title: row.name,
    agentId: row.agentId,
    sessionKey,
    ownerKey: sessionKey,
    childSessionKey: sessionKey,
    runId,
    sourceId: row.jobId,
    ...times(firedAt, firedAt, endedAt),
    ...defined({ terminalSummary: text }),
    ...(error === undefined ? {} : { error: error.message }),
  };
  return { summary, of: { kind: 'cron', row, fire } };
};

const A2A_STATUSES = {
  ACKED: 'queued',
  RUNNING: 'running',
  UNKNOWN: 'running',
  SUCCEEDED: 'completed',
  FAILED: 'failed',
  COMPENSATED: 'failed',
  CANCELLED: 'cancelled',
  EXPIRED: 'timed_out',
} as const satisfies Record<TaskState, TaskStatus>;

const a2aTask = (scope: TaskRows, view: TaskView): KnownTask => {
  const at = (time: string | undefined) => (time === undefined ? undefined : Date.parse(time));
  const summary: TaskSummary = {
    ...ids(view.task_id, 'a2a'),
    kind: view.action,
    status: A2A_STATUSES[view.state],
    title: view.subject === '' ? view.action : `${view.action}: ${view.subject}`,
    ownerKey: view.principal,
    ...defined({ sourceId: view.protocol }),
    ...runOf(scope, view),
    ...times(Date.parse(view.accepted_at), at(view.started_at), at(view.finished_at)),
    ...(view.waiting ? { progressSummary: `waits: ${view.waiting.prompt}` } : {}),
    ...(view.error ? { error: view.error.message } : {}),
  };
  return { summary, of: { kind: 'a2a', view } };
};

/** The run of a message to an agent, when its session has received it. */
function runOf({ system, tenant }: TaskRows, { action, task_id }: TaskView) {
  if (action !== SEND_MESSAGE) return {};
  const row = system.index.get<RunRow>('runs', tenant, messageRunId(task_id));
  return row ? { runId: row.runId, sessionKey: row.sessionKey } : {};
}

const ids = <R extends TaskSummary['runtime']>(id: string, runtime: R) => ({
  id,
  taskId: id,
  runtime,
});

const times = (createdAt: number, startedAt?: number, endedAt?: number) => ({
  createdAt,
  updatedAt: endedAt ?? startedAt ?? createdAt,
  ...defined({ startedAt, endedAt }),
});
