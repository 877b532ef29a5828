/**
 * BullMQ on Redis. An ask is a job in a queue; a worker in this process increments the counter in
 * Redis; the caller waits for the job's event, as BullMQ's documentation shows.
 *
 * Configuration: Redis with `appendonly yes` and `appendfsync everysec`, its documented setting for
 * durable data: it writes each command to the file before it answers. `save ''`: no snapshots
 * beside it. The worker runs up to 64 jobs at once; the last 1,000
 * finished jobs are kept.
 */
import { loaded, type PeerDriver } from './peer.ts';
import { freePort, programOf, startServer } from './server.ts';

type Connection = { readonly host: string; readonly port: number };
type Job = { waitUntilFinished(events: object, ttlMs: number): Promise<unknown> };
type Closable = { close(): Promise<void> };
type BullMq = {
  Queue: new (
    name: string,
    options: { connection: Connection },
  ) => Closable & {
    add(name: string, data: object, options: object): Promise<Job>;
    setMaxListeners(count: number): unknown;
  };
  Worker: new (
    name: string,
    work: (job: { readonly data: { readonly counter: number } }) => Promise<number>,
    options: { connection: Connection; concurrency: number },
  ) => Closable & { waitUntilReady(): Promise<unknown> };
  QueueEvents: new (
    name: string,
    options: { connection: Connection },
  ) => Closable & {
    waitUntilReady(): Promise<unknown>;
    setMaxListeners(count: number): unknown;
  };
};

type IoRedis = {
  Redis: new (
    connection: Connection,
  ) => {
    incr(key: string): Promise<number>;
    disconnect(): void;
  };
};

/** A job that is removed at once cannot be waited for. */
const KEPT = 1_000;
const AT_ONCE = 64;
const WAIT_MS = 30_000;

export const bullmq: PeerDriver = {
  name: 'bullmq',
  needs: { packages: ['bullmq', 'ioredis'], program: 'redis-server' },
  guarantee: 'a job of a killed worker runs again, so the counter may count it twice',
  async start({ folder, data }) {
    const { Queue, Worker, QueueEvents } = loaded<BullMq>(folder, 'bullmq');
    // BullMQ loads it itself, and repeats its error without end if it is missing.
    const { Redis } = loaded<IoRedis>(folder, 'ioredis');
    const port = await freePort();
    const args = ['--port', String(port), '--bind', '127.0.0.1', '--dir', data, '--save', ''];
    const durable = ['--appendonly', 'yes', '--appendfsync', 'everysec'];
    const server = await startServer(programOf('redis-server'), [...args, ...durable], port);
    const connection = { host: '127.0.0.1', port };
    const queue = new Queue('counters', { connection });
    const client = new Redis(connection);
    const worker = new Worker(
      'counters',
      ({ data: { counter } }) => client.incr(`counter-${counter}`),
      { connection, concurrency: AT_ONCE },
    );
    const events = new QueueEvents('counters', { connection });
    // Each job that is awaited is a listener.
    for (const emitter of [queue, events]) emitter.setMaxListeners(0);
    await Promise.all([worker.waitUntilReady(), events.waitUntilReady()]);
    const options = { removeOnComplete: { count: KEPT }, removeOnFail: { count: KEPT } };
    return {
      server: server.pid,
      async add(counter) {
        const job = await queue.add('add', { counter }, options);
        return (await job.waitUntilFinished(events, WAIT_MS)) as number;
      },
      async stop() {
        for (const part of [worker, events, queue]) await part.close();
        client.disconnect();
        await server.stop();
      },
    };
  },
};
