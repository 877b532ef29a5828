/**
 * Workers that drain after SIGTERM and are started again, one after the other, while agents wait
 * for each other and while they spawn subagents and send messages. A failure that only the stop
 * causes never becomes the result of a tool.
 */
import { once } from 'node:events';
import { afterAll, expect, test } from 'vitest';
import type { GatewayClient } from '../../../client/gateway-client.ts';
import { eventually } from '../../runtime/eventually.ts';
import { checkAll } from './agent-checks.ts';
import { connectTo } from '../conversations.ts';
import { addressOf, areHeld, HeldAgents, killDoomed, rest, type Rows } from './held-agents.ts';
import { describeWithNats, TestCluster, WORKERS } from '../test-cluster.ts';

/**
 * Shorter than the waits of the agents, so that the stop ends tools that another worker repeats.
 */
const DRAIN_SECONDS = 2;
/** Delay of the model's answers under load, so that a stop interrupts requests. */
const THINK_MS = 40;

let held: HeldAgents | undefined;
const cluster = new TestCluster((data) => held!.configure(data, { drainSeconds: DRAIN_SECONDS }));
let client: GatewayClient | undefined;
afterAll(async () => {
  client?.close();
  await held?.model.close();
});

/** Sends SIGTERM, waits for the end of the process and starts its successor. */
async function restart(name: string): Promise<void> {
  const { child } = cluster.program(name);
  const exited = once(child, 'exit');
  child.kill('SIGTERM');
  expect(await exited).toEqual([0, null]);
  await cluster.startWorker(name);
  const stored = await cluster.openStore();
  await eventually(() => expect(new Set(stored.owners())).toEqual(new Set(WORKERS)));
}

/** Entries of transcripts about a failed tool or about the stop. */
async function stopsReported({ subagents, conversations }: Rows): Promise<readonly string[]> {
  const stored = await cluster.openStore();
  const keys = new Set([
    ...held!.sent.map(({ sessionKey }) => sessionKey),
    ...subagents.flatMap(({ parent, sessionKey }) => [parent, sessionKey]),
    ...conversations.flatMap(({ requester, target }) => [requester, target]),
  ]);
  const reported: string[] = [];
  for (const key of keys)
    for (const entry of await stored.entriesOf(addressOf(key))) {
      const text = JSON.stringify(entry);
      const failed = entry.type === 'tool' && entry.isError;
      if (failed || /is stopping|worker stops|UNAVAILABLE/.test(text))
        reported.push(`${key}: ${text}`);
    }
  return reported;
}

describeWithNats(`a cluster of ${WORKERS.length} workers`, () => {
  test('fails no tool in a rolling restart while agents wait for each other', {
    timeout: 180_000,
  }, async () => {
    held = await HeldAgents.open(THINK_MS);
    await cluster.start();
    const { url } = cluster;
    client = await connectTo(url);
    await held.greet(client, 0);
    await held.begin(client, 0);
    await eventually(() => areHeld(held!, url, 0));

    for (const name of WORKERS) await restart(name);

    held.model.release();
    await held.end(client);
    await killDoomed(url);
    const rows = await rest(client, url);
    expect(await stopsReported(rows)).toEqual([]);
    await checkAll(rows, await cluster.openStore(), [0]);
  });

  test('fails no tool in rolling restarts while agents spawn and send', {
    timeout: 240_000,
  }, async () => {
    const { url } = cluster;
    const suffixes = [1, 2, 3];
    for (const suffix of suffixes) await held!.greet(client!, suffix);
    const roots: string[] = [];
    for (const [n, suffix] of suffixes.entries()) {
      const begun = held!.begin(client!, suffix);
      const stopped = restart(WORKERS[n]!);
      const more = Array.from({ length: 6 }, (_, at) => `agent:main:more-${suffix}-${at}`);
      roots.push(...more);
      await held!.plant(client!, 'waits', more);
      await Promise.all([begun, stopped]);
    }
    await held!.end(client!);
    await killDoomed(url);
    const rows = await rest(client!, url);
    expect(await stopsReported(rows)).toEqual([]);
    await checkAll(rows, await cluster.openStore(), [0, ...suffixes]);
    const planted = rows.subagents.filter(({ root }) => roots.includes(root));
    expect(planted).toHaveLength(roots.length * 3);
  });
});
