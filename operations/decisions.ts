/**
 * Decisions: tasks that wait for an operator, because the outcome of their work is unknown or their
 * compensation failed permanently. The task actor decides which decisions it accepts.
 */
import { Type } from '@sinclair/typebox';
import { TroupeError } from '../protocols/errors.ts';
import {
  isFinal,
  taskAddress,
  type TaskDecide,
  type TaskRow,
  TASKS_INDEX,
  type TaskView,
} from '../protocols/task.ts';
import { askActor } from './ask-actor.ts';
import { defineOperation, type OperationContext, type Resource } from './operation.ts';
import { rowsOf } from './rows.ts';
import { ago, table } from './text.ts';

const LISTED_MAX = 1_000;

/** The view of a task, in the OpenAPI document. */
export const TASK_REF = '#/components/schemas/Task';
const Task = Type.Unsafe<TaskView>(Type.Ref(TASK_REF));

const list = defineOperation({
  name: 'decisions.list',
  scope: 'any-tenant',
  summary: 'List tasks that wait for a decision, longest waiting first',
  params: Type.Object({}),
  result: Type.Object({ tasks: Type.Array(Task) }),
  errors: ['INVALID_ARGUMENT'],
  http: {
    method: 'GET',
    path: '/v1/decisions',
    operationId: 'listDecisions',
    responses: { 200: 'The first 1,000 that were found, longest waiting first' },
  },
  cli: {
    command: 'decisions list',
    examples: ['troupe decisions list'],
    print: ({ tasks }) => listText(tasks, Date.now()),
  },
  async run({ system, tenant }) {
    const tasks: TaskView[] = [];
    for await (const { view } of rowsOf<TaskRow>(system.index, TASKS_INDEX, tenant)) {
      if (view.waiting?.for === 'decision') tasks.push(view);
      if (tasks.length === LISTED_MAX) break;
    }
    return { tasks: tasks.sort((a, b) => (since(a) < since(b) ? -1 : 1)) };
  },
});

const since = ({ waiting }: TaskView): string => waiting?.since ?? '';

const answer = defineOperation({
  name: 'decisions.answer',
  scope: 'any-tenant',
  summary: 'Decide the outcome of lost work, or what to do about a failed compensation',
  params: Type.Object({
    task_id: Type.String({ description: 'Id of the task' }),
    decision: Type.Union(
      [Type.Literal('again'), Type.Literal('done'), Type.Literal('failed'), Type.Literal('accept')],
      { description: 'Run it again, it was done, it failed, or leave it unchanged' },
    ),
    why: Type.String({
      minLength: 1,
      maxLength: 1_024,
      description: 'The reason, which is recorded',
    }),
    result: Type.Optional(Type.Unknown({ description: 'Result of the work, with `done`' })),
  }),
  result: Task,
  errors: ['INVALID_ARGUMENT', 'NOT_FOUND', 'CONFLICT', 'DEADLINE_EXCEEDED'],
  secret: /^\/result/,
  http: {
    method: 'POST',
    path: '/v1/decisions/{task_id}',
    operationId: 'decideTask',
    responses: { 200: 'The task has ended', 202: 'The task has not ended yet' },
    reply: (view) =>
      isFinal(view.state)
        ? { status: 200 }
        : { status: 202, headers: { location: taskUrl(view), 'retry-after': '1' } },
    bodyBytesMax: 262_144,
  },
  cli: {
    command: 'decisions answer',
    args: ['task_id', 'decision'],
    flags: { why: '--why <text>', result: '--result <json>' },
    examples: ["troupe decisions answer 7f3c done --why 'the bank has the transfer'"],
    print: (view) => `${view.task_id} is ${view.state}\n`,
  },
  run: (context, { task_id, why, ...decision }) =>
    decide(context, task_id, {
      type: 'task.decide',
      ...decision,
      why: `${why} (${context.caller.sub})`,
    }),
});

const taskUrl = ({ task_id }: TaskView): string => `/v1/tasks/${encodeURIComponent(task_id)}`;

/** The task after the decision; its committed row if the task does not answer in time. */
async function decide(
  context: OperationContext,
  taskId: string,
  message: TaskDecide,
): Promise<TaskView> {
  const { system, tenant } = context;
  const to = taskAddress(tenant, taskId);
  try {
    return await askActor<TaskView>(context, to, message, { name: `task ${taskId}` });
  } catch (error) {
    const row = system.index.get<TaskRow>(TASKS_INDEX, tenant, taskId);
    if (row && error instanceof TroupeError && error.code === 'DEADLINE_EXCEEDED') return row.view;
    throw error;
  }
}

export const decisions: Resource = {
  name: 'decisions',
  operations: [list, answer],
};

function listText(tasks: readonly TaskView[], now: number): string {
  if (tasks.length === 0) return 'no task waits for a decision\n';
  const cells = tasks.map(({ task_id, state, waiting, action }) => [
    task_id,
    state,
    waiting ? ago(now - Date.parse(waiting.since)) : '',
    action,
  ]);
  const prompts = tasks.map(({ task_id, waiting }) => `\n${task_id}\n  ${waiting?.prompt ?? ''}\n`);
  return table(['task', 'state', 'waits', 'action'], cells) + prompts.join('');
}
