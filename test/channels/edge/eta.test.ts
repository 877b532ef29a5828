/** The time that a payload requests for its task, `eta_sec`. */
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
