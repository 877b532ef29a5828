/**
 * Workers that are stopped in order (SIGTERM) and started again, one after the other, while agents
 * wait for each other and while they spawn and send: what only the stop caused never becomes the
 * result of a tool.
 */
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, test } from 'vitest';
import type { GatewayClient } from '../../cli/client/gateway-client.ts';
import { eventually } from '../runtime/eventually.ts';
import { type NatsServer, natsServers, startNats } from '../servers/nats.ts';
import { connectTo } from './conversations.ts';
import { addressOf, areKept, HeldTalk, killDoomed, rest, type Rows } from './held-talk.ts';
import { freePort, kill, type Program, startGateway, startWorker } from './program.ts';
import { openCluster, type StoredCluster } from './stored.ts';
import { account } from './talk-account.ts';

const NAMES = ['ann', 'bob', 'cleo'];
/** Shorter than agents wait, so that tools are ended by the stop and begun again elsewhere. */
const DRAIN_SECONDS = 2;
/** Of the model while load runs, so that a stop finds calls under way. */
const THINK_MS = 40;

const folder = mkdtempSync(join(tmpdir(), 'troupe-talk-stops-'));
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

function folderOf(name: string): string {
  const data = join(folder, name);
  held!.configure(data, { drainSeconds: DRAIN_SECONDS });
  return data;
}

async function work(name: string): Promise<void> {
  running.set(name, await startWorker(folderOf(name), name, nats!.url));
}

/** SIGTERM, the process ends by itself, and another one takes its place. */
async function restart(name: string): Promise<void> {
  const { child } = running.get(name)!;
  const exited = once(child, 'exit');
  child.kill('SIGTERM');
  expect(await exited).toEqual([0, null]);
  await work(name);
  await eventually(() => expect(new Set(stored!.owners())).toEqual(new Set(NAMES)));
}

/** Entries of transcripts that say of a failed tool, or that name the stop. */
async function stopsReported({ subagents, conversations }: Rows): Promise<readonly string[]> {
  const keys = new Set([
    ...held!.told.map(({ sessionKey }) => sessionKey),
    ...subagents.flatMap(({ parent, sessionKey }) => [parent, sessionKey]),
    ...conversations.flatMap(({ requester, target }) => [requester, target]),
  ]);
  const reported: string[] = [];
  for (const key of keys)
    for (const entry of await stored!.entriesOf(addressOf(key))) {
      const text = JSON.stringify(entry);
      const failed = entry.type === 'tool' && entry.isError;
      if (failed || /is stopping|worker stops|UNAVAILABLE/.test(text))
        reported.push(`${key}: ${text}`);
    }
  return reported;
}

describe.skipIf(!server)(`a cluster of ${NAMES.length} workers${leftOut}`, () => {
  test('a rolling restart while agents wait for each other fails no tool', {
    timeout: 180_000,
  }, async () => {
    nats = await startNats({ path: server!.path });
    held = await HeldTalk.open(THINK_MS);
    await Promise.all(NAMES.map(work));
    running.set('door', await startGateway(folderOf('door'), await freePort(), nats.url));
    const { url } = running.get('door')!;
    client = await connectTo(url);
    stored = await openCluster(nats.url);
    await held.greet(client, 0);
    await held.begin(client, 0);
    await eventually(() => areKept(held!, url, 0));

    for (const name of NAMES) await restart(name);

    held.model.letGo();
    await held.end(client);
    await killDoomed(url);
    const rows = await rest(client, url);
    expect(await stopsReported(rows)).toEqual([]);
    await account(rows, stored, [0]);
  });

  test('rolling restarts while agents spawn and send fail no tool', {
    timeout: 240_000,
  }, async () => {
    const { url } = running.get('door')!;
    const suffixes = [1, 2, 3];
    for (const suffix of suffixes) await held!.greet(client!, suffix);
    const roots: string[] = [];
    for (const [n, suffix] of suffixes.entries()) {
      const begun = held!.begin(client!, suffix);
      const stopped = restart(NAMES[n]!);
      const more = Array.from({ length: 6 }, (_, at) => `agent:main:more-${suffix}-${at}`);
      roots.push(...more);
      await held!.plant(client!, 'waits', more);
      await Promise.all([begun, stopped]);
    }
    await held!.end(client!);
    await killDoomed(url);
    const rows = await rest(client!, url);
    expect(await stopsReported(rows)).toEqual([]);
    await account(rows, stored!, [0, ...suffixes]);
    const planted = rows.subagents.filter(({ root }) => roots.includes(root));
    expect(planted).toHaveLength(roots.length * 3);
  });
});
