/** One envelope, from the entry point to its work, is one trace. */
import { afterAll, afterEach, beforeAll, beforeEach, expect, it } from 'vitest';
import { observed } from '../../../channels/edge/observed.ts';
import { createMetrics, systemClock } from '../../../runtime/index.ts';
import { eventually } from '../../runtime/eventually.ts';
import { type RecordingTracer, registerTracer } from '../../runtime/observe/tracer.ts';
import { bytesOf, envelope, openRealTasks, type RealTasks } from './real-tasks.ts';

const callerSpan = '00f067aa0ba902b7';

let real: RealTasks;
let tracer: RecordingTracer;
beforeAll(async () => {
  real = await openRealTasks();
});
afterAll(() => real.stop());
beforeEach(() => {
  tracer = registerTracer();
});
afterEach(() => tracer.stop());

const send = (value: unknown, traceparent?: string) => {
  const metrics = createMetrics({ process: false });
  const edge = real.edge({ onRequest: observed(metrics, systemClock) });
  return edge.submit({
    transport: 'nats',
    bytes: bytesOf(value),
    authorization: 'Bearer alice',
    traceparent,
  });
};

it('an envelope and its work are one trace, that of the envelope and its caller', async () => {
  const asked = envelope();
  const answer = await send(asked, `00-${asked.trace_id}-${callerSpan}-01`);
  expect(answer).toMatchObject({ kind: 'task', view: { trace_id: asked.trace_id } });
  const [work, served] = await eventually(() => {
    expect(tracer.spans()).toHaveLength(2);
    return tracer.spans().toSorted((a, b) => (a.name < b.name ? 1 : -1));
  });
  expect([work!.name, served!.name]).toEqual(['effect task.perform', 'a2a.submit test.echo_text']);
  for (const span of [work!, served!]) expect(span.spanContext().traceId).toBe(asked.trace_id);
  expect(served!.parentSpanContext?.spanId).toBe(callerSpan);
  expect(served!.attributes).toMatchObject({
    'troupe.transport': 'nats',
    'troupe.request_id': asked.request_id,
    'troupe.status': 'SUCCEEDED',
  });
});

it('a refused envelope is a span with the code of its error', async () => {
  const asked = envelope({ action: 'test.find_nothing' });
  await send(asked);
  const [served] = tracer.spans();
  expect(served!.spanContext().traceId).toBe(asked.trace_id);
  expect(served!.attributes).toMatchObject({
    'troupe.status': 'REFUSED',
    'error.type': 'NOT_FOUND',
  });
});
