/** `tasks.*` lists and cancels background work; `send` adds a message to a user's session. */
import type { SessionScope } from '../tenant/tenant-scope.ts';
import {
  type SendParams,
  type TasksCancelParams,
  type TasksGetParams,
  type TasksListParams,
} from '../../../protocols/gateway/index.ts';
import { keyNamed } from '../../../operations/sessions/find-session.ts';
import { cancelTask } from '../../../operations/tasks/cancel-task.ts';
import { listTasks, showTask } from '../../../operations/tasks/task-list.ts';
import { injectOnce } from './chat/inject.ts';
import { type MethodTable, published } from './method.ts';
import { principalOf, type Request } from './request.ts';
import { refuseEmpty } from './chat/run.ts';

/** What methods about tasks need. */
export type TaskContext = SessionScope;

const tasksList = ({ context }: Request<TaskContext>, params: TasksListParams) =>
  listTasks(context, params);

const tasksGet = ({ context }: Request<TaskContext>, { taskId }: TasksGetParams) => ({
  task: showTask(context, taskId),
});

const tasksCancel = (request: Request<TaskContext>, { taskId, reason }: TasksCancelParams) =>
  cancelTask({ ...request.context, principal: principalOf(request) }, taskId, reason);

// ---- send

/** Users read messages in the gateway's own chat, so the text is added to the session. */
const send = async (request: Request<TaskContext>, params: SendParams) => {
  const { message = '', idempotencyKey, agentId } = params;
  refuseEmpty(message);
  const { sessionKey } = keyNamed(request.context, {
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
