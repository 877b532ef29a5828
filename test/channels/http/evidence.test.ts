/** Evidence is a result of a task: a caller that may not reach the task may not read it. */
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type EvidenceRoutesOptions, evidenceRoutes } from '../../../channels/http/evidence.ts';
import { routeListener, SERVER_OPTIONS } from '../../../channels/http/listener.ts';
import type { Caller, Edge } from '../../../channels/edge/edge.ts';
import { TASKS_INDEX } from '../../../protocols/task.ts';
import { bytesOf, envelope, openRealTasks, type RealTasks, taskOf } from '../edge/real-tasks.ts';

const callers: readonly Caller[] = [
  { sub: 'alice', roles: ['agent'], tenant: 'acme', profile: 'A2A-Basic' },
  { sub: 'anna', roles: ['auditor'], tenant: 'acme', profile: 'A2A-Basic' },
  { sub: 'boss', roles: ['operator'], tenant: 'acme', profile: 'A2A-Basic' },
  { sub: 'clerk', roles: ['clerk'], tenant: 'acme', profile: 'A2A-Basic' },
  { sub: 'mallory', roles: ['agent', 'operator'], tenant: 'other', profile: 'A2A-Basic' },
];
const identity: EvidenceRoutesOptions['identity'] = {
  authenticate: ({ authorization = '' }) =>
    Promise.resolve(callers.find(({ sub }) => authorization.endsWith(sub))!),
};

let real: RealTasks;
let edge: Edge;
const servers: Server[] = [];
beforeAll(async () => {
  real = await openRealTasks();
  edge = real.edge();
  const payload = { schema_version: '1.0', job_id: 'job-1' };
  const bytes = bytesOf(envelope({ action: 'test.verify_job', payload }));
  const answer = await edge.submit({ transport: 'http', bytes, authorization: 'Bearer alice' });
  taskOf(answer);
});
afterAll(async () => {
  for (const server of servers) server.close();
  edge.close();
  await real.stop();
});

/** By caller: the status, and the fields of the first record. */
const readers = async (index: EvidenceRoutesOptions['index'] = real.system.index) => {
  const { offers } = real;
  const artifacts = { sign: () => Promise.reject(new Error('this test signs nothing')) };
  const routes = evidenceRoutes({ index, identity, artifacts, offers });
  const listener = routeListener({ routes, log: { error: () => {} } });
  const server = createServer(SERVER_OPTIONS, (request, response) => {
    listener(request, response);
  });
  servers.push(server);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  const answers = callers.map(async ({ sub }) => {
    const headers = { authorization: `Bearer ${sub}`, connection: 'close' };
    const answer = await fetch(`http://127.0.0.1:${port}/evidence/job-1`, { headers });
    const { records = [] } = (await answer.json()) as { records?: object[] };
    return [sub, [answer.status, ...records.map((record) => 'task' in record)]] as const;
  });
  return Object.fromEntries(await Promise.all(answers));
};

test("evidence is available to callers that reach its task, and does not name the task's owner", async () => {
  expect(await readers()).toEqual({
    alice: [200, false],
    anna: [200, false],
    boss: [200, false],
    clerk: [404],
    mallory: [404],
  });
});

test('evidence of earlier versions is available to callers of its task, later to operators', async () => {
  const { index } = real.system;
  const withoutTask: EvidenceRoutesOptions['index'] = {
    get: (name, tenant, key) => index.get(name, tenant, key),
    list: <Row>(...args: Parameters<typeof index.list>) =>
      index.list<Row & { task?: unknown }>(...args).map((row) => {
        const { task: _, ...value } = row.value;
        return { ...row, value: value as Row };
      }),
  };
  const remembered = await readers(withoutTask);
  expect(remembered).toMatchObject({ alice: [200, false], anna: [200, false], clerk: [404] });
  const get: typeof index.get = (name, tenant, key) =>
    name === TASKS_INDEX ? undefined : index.get(name, tenant, key);
  const forgotten = await readers({ ...withoutTask, get });
  expect(forgotten).toMatchObject({ alice: [404], anna: [404], boss: [200, false], clerk: [404] });
});
