import { connect, headers, type NatsConnection } from '@nats-io/transport-node';
import { afterAll, afterEach, beforeAll, beforeEach, expect, it } from 'vitest';
import { encode } from '../../../protocols/codec.ts';
import { runEventsOfTenant, runEventsTopic } from '../../../protocols/session.ts';
import { NatsBus } from '../../../runtime/bus/nats-bus.ts';
import { connectNats } from '../../../runtime/cluster/nats-connection.ts';
import { describeOnNats } from '../../servers/describe-on-nats.ts';
import { type NatsServer, startNats } from '../../servers/nats.ts';
import { startTcpProxy, type TcpProxy } from '../../../loadtest/faults/tcp-proxy.ts';
import { eventually } from '../eventually.ts';
import { busContract } from './contract.ts';

describeOnNats('NatsBus', ({ path }) => {
  let server: NatsServer;
  let proxy: TcpProxy;
  /** straight to the server, and through the proxy */
  let straight: NatsConnection;
  let proxied: NatsConnection;
  let one: NatsBus;
  let two: NatsBus;
  beforeAll(async () => {
    server = await startNats({ path, config: 'max_payload: 16384\nmax_pending: 268435456' });
    proxy = await startTcpProxy(server.port);
    straight = await connectNats({ servers: [server.url] });
    proxied = await connectNats({ servers: [`127.0.0.1:${proxy.port}`] });
  });
  afterAll(async () => {
    await straight.close();
    await proxied.close();
    await proxy.close();
    await server.stop();
  });

  let cells = 0;
  busContract('NATS', async () => ({ bus: new NatsBus(straight, { env: `of ${cells++}` }) }));

  beforeEach(async () => {
    const env = `cell ${cells++}`;
    one = new NatsBus(straight, { env });
    two = new NatsBus(proxied, { env });
  });
  afterEach(async () => {
    await one.close();
    await two.close();
  });

  /** The messages that `two` receives. Resolves when the server has registered the subscription. */
  const receivedByTwo = async (pattern: string): Promise<unknown[]> => {
    const got: unknown[] = [];
    two.subscribe(pattern, ({ payload }) => got.push(payload));
    await proxied.flush();
    return got;
  };

  it('carries messages between processes of one cell, and to no other cell', async () => {
    const got = await receivedByTwo('>');
    const other = new NatsBus(straight, { env: 'elsewhere' });
    other.publish('s', 'of another cell');
    one.publish('s', { bytes: Buffer.from('b'), text: 'ä' });
    await eventually(() => expect(got).toEqual([{ bytes: Buffer.from('b'), text: 'ä' }]));
    await other.close();
  });

  it('delivers messages and replies that are larger than the server allows', async () => {
    const large = Buffer.alloc(3_000_000, 'large');
    two.subscribe('echo', ({ payload, respond }) => respond(payload));
    await proxied.flush();
    const answer = await one.request('echo', large, { timeoutMs: 20_000 });
    expect(large.equals(answer as Buffer)).toBe(true);
  });

  it('delivers a message in parts to each subscriber, with others in between', async () => {
    const first = await receivedByTwo('parts');
    const second = await receivedByTwo('*');
    one.publish('parts', 'x'.repeat(50_000));
    one.publish('parts', 'short');
    await eventually(() =>
      expect(first.map((text) => (text as string).length)).toEqual([50_000, 5]),
    );
    expect(second).toEqual(first);
  });

  it('accepts session keys of any characters as subjects', async () => {
    const got = await receivedByTwo(runEventsOfTenant('a.*> b'));
    one.publish(runEventsTopic('a.*> b', 'agent:main: .*>\n☃'), 1);
    await eventually(() => expect(got).toEqual([1]));
  });

  it.each(['', 'a..b', 'a b', 'a\r\nPUB x 0', '.a', 'a.', 'ä', 'a*', 'a.>', 'x'.repeat(4_000)])(
    'refuses to publish on %j, and the connection lives',
    async (subject) => {
      expect(() => one.publish(subject, 1)).toThrow(/not a subject|a pattern/);
      await expect(one.request(subject, 1, { timeoutMs: 1_000 })).rejects.toMatchObject({
        code: 'INVALID_ARGUMENT',
      });
      expect(() => one.subscribe(subject === 'a.>' ? '>.a' : subject, () => {})).toThrow(
        /not a subject/,
      );
      await straight.flush();
    },
  );

  it('refuses a message above the bound of all parts', () => {
    const huge = Buffer.alloc(65 * 1024 * 1024);
    expect(() => one.publish('s', huge)).toThrow(
      expect.objectContaining({ code: 'PAYLOAD_TOO_LARGE' }),
    );
  });

  it('delivers to the others when a handler throws, and the error is not swallowed', async () => {
    const thrown: unknown[] = [];
    const listeners = process.listeners('uncaughtException');
    process.removeAllListeners('uncaughtException');
    process.on('uncaughtException', (error) => thrown.push(error.message));
    two.subscribe('s', () => {
      throw new Error('of the handler');
    });
    const got = await receivedByTwo('s');
    one.publish('s', 1);
    one.publish('s', 2);
    await eventually(() => expect(got).toEqual([1, 2]));
    expect(thrown).toEqual(['of the handler', 'of the handler']);
    process.removeAllListeners('uncaughtException');
    for (const listener of listeners) process.on('uncaughtException', listener);
  });

  it('survives messages of other senders', async () => {
    const env = `cell%20${cells - 1}`;
    const got = await receivedByTwo('s');
    const foreign = await connect({ servers: server.url });
    foreign.publish(`bus.${env}.s`, CUT);
    for (const value of ['', 'a', 'a 1 1', 'a 0 1000000000000', 'a x y', 'a 0 1'])
      foreign.publish(`bus.${env}.s`, CUT, { headers: part(value) });
    foreign.publish(`bus.${env}.s`, encode('sound'));
    await eventually(() => expect(got).toEqual(['sound']));
    await foreign.close();
  });

  it('detects a lost connection: drops messages, ends requests, and reconnects', async () => {
    const got: unknown[] = [];
    one.subscribe('s', ({ payload }) => got.push(payload));
    one.subscribe('silent', () => {});
    await straight.flush();
    const open = two.request('silent', 1, { timeoutMs: 20_000 });
    await proxied.flush();
    proxy.refuse(true);
    proxy.cut();
    await expect(open).rejects.toMatchObject({ code: 'UNAVAILABLE' });
    expect(two.connected).toBe(false);
    expect(one.connected).toBe(true);
    for (let n = 0; n < 100; n++) two.publish('s', 'lost');
    await expect(two.request('s', 1, { timeoutMs: 20_000 })).rejects.toMatchObject({
      code: 'UNAVAILABLE',
    });
    const later = await new Promise<unknown[]>((resolve, reject) => {
      proxy.refuse(false);
      const heard: unknown[] = [];
      two.subscribe('later', ({ payload }) => heard.push(payload));
      eventually(() => expect(two.connected).toBe(true)).then(() => resolve(heard), reject);
    });
    await proxied.flush();
    two.publish('s', 'found');
    one.publish('later', 'also');
    await eventually(() => expect([got, later]).toEqual([['found'], ['also']]));
  });

  it('detects a connection that was lost before the bus was created', async () => {
    proxy.refuse(true);
    const lost = new Promise<void>((resolve) => {
      void (async () => {
        for await (const { type } of proxied.status()) if (type === 'disconnect') return resolve();
      })();
    });
    proxy.cut();
    await lost;
    const late = new NatsBus(proxied, { env: 'late' });
    await eventually(() => expect(late.connected).toBe(false));
    proxy.refuse(false);
    await eventually(() => expect(late.connected).toBe(true));
    await late.close();
  });

  it('calls handlers of one subject in the order of their subscriptions', async () => {
    const order: string[] = [];
    const stops = ['a', 'b', 'c'].map((name) =>
      two.subscribe('s', () => {
        order.push(name);
        if (name === 'a') stops[1]!();
      }),
    );
    await proxied.flush();
    one.publish('s', 1);
    one.publish('s', 2);
    await eventually(() => expect(order).toEqual(['a', 'c', 'a', 'c']));
    for (const stop of stops) stop();
    one.publish('s', 3);
    const marker = await receivedByTwo('marker');
    one.publish('marker', 4);
    await eventually(() => expect(marker).toEqual([4]));
    expect(order).toHaveLength(4);
  });

  it('does not close the connection of its creator, and is disconnected when the creator closes it', async () => {
    const nc = await connectNats({ servers: [server.url] });
    const bus = new NatsBus(nc, { env: 'x' });
    const got: unknown[] = [];
    bus.subscribe('s', ({ payload }) => got.push(payload));
    await nc.close();
    expect(bus.connected).toBe(false);
    bus.publish('s', 1);
    await expect(bus.request('s', 1, { timeoutMs: 1_000 })).rejects.toMatchObject({
      code: 'UNAVAILABLE',
    });
    await bus.close();
    await one.close();
    expect(straight.isClosed()).toBe(false);
  });
});

/** a map of two entries that is truncated within the first */
const CUT = Buffer.from([0x82, 0x01]);

const part = (value: string) => {
  const header = headers();
  header.set('Troupe-Part', value);
  return header;
};
