/**
 * Opened results: an Edge that shows the result of sensitive work to who may read its task, and
 * tells no event with it. What is stored stays sealed.
 *
 * Boundary: the Edge below has already decided who may read what.
 */
import type { TaskView } from '../../protocols/task.ts';
import { withoutSealedResult } from '../../protocols/sealed-result.ts';
import type { Edge } from './edge.ts';

/** @param open shows what is sealed; a view whose result it cannot open comes back as it is */
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
  cancel: async (...args) => open(await edge.cancel(...args)),
  input: async (...args) => open(await edge.input(...args)),
  close: () => edge.close(),
});
