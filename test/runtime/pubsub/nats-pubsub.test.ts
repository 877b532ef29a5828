import { connect, headers, type NatsConnection } from '@nats-io/transport-node';
import { afterAll, afterEach, beforeAll, beforeEach, expect, it } from 'vitest';
import { connectNats } from '../../../runtime/cluster/nats-connection.ts';
import { NatsPubsub } from '../../../runtime/pubsub/nats-pubsub.ts';
import type { PublicMessage } from '../../../runtime/pubsub/pubsub.ts';
import { describeOnNats } from '../../servers/describe-on-nats.ts';
import { type NatsServer, startNats } from '../../servers/nats.ts';
import { startTcpProxy, type TcpProxy } from '../../../loadtest/faults/tcp-proxy.ts';
import { eventually } from '../eventually.ts';

const text = (bytes: Uint8Array): string => new TextDecoder().decode(bytes);
const bytesOf = (value: string): Uint8Array => new TextEncoder().encode(value);
const plenty = { messages: 1_000, bytes: 1_000_000 };

/** Registered after the adapter's own status listener, so it is notified later. */
const once = async (nc: NatsConnection, type: string): Promise<void> => {
  for await (const status of nc.status()) if (status.type === type) return;
};

describeOnNats('NatsPubsub', ({ path }) => {
  let server: NatsServer;
  let proxy: TcpProxy;
  /** of an external program, with the plain client */
  let outside: NatsConnection;
  let own: NatsConnection;
  let proxied: NatsConnection;
  let one: NatsPubsub;
  let two: NatsPubsub;
  let prefix = '';
  let cases = 0;
  beforeAll(async () => {
    server = await startNats({ path, config: 'max_payload: 16384\nmax_pending: 16777216' });
    proxy = await startTcpProxy(server.port);
    outside = await connect({ servers: server.url });
    own = await connectNats({ servers: [server.url] });
    proxied = await connectNats({ servers: [`127.0.0.1:${proxy.port}`] });
  });
  afterAll(async () => {
    for (const nc of [outside, own, proxied]) await nc.close();
    await proxy.close();
    await server.stop();
  });
  beforeEach(() => {
    prefix = `case${cases++}`;
    one = new NatsPubsub(own);
    two = new NatsPubsub(proxied);
  });
  afterEach(async () => {
    await one.close();
    await two.close();
  });

  const heard = async (pattern: string): Promise<string[]> => {
    const got: string[] = [];
    outside.subscribe(pattern, { callback: (_, { data }) => void got.push(text(data)) });
    await outside.flush();
    return got;
  };
  const refuse = (message: PublicMessage): void => message.respond?.(bytesOf('too much'));

  it('sends plain bytes and headers that any client can read', async () => {
    const got: [string, string | undefined][] = [];
    outside.subscribe(`${prefix}.out`, {
      callback: (_, message) =>
        void got.push([text(message.data), message.headers?.get('event-id')]),
    });
    await outside.flush();
    one.publish(`${prefix}.out`, bytesOf('ä'), { 'event-id': 'x.1' });
    await eventually(() => expect(got).toEqual([['ä', 'x.1']]));
  });

  it('delivers bytes, headers by lower-case name, and a reply to the requester', async () => {
    const seen: PublicMessage[] = [];
    one.serve(`${prefix}.*`, 'entry-points', {
      outstanding: plenty,
      onOverflow: refuse,
      onMessage: async (message) => {
        seen.push(message);
        message.respond?.(message.bytes, { status: '200' });
      },
    });
    await own.flush();
    const sent = headers();
    sent.append('Authorization', 'first');
    sent.append('Authorization', 'second');
    const answer = await outside.request(`${prefix}.a`, 'whole', {
      timeout: 10_000,
      headers: sent,
    });
    expect([answer.string(), answer.headers?.get('status')]).toEqual(['whole', '200']);
    expect(seen[0]).toMatchObject({
      subject: `${prefix}.a`,
      headers: { authorization: 'first' },
    });
    outside.publish(`${prefix}.a`, 'no responder');
    await eventually(() => expect(seen).toHaveLength(2));
    expect(seen[1]!.respond).toBeUndefined();
  });

  it('delivers each message to one subscriber of a queue', async () => {
    const counts = [0, 0];
    for (const [index, pubsub] of [one, two].entries())
      pubsub.serve(`${prefix}.*`, 'entry-points', {
        outstanding: plenty,
        onOverflow: refuse,
        onMessage: async ({ respond }) => {
          counts[index]!++;
          respond?.(bytesOf(''));
        },
      });
    await Promise.all([own.flush(), proxied.flush()]);
    const asked = Array.from({ length: 200 }, () =>
      outside.request(`${prefix}.a`, '', { timeout: 10_000 }),
    );
    await Promise.all(asked);
    expect(counts[0]! + counts[1]!).toBe(200);
    expect(Math.min(...counts)).toBeGreaterThan(0);
  });

  for (const { limit, outstanding } of [
    { limit: 'messages', outstanding: { messages: 2, bytes: 1_000_000 } },
    { limit: 'bytes', outstanding: { messages: 1_000, bytes: 20 } },
  ])
    it(`refuses at once a message beyond ${limit} that are in progress`, async () => {
      const held: PublicMessage[] = [];
      let release = (): void => {};
      const released = new Promise<void>((resolve) => (release = resolve));
      one.serve(`${prefix}.*`, 'entry-points', {
        outstanding,
        onOverflow: refuse,
        onMessage: async (message) => {
          held.push(message);
          await released;
          message.respond?.(bytesOf('done'));
        },
      });
      await own.flush();
      const ask = async () =>
        (await outside.request(`${prefix}.a`, '0123456789', { timeout: 10_000 })).string();
      const first = [ask(), ask()];
      await eventually(() => expect(held).toHaveLength(2));
      expect(await ask()).toBe('too much');
      release();
      expect(await Promise.all(first)).toEqual(['done', 'done']);
      expect(await ask()).toBe('done');
    });

  it('replies to accepted messages before it ends, and accepts no more', async () => {
    let release = (): void => {};
    let taken = 0;
    const released = new Promise<void>((resolve) => (release = resolve));
    const end = one.serve(`${prefix}.*`, 'entry-points', {
      outstanding: plenty,
      onOverflow: refuse,
      onMessage: async (message) => {
        taken++;
        await released;
        message.respond?.(bytesOf('done'));
      },
    });
    await own.flush();
    const asked = outside.request(`${prefix}.a`, '', { timeout: 10_000 });
    await eventually(() => expect(taken).toBe(1));
    let isEnded = false;
    const ending = end().then(() => (isEnded = true));
    await own.flush();
    expect(isEnded).toBe(false);
    release();
    await ending;
    expect((await asked).string()).toBe('done');
    await expect(outside.request(`${prefix}.a`, '', { timeout: 10_000 })).rejects.toThrow(
      /no responders/i,
    );
    expect(taken).toBe(1);
  });

  it('refuses a message that exceeds the limit of the server, headers included', () => {
    const whole = new Uint8Array(16_384);
    expect(() => one.publish(`${prefix}.out`, whole)).not.toThrow();
    expect(() => one.publish(`${prefix}.out`, whole, { a: 'b' })).toThrow(/16384/);
  });

  it.each(['', 'a..b', 'a b', 'a.*', 'a.>', `a.${'x'.repeat(4_000)}`])(
    'refuses to send to the invalid subject %j',
    (subject) => {
      expect(() => one.publish(subject, bytesOf(''))).toThrow(/not a subject/);
    },
  );

  it('refuses a header that contains a line break', () => {
    const sent = () => one.publish(`${prefix}.out`, bytesOf(''), { status: 'x\r\nstatus: 200' });
    expect(sent).toThrow(/header/);
  });

  it('drops messages sent without a connection, and continues with the next one', async () => {
    const got = await heard(`${prefix}.out`);
    const isLost = once(proxied, 'disconnect');
    proxy.refuse(true);
    proxy.cut();
    await isLost;
    two.publish(`${prefix}.out`, bytesOf('lost'));
    const isBack = once(proxied, 'reconnect');
    proxy.refuse(false);
    await isBack;
    two.publish(`${prefix}.out`, bytesOf('after'));
    await eventually(() => expect(got).toEqual(['after']));
  });

  it('sends nothing after it is closed', async () => {
    await one.close();
    expect(() => one.publish(`${prefix}.out`, bytesOf(''))).toThrow(/closed/);
  });
});
