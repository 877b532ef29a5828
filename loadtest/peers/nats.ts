/**
 * Raw NATS JetStream: what an engineer would write by hand for a durable ask. The request is
 * published to a work-queue stream, which acknowledges that it is stored; a consumer in this
 * process reads it, stores the counter's new value in a second stream under an expected sequence
 * number, acknowledges the request, and answers over NATS. Values are cached in memory, so a
 * request costs no read.
 *
 * Configuration: file storage, one replica, and the server's default sync interval: a message is
 * written to the file before it is acknowledged, and synced later.
 */
import { loaded, type PeerDriver } from './peer.ts';
import { freePort, programOf, startServer } from './server.ts';

type Message = { readonly subject: string; json<T>(): T; ack(): void };
type Reply = { json<T>(): T };
type Connection = {
  subscribe(
    subject: string,
    options: { callback: (error: unknown, reply: Reply) => void },
  ): unknown;
  publish(subject: string, payload: string): void;
  close(): Promise<void>;
};
type PublishAck = { readonly seq: number };
type JetStream = {
  publish(subject: string, payload: string, options?: object): Promise<PublishAck>;
  readonly consumers: {
    get(stream: string, name: string): Promise<{ consume(options: object): Promise<unknown> }>;
  };
};
type Manager = {
  readonly streams: { add(config: object): Promise<unknown> };
  readonly consumers: { add(stream: string, config: object): Promise<unknown> };
};
type Transport = { connect(options: { servers: string }): Promise<Connection> };
type JetStreamPackage = {
  jetstream(connection: Connection): JetStream;
  jetstreamManager(connection: Connection): Promise<Manager>;
};

/** What the consumer keeps of a counter: its value, and the sequence number of its last entry. */
type Counter = { value: number; seq: number; busy: Promise<void> };

const ACK_PENDING_MAX = 1_000;

export const nats: PeerDriver = {
  name: 'nats',
  needs: {
    packages: ['@nats-io/transport-node', '@nats-io/jetstream'],
    program: 'nats-server',
  },
  guarantee:
    'a request of a killed consumer is delivered again, and counted twice if its value was stored',
  async start({ folder, data }) {
    const transport = loaded<Transport>(folder, '@nats-io/transport-node');
    const streams = loaded<JetStreamPackage>(folder, '@nats-io/jetstream');
    const port = await freePort();
    const program = process.env['TROUPE_NATS_SERVER'] ?? programOf('nats-server');
    const args = ['-js', '-sd', data, '-a', '127.0.0.1', '-p', String(port)];
    const server = await startServer(program, args, port);
    const servers = `127.0.0.1:${port}`;
    // The caller and the consumer have a connection each, as in two programs.
    const [caller, worker] = await Promise.all([
      transport.connect({ servers }),
      transport.connect({ servers }),
    ]);
    await createStreams(await streams.jetstreamManager(worker));
    await consume(worker, streams.jetstream(worker));
    const add = asker(caller, streams.jetstream(caller));
    return {
      server: server.pid,
      add,
      async stop() {
        await Promise.all([caller.close(), worker.close()]);
        await server.stop();
      },
    };
  },
};

async function createStreams(manager: Manager): Promise<void> {
  const stream = { storage: 'file', num_replicas: 1 };
  await manager.streams.add({
    ...stream,
    name: 'asks',
    subjects: ['asks.*'],
    retention: 'workqueue',
  });
  await manager.streams.add({
    ...stream,
    name: 'counters',
    subjects: ['counters.*'],
    max_msgs_per_subject: 1,
  });
  await manager.consumers.add('asks', {
    durable_name: 'counters',
    ack_policy: 'explicit',
    max_ack_pending: ACK_PENDING_MAX,
  });
}

async function consume(connection: Connection, js: JetStream): Promise<void> {
  const counters = new Map<string, Counter>();
  const addTo = async (name: string, counter: Counter, message: Message) => {
    const { reply } = message.json<{ reply: string }>();
    const expect = { lastSubjectSequence: counter.seq };
    const value = counter.value + 1;
    const { seq } = await js.publish(`counters.${name}`, String(value), { expect });
    Object.assign(counter, { value, seq });
    message.ack();
    connection.publish(reply, String(value));
  };
  const consumer = await js.consumers.get('asks', 'counters');
  await consumer.consume({
    callback: (message: Message) => {
      const name = message.subject.slice('asks.'.length);
      const counter = counters.get(name) ?? { value: 0, seq: 0, busy: Promise.resolve() };
      counters.set(name, counter);
      counter.busy = counter.busy.then(() => addTo(name, counter, message));
    },
  });
}

/** Answers arrive at one inbox; its last token is the number of the request. */
function asker(connection: Connection, js: JetStream): (counter: number) => Promise<number> {
  const waiting = new Map<string, (value: number) => void>();
  const inbox = `answers.${process.pid}`;
  connection.subscribe(`${inbox}.*`, {
    callback: (_, reply) => {
      const { subject } = reply as unknown as { subject: string };
      waiting.get(subject)?.(reply.json<number>());
      waiting.delete(subject);
    },
  });
  let count = 0;
  return async (counter) => {
    const reply = `${inbox}.${count++}`;
    const answer = new Promise<number>((resolve) => void waiting.set(reply, resolve));
    await js.publish(`asks.${counter}`, JSON.stringify({ reply }));
    return answer;
  };
}
