/**
 * As held-runs.test.ts, in a cluster on NATS: the worker that holds every one of the sessions is
 * killed, two others take them over, and the gateway's client notices no more than time.
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { afterAll, describe, expect, test } from 'vitest';
import { shardOf } from '../../protocols/address.ts';
import { eventually } from '../runtime/eventually.ts';
import { type NatsServer, natsServers, startNats } from '../servers/nats.ts';
import { connectTo } from './conversations.ts';
import { HeldRuns, STATES } from './held-runs.ts';
import { freePort, kill, type Program, startGateway, startWorker } from './program.ts';
import { openCluster, type StoredCluster } from './stored.ts';

const NAMES = ['ann', 'bob', 'cleo'];
const VICTIM = 'bob';
/** Between two looks at who has which shard. */
const STILL_MS = 2_000;
/** Between two looks at the states, which read a row of each session over NATS. */
const LOOK_MS = 200;

const folder = mkdtempSync(join(tmpdir(), 'troupe-held-nats-'));
const server = natsServers().at(-1);
const leftOut = server ? '' : ' (left out: there is no nats-server here)';
const running = new Map<string, Program>();
let nats: NatsServer | undefined;
let stored: StoredCluster | undefined;
let held: HeldRuns | undefined;

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

/** The shards of the one that will die, once the workers share them and none moves any more. */
async function shardsOf(name: string): Promise<readonly number[]> {
  let before: unknown;
  return eventually(async () => {
    const owners = stored!.owners();
    const last = before;
    before = owners;
    // what is handed over is handed over by then
    await pause(STILL_MS);
    expect(new Set(owners)).toEqual(new Set(NAMES));
    expect(owners).toEqual(last);
    return owners.flatMap((owner, shard) => (owner === name ? [shard] : []));
  });
}

describe.skipIf(!server)(`a cluster of ${NAMES.length} workers${leftOut}`, () => {
  test('runs whose worker was killed in each state of the chart end once, as themselves', {
    timeout: 180_000,
  }, async () => {
    nats = await startNats({ path: server!.path });
    held = await HeldRuns.open(join(folder, 'shared'));
    for (const name of NAMES) running.set(name, await startWorker(folderOf(name), name, nats.url));
    const door = await startGateway(folderOf('door'), await freePort(), nats.url);
    running.set('door', door);
    const client = await connectTo(door.url);
    const cluster = (stored = await openCluster(nats.url));
    const mine = await shardsOf(VICTIM);
    held.place((session) => mine.includes(shardOf(session, cluster.shards)));

    const finals: string[] = [];
    client.on('chat', ({ runId, state }) => void (state === 'final' && finals.push(runId)));
    const { collecting: _, 'backing-off': __, ...still } = STATES;
    const states = async () => {
      await pause(LOOK_MS);
      return held!.states(cluster);
    };
    await held.begin(client, () =>
      eventually(async () => expect(await states()).toMatchObject(still)),
    );
    await eventually(async () => expect(await states()).toEqual(STATES));
    const theirs = cluster.owners().flatMap((owner, at) => (owner === VICTIM ? [at] : []));
    expect(theirs, 'nothing has moved').toEqual(mine);
    held.letGo();
    await kill(running.get(VICTIM)!);

    await held.end(client);
    await held.account(cluster);
    expect(finals.toSorted(), 'each reply was told once').toEqual([...new Set(finals)].toSorted());
    expect(finals).toEqual(expect.arrayContaining([...held.runIds()]));

    await held.hurry(client);
    await kill(running.get('ann')!);
    await held.accountOfHurried(client, () => Promise.resolve(cluster));
    client.close();
  });
});
