/** Reads are bounded, too: tasks by a separate quota, streams by their number. */
import { afterAll, beforeAll, expect, it } from 'vitest';
import type { Edge } from '../../../channels/edge/edge.ts';
import { TokenQuota } from '../../../channels/edge/quota.ts';
import type { Gateway } from '../../../channels/gateway/gateway.ts';
import { envelopeRoutes } from '../../../channels/http/envelopes.ts';
import { EventStreams } from '../../../channels/http/event-streams.ts';
import { type TaskRoutesOptions, taskRoutes } from '../../../channels/http/tasks.ts';
import type { Envelope } from '../../../protocols/envelope.ts';
import type { TaskView } from '../../../protocols/task.ts';
import { systemClock } from '../../../runtime/index.ts';
import { eventually } from '../../runtime/eventually.ts';
import { envelope, namedCallers, openRealTasks, type RealTasks } from '../edge/real-tasks.ts';
import { gatewayOn } from '../gateway/client.ts';

let real: RealTasks;
let gateway: Gateway;
const open = async (edge: Edge, more: Partial<TaskRoutesOptions> = {}) => {
  const streams = new EventStreams();
  const tasks = taskRoutes({ edge, identity: namedCallers, streams, ...more });
  gateway = await gatewayOn(real.system, { routes: [...envelopeRoutes(edge), ...tasks] });
};
beforeAll(async () => {
  real = await openRealTasks();
});
afterAll(() => real.stop());

const call = (path: string, init: RequestInit = {}) =>
  fetch(new URL(path, gateway.url), {
    ...init,
    headers: { authorization: 'Bearer alice', 'content-type': 'application/json' },
  });
const send = (value: Envelope) =>
  call('/v1/envelopes', { method: 'POST', body: JSON.stringify(value) });
const idOf = async (response: Response) => ((await response.json()) as TaskView).task_id;

it('bounds reads by a separate quota', async () => {
  const limits = { principalPerMinute: 1, externalPerMinute: 1, tenantPerMinute: 10 };
  const reads = new TokenQuota(limits, real.system, systemClock);
  await open(real.edge({ reads }));
  const id = await idOf(await send(envelope()));
  expect((await call(`/v1/tasks/${id}`)).status).toBe(200);
  const refused = await call(`/v1/tasks/${id}`);
  expect(refused.status).toBe(429);
  expect(Number(refused.headers.get('retry-after'))).toBeGreaterThanOrEqual(1);
  expect((await send(envelope())).status).toBe(200);
  await gateway.close();
});

it('bounds the streams of a principal, who may open another after one has ended', async () => {
  await open(real.edge(), { streams: new EventStreams({ all: 2, own: 1 }) });
  const payload = { schema_version: '1.0', gate: 'streams' };
  const id = await idOf(await send(envelope({ action: 'test.hold_work', payload })));
  const first = await call(`/v1/tasks/${id}/events`);
  expect([first.status, (await call(`/v1/tasks/${id}/events`)).status]).toEqual([200, 429]);
  await eventually(() => expect(real.gate.begun).toContain('streams'));
  real.gate.open('streams');
  expect(await first.text()).toContain('test.hold_work.done');
  expect((await call(`/v1/tasks/${id}/events`)).status).toBe(200);
  await gateway.close();
});
