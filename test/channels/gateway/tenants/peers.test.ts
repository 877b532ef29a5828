import { once } from 'node:events';
import { WebSocket } from 'ws';
import { afterEach, describe, expect, test } from 'vitest';
import { type Clients, Peers } from '../../../../channels/gateway/tenant/peers.ts';
import { connectParams, eventually } from '../client.ts';
import { FakeBus, FakeSessionSystem } from '../fake-session-system.ts';
import { closeAll, openClient, openGateway } from '../opened.ts';
import { StillClock } from '../still-clock.ts';

afterEach(closeAll);

const BEAT_MS = 2_000;

const peersOn = (bus: FakeBus, clock: StillClock, gateway: string, tenant = 'default') => {
  const clients = { version: 1, total: 1, entries: [{ ts: 1, host: gateway }] };
  const seen = { changes: 0 };
  const peers = new Peers({
    bus,
    tenant,
    gateway,
    clock,
    own: (): Clients => ({ ...clients }),
    changed: () => void seen.changes++,
  });
  const hosts = () => [...peers.others()].flatMap(({ entries }) => entries.map(({ host }) => host));
  return { peers, clients, seen, hosts };
};

/** Published events arrive one turn of the event loop later. */
const travelled = async () => {
  for (let n = 0; n < 4; n++) await new Promise((resolve) => setImmediate(resolve));
};

describe('gateways', () => {
  test('list the clients of each other, and drop those of a gateway that leaves', async () => {
    const system = new FakeSessionSystem();
    const [here, there] = [await openGateway(system), await openGateway(system)];
    const client = await openClient(here, { client: face('ann') });
    await openClient(there, { client: face('bob') });
    const hosts = async () =>
      (await client.call('system-presence')).payload.map(({ host }: { host: string }) => host);
    while ((await hosts()).length < 2);
    expect((await hosts()).toSorted()).toEqual(['ann', 'bob']);
    const of = (count: number) =>
      client.frame(
        ({ event, payload }) => event === 'presence' && payload.presence.length === count,
      );
    const both = await of(2);
    await there.close();
    while ((await hosts()).length > 1);
    const alone = await client.frame(
      (frame) =>
        frame.event === 'presence' && frame.seq! > both.seq! && frame.payload.presence.length === 1,
    );
    const version = (frame: object) =>
      (frame as { stateVersion: { presence: number } }).stateVersion.presence;
    expect(version(alone)).toBeGreaterThan(version(both));
  });

  test('publish nothing after they left, whichever clients they had', async () => {
    const [system, clock] = [new FakeSessionSystem(), new StillClock()];
    const gateway = await openGateway(system, { clock });
    await openClient(gateway);
    const said: string[] = [];
    const publish = system.bus.publish.bind(system.bus);
    system.bus.publish = (subject, payload) => {
      if (subject.startsWith('gateways.')) said.push((payload as { type: string }).type);
      publish(subject, payload);
    };
    await gateway.close();
    clock.move(60_000);
    clock.move(60_000);
    expect(said).toEqual(['gateway.left']);
  });

  test('request the clients of the others when they start', async () => {
    const [bus, clock] = [new FakeBus(), new StillClock()];
    peersOn(bus, clock, 'first');
    const second = peersOn(bus, clock, 'second');
    await travelled();
    expect(second.hosts()).toEqual(['first']);
    expect(second.seen.changes).toBe(1);
  });

  test('that crash are dropped after three missed heartbeats', async () => {
    const [bus, clock, deadClock] = [new FakeBus(), new StillClock(), new StillClock()];
    const alive = peersOn(bus, clock, 'alive');
    peersOn(bus, deadClock, 'dead');
    await travelled();
    alive.peers.publishClients();
    await travelled();
    for (let heartbeat = 1; heartbeat <= 3; heartbeat++) {
      clock.move(BEAT_MS);
      await travelled();
    }
    expect(alive.hosts()).toEqual(['dead']);
    expect(alive.peers.isAlive('dead')).toBe(true);
    clock.move(BEAT_MS);
    expect(alive.hosts()).toEqual([]);
    expect(alive.peers.isAlive('dead')).toBe(false);
    expect(alive.peers.isAlive('alive')).toBe(true);
  });

  test('whose message was lost are asked again after their next heartbeat', async () => {
    const [bus, clock] = [new FakeBus(), new StillClock()];
    const [one, two] = [peersOn(bus, clock, 'one'), peersOn(bus, clock, 'two')];
    await travelled();
    Object.assign(two.clients, { version: 2, entries: [{ ts: 2, host: 'two, changed' }] });
    bus.deaf = true;
    two.peers.publishClients();
    bus.deaf = false;
    await travelled();
    expect(one.hosts()).toEqual(['two']);
    clock.move(BEAT_MS);
    await travelled();
    expect(one.hosts()).toEqual(['two, changed']);
  });

  test('of another tenant are ignored', async () => {
    const [bus, clock] = [new FakeBus(), new StillClock()];
    const ours = peersOn(bus, clock, 'ours');
    peersOn(bus, clock, 'theirs', 'others');
    await travelled();
    ours.peers.publishClients();
    await travelled();
    expect(ours.hosts()).toEqual([]);
  });
});

describe('presence of many clients', () => {
  test('lists the newest 200 and the total', async () => {
    const gateway = await openGateway();
    const first = await openClient(gateway, { client: face('the first') });
    const others = await Promise.all(Array.from({ length: 8 }, () => 26).map(come(gateway.url)));
    const received = await eventually(
      () => first.events('presence').find(({ payload }) => payload.total === 209),
      'presence of all',
    );
    expect(received.payload.presence.length).toBe(200);
    const { payload } = await first.call('system-presence');
    expect(payload.length).toBe(200);
    expect(payload.some(({ host }: { host: string }) => host === 'the first')).toBe(false);
    for (const socket of others.flat()) socket.terminate();
  }, 60_000);
});

/** Connects this number of clients one after the other, without validating frames. */
const come = (url: string) => async (count: number) => {
  const sockets: WebSocket[] = [];
  while (sockets.length < count) {
    const socket = new WebSocket(url.replace('http', 'ws'));
    sockets.push(socket);
    await once(socket, 'message');
    const params = connectParams();
    socket.send(JSON.stringify({ type: 'req', id: 'hello', method: 'connect', params }));
    await once(socket, 'message');
  }
  return sockets;
};

const face = (displayName: string) => ({
  id: 'test',
  version: '1.0.0',
  platform: 'linux',
  mode: 'test',
  displayName,
});
