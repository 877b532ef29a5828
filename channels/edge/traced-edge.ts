/**
 * TracedEdge: an Edge that tells a tracer of every envelope (EN17). Where no tracer is registered
 * it costs about a microsecond.
 */
import { errorData } from '../../protocols/errors.ts';
import { type Clock, recordServed } from '../../runtime/index.ts';
import type { Edge, EdgeAnswer, EdgeRequest } from './edge.ts';

export const tracedEdge = (edge: Edge, clock: Pick<Clock, 'wallMs'>): Edge => ({
  async submit(request) {
    const begunAt = clock.wallMs();
    const answer = await edge.submit(request).catch((error: unknown): EdgeAnswer => {
      return { kind: 'refused', error: errorData(error) };
    });
    record(request, answer, { begunAt, endedAt: clock.wallMs() });
    return answer;
  },
  task: (taskId, credentials) => edge.task(taskId, credentials),
  events: (taskId, credentials, options) => edge.events(taskId, credentials, options),
  cancel: (taskId, credentials, reason) => edge.cancel(taskId, credentials, reason),
  input: (taskId, credentials, input) => edge.input(taskId, credentials, input),
  close: () => edge.close(),
});

function record(
  { transport, traceparent, tracestate }: EdgeRequest,
  answer: EdgeAnswer,
  times: { begunAt: number; endedAt: number },
): void {
  const request = { transport, traceparent, tracestate, ...times };
  if (answer.kind === 'refused') {
    const { error, requestId, traceId } = answer;
    recordServed({ ...request, requestId, traceId, status: 'REFUSED', error: error.code });
    return;
  }
  const { view } = answer;
  recordServed({
    ...request,
    action: view.action,
    tenant: view.tenant_id,
    taskId: view.task_id,
    requestId: view.request_id,
    traceId: view.trace_id,
    status: view.state,
    error: view.error?.code,
  });
}
