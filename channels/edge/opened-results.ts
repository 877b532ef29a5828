/**
 * An Edge that returns unsealed results of sensitive work to callers that may read the task. It
 * publishes no event with them, and the stored result stays sealed.
 *
 * Boundary: the Edge below has already authorized the reader.
 */
import type { TaskView } from '../../protocols/task.ts';
import { withoutSealedResult } from '../../protocols/security/sealed-result.ts';
import type { Edge } from './edge.ts';

/** @param open opens a sealed result; a view whose result it cannot open is returned unchanged */
export const withOpenedResults = (
  edge: Edge,
  open: (view: TaskView) => Promise<TaskView>,
): Edge => ({
  async submit(request) {
    const answer = await edge.submit(request);
    return answer.kind === 'task' ? { ...answer, view: await open(answer.view) } : answer;
  },
  task: async (...args) => open(await edge.task(...args)),
  async *events(...args) {
    for await (const event of edge.events(...args))
      yield { ...event, task: withoutSealedResult(event.task) };
  },
  settled: async (...args) => open(await edge.settled(...args)),
  cancel: async (...args) => open(await edge.cancel(...args)),
  input: async (...args) => open(await edge.input(...args)),
  close: () => edge.close(),
});
