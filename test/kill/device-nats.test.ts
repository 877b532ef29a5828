/**
 * kill -9 of the worker that holds a device, on NATS with two workers, at each point where
 * something waits in it: a device that asks to be let in, what a node offers, an item for a node
 * that is away, a command that the node has. Clients are of one gateway and notice no more than
 * time.
 */
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, test } from 'vitest';
import { shardOf } from '../../protocols/address.ts';
import { deviceAddress } from '../../protocols/device.ts';
import { Client, connected, type Frame } from '../channels/gateway/client.ts';
import { helloAs, newDevice } from '../channels/gateway/device-identity.ts';
import { eventually } from '../runtime/eventually.ts';
import { type NatsServer, natsServers, startNats } from '../servers/nats.ts';
import { freePort, kill, type Program, startGateway, startWorker, TOKEN } from './program.ts';
import { openCluster, type StoredCluster } from './stored.ts';

const folder = mkdtempSync(join(tmpdir(), 'troupe-device-nats-'));
const server = natsServers().at(-1);
const leftOut = server ? '' : ' (left out: there is no nats-server here)';
const running = new Map<string, Program>();
const clients: Client[] = [];
let nats: NatsServer | undefined;
let stored: StoredCluster | undefined;

afterAll(async () => {
  await Promise.all(clients.map((client) => client.close()));
  await Promise.all([...running.values()].map(kill));
  await stored?.close();
  await nats?.stop();
  rmSync(folder, { recursive: true, force: true });
});

/** Nobody is let in without a person's yes. */
const folderOf = (name: string): string => {
  const data = join(folder, name);
  mkdirSync(data, { recursive: true });
  writeFileSync(join(data, 'troupe.json5'), '{ gateway: { auth: { allowLocal: false } } }');
  return data;
};
const startOne = async (name: string): Promise<void> => {
  running.set(name, await startWorker(folderOf(name), name, nats!.url));
};

const box = newDevice();
const device = deviceAddress('default', box.id);

/** The worker that holds the device dies, and another one comes in its place. */
const killHolder = async (): Promise<void> => {
  const holder = await eventually(() => {
    const name = stored!.owners()[shardOf(device, stored!.shards)];
    expect([...running.keys()]).toContain(name);
    return name!;
  });
  await kill(running.get(holder)!);
  running.delete(holder);
  await startOne(`${holder}-again`);
};

const helloOfNode = async (url: string): Promise<{ node: Client; hello: Frame }> => {
  const node = new Client(url);
  clients.push(node);
  await node.frame(({ event }) => event === 'connect.challenge');
  const params = {
    minProtocol: 4,
    maxProtocol: 4,
    client: { id: 'node-host', version: '1.0.0', platform: 'linux', mode: 'node' },
    role: 'node',
    scopes: [],
    caps: ['system'],
    commands: ['system.which'],
    auth: { token: TOKEN },
  };
  return { node, hello: await helloAs(node, box, params) };
};
const ok = ({ ok: isOk, payload, error }: Frame) => {
  if (!isOk) throw new Error(JSON.stringify(error));
  return payload;
};

describe.skipIf(!server)(`the worker that holds a device is killed${leftOut}`, () => {
  test('while it waits for a person, for its node, and for an answer: nothing is lost or done twice', {
    timeout: 240_000,
  }, async () => {
    nats = await startNats({ path: server!.path });
    await Promise.all(['ann', 'bob'].map(startOne));
    const door = await startGateway(folderOf('door'), await freePort(), nats.url);
    running.set('door', door);
    stored = await openCluster(nats.url);
    const person = await connected(door, { auth: { token: TOKEN }, scopes: ['operator.admin'] });
    clients.push(person);

    const { hello: refused } = await helloOfNode(door.url);
    expect(refused.error?.details).toMatchObject({ code: 'PAIRING_REQUIRED' });
    const { requestId } = refused.error!.details as { requestId: string };
    await killHolder();
    ok(await person.call('device.pair.approve', { requestId }));

    const { node, hello } = await helloOfNode(door.url);
    ok(hello);
    const offered = await person.frame(({ event }) => event === 'node.pair.requested');
    await killHolder();
    ok(await person.call('node.pair.approve', { requestId: offered.payload.requestId }));

    const item = { nodeId: box.id, type: 'status.request' };
    ok(await person.call('node.pending.enqueue', item));
    const which = { nodeId: box.id, command: 'system.which', timeoutMs: 120_000 };
    const first = person.request('node.invoke', { ...which, idempotencyKey: 'k1' });
    const told = await node.frame(({ event }) => event === 'node.invoke.request');
    await killHolder();
    const { items } = ok(await node.call('node.pending.drain', {}));
    expect(items).toMatchObject([{ type: 'status.request' }]);
    const answer = { id: told.payload.id, nodeId: box.id, ok: true, payloadJSON: '{"bins":{}}' };
    ok(await node.call('node.invoke.result', answer));
    const answered = await person.frame(({ id, type }) => type === 'res' && id === first);
    expect(ok(answered)).toMatchObject({ payload: { bins: {} } });
    const repeated = await person.call('node.invoke', { ...which, idempotencyKey: 'k1' });
    expect(ok(repeated)).toMatchObject({ payload: { bins: {} } });
    expect(node.events('node.invoke.request')).toHaveLength(1);
  });
});
