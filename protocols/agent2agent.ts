/** What servers and clients of the Agent2Agent protocol (A2A), and task actors, share. */
import { hash } from 'node:crypto';
import type { TaskRow, TaskView, Waiting } from './task.ts';

/**
 * URI of an extension in an agent card (`capabilities.extensions`): the agent does the work of a
 * message once per `messageId` of a caller, and answers a repeat with the same task. A client may
 * then repeat a message whose answer was lost.
 */
export const DEDUPLICATION_EXTENSION = 'urn:troupe:a2a:message-deduplication:1.0';

/** A message of a task's history. */
export type TaskMessage = {
  /** of a client: its `messageId`; of the task: number of its newest event then */
  readonly id: string;
  /** RFC 3339 */
  readonly at: string;
} & (
  | { readonly kind: 'request'; readonly payload: Readonly<Record<string, unknown>> }
  | { readonly kind: 'input'; readonly input: unknown }
  | { readonly kind: 'question'; readonly waiting: Waiting }
  /** too large to be stored */
  | { readonly kind: 'left out' }
);

/** The row of a task; `messages`, oldest first, of one that an A2A client created. */
export type TaskRowWithMessages = TaskRow & { readonly messages?: readonly TaskMessage[] };

/** Index of the tasks that A2A clients created, key `agentTasksPrefix` and the task's id. */
export const AGENT_TASKS_INDEX = 'agent2agent_tasks';
/** What a list of tasks filters and sorts by. */
export type AgentTaskRow = Pick<TaskView, 'task_id' | 'state' | 'context_id' | 'outcome'> & {
  readonly waiting?: Pick<Waiting, 'for'>;
  /** `changedAt` */
  readonly at: string;
};

/** Of the tasks that a principal has created at the address of an agent. */
export const agentTasksPrefix = (principal: string, agentId: string): string =>
  `${hash('sha256', JSON.stringify([principal, agentId]), 'base64url')}.`;

/** Time of the newest change of a task that a client can see; it never goes back. */
export const changedAt = ({
  finished_at,
  waiting,
  resumed_at,
  events,
  accepted_at,
}: TaskView): string =>
  finished_at ?? waiting?.since ?? resumed_at ?? events.at(-1)?.at ?? accepted_at;
