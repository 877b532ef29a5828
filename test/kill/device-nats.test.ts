/**
 * kill -9 of the worker that owns a device actor, on NATS with two workers, at each point where the
 * actor has pending work: a pairing request, commands that a node offers, an item for a node that
 * is offline, and a command that the node executes. Clients are connected to a gateway that keeps
 * running, so they only notice a delay.
 */
import { afterAll, expect, test } from 'vitest';
import { shardOf } from '../../protocols/address.ts';
import { deviceAddress } from '../../protocols/device.ts';
import { Client, connected, type Frame } from '../channels/gateway/client.ts';
import { helloAsNode, newDevice } from '../channels/gateway/devices/device-identity.ts';
import { eventually } from '../runtime/eventually.ts';
import { TOKEN } from './program.ts';
import { describeWithNats, TestCluster } from './test-cluster.ts';

// Every device needs the approval of an operator.
const cluster = new TestCluster('{ gateway: { auth: { allowLocal: false } } }');
const workers = ['ann', 'bob'];
const clients: Client[] = [];
afterAll(() => Promise.all(clients.map((client) => client.close())));

const box = newDevice();
const device = deviceAddress('default', box.id);

/** Kills the worker that owns the device and starts another one in its place. */
const killOwner = async (): Promise<void> => {
  const stored = await cluster.openStore();
  const owner = await eventually(() => {
    const name = stored.owners()[shardOf(device, stored.shards)];
    expect(workers).toContain(name);
    return name!;
  });
  await cluster.kill(owner);
  const successor = `${owner}-again`;
  workers.splice(workers.indexOf(owner), 1, successor);
  await cluster.startWorker(successor);
};

const helloOfNode = async (url: string): Promise<{ node: Client; hello: Frame }> => {
  const node = new Client(url);
  clients.push(node);
  return { node, hello: await helloAsNode(node, box, TOKEN) };
};
const ok = ({ ok: isOk, payload, error }: Frame) => {
  if (!isOk) throw new Error(JSON.stringify(error));
  return payload;
};

describeWithNats('a device actor whose worker is killed', () => {
  test('keeps its pairing request and invocation, and executes no command twice', {
    timeout: 240_000,
  }, async () => {
    await cluster.start(workers);
    const gateway = cluster.program('gateway');
    const operator = await connected(gateway, {
      auth: { token: TOKEN },
      scopes: ['operator.admin'],
    });
    clients.push(operator);

    const { hello: refused } = await helloOfNode(gateway.url);
    expect(refused.error?.details).toMatchObject({ code: 'PAIRING_REQUIRED' });
    const { requestId } = refused.error!.details as { requestId: string };
    await killOwner();
    ok(await operator.call('device.pair.approve', { requestId }));

    const { node, hello } = await helloOfNode(gateway.url);
    ok(hello);
    const offered = await operator.frame(({ event }) => event === 'node.pair.requested');
    await killOwner();
    ok(await operator.call('node.pair.approve', { requestId: offered.payload.requestId }));

    const item = { nodeId: box.id, type: 'status.request' };
    ok(await operator.call('node.pending.enqueue', item));
    const which = { nodeId: box.id, command: 'system.which', timeoutMs: 120_000 };
    const first = operator.request('node.invoke', { ...which, idempotencyKey: 'k1' });
    const invoked = await node.frame(({ event }) => event === 'node.invoke.request');
    await killOwner();
    const { items } = ok(await node.call('node.pending.drain', {}));
    expect(items).toMatchObject([{ type: 'status.request' }]);
    const answer = { id: invoked.payload.id, nodeId: box.id, ok: true, payloadJSON: '{"bins":{}}' };
    ok(await node.call('node.invoke.result', answer));
    const answered = await operator.frame(({ id, type }) => type === 'res' && id === first);
    expect(ok(answered)).toMatchObject({ payload: { bins: {} } });
    const repeated = await operator.call('node.invoke', { ...which, idempotencyKey: 'k1' });
    expect(ok(repeated)).toMatchObject({ payload: { bins: {} } });
    expect(node.events('node.invoke.request')).toHaveLength(1);
  });
});
