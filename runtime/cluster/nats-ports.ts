/**
 * The ports of a node of a cluster, made over one connection to NATS. It is loaded by `openNats`
 * alone, so that a process without NATS never reads its client.
 */
import type { NatsConnection } from '@nats-io/transport-node';
import { errorData } from '../../protocols/errors.ts';
import { NatsBlobs } from '../blobs/nats-blobs.ts';
import { NatsBus } from '../bus/nats-bus.ts';
import { NatsLog } from '../log/nats-log.ts';
import { NatsPubsub } from '../pubsub/nats-pubsub.ts';
import { enterCell } from './cell.ts';
import { connectNats } from './nats-connection.ts';
import { openStreams } from './nats-streams.ts';
import type { NatsPorts, OpenNatsOptions } from './open-nats.ts';

/** A drain that takes longer is cut short. */
const DRAIN_MS = 2_000;
const SWEEP_MS = 6 * 3_600_000;

/** As `openNats`. */
export async function openNatsPorts(options: OpenNatsOptions): Promise<NatsPorts> {
  const { env, onAlarm } = options;
  const nc = await connectNats(options);
  try {
    const streams = await openStreams(nc, { onStatus: onAlarm, ...options });
    const blobs = new NatsBlobs(nc, { stream: streams.blobs, env });
    const log = await NatsLog.open(nc, { streams, blobs });
    const { cell, shards } = await enterCell(log, options);
    const state = await options.state(cell);
    const stopSweeping = sweepAtTimes(blobs, onAlarm);
    const close = async () => {
      stopSweeping();
      await log.close();
      await state.close();
      await end(nc);
    };
    const bus = new NatsBus(nc, { env });
    const pubsub = new NatsPubsub(nc);
    return { store: { log, state, cell, close }, bus, blobs, pubsub, shards };
  } catch (error) {
    await nc.close();
    throw error;
  }
}

/** What dead processes left of their blobs is swept now and then, by any node that lives long. */
function sweepAtTimes(blobs: NatsBlobs, onAlarm: (what: string) => void): () => void {
  const timer = setInterval(() => {
    blobs
      .sweep('')
      .catch((error: unknown) => onAlarm(`blobs are not swept: ${errorData(error).message}`));
  }, SWEEP_MS);
  timer.unref();
  return () => clearInterval(timer);
}

/** What was published last still leaves; a connection that is down has nothing to wait for. */
async function end(nc: NatsConnection): Promise<void> {
  if (nc.isClosed()) return;
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<void>((resolve) => {
    timer = setTimeout(resolve, DRAIN_MS);
  });
  await Promise.race([nc.drain().catch(() => {}), late]);
  clearTimeout(timer);
  await nc.close();
}
