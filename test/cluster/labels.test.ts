/**
 * Work that may run on certain workers only: agents whose workspaces are pinned by labels, and
 * envelopes with `data_locality`. The built program as two workers and a gateway on a real NATS
 * server; sessions and tasks live on both workers.
 */
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { sessionAddress } from '../../actors/index.ts';
import type { GatewayClient } from '../../client/gateway-client.ts';
import { address, shardOf } from '../../protocols/address.ts';
import { defined } from '../../protocols/defined.ts';
import type { TaskView } from '../../protocols/task.ts';
import { folderNameOf } from '../../runtime/workspaces/name.ts';
import { connectTo } from '../kill/conversations.ts';
import { kill, type Program, startGateway, startWorker, TOKEN } from '../kill/program.ts';
import { reservePort } from '../servers/reserve-port.ts';
import { openCluster, type StoredCluster } from '../kill/stored.ts';
import { eventually } from '../runtime/eventually.ts';
import { type NatsServer, natsServers, startNats } from '../servers/nats.ts';
import { newEnvelope } from '../protocols/new-envelope.ts';

const HERE = 'asia-southeast1';
const ABROAD = 'europe-west4';
const NOWHERE = 'us-east1';
/** Only ann has the disk and is in HERE; bob is in ABROAD. */
const OF: Readonly<Record<string, object>> = {
  ann: { cluster: { shards: 8, labels: { disk: 'fast' } }, a2a: { locality: HERE } },
  bob: { cluster: { shards: 8 }, a2a: { locality: ABROAD } },
  gateway: { a2a: { locality: HERE, localities: [ABROAD, NOWHERE] } },
};
const COMMON = {
  agents: { defaults: { sandbox: { mode: 'none' } }, agents: [{ id: 'main', default: true }] },
  runtime: { workspaces: { provider: 'pinned', labels: { disk: 'fast' } } },
  tools: { exec: { allow: ['touch *'] } },
};

const folder = mkdtempSync(join(tmpdir(), 'troupe-labels-'));
const server = natsServers().at(-1);
const leftOut = server ? '' : ' (left out: there is no nats-server here)';
const running = new Map<string, Program>();
let nats: NatsServer | undefined;
let stored: StoredCluster;
let client: GatewayClient;

function folderOf(name: string): string {
  const data = join(folder, name);
  mkdirSync(data, { recursive: true });
  writeFileSync(join(data, 'troupe.json5'), JSON.stringify({ ...COMMON, ...OF[name] }));
  return data;
}

const work = async (name: string) =>
  running.set(name, await startWorker(folderOf(name), name, nats!.url));

async function stop(name: string): Promise<void> {
  const { child } = running.get(name)!;
  const exited = once(child, 'exit');
  child.kill('SIGTERM');
  await exited;
}

const areShared = (names: readonly string[]) =>
  eventually(() => expect(new Set(stored.owners())).toEqual(new Set(names)));

/** A session that lives on this worker now. */
let sessions = 0;
function sessionOn(worker: string): string {
  for (;;) {
    const key = `agent:main:s-${++sessions}`;
    const shard = shardOf(sessionAddress('default', key), stored.shards);
    if (stored.owners()[shard] === worker) return key;
  }
}

async function said(sessionKey: string, message: string): Promise<string> {
  const params = { message, sessionKey, idempotencyKey: randomUUID() };
  const { result } = (await client.request('agent', params, {
    expectFinal: true,
    timeoutMs: 0,
  })) as { result: { payloads: readonly { text: string }[] } };
  return result.payloads.map(({ text }) => text).join('\n');
}

type Answer = { readonly status: number; readonly body: unknown };

/** One envelope. @param locality undefined: anywhere */
async function send(locality: string | undefined, name: string, order?: object): Promise<Answer> {
  const action = order ? 'process.publish_document' : 'agent_data.update_document';
  const payload = { subject: name, document_id: name, content: 'text', ...order };
  const changes = { ttl_sec: 300, idempotency_key: `${action} ${name}`, seq: order ? 2 : 1 };
  const envelope = newEnvelope(action, payload, {
    ...changes,
    ...defined({ data_locality: locality }),
  });
  const body = JSON.stringify(envelope);
  return request('/v1/envelopes', { method: 'POST', body });
}

async function request(path: string, how: RequestInit = {}): Promise<Answer> {
  const url = running.get('gateway')!.url.replace('ws:', 'http:');
  const headers = { authorization: `Bearer ${TOKEN}`, 'content-type': 'application/json' };
  const answer = await fetch(`${url}${path}`, { ...how, headers });
  return { status: answer.status, body: await answer.json() };
}

/** Writes documents and publishes them: evidence is stored by the worker that verifies. */
async function publish(locality: string | undefined, names: readonly string[]): Promise<void> {
  await Promise.all(
    names.map(async (name) => {
      expect(await send(locality, name)).toMatchObject({ status: 200 });
      const order = { content: 'news', expected_version: 1, notify: { to: 'ada' } };
      const { body } = await send(locality, name, order);
      const { task_id: id } = body as TaskView;
      await eventually(async () => {
        const { body: view } = await request(`/v1/tasks/${id}`);
        expect(view).toMatchObject({ state: 'SUCCEEDED' });
      });
    }),
  );
}

const artifactsOf = (name: string) =>
  readdirSync(join(folder, name, 'artifacts'), { recursive: true })
    .map(String)
    .toSorted();

beforeAll(async () => {
  if (!server) return;
  nats = await startNats({ path: server.path });
  await Promise.all(['ann', 'bob'].map(work));
  running.set('gateway', await startGateway(folderOf('gateway'), await reservePort(), nats.url));
  client = await connectTo(running.get('gateway')!.url);
  stored = await openCluster(nats.url);
  await areShared(['ann', 'bob']);
}, 60_000);

afterAll(async () => {
  client?.close();
  await stored?.close();
  await Promise.all([...running.values()].map(kill));
  await nats?.stop();
  rmSync(folder, { recursive: true, force: true });
});

describe.skipIf(!server)(`a cluster with labels${leftOut}`, () => {
  const filesOf = (name: string) =>
    join(folder, name, 'workspaces', folderNameOf(address('default', 'agent', 'main')), 'files');

  it('runs tools of sessions on both workers where the workspace is', async () => {
    for (const worker of ['ann', 'bob']) {
      const path = `of-${worker}`;
      const session = sessionOn(worker);
      expect(
        await said(session, `call write ${JSON.stringify({ path, content: 'kept' })}`),
      ).toContain('Wrote 4 bytes');
      expect(await said(session, `call exec {"command":"touch ${path}.run"}`)).toContain(
        '[exit code 0]',
      );
      expect(readFileSync(join(filesOf('ann'), path), 'utf8')).toBe('kept');
      expect(existsSync(join(filesOf('ann'), `${path}.run`))).toBe(true);
    }
    expect(existsSync(join(folder, 'bob', 'workspaces'))).toBe(false);
  }, 30_000);

  it('begins a run elsewhere again when the worker with the workspace is killed', async () => {
    const session = sessionOn('bob');
    const reply = said(session, 'call write {"path":"after-kill","content":"once"}');
    await kill(running.get('ann')!);
    await work('ann');
    expect(await reply).toContain('Wrote 4 bytes');
    expect(readFileSync(join(filesOf('ann'), 'after-kill'), 'utf8')).toBe('once');
    await areShared(['ann', 'bob']);
  }, 60_000);

  it('waits while no worker has the labels, and continues when one joins', async () => {
    await stop('ann');
    await areShared(['bob']);
    const reply = said('agent:main:waiting', 'call read {"path":"of-bob"}');
    const ended = reply.then(() => true);
    const log = () => client.request('sessions.list', { limit: 100 });
    await eventually(async () => {
      const { sessions: rows } = await log();
      expect(rows.find(({ key }) => key === 'agent:main:waiting')?.hasActiveRun).toBe(true);
    });
    expect(await Promise.race([ended, client.request('health', {}).then(() => false)])).toBe(false);
    await work('ann');
    expect(await reply).toMatch(/1 +kept/);
    await areShared(['ann', 'bob']);
  }, 60_000);

  it('never runs an agent on an empty folder when the disk of its worker was lost', async () => {
    await stop('ann');
    rmSync(join(folder, 'ann', 'workspaces'), { recursive: true });
    await work('ann');
    const failed = said(sessionOn('bob'), 'call read {"path":"of-bob"}');
    await expect(failed).rejects.toThrow(/belong to the volume/);
    expect(existsSync(filesOf('ann'))).toBe(false);
    await areShared(['ann', 'bob']);
  }, 60_000);
});

describe.skipIf(!server)(`data_locality in a cluster${leftOut}`, () => {
  it('is refused where it is not allowed, and where no worker is', async () => {
    const forbidden = await send('sa-east1', 'forbidden');
    expect(forbidden).toMatchObject({ status: 403, body: { error: { code: 'FORBIDDEN' } } });
    const none = await send(NOWHERE, 'none');
    expect(none).toMatchObject({ status: 503, body: { error: { code: 'UNAVAILABLE' } } });
  });

  it('is where the work of a task and of the tasks of its process runs', async () => {
    const names = (prefix: string) => Array.from({ length: 8 }, (_, n) => `${prefix}-${n}`);
    const before = ['ann', 'bob'].map(artifactsOf);
    await publish(HERE.toUpperCase(), names('here'));
    const after = ['ann', 'bob'].map(artifactsOf);
    expect(after[0]!.length).toBeGreaterThan(before[0]!.length);
    expect(after[1]).toEqual(before[1]);
    await publish(undefined, names('anywhere'));
    expect(artifactsOf('bob').length).toBeGreaterThan(before[1]!.length);
  }, 60_000);

  it('is refused for now when the last worker there has left', async () => {
    await stop('ann');
    await eventually(async () =>
      expect(await send(HERE, 'none-left')).toMatchObject({ status: 503 }),
    );
    expect(await send(ABROAD, 'abroad')).toMatchObject({ status: 200 });
  }, 60_000);
});
