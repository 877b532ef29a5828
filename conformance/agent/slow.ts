/**
 * Work that takes a given time, can be cancelled, and is compensated. The compensation stores a
 * file whose name is derived from the task, so that a later action can look it up.
 */
import { createHash } from 'node:crypto';
import { setTimeout as pause } from 'node:timers/promises';
import { errorData } from '../../protocols/errors.ts';
import type { ActionContext, ActionOptions, Perform } from '../../actors/task/action.ts';

const markOf = (taskId: string): Buffer => Buffer.from(`undone: ${taskId}\n`);

/** @throws AbortError immediately when the task is cancelled or the worker stops */
export const runSlowly: Pick<ActionOptions, 'perform' | 'compensate'> = {
  perform: async ({ seconds }, { signal, taskId }) => {
    await pause(Number(seconds) * 1_000, undefined, { signal });
    return { seconds, task_id: taskId };
  },
  compensate: async (_, { tenant, taskId, artifacts }) =>
    artifacts.put(tenant, markOf(taskId), { contentType: 'text/plain' }),
};

export const checkUndone: Perform = async ({ task_id }, context) => ({
  undone: await isUndone(String(task_id), context),
});

async function isUndone(
  taskId: string,
  { tenant, artifacts }: Pick<ActionContext, 'tenant' | 'artifacts'>,
): Promise<boolean> {
  try {
    await artifacts.get(tenant, createHash('sha256').update(markOf(taskId)).digest('hex'));
    return true;
  } catch (error) {
    if (errorData(error).code === 'NOT_FOUND') return false;
    throw error;
  }
}
