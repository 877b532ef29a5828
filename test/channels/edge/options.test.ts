/** What entry points can ask of the Edge beside the envelope: no order, and another wait. */
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { Edge } from '../../../channels/edge/edge.ts';
import { envelope, errorOf, openRealTasks, type RealTasks, sender, taskOf } from './real-tasks.ts';

let real: RealTasks;
let edge: Edge;
beforeAll(async () => {
  real = await openRealTasks();
  edge = real.edge();
});
afterAll(() => real.stop());

const send = sender(() => edge);

test('work without an order is accepted with any seq, and its repeats are recognized', async () => {
  const first = envelope({ context_id: 'unordered', seq: 100 });
  await send(first);
  const earlier = envelope({ context_id: 'unordered', seq: 99 });
  const view = taskOf(await send(earlier, { isUnordered: true }));
  expect(view.state).toBe('SUCCEEDED');
  expect(taskOf(await send(earlier, { isUnordered: true })).task_id).toBe(view.task_id);
  const other = { ...earlier, payload: { ...earlier.payload, text: 'other' } };
  expect(errorOf(await send(other, { isUnordered: true })).code).toBe('CONFLICT');
});

test('an answer comes with `until` when the task waits, or as it is when the client is gone', async () => {
  const { signal } = new AbortController();
  const asking = envelope({ action: 'test.ask_word', payload: { schema_version: '1.0' } });
  expect(taskOf(await send(asking, { until: { signal } })).waiting).toMatchObject({
    for: 'input',
  });
  const gone = AbortSignal.abort();
  const gate = envelope({ action: 'test.hold_work' });
  const holding = { ...gate, payload: { schema_version: '1.0', gate: gate.idempotency_key } };
  for (const until of [{ signal: gone }, { signal, limitMs: 1 }])
    expect(taskOf(await send(holding, { until })).finished_at).toBeUndefined();
  real.gate.open(gate.idempotency_key);
  expect(taskOf(await send(holding, { until: { signal } })).state).toBe('SUCCEEDED');
});
