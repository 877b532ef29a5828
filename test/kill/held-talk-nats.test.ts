/**
 * As held-talk.test.ts, in a cluster on NATS, where parents, subagents and their sessions are on
 * different workers: each worker is killed once while everything stands still, so each actor dies
 * in its state, with its parent, before it, or after it; then one that does not answer, so that
 * others wait for it when they are killed.
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { afterAll, describe, expect, test } from 'vitest';
import type { GatewayClient } from '../../cli/client/gateway-client.ts';
import { eventually } from '../runtime/eventually.ts';
import { type NatsServer, natsServers, startNats } from '../servers/nats.ts';
import { connectTo } from './conversations.ts';
import {
  areKept,
  HeldTalk,
  killDoomed,
  killSubagent,
  rest,
  rowsOf,
  STATES,
  statesOf,
} from './held-talk.ts';
import { freePort, kill, type Program, startGateway, startWorker } from './program.ts';
import { openCluster, type StoredCluster } from './stored.ts';
import { account } from './talk-account.ts';

const NAMES = ['ann', 'bob', 'cleo'];
/** Between two looks at who has which shard. */
const STILL_MS = 1_500;

const folder = mkdtempSync(join(tmpdir(), 'troupe-held-talk-nats-'));
const server = natsServers().at(-1);
const leftOut = server ? '' : ' (left out: there is no nats-server here)';
const running = new Map<string, Program>();
let nats: NatsServer | undefined;
let stored: StoredCluster | undefined;
let held: HeldTalk | undefined;
let client: GatewayClient | undefined;

afterAll(async () => {
  client?.close();
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

const door = (): string => running.get('door')!.url;

/** Each shard is somebody's who lives, all have some, and none moves any more. */
async function areShared(names: readonly string[]): Promise<void> {
  let before: unknown;
  await eventually(async () => {
    const owners = stored!.owners();
    const last = before;
    before = owners;
    await pause(STILL_MS);
    expect(new Set(owners)).toEqual(new Set(names));
    expect(owners).toEqual(last);
  });
}

/** Subagents whose session or parent does not answer, messages that nobody has taken. */
async function areWaiting(): Promise<void> {
  const { subagents, conversations } = await rowsOf(door());
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

describe.skipIf(!server)(`a cluster of ${NAMES.length} workers${leftOut}`, () => {
  test('agents whose workers are killed one after the other lose nothing', {
    timeout: 180_000,
  }, async () => {
    nats = await startNats({ path: server!.path });
    held = await HeldTalk.open();
    await Promise.all(NAMES.map(work));
    running.set('door', await startGateway(folderOf('door'), await freePort(), nats.url));
    client = await connectTo(door());
    stored = await openCluster(nats.url);
    await areShared(NAMES);
    await held.greet(client, 0);
    await held.begin(client, 0);
    const rows = await eventually(() => areKept(held!, door(), 0));
    const { id } = rows.subagents.find(({ label }) => label === 'doomed-1')!;
    expect(await statesOf(rows, stored)).toEqual(STATES);

    for (const name of NAMES) {
      const killing = name === NAMES[0] ? killSubagent(door(), id).catch(() => {}) : undefined;
      await kill(running.get(name)!);
      await killing;
      await areShared(NAMES.filter((one) => one !== name));
      const { 'doomed-1': _, 'late-1': __, ...states } = await statesOf(rows, stored);
      expect(STATES).toMatchObject(states);
      await work(name);
      await areShared(NAMES);
    }

    held.model.letGo();
    await killSubagent(door(), id);
    await held.end(client);
    await account(await rest(client, door()), stored, [0]);
  });

  test('agents that wait for a worker that does not answer are killed, and lose nothing', {
    timeout: 180_000,
  }, async () => {
    const [victim, silent] = ['ann', 'cleo'];
    for (const suffix of [1, 2]) await held!.greet(client!, suffix);
    held!.model.hold();
    await held!.begin(client!, 1);
    await eventually(() => areKept(held!, door(), 1));

    running.get(silent)!.child.kill('SIGSTOP');
    held!.model.letGo();
    const beginning = held!.begin(client!, 2);
    await eventually(areWaiting);
    await kill(running.get(victim)!);
    running.get(silent)!.child.kill('SIGCONT');
    await work(victim);
    await beginning;

    await held!.end(client!);
    await killDoomed(door());
    await account(await rest(client!, door()), stored!, [0, 1, 2]);
  });
});
