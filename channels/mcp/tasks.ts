/**
 * Tasks of the extension on the durable tasks of the Edge: read, followed, given input, cancelled.
 */
import { inputResponse } from '@modelcontextprotocol/server';
import { errorData, TroupeError } from '../../protocols/errors.ts';
import { isFinal, type TaskView } from '../../protocols/task.ts';
import type { Credentials, Edge } from '../edge/edge.ts';
import type { McpCaller, McpTask, McpTasks } from './catalog.ts';
import { inputKeyOf, inputOf, mcpTaskOf, waitsForCaller } from './task-view.ts';

/** How often a followed task is read at least: that it waits for input is no event. */
const LOOK_MS = 1_000;

/** The tasks of the caller, by the extension. */
export const tasksOf = (edge: Edge, caller: () => McpCaller): McpTasks => ({
  get: async (taskId) => mcpTaskOf(await edge.task(taskId, caller().credentials)),
  async update(taskId, inputResponses) {
    const { credentials } = caller();
    const view = await edge.task(taskId, credentials);
    await giveInput(edge, credentials, view, inputResponses);
  },
  async cancel(taskId) {
    await unlessOver(edge.cancel(taskId, caller().credentials, 'the client cancelled the task'));
  },
  follow: (taskId, signal) => follow(edge, caller().credentials, taskId, signal),
});

async function* follow(
  edge: Edge,
  credentials: Credentials,
  taskId: string,
  signal: AbortSignal,
): AsyncGenerator<McpTask, void, void> {
  let sent = '';
  let since: string | undefined;
  try {
    while (!signal.aborted) {
      const view = await edge.settled(taskId, credentials, {
        signal,
        limitMs: LOOK_MS,
        // A wait that the client knows is no news.
        ignores: (waiting) => waiting.since === since,
      });
      const task = mcpTaskOf(view);
      const state = JSON.stringify(task);
      if (state !== sent) yield task;
      sent = state;
      if (isFinal(view.state)) return;
      since = view.waiting?.since;
    }
  } catch (error) {
    // The task was removed, or the token has expired.
    if (!(error instanceof TroupeError)) throw error;
  }
}

/**
 * Gives the user's answer to a task that waits for it; a user who declines cancels the task. Other
 * answers are ignored. Returns the task as it is then.
 */
export async function giveInput(
  edge: Edge,
  credentials: Credentials,
  view: TaskView,
  responses: Readonly<Record<string, unknown>> | undefined,
): Promise<TaskView> {
  const { task_id: taskId, waiting } = view;
  if (!waiting || !waitsForCaller(view)) return view;
  const response = inputResponse({ ...responses }, inputKeyOf(waiting));
  if (response.kind !== 'elicit') return view;
  const changed =
    response.action === 'accept'
      ? edge.input(taskId, credentials, inputOf(waiting, response.content ?? {}))
      : edge.cancel(taskId, credentials, 'the user gave no input');
  return (await unlessOver(changed)) ?? edge.task(taskId, credentials);
}

/**
 * A task that has ended meanwhile, or got its input, stays as it is: that is no error, and returns
 * undefined.
 */
export async function unlessOver(change: Promise<TaskView>): Promise<TaskView | undefined> {
  try {
    return await change;
  } catch (error) {
    if (errorData(error).code !== 'CONFLICT') throw error;
    return undefined;
  }
}
