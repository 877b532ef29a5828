/**
 * Background tasks: subagents, runs of schedules, and tasks that other agents requested. Lists use
 * committed rows; the actor of a task decides about its cancellation.
 */
import { Type } from '@sinclair/typebox';
import { defined } from '../protocols/defined.ts';
import { TroupeError } from '../protocols/errors.ts';
import { TASKS_PAGE, TASKS_PAGE_MAX, TaskSummary } from '../protocols/gateway/work.ts';
import { cancelTask } from './tasks/cancel-task.ts';
import { listTasks, showTask } from './tasks/task-list.ts';
import { defineOperation, type Resource } from './operation.ts';
import { ago, oneLine, table } from './text.ts';

const Id = Type.String({ minLength: 1, description: 'Id of the task, from the list' });
const STATUSES = ['queued', 'running', 'completed', 'failed', 'cancelled', 'timed_out'] as const;

const list = defineOperation({
  name: 'tasks.list',
  scope: 'tenant',
  summary: 'List background tasks: subagents, scheduled runs and tasks of other agents',
  params: Type.Object({
    status: Type.Optional(
      Type.Union(
        STATUSES.map((status) => Type.Literal(status)),
        { description: 'Only tasks with this status' },
      ),
    ),
    agent: Type.Optional(Type.String({ description: 'Only tasks of this agent' })),
    session: Type.Optional(Type.String({ description: 'Only tasks of this session key' })),
    limit: Type.Optional(
      Type.Integer({
        minimum: 1,
        maximum: TASKS_PAGE_MAX,
        description: `Maximum number; default ${TASKS_PAGE}`,
      }),
    ),
    cursor: Type.Optional(Type.String({ description: '`nextCursor` of the previous page' })),
  }),
  result: Type.Object({
    tasks: Type.Array(TaskSummary),
    nextCursor: Type.Optional(Type.String()),
  }),
  errors: ['INVALID_ARGUMENT'],
  http: {
    method: 'GET',
    path: '/v1/background-tasks',
    operationId: 'listBackgroundTasks',
    responses: { 200: 'The tasks, the last changed first' },
  },
  cli: {
    command: 'tasks list',
    connection: 'websocket',
    flags: { status: '--status <status>', agent: '--agent <id>', session: '--session <key>' },
    examples: ['troupe tasks', 'troupe tasks --status running --agent main'],
    print: ({ tasks }) => listText(tasks, Date.now()),
  },
  run: ({ system, tenant }, { agent, session, ...more }) =>
    listTasks({ system, tenant }, { ...more, ...defined({ agentId: agent, sessionKey: session }) }),
});

const listText = (tasks: readonly TaskSummary[], now: number): string =>
  tasks.length === 0
    ? 'no background tasks\n'
    : table(
        ['task', 'kind', 'status', 'changed', 'by', 'session', 'title'],
        tasks.map((task) => [
          task.id,
          task.runtime,
          task.status,
          `${ago(now - task.updatedAt)} ago`,
          byOf(task),
          task.sessionKey ?? '',
          oneLine(task.title ?? '').slice(0, 60),
        ]),
      );

/** Who requested a task of another agent, and by which protocol. */
const byOf = ({ runtime, ownerKey = '', sourceId }: TaskSummary): string =>
  runtime === 'a2a' ? [oneLine(ownerKey).slice(0, 40), sourceId].filter(Boolean).join(' ') : '';

const show = defineOperation({
  name: 'tasks.show',
  scope: 'tenant',
  summary: 'Show a background task with its prompt and its result',
  params: Type.Object({ id: Id }),
  result: TaskSummary,
  errors: ['INVALID_ARGUMENT', 'NOT_FOUND'],
  http: {
    method: 'GET',
    path: '/v1/background-tasks/{id}',
    operationId: 'getBackgroundTask',
    responses: { 200: 'The task' },
  },
  cli: {
    command: 'tasks show',
    args: ['id'],
    connection: 'websocket',
    examples: ['troupe tasks show 7f3c'],
    print: (task) =>
      Object.entries(task)
        .map(([name, value]) => `${name.padEnd(16)}  ${oneLine(String(value))}\n`)
        .join(''),
  },
  run: ({ system, tenant }, { id }) => showTask({ system, tenant }, id),
});

const cancel = defineOperation({
  name: 'tasks.cancel',
  scope: 'tenant',
  gatewayScope: 'operator.write',
  summary: 'Cancel a background task',
  params: Type.Object({
    id: Id,
    reason: Type.Optional(
      Type.String({
        minLength: 1,
        maxLength: 1_024,
        description: 'The reason, which its requester receives',
      }),
    ),
  }),
  result: Type.Object({
    cancelled: Type.Boolean(),
    reason: Type.Optional(Type.String({ description: 'Why it was not cancelled' })),
    task: Type.Optional(TaskSummary),
  }),
  errors: ['INVALID_ARGUMENT', 'NOT_FOUND', 'DEADLINE_EXCEEDED'],
  http: {
    method: 'POST',
    path: '/v1/background-tasks/{id}/cancel',
    operationId: 'cancelBackgroundTask',
    responses: { 200: 'Cancelled, or the reason why it was not' },
  },
  cli: {
    command: 'tasks cancel',
    args: ['id'],
    connection: 'websocket',
    flags: { reason: '--reason <text>' },
    examples: ["troupe tasks cancel 7f3c --reason 'no longer needed'"],
    print: ({ cancelled, reason }, { id }) =>
      cancelled ? `${id} is cancelled\n` : `${id} was not cancelled: ${reason}\n`,
    isFailure: ({ cancelled }) => !cancelled,
  },
  async run({ system, tenant, caller }, { id, reason }) {
    const principal = { sub: caller.sub, roles: ['operator'] };
    const { found, ...result } = await cancelTask({ system, tenant, principal }, id, reason);
    if (found) return result;
    throw new TroupeError('NOT_FOUND', `there is no task ${id.slice(0, 80)}`);
  },
});

export const tasks: Resource = { name: 'tasks', operations: [list, show, cancel] };
