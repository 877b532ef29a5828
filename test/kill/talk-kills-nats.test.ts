/**
 * As talk-kills.test.ts, in a cluster on NATS: random workers are killed, two at once now and then.
 * The gateway stays.
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { afterAll, describe, expect, test } from 'vitest';
import { type NatsServer, natsServers, startNats } from '../servers/nats.ts';
import { connectTo, randomOf } from './conversations.ts';
import { HeldTalk, killDoomed, rest } from './held-talk.ts';
import { freePort, kill, type Program, startGateway, startWorker } from './program.ts';
import { openCluster, type StoredCluster } from './stored.ts';
import { account } from './talk-account.ts';

const KILLS = Number(process.env['TROUPE_TALK_CLUSTER_KILLS'] ?? 5);
const SEED = Number(process.env['TROUPE_KILL_SEED'] ?? Math.floor(Math.random() * 2 ** 31));
const NAMES = ['ann', 'bob', 'cleo'];
/** Everything is begun once more every so many kills. */
const KILLS_PER_BEGIN = 3;
const KILL_WITHIN_MS = 1_500;
/** Others hold its shards by then, or do not yet. */
const BACK_WITHIN_MS = 2_500;
/** Of the model, so that a kill finds something to hit. */
const THINK_MS = 60;

const folder = mkdtempSync(join(tmpdir(), 'troupe-talk-kills-nats-'));
const server = natsServers().at(-1);
const leftOut = server ? '' : ' (left out: there is no nats-server here)';
const running = new Map<string, Program>();
let nats: NatsServer | undefined;
let stored: StoredCluster | undefined;
let held: HeldTalk | undefined;

afterAll(async () => {
  await Promise.all([...running.values()].map(kill));
  await stored?.close();
  await held?.model.close();
  await nats?.stop();
  rmSync(folder, { recursive: true, force: true });
});

/** Each process has a data folder of its own, as on machines of their own. */
function folderOf(name: string): string {
  const data = join(folder, name);
  held!.configure(data);
  return data;
}

async function work(name: string): Promise<void> {
  running.set(name, await startWorker(folderOf(name), name, nats!.url));
}

describe.skipIf(!server)(`a cluster of ${NAMES.length} workers${leftOut}`, () => {
  test(`agents whose workers are killed ${KILLS} times at any moment lose nothing (seed ${SEED})`, {
    timeout: 180_000 + KILLS * 10_000,
  }, async () => {
    const random = randomOf(SEED);
    nats = await startNats({ path: server!.path });
    held = await HeldTalk.open(THINK_MS);
    held.model.letGo();
    await Promise.all(NAMES.map(work));
    const door = await startGateway(folderOf('door'), await freePort(), nats.url);
    running.set('door', door);
    const client = await connectTo(door.url);
    const suffixes = Array.from({ length: Math.ceil(KILLS / KILLS_PER_BEGIN) }, (_, n) => n);
    for (const suffix of suffixes) await held.greet(client, suffix);

    const beginning: Promise<void>[] = [];
    for (let round = 0; round < KILLS; round++) {
      if (round % KILLS_PER_BEGIN === 0)
        beginning.push(held.begin(client, round / KILLS_PER_BEGIN));
      await pause(random() * KILL_WITHIN_MS);
      const first = Math.floor(random() * NAMES.length);
      const names = [0, ...(random() < 1 / 3 ? [1] : [])].map(
        (n) => NAMES[(first + n) % NAMES.length]!,
      );
      await Promise.all(names.map((name) => kill(running.get(name)!)));
      await pause(random() * BACK_WITHIN_MS);
      await Promise.all(names.map(work));
    }
    await Promise.all(beginning);
    await held.end(client);
    await killDoomed(door.url);
    const rows = await rest(client, door.url);
    expect(rows.conversations).not.toEqual([]);
    client.close();
    await account(rows, (stored = await openCluster(nats.url)), suffixes);
  });
});
