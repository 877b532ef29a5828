/**
 * As agent-kills.test.ts, in a cluster on NATS: random workers are killed, sometimes two at once.
 * The gateway keeps running.
 */
import { setTimeout as pause } from 'node:timers/promises';
import { afterAll, expect, test } from 'vitest';
import { checkAll } from './agent-checks.ts';
import { connectTo } from '../conversations.ts';
import { randomOf } from '../../random.ts';
import { HeldAgents, killDoomed, rest } from './held-agents.ts';
import { describeWithNats, TestCluster, WORKERS } from '../test-cluster.ts';

const KILLS = Number(process.env['TROUPE_TALK_CLUSTER_KILLS'] ?? 5);
const SEED = Number(process.env['TROUPE_KILL_SEED'] ?? Math.floor(Math.random() * 2 ** 31));
/** All work starts once more after this many kills. */
const KILLS_PER_BEGIN = 3;
const KILL_WITHIN_MS = 1_500;
/** Longest time until a killed worker starts again, before or after others took over its shards. */
const BACK_WITHIN_MS = 2_500;
/** Delay of the model's answers, so that a kill interrupts requests. */
const THINK_MS = 60;

let held: HeldAgents | undefined;
const cluster = new TestCluster((data) => held!.configure(data));
afterAll(() => held?.model.close());

describeWithNats(`a cluster of ${WORKERS.length} workers`, () => {
  test(`loses no work of agents under ${KILLS} kills of workers (seed ${SEED})`, {
    timeout: 180_000 + KILLS * 10_000,
  }, async () => {
    const random = randomOf(SEED);
    held = await HeldAgents.open(THINK_MS);
    held.model.release();
    await cluster.start();
    const client = await connectTo(cluster.url);
    const suffixes = Array.from({ length: Math.ceil(KILLS / KILLS_PER_BEGIN) }, (_, n) => n);
    for (const suffix of suffixes) await held.greet(client, suffix);

    const beginning: Promise<void>[] = [];
    for (let round = 0; round < KILLS; round++) {
      if (round % KILLS_PER_BEGIN === 0)
        beginning.push(held.begin(client, round / KILLS_PER_BEGIN));
      await pause(random() * KILL_WITHIN_MS);
      const first = Math.floor(random() * WORKERS.length);
      const names = [0, ...(random() < 1 / 3 ? [1] : [])].map(
        (n) => WORKERS[(first + n) % WORKERS.length]!,
      );
      await Promise.all(names.map((name) => cluster.kill(name)));
      await pause(random() * BACK_WITHIN_MS);
      await Promise.all(names.map((name) => cluster.startWorker(name)));
    }
    await Promise.all(beginning);
    await held.end(client);
    await killDoomed(cluster.url);
    const rows = await rest(client, cluster.url);
    expect(rows.conversations).not.toEqual([]);
    client.close();
    await checkAll(rows, await cluster.openStore(), suffixes);
  });
});
