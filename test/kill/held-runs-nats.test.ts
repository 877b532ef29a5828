/**
 * As held-runs.test.ts, in a cluster on NATS: the worker that holds every one of the sessions is
 * killed, two others take them over, and the gateway's client notices no more than time.
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
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

/** The shards of the one that will die, once the workers share them. */
async function shardsOf(name: string): Promise<readonly number[]> {
  return eventually(() => {
    const owners = stored!.owners();
    expect(new Set(owners)).toEqual(new Set(NAMES));
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
    await held.begin(client, () =>
      eventually(async () => expect(await held!.states(cluster)).toMatchObject(still)),
    );
    await eventually(async () => expect(await held!.states(cluster)).toEqual(STATES));
    expect(await shardsOf(VICTIM), 'nothing has moved').toEqual(mine);
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
