/**
 * A cell that is restored from a backup older than an erasure: its first gateway repeats the
 * erasure before it serves, and afterwards no file of the new server has the data.
 */
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import type { GatewayClient } from '../../client/gateway-client.ts';
import { runProgram } from '../cli/program.ts';
import { filesWith } from '../installation/erasure/canary.ts';
import { eventually } from '../runtime/eventually.ts';
import { natsServers, startNats } from '../servers/nats.ts';
import { reservePort } from '../servers/reserve-port.ts';
import { connectTo, OWN_RUNS } from './conversations.ts';
import { CLUSTER_SECRET, kill, startGateway, startWorker } from './program.ts';
import { describeWithNats, TestCluster } from './test-cluster.ts';

const CANARY = 'xq7erased-canary';
const OTHER = 'zw3other-canary';
const [KEY, OTHER_KEY] = ['agent:main:trial', 'agent:main:other'];
const CONFIG = `{ cluster: { shards: 4 }, log: { level: 'silent' }, ${OWN_RUNS} }`;
const WORKERS = ['ann'];
const cluster = new TestCluster(CONFIG);

const say = (client: GatewayClient, sessionKey: string, message: string) =>
  client.request(
    'agent',
    { message, sessionKey, idempotencyKey: `${sessionKey} ${message}` },
    { expectFinal: true },
  );
const historyOf = async (client: GatewayClient, sessionKey: string) =>
  JSON.stringify((await client.request('chat.history', { sessionKey, limit: 100 })).messages);

const troupe = async (args: readonly string[]) => {
  const ended = await runProgram(args, { env: { TROUPE_CLUSTER_SECRET: CLUSTER_SECRET } });
  if (ended.code !== 0) throw new Error(`troupe ${args.join(' ')}: ${ended.stderr}`);
};

/** Of the processes of the cluster. */
const ledgers = (): readonly string[] =>
  readdirSync(cluster.folder, { recursive: true, encoding: 'utf8' })
    .filter((path) => path.endsWith('erasures.jsonl'))
    .map((path) => join(cluster.folder, path))
    .filter((path) => readFileSync(path, 'utf8').includes(KEY));

describeWithNats('a restore of a cluster', () => {
  test('repeats the erasures of the ledger before its gateway serves', {
    timeout: 240_000,
  }, async () => {
    await cluster.start(WORKERS);
    const client = await connectTo(cluster.url);
    await say(client, KEY, `the user says ${CANARY}`);
    await say(client, OTHER_KEY, `the user says ${OTHER}`);
    const backups = join(cluster.folder, 'backups');
    mkdirSync(backups);
    const gatewayData = join(cluster.folder, 'gateway');
    const from = ['--nats', cluster.nats, '--data', gatewayData];
    await troupe(['backup', 'create', '--to', backups, ...from]);
    const erasure = `session:${KEY}`;
    await client.request('operations.run', { name: 'erasures.session', params: { id: KEY } });
    await eventually(async () => {
      const got = { name: 'erasures.get', params: { erasure } };
      expect(await client.request('operations.run', got)).toMatchObject({ state: 'done' });
    }, 90_000);
    const written = ledgers();
    expect(written).not.toEqual([]);
    client.close();

    const nats = await startNats({ path: natsServers().at(-1)!.path });
    onTestFinished(() => nats.stop());
    const data = join(cluster.folder, 'restored');
    const named = written.flatMap((file) => ['--erasures', file]);
    await troupe(['restore', backups, '--nats', nats.url, '--data', data, ...named]);
    expect(filesWith(nats.folder, CANARY)).not.toEqual([]);
    const workerData = join(cluster.folder, 'new-worker');
    mkdirSync(workerData);
    for (const folder of [workerData, data]) writeFileSync(join(folder, 'troupe.json5'), CONFIG);
    const worker = await startWorker(workerData, 'bob', nats.url);
    onTestFinished(() => kill(worker));
    const gateway = await startGateway(data, await reservePort(), nats.url, 'new');
    onTestFinished(() => kill(gateway));
    const again = await connectTo(gateway.url);
    onTestFinished(() => again.close());
    expect(await historyOf(again, KEY)).toBe('[]');
    expect(await historyOf(again, OTHER_KEY)).toContain(OTHER);
    await eventually(() => expect(filesWith(nats.folder, CANARY)).toEqual([]), 30_000);
  });
});
