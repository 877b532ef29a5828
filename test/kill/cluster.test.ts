/**
 * kill -9 of random workers of a cluster at random moments under load, and a check of every message
 * afterwards, as in kill.test.ts. The gateway keeps running, so its clients only notice a delay.
 * `TROUPE_CLUSTER_KILLS=50` sets the number of kills. A failing run prints its seed
 * (`TROUPE_KILL_SEED`).
 */
import { setTimeout as pause } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { account, connectTo, Conversations, OWN_RUNS } from './conversations.ts';
import { randomOf } from '../random.ts';
import { describeWithNats, TestCluster, WORKERS } from './test-cluster.ts';

const KILLS = Number(process.env['TROUPE_CLUSTER_KILLS'] ?? 8);
const SEED = Number(process.env['TROUPE_KILL_SEED'] ?? Math.floor(Math.random() * 2 ** 31));
/** Longest time between the return of a worker and the next kill. */
const KILL_WITHIN_MS = 1_000;
/**
 * Longest time until the killed worker starts again. About half of the restarts happen before the
 * other workers have taken over its shards.
 */
const BACK_WITHIN_MS = 1_500;

const cluster = new TestCluster(`{ cluster: { shards: 8 }, ${OWN_RUNS} }`);

describeWithNats(`a cluster of ${WORKERS.length} workers`, () => {
  test(`loses and repeats no message under load and ${KILLS} kills (seed ${SEED})`, {
    timeout: 600_000,
  }, async () => {
    const random = randomOf(SEED);
    await cluster.start();
    const client = await connectTo(cluster.url);
    const conversations = new Conversations(SEED, random);
    const enough = new AbortController();
    const loading = conversations.load(client, enough.signal);
    for (let round = 0; round < KILLS; round++) {
      await pause(random() * KILL_WITHIN_MS);
      const name = WORKERS[Math.floor(random() * WORKERS.length)]!;
      await cluster.kill(name);
      await pause(random() * BACK_WITHIN_MS);
      await cluster.startWorker(name);
    }
    enough.abort();
    await loading;
    await conversations.repeatUnanswered(client);
    expect(conversations.sent.length).toBeGreaterThan(KILLS);
    await account(client, conversations.sent);
    client.close();
  });
});
