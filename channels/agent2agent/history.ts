/**
 * The history of a task: the messages of its client, and the questions of the agent that were
 * answered. A question that waits for its answer is the status message.
 */
import { type Message, Role } from '@a2a-js/sdk';
import { SEND_MESSAGE } from '../../protocols/agent-message.ts';
import type { TaskMessage, TaskRowWithMessages } from '../../protocols/agent2agent.ts';
import { TroupeError } from '../../protocols/errors.ts';
import { taskAddress, TASKS_INDEX, type TaskView } from '../../protocols/task.ts';
import { isRepeatedInput } from '../../protocols/task-input.ts';
import type { Index } from '../../runtime/index.ts';
import { readingsOf } from './message.ts';
import { contextOf, part, questionOf } from './task-view.ts';

const LEFT_OUT = '[this message is not shown: it is longer than 65,536 characters]';

export class Histories {
  readonly #index: Pick<Index, 'get'>;

  constructor(index: Pick<Index, 'get'>) {
    this.#index = index;
  }

  /** The newest messages, the oldest of them first. @param length default: all that are stored */
  of(view: TaskView, length?: number): Message[] {
    if (length === 0 || view.agent_id === undefined) return [];
    const newest = (this.#row(view)?.messages ?? []).slice(length === undefined ? 0 : -length);
    return newest.map((message) => shown(view, message));
  }

  /**
   * Whether the task has accepted this message as an input, whatever it waits for now.
   * @throws TroupeError CONFLICT when it has accepted another one with its messageId
   */
  hasInput(view: TaskView, message: Message): boolean {
    return isRepeatedInput(this.#row(view)?.answers, message.messageId, readingsOf(message));
  }

  #row({ tenant_id: tenant, task_id: id }: TaskView): TaskRowWithMessages | undefined {
    return this.#index.get(TASKS_INDEX, tenant, id, taskAddress(tenant, id));
  }
}

/** @throws TroupeError INVALID_ARGUMENT */
export function assertHistoryLength(length: number | undefined): void {
  if (length === undefined || (Number.isInteger(length) && length >= 0)) return;
  throw new TroupeError('INVALID_ARGUMENT', 'historyLength must be a whole number, 0 or above');
}

function shown(view: TaskView, message: TaskMessage): Message {
  if (message.kind === 'question')
    return questionOf(view, { ...message.waiting, events: Number(message.id) });
  return {
    messageId: message.id,
    contextId: contextOf(view),
    taskId: view.task_id,
    role: Role.ROLE_USER,
    parts: [partOf(view, message)],
    metadata: undefined,
    extensions: [],
    referenceTaskIds: [],
  };
}

function partOf({ action }: TaskView, message: Exclude<TaskMessage, { kind: 'question' }>) {
  switch (message.kind) {
    case 'left out':
      return part({ $case: 'text', value: LEFT_OUT }, 'text/plain');
    case 'input':
      return typeof message.input === 'string'
        ? part({ $case: 'text', value: message.input }, 'text/plain')
        : part({ $case: 'data', value: message.input }, 'application/json');
    case 'request': {
      const { schema_version: _, ...payload } = message.payload;
      return action === SEND_MESSAGE
        ? part({ $case: 'text', value: String(payload['message']) }, 'text/plain')
        : part({ $case: 'data', value: { action, payload } }, 'application/json');
    }
  }
}
