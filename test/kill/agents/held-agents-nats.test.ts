/**
 * As held-agents.test.ts, in a cluster on NATS, where parents, subagents and their sessions are on
 * different workers. Each worker is killed once while no run progresses. So each actor stops in its
 * state together with its parent, before it, or after it. Then a worker is killed whose actors wait
 * for a worker that does not respond.
 */
import { afterAll, expect, test } from 'vitest';
import type { GatewayClient } from '../../../client/gateway-client.ts';
import { eventually } from '../../runtime/eventually.ts';
import { checkAll } from './agent-checks.ts';
import { connectTo } from '../conversations.ts';
import {
  areHeld,
  HeldAgents,
  killDoomed,
  killSubagent,
  rest,
  rowsOf,
  STATES,
  statesOf,
} from './held-agents.ts';
import { describeWithNats, TestCluster, WORKERS } from '../test-cluster.ts';

let held: HeldAgents | undefined;
const cluster = new TestCluster((data) => held!.configure(data));
let client: GatewayClient | undefined;
afterAll(async () => {
  client?.close();
  await held?.model.close();
});

/** Some subagents wait for their session or parent, and some messages are not delivered yet. */
async function areWaiting(): Promise<void> {
  const { subagents, conversations } = await rowsOf(cluster.url);
  const found = [
    ...subagents.flatMap(({ label, status, endedAt, reported }) => {
      if (endedAt !== undefined && reported === undefined) return [`${label} reporting`];
      return status === 'starting' ? [`${label} starting`] : [];
    }),
    ...conversations
      .filter(({ status, delivered }) => status === 'asking' && !delivered)
      .map(({ requester }) => `${requester} sent`),
  ];
  expect(found).not.toEqual([]);
}

describeWithNats(`a cluster of ${WORKERS.length} workers`, () => {
  test('loses no work of agents when each worker is killed in turn', {
    timeout: 180_000,
  }, async () => {
    held = await HeldAgents.open();
    await cluster.start();
    client = await connectTo(cluster.url);
    const stored = await cluster.openStore();
    await cluster.stableOwners();
    await held.greet(client, 0);
    await held.begin(client, 0);
    const rows = await eventually(() => areHeld(held!, cluster.url, 0));
    const { id } = rows.subagents.find(({ label }) => label === 'doomed-1')!;
    expect(await statesOf(rows, stored)).toEqual(STATES);

    for (const name of WORKERS) {
      const killing =
        name === WORKERS[0] ? killSubagent(cluster.url, id).catch(() => {}) : undefined;
      await cluster.kill(name);
      await killing;
      await cluster.stableOwners(WORKERS.filter((one) => one !== name));
      const { 'doomed-1': _, 'late-1': __, ...states } = await statesOf(rows, stored);
      expect(STATES).toMatchObject(states);
      await cluster.startWorker(name);
      await cluster.stableOwners();
    }

    held.model.release();
    await killSubagent(cluster.url, id);
    await held.end(client);
    await checkAll(await rest(client, cluster.url), stored, [0]);
  });

  test('loses no work of agents that wait for a stopped worker when they are killed', {
    timeout: 180_000,
  }, async () => {
    const [victim, silent] = ['ann', 'cleo'];
    for (const suffix of [1, 2]) await held!.greet(client!, suffix);
    held!.model.hold();
    await held!.begin(client!, 1);
    await eventually(() => areHeld(held!, cluster.url, 1));

    cluster.program(silent).child.kill('SIGSTOP');
    held!.model.release();
    const beginning = held!.begin(client!, 2);
    await eventually(areWaiting);
    await cluster.kill(victim);
    cluster.program(silent).child.kill('SIGCONT');
    await cluster.startWorker(victim);
    await beginning;

    await held!.end(client!);
    await killDoomed(cluster.url);
    await checkAll(await rest(client!, cluster.url), await cluster.openStore(), [0, 1, 2]);
  });
});
