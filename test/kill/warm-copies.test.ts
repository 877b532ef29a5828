/**
 * Workers that keep copies of each other's shards: one is killed with -9 in the middle of load,
 * another one frozen until its shards are owned elsewhere and then continued. Every message is
 * accounted for.
 */
import { setTimeout as pause } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { account, connectTo, Conversations, OWN_RUNS } from './conversations.ts';
import { randomOf } from '../random.ts';
import { eventually } from '../runtime/eventually.ts';
import { describeWithNats, TestCluster, WORKERS } from './test-cluster.ts';

const SEED = Number(process.env['TROUPE_KILL_SEED'] ?? Math.floor(Math.random() * 2 ** 31));
const SHARDS = 8;
const cluster = new TestCluster(`{ cluster: { shards: ${SHARDS} }, ${OWN_RUNS} }`);

/** Resolves with the owners when a worker other than its owner has a copy of each shard. */
async function copied(): Promise<readonly (string | undefined)[]> {
  const stored = await cluster.openStore();
  return eventually(() => {
    const owners = stored.owners();
    expect(owners.every((owner) => owner !== undefined)).toBe(true);
    owners.forEach((owner, shard) => {
      const others = stored.copies(shard).filter((name) => name !== owner);
      expect(others.length, `copies of shard ${shard}`).toBeGreaterThan(0);
    });
    return owners;
  });
}

/** Resolves when the worker owns no shard. */
async function without(name: string): Promise<void> {
  const stored = await cluster.openStore();
  await eventually(() => {
    const owners = stored.owners();
    expect(owners).not.toContain(undefined);
    expect(owners).not.toContain(name);
  });
}

describeWithNats('workers with warm copies', () => {
  test(`lose and repeat no message when one is killed and one frozen (seed ${SEED})`, {
    timeout: 300_000,
  }, async () => {
    await cluster.start();
    const client = await connectTo(cluster.url);
    const conversations = new Conversations(SEED, randomOf(SEED));
    const enough = new AbortController();
    const loading = conversations.load(client, enough.signal);
    const [killed, frozen] = [WORKERS[0]!, WORKERS[1]!];
    expect(await copied()).toContain(killed);
    await cluster.kill(killed);
    await without(killed);
    await cluster.startWorker(killed);
    await copied();
    const { child } = cluster.program(frozen);
    child.kill('SIGSTOP');
    await without(frozen);
    child.kill('SIGCONT');
    await pause(2_000);
    enough.abort();
    await loading;
    await conversations.repeatUnanswered(client);
    expect(conversations.sent.length).toBeGreaterThan(4);
    await account(client, conversations.sent);
    client.close();
  });
});
