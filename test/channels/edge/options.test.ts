/** What a request can ask beside its work: no order, another wait, more time for its task. */
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

test('an envelope may request more time than its action has, and not less', async () => {
  const asking = (eta_sec: number) =>
    envelope({ payload: { schema_version: '1.0', text: '', eta_sec } });
  expect(taskOf(await send(asking(900))).eta_sec).toBe(900);
  expect(taskOf(await send(asking(1))).eta_sec).toBe(300);
  expect(taskOf(await send(asking(1e9))).eta_sec).toBe(86_400);
});

test.each(['test.ask_word', 'test.keep_form'])(
  'requests a valid time, if the schema of %s, closed or open, has no field for it',
  async (action) => {
    const asking = (eta_sec: unknown) =>
      envelope({ action, payload: { schema_version: '1.0', eta_sec } });
    expect(taskOf(await send(asking(900), { waitMs: 0 })).eta_sec).toBe(900);
    const errors = [{ path: '/payload/eta_sec' }];
    for (const wrong of [0, 1.5, 'soon', 1e9, null])
      expect(errorOf(await send(asking(wrong))).details).toMatchObject({ errors });
  },
);
