/**
 * The product on three NATS servers with three replicas of each stream: an erasure and a backup,
 * also while one of the servers is dead.
 */
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { jetstreamManager } from '@nats-io/jetstream';
import { connect } from '@nats-io/transport-node';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { GatewayClient } from '../../client/gateway-client.ts';
import { address } from '../../protocols/address.ts';
import type { ErasureRow } from '../../protocols/erasure.ts';
import { transcriptSubject } from '../../protocols/subjects.ts';
import { openNats } from '../../runtime/index.ts';
import { MemoryState } from '../../runtime/state/memory.ts';
import { runProgram } from '../cli/program.ts';
import { connectTo } from '../kill/conversations.ts';
import { kill, type Program, startGateway, startWorker } from '../kill/program.ts';
import { eventually } from '../runtime/eventually.ts';
import { reservePort } from '../servers/reserve-port.ts';
import { type NatsServer, natsServers, startNats } from '../servers/nats.ts';

const CANARY = 'rf3erased-canary';
const KEY = 'agent:main:trial';
const OTHER_KEY = 'agent:main:other';
const server = natsServers().findLast(({ version }) => !/^2\.(9|10)\./.test(version));
const leftOut = server ? '' : ' (left out: there is no nats-server of 2.11 or newer here)';
const folder = mkdtempSync(join(tmpdir(), 'troupe-three-replicas-'));
const running: Program[] = [];
const servers: NatsServer[] = [];
const configs: string[] = [];
let client: GatewayClient;

/** Three servers with a route between each two of them. */
async function startServers(path: string): Promise<void> {
  const routes = await Promise.all([1, 2, 3].map(() => reservePort()));
  const urls = routes.map((port) => `nats://127.0.0.1:${port}`).join(', ');
  const cluster = (port: number) =>
    `cluster { name: three, listen: "127.0.0.1:${port}", routes: [${urls}] }`;
  configs.push(...routes.map((port, n) => `server_name: n${n}\n${cluster(port)}`));
  const starting = configs.map((config) => startNats({ path, config }));
  servers.push(...(await Promise.all(starting)));
}

/** @param env another one than that of the cell, for a restore */
function folderOf(name: string, env = 'main'): string {
  const data = join(folder, name);
  const nats = { url: servers.map(({ url }) => url), replicas: 3, env };
  mkdirSync(data);
  const config = { cluster: { shards: 2 }, log: { level: 'silent' }, nats };
  writeFileSync(join(data, 'troupe.json5'), JSON.stringify(config));
  return data;
}

const operate = async <Result>(name: string, params: object) =>
  (await client.request('operations.run', { name, params: { ...params } })) as Result;
const history = async (sessionKey: string) =>
  JSON.stringify(await client.request('chat.history', { sessionKey, limit: 100 }));
const inject = (sessionKey: string, message: string) =>
  client.request('chat.inject', { sessionKey, message });

beforeAll(async () => {
  if (!server) return;
  await startServers(server.path);
  // They find the other servers through the one that is killed.
  const { url } = servers[2]!;
  running.push(await startWorker(folderOf('ann'), 'ann', url));
  running.push(await startGateway(folderOf('front'), await reservePort(), url));
  client = await connectTo(running.at(-1)!.url);
}, 120_000);

afterAll(async () => {
  client?.close();
  await Promise.all(running.map(kill));
  await Promise.all(servers.map((each) => each.stop()));
  rmSync(folder, { recursive: true, force: true });
});

describe.skipIf(!server)(`three replicas${leftOut}`, () => {
  it('are those of each stream of the cell', async () => {
    const nc = await connect({ servers: [servers[0]!.url] });
    const manager = await jetstreamManager(nc);
    const replicas = (await manager.streams.list().next()).map(({ config }) => config.num_replicas);
    await nc.close();
    expect(replicas).toEqual([3, 3, 3, 3, 3]);
  });

  it('hold a backup and an erasure, also without one of the servers', async () => {
    for (let n = 0; n < 5; n++) {
      await inject(KEY, `${CANARY} ${n}`);
      await inject(OTHER_KEY, `other note ${n}`);
    }
    const backups = join(folder, 'backups');
    const command = folderOf('command');
    const create = ['backup', 'create', '--data', command, '--to', backups, '--json'];
    expect(await runProgram(create, { home: command })).toMatchObject({ code: 0 });

    await servers[2]!.kill('SIGKILL');
    // Refused until the processes have found another server.
    await eventually(() => operate('erasures.session', { id: KEY }), 60_000);
    await eventually(async () => {
      const row = await operate<ErasureRow>('erasures.get', { erasure: `session:${KEY}` });
      expect(row).toMatchObject({ state: 'done', reach: { shards: 2, isDone: true } });
    }, 90_000);
    expect(await history(KEY)).not.toContain(CANARY);
    expect(await history(OTHER_KEY)).toContain('other note 4');
    await inject(OTHER_KEY, 'written without a server');
    expect(await runProgram(create, { home: command })).toMatchObject({ code: 0 });

    const { port, folder: store } = servers[2]!;
    const config = configs[2]!;
    servers[2] = await startNats({ path: server!.path, folder: store, port, config });
    const data = join(folder, 'restored');
    const settings = join(folderOf('restore', 'again'), 'troupe.json5');
    const { url } = servers[0]!;
    const restore = ['restore', backups, '--data', data, '--nats', url, '--config', settings];
    const restored = await runProgram(restore, { home: command });
    expect(restored).toMatchObject({ code: 0 });
    const ports = await openNats({
      servers: [url],
      env: 'again',
      shards: 2,
      state: () => new MemoryState(),
      onAlarm: () => {},
    });
    const texts = async (key: string) => {
      const subject = transcriptSubject('again', address('default', 'session', key));
      const entries = await ports.store.log.read(subject, 1);
      return entries.map(({ bytes }) => Buffer.from(bytes).toString('latin1')).join();
    };
    try {
      expect(await texts(OTHER_KEY)).toContain('written without a server');
      expect(await texts(KEY)).not.toContain(CANARY);
    } finally {
      await ports.store.close();
    }
  }, 240_000);
});
