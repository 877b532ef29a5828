/**
 * Every port of a cluster node, over one connection to NATS; `embedded.ts` is the equivalent for a
 * single process. Only `openNats` loads this file, so a process without NATS never loads the
 * client.
 */
import type { NatsConnection } from '@nats-io/transport-node';
import { errorData } from '../../protocols/errors.ts';
import type { Blobs } from '../blobs/blobs.ts';
import { NatsBlobs } from '../blobs/nats-blobs.ts';
import type { Bus } from '../bus/bus.ts';
import { NatsBus } from '../bus/nats-bus.ts';
import { systemClock } from '../clock/clock.ts';
import { inTime } from '../clock/in-time.ts';
import type { Store } from '../system-options.ts';
import { NatsLog } from '../log/nats-log.ts';
import { NatsPubsub } from '../pubsub/nats-pubsub.ts';
import type { Pubsub } from '../pubsub/pubsub.ts';
import { ERASURES_PREFIX } from '../erasing.ts';
import type { StateCache } from '../state/lmdb-cache.ts';
import type { State } from '../state/state.ts';
import { enterCell } from './cell.ts';
import { NatsErasure } from './nats-erasure.ts';
import { connectNats, type NatsOptions } from './nats-connection.ts';
import { type NatsStorage, natsStorage } from './nats-storage.ts';
import { importEnded, openStreams } from './nats-streams.ts';

/** Absent `scrub`: nothing of it is in files. */
type LocalState = State & Partial<Pick<StateCache, 'scrub'>>;

export type OpenNatsOptions = NatsOptions & {
  readonly env: string;
  /** for a new cell: 1 to 65,536; an existing cell keeps its own count */
  readonly shards: number;
  /** false: fail with NOT_FOUND if the cell does not exist; default true */
  readonly create?: boolean;
  /** replicas of every stream; default 1; more require NATS 2.11 */
  readonly replicas?: number;
  /** size limit of each new stream; default: the server's limit */
  readonly maxBytes?: number;
  /**
   * opens the store for this node's rows; called once the cell is known, with the number of its
   * erasures
   */
  readonly state: (cell: string, erasures: number) => Promise<LocalState> | LocalState;
  /** receives messages for the operator */
  readonly onAlarm: (what: string) => void;
};

export type NatsPorts = {
  /** its `close` also closes the connection, so call it last */
  readonly store: Store;
  readonly bus: Bus;
  readonly blobs: Blobs;
  /** for external programs; over the same connection */
  readonly pubsub: Pubsub;
  /** the cell's shard count */
  readonly shards: number;
  /** @throws when JetStream does not answer within two seconds */
  storage(): Promise<NatsStorage>;
};

/** Maximum duration of a drain. */
const DRAIN_MS = 2_000;
const SWEEP_MS = 6 * 3_600_000;

/** As `openNats`. */
export async function openNatsPorts(options: OpenNatsOptions): Promise<NatsPorts> {
  const { env, onAlarm } = options;
  const nc = await connectNats(options);
  try {
    await importEnded(nc, { onStatus: onAlarm, ...options });
    const streams = await openStreams(nc, { onStatus: onAlarm, ...options });
    const blobs = new NatsBlobs(nc, { stream: streams.blobs, env });
    const log = await NatsLog.open(nc, { streams, blobs });
    const { cell, shards } = await enterCell(log, options);
    const erasures = (await blobs.list(ERASURES_PREFIX)).length;
    const state = await options.state(cell, erasures);
    const stopSweeping = sweepAtTimes(blobs, onAlarm);
    const close = async () => {
      stopSweeping();
      await log.close();
      await state.close();
      await end(nc);
    };
    const bus = new NatsBus(nc, { env });
    const pubsub = new NatsPubsub(nc);
    const storage = () => natsStorage(nc);
    const erasing = new NatsErasure(nc, { streams, blobs, env });
    const store: Store = {
      log,
      state,
      cell,
      close,
      streams: erasing,
      subjects: (prefix) => erasing.subjects(prefix),
      erasuresAtOpening: erasures,
      scrubLocal: async (count) => state.scrub?.(count),
    };
    return { store, bus, blobs, pubsub, shards, storage };
  } catch (error) {
    await nc.close();
    throw error;
  }
}

/** Any long-running node periodically sweeps incomplete blobs of dead processes. */
function sweepAtTimes(blobs: NatsBlobs, onAlarm: (what: string) => void): () => void {
  const timer = setInterval(() => {
    blobs
      .sweep('')
      .catch((error: unknown) => onAlarm(`blobs are not swept: ${errorData(error).message}`));
  }, SWEEP_MS);
  timer.unref();
  return () => clearInterval(timer);
}

/** Flushes the last published messages, unless the connection is down. */
async function end(nc: NatsConnection): Promise<void> {
  if (nc.isClosed()) return;
  const drained = nc.drain().catch(() => {});
  await inTime(systemClock, drained, DRAIN_MS, () => {});
  await nc.close();
}
