/**
 * kill -9 of random workers of a cluster at random moments under load, and an account of every
 * message afterwards, as in kill.test.ts. The gateway stays, and clients notice no more than time.
 * `TROUPE_CLUSTER_KILLS=50` kills more often; a failing run prints its seed (`TROUPE_KILL_SEED`).
 */
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, test } from 'vitest';
import { type NatsServer, natsServers, startNats } from '../servers/nats.ts';
import { account, connectTo, Conversations, OWN_RUNS, randomOf } from './conversations.ts';
import { freePort, kill, type Program, startGateway, startWorker } from './program.ts';

const KILLS = Number(process.env['TROUPE_CLUSTER_KILLS'] ?? 8);
const SEED = Number(process.env['TROUPE_KILL_SEED'] ?? Math.floor(Math.random() * 2 ** 31));
const NAMES = ['ann', 'bob', 'cleo'];
/** A kill comes so long after the one before was made good, at most. */
const KILL_WITHIN_MS = 1_000;
/** The others hold its shards long before; half of the time it is back while they take them. */
const BACK_WITHIN_MS = 1_500;

const data = mkdtempSync(join(tmpdir(), 'troupe-kill-cluster-'));
const server = natsServers().at(-1);
const leftOut = server ? '' : ' (left out: there is no nats-server here)';
const running = new Map<string, Program>();
let nats: NatsServer | undefined;

afterAll(async () => {
  await Promise.all([...running.values()].map(kill));
  await nats?.stop();
  rmSync(data, { recursive: true, force: true });
});

/** Each process has a data folder of its own, as on machines of their own. */
function folderOf(name: string): string {
  const folder = join(data, name);
  mkdirSync(folder, { recursive: true });
  writeFileSync(join(folder, 'troupe.json5'), `{ cluster: { shards: 8 }, ${OWN_RUNS} }`);
  return folder;
}

async function work(name: string): Promise<void> {
  running.set(name, await startWorker(folderOf(name), name, nats!.url));
}

const pause = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));

describe.skipIf(!server)(`a cluster of ${NAMES.length} workers${leftOut}`, () => {
  test(`${KILLS} kills -9 of workers under load lose nothing and double nothing (seed ${SEED})`, {
    timeout: 600_000,
  }, async () => {
    const random = randomOf(SEED);
    nats = await startNats({ path: server!.path });
    await Promise.all(NAMES.map(work));
    const door = await startGateway(folderOf('door'), await freePort(), nats.url);
    running.set('door', door);
    const client = await connectTo(door.url);
    const conversations = new Conversations(SEED, random);
    const enough = new AbortController();
    const loading = conversations.load(client, enough.signal);
    for (let round = 0; round < KILLS; round++) {
      await pause(random() * KILL_WITHIN_MS);
      const name = NAMES[Math.floor(random() * NAMES.length)]!;
      await kill(running.get(name)!);
      await pause(random() * BACK_WITHIN_MS);
      await work(name);
    }
    enough.abort();
    await loading;
    await conversations.repeatUnanswered(client);
    expect(conversations.sent.length).toBeGreaterThan(KILLS);
    await account(client, conversations.sent);
    client.close();
  });
});
