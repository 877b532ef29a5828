/** A NatsLog on a real server with a separate stream, for tests. */
import { describe } from 'vitest';
import { DiscardPolicy, jetstreamManager, StorageType } from '@nats-io/jetstream';
import { connect, type NatsConnection } from '@nats-io/transport-node';
import type { Blobs } from '../../../runtime/blobs/blobs.ts';
import { MemoryBlobs } from '../../../runtime/blobs/memory.ts';
import { NatsLog } from '../../../runtime/log/nats-log.ts';
import { natsServers, startNats } from '../../servers/nats.ts';

let streams = 0;

const atHand = natsServers();
const NONE = { version: '(no nats-server is at hand)', path: '' };

/** The suite on every available server; skipped when there is none. */
export const onEveryNats = (name: string, suite: (path: string, version: string) => void): void => {
  for (const { version, path } of atHand.length > 0 ? atHand : [NONE]) {
    describe.skipIf(path === '')(`${name}, on NATS ${version}`, () => {
      suite(path, version);
    });
  }
};

/** A server that can be stopped and started again on its data. */
export const restartableNats = async (path: string) => {
  const first = await startNats({ path });
  const { folder, port } = first;
  let running = first;
  return {
    port,
    async restart(signal: NodeJS.Signals): Promise<void> {
      await running.kill(signal);
      running = await startNats({ path, folder, port });
    },
    async stop(): Promise<void> {
      await running.stop();
      await first.stop();
    },
  };
};

export type RestartableNats = Awaited<ReturnType<typeof restartableNats>>;

/** The settings of a worker's connection, with shorter waits. */
export const connectTo = (port: number): Promise<NatsConnection> =>
  connect({
    servers: `127.0.0.1:${port}`,
    maxReconnectAttempts: -1,
    reconnectTimeWait: 50,
    reconnectJitter: 20,
    timeout: 2_000,
    pingInterval: 1_000,
    maxPingOut: 2,
    waitOnFirstConnect: true,
  });

/**
 * Creates a stream for all subjects below its own name, and returns the name. It is not deleted:
 * NATS 2.15 may fail to create a stream while it removes the folder of its last stream.
 */
export const makeStream = async (
  nc: NatsConnection,
  limits: { maxBytes?: number; replicas?: number } = {},
): Promise<string> => {
  const manager = await jetstreamManager(nc);
  const name = `test${process.pid}-${++streams}`;
  await manager.streams.add({
    name,
    subjects: [`${name}.>`],
    storage: StorageType.File,
    discard: DiscardPolicy.New,
    num_replicas: limits.replicas ?? 1,
    max_bytes: limits.maxBytes ?? -1,
  });
  return name;
};

/** A log on the stream, with subjects below the stream's name. */
export const openLog = (
  nc: NatsConnection,
  stream: string,
  options: { blobs?: Blobs; publishTimeoutMs?: number } = {},
): Promise<NatsLog> =>
  NatsLog.open(nc, {
    blobs: new MemoryBlobs(),
    ...options,
    streams: { streamOf: () => stream },
    prefix: `${stream}.`,
  });
