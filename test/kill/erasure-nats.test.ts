/**
 * Erasure in a cluster of processes on a real NATS server: what was written through the gateway is
 * in no file of the server and of any process afterwards, although the worker that leads the
 * erasure and an owner of shards are killed with kill -9 in the middle of it. Others are answered
 * meanwhile, and keep what they have.
 */
import { beforeAll, expect, onTestFinished, test } from 'vitest';
import type { GatewayClient } from '../../client/gateway-client.ts';
import { shardOf } from '../../protocols/address.ts';
import { erasureAddress, type ErasureRow, type ErasureTarget } from '../../protocols/erasure.ts';
import { filesWith } from '../installation/erasure/canary.ts';
import { eventually } from '../runtime/eventually.ts';
import { account, connectTo, Conversations, OWN_RUNS } from './conversations.ts';
import { TOKEN } from './program.ts';
import { describeWithNats, TestCluster, WORKERS } from './test-cluster.ts';

const CANARY = 'xq7erased-canary';
const OTHER = 'zw3other-canary';
const KEY = 'agent:main:trial';
const OTHER_KEY = 'agent:main:other';
const SHARDS = 16;
const OPEN = `agents: { defaults: { sandbox: { mode: 'none' } } }`;

const cluster = new TestCluster(
  `{ cluster: { shards: ${SHARDS} }, log: { level: 'silent' }, ${OPEN}, ${OWN_RUNS} }`,
);

const operate = async <Result>(client: GatewayClient, name: string, params: object) =>
  (await client.request('operations.run', { name, params: { ...params } })) as Result;

const run = (client: GatewayClient, sessionKey: string, message: string) =>
  client.request(
    'agent',
    { message, sessionKey, idempotencyKey: `${sessionKey} ${message}` },
    { expectFinal: true },
  );

/** User text, results of tools, a file, a note of the memory, a subagent and a title. */
async function fill(client: GatewayClient, key: string, canary: string): Promise<void> {
  const call = (tool: string, args: object) =>
    run(client, key, `call ${tool} ${JSON.stringify(args)}`);
  const name = canary.slice(0, 6);
  await run(client, key, `the user says ${canary}-message`);
  await call('write', { path: `${name}.txt`, content: `${canary}-file` });
  await call('read', { path: `${name}.txt` });
  await call('write', { path: `memory/${name}.md`, content: `${canary}-note` });
  await call('sessions_spawn', { task: `say ${canary}-task`, wait: true });
  for (let n = 0; n < 20; n++)
    await client.request('chat.inject', { sessionKey: key, message: `${canary} note ${n}` });
}

/** Stores a file of several messages of the server, and returns its address. */
async function upload(canary: string): Promise<string> {
  const answer = await fetch(`${cluster.url.replace('ws:', 'http:')}/v1/artifacts`, {
    method: 'POST',
    headers: { authorization: `Bearer ${TOKEN}`, 'content-type': 'text/plain' },
    body: `${canary}-artifact `.repeat(30_000),
  });
  expect(answer.status).toBe(201);
  return ((await answer.json()) as { artifact_uri: string }).artifact_uri;
}

const transcriptOf = async (client: GatewayClient, sessionKey: string): Promise<unknown> =>
  (await client.request('chat.history', { sessionKey, limit: 1_000 })).messages;

const withCanary = (canary: string): readonly string[] => [
  ...filesWith(cluster.natsFolder, canary),
  ...filesWith(cluster.folder, canary),
];

const rowOf = (client: GatewayClient, { kind, id }: ErasureTarget) =>
  operate<ErasureRow>(client, 'erasures.get', { erasure: `${kind}:${id}` });

async function erased(client: GatewayClient, target: ErasureTarget): Promise<ErasureRow> {
  await eventually(
    async () => expect(await rowOf(client, target)).toMatchObject({ state: 'done' }),
    90_000,
  );
  return rowOf(client, target);
}

describeWithNats('an erasure in a cluster', () => {
  beforeAll(() => cluster.start(), 120_000);

  test('leaves nothing in any file, with kill -9 of its worker and of an owner of shards', {
    timeout: 300_000,
  }, async () => {
    const client = await connectTo(cluster.url);
    const loader = await connectTo(cluster.url);
    onTestFinished(() => (client.close(), loader.close()));
    await fill(client, KEY, CANARY);
    const artifact = await upload(CANARY);
    await run(client, KEY, `look at ${artifact}`);
    expect((await fetch(artifact)).status).toBe(200);
    await fill(client, OTHER_KEY, OTHER);
    const others = await transcriptOf(client, OTHER_KEY);
    const owners = await cluster.stableOwners();
    const before = withCanary(CANARY);
    expect(before.filter((file) => file.startsWith(cluster.natsFolder))).not.toEqual([]);
    expect(before.filter((file) => file.startsWith(cluster.folder))).not.toEqual([]);

    const load = new Conversations(7, Math.random);
    const enough = new AbortController();
    const loading = load.load(loader, enough.signal, 100);
    const target = { tenant: 'default', kind: 'session', id: KEY } as const;
    const dry = await operate<ErasureRow>(client, 'erasures.session', { id: KEY, dryRun: true });
    expect(dry.counts.sessions).toBe(2);
    await operate(client, 'erasures.session', { id: KEY });
    const leader = owners[shardOf(erasureAddress(target), SHARDS)]!;
    await eventually(async () =>
      expect(['scrubbing', 'done']).toContain((await rowOf(client, target)).state),
    );
    await cluster.kill(leader);
    const owner = WORKERS.find((name) => name !== leader)!;
    await eventually(async () => {
      const { reach } = await rowOf(client, target);
      expect(reach?.shards ?? 0).toBeGreaterThan(0);
    }, 60_000);
    await cluster.kill(owner);
    await Promise.all([cluster.startWorker(leader), cluster.startWorker(owner)]);
    const answered = load.sent.filter(({ accepted }) => accepted).length;
    const { reach, counts } = await erased(client, target);

    await eventually(() => expect(withCanary(CANARY)).toEqual([]));
    expect(counts).toMatchObject({ sessions: 2, files: 2, artifacts: 1 });
    expect((await fetch(artifact)).status).toBe(404);
    expect(reach).toMatchObject({ shards: SHARDS, shardsAll: SHARDS, isDone: true });
    expect(reach!.streams).toHaveLength(5);
    // One that starts meanwhile scrubs by itself.
    const alive = WORKERS.filter((name) => ![leader, owner].includes(name));
    expect(reach!.processes).toEqual(expect.arrayContaining([...alive, 'gateway']));
    expect(await transcriptOf(client, KEY)).toEqual([]);
    expect(await transcriptOf(client, OTHER_KEY)).toEqual(others);
    expect(withCanary(`${OTHER}-message`)).not.toEqual([]);
    await run(client, OTHER_KEY, `call read ${JSON.stringify({ path: 'zw3oth.txt' })}`);
    expect(JSON.stringify(await transcriptOf(client, OTHER_KEY))).toContain(`${OTHER}-file`);

    enough.abort();
    await loading;
    await load.repeatUnanswered(client);
    expect(load.sent.length).toBeGreaterThan(answered);
    await account(client, load.sent);
  });

  test('of a user and of a tenant, after the kills, leaves nothing in any file', {
    timeout: 300_000,
  }, async () => {
    const client = await connectTo(cluster.url);
    onTestFinished(() => client.close());
    await fill(client, 'agent:main:direct:4711', 'vk2user-canary');
    expect(withCanary('vk2user-canary')).not.toEqual([]);
    const user = { tenant: 'default', kind: 'user', id: '4711' } as const;
    await operate(client, 'erasures.user', { id: user.id });
    await erased(client, user);
    expect(withCanary('vk2user-canary')).toEqual([]);
    expect(withCanary(`${OTHER}-message`)).not.toEqual([]);

    const tenant = { tenant: 'default', kind: 'tenant', id: 'default' } as const;
    await operate(client, 'erasures.tenant', { id: tenant.id });
    const { reach } = await erased(client, tenant);
    expect(withCanary(OTHER)).toEqual([]);
    expect(reach?.isDone).toBe(true);
    await eventually(async () => {
      const audits = await operate(client, 'audit', { action: 'erasure.tenant' });
      expect(JSON.stringify(audits)).toContain(`${SHARDS} of ${SHARDS}`);
    });
  });
});
