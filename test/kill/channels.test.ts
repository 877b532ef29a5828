/**
 * Messengers while the program, or a random worker of a cluster, is killed with kill -9 at random
 * moments. `TROUPE_KILL_SEED` repeats a run, `TROUPE_KILLS` sets the number of kills,
 * `TROUPE_KILL_CHATS` that of the chats of each of the eight accounts.
 */
import { expect, test } from 'vitest';
import { connectTo } from './conversations.ts';
import { randomOf } from '../random.ts';
import { People } from './people.ts';
import { describeWithNats, TestCluster, WORKERS } from './test-cluster.ts';
import { TestProgram } from './test-program.ts';

const SEED = Number(process.env['TROUPE_KILL_SEED'] ?? Math.floor(Math.random() * 2 ** 31));
const KILLS = Number(process.env['TROUPE_KILLS'] ?? 3);

const CHATS = Number(process.env['TROUPE_KILL_CHATS'] ?? 3);

const random = randomOf(SEED);
const limits = { timeout: 300_000 + KILLS * 20_000 };

const ofProgram = await People.of(random, CHATS);
const program = new TestProgram(ofProgram.config());

test(
  `people in messengers are answered once, in order, while the program is killed (seed ${SEED})`,
  limits,
  async () => {
    await program.start();
    await ofProgram.connected(program.url);
    for (let kill = 0; kill < KILLS; kill++) {
      if (kill > 0) await program.start();
      await ofProgram.writeFor(500 + random() * 2_000);
      await program.kill();
      await ofProgram.writeFor(200);
    }
    await program.start();
    const client = await program.connect();
    expect(await ofProgram.account(client)).toBeGreaterThan(KILLS);
    console.log(`${KILLS} kills: ${await ofProgram.summary(client)}`);
  },
);

const ofCluster = await People.of(random, CHATS);
const cluster = new TestCluster(ofCluster.config('cluster: { shards: 8 },'));

describeWithNats(`with ${WORKERS.length} workers`, () => {
  test(
    `people in messengers are answered once, in order, while workers are killed (seed ${SEED})`,
    limits,
    async () => {
      await cluster.start();
      await ofCluster.connected(cluster.url);
      for (let kill = 0; kill < KILLS; kill++) {
        await ofCluster.writeFor(500 + random() * 2_000);
        const name = WORKERS[Math.floor(random() * WORKERS.length)]!;
        await cluster.kill(name);
        await ofCluster.writeFor(random() * 1_500);
        await cluster.startWorker(name);
      }
      const client = await connectTo(cluster.url);
      expect(await ofCluster.account(client)).toBeGreaterThan(KILLS);
      console.log(`${KILLS} kills of workers: ${await ofCluster.summary(client)}`);
      client.close();
    },
  );
});
