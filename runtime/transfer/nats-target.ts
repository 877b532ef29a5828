/**
 * The target of an import on NATS: the cell's streams before any process may enter. It does what
 * `openNats` does for a node, without entering the cell.
 */
import {
  JetStreamApiCodes,
  JetStreamApiError,
  type JetStreamManager,
  jetstreamManager,
} from '@nats-io/jetstream';
import type { NatsConnection } from '@nats-io/transport-node';
import { escapeToken } from '../../protocols/subjects.ts';
import { NatsBlobs } from '../blobs/nats-blobs.ts';
import { connectNats, type NatsOptions } from '../cluster/nats-connection.ts';
import { openStreams, type Streams, type StreamsOptions } from '../cluster/nats-streams.ts';
import { NatsLog } from '../log/nats-log.ts';
import type { ImportTarget } from './import.ts';

export type NatsTargetOptions = NatsOptions & StreamsOptions;

/** The server needs a while to remove a stream with many blobs. */
const CLEAR_TIMEOUT_MS = 60_000;

/**
 * Creates missing streams. @throws TroupeError as openNats does; CANCELLED when
 * `signal` ends the wait for the server
 */
export async function openNatsTarget(
  options: NatsTargetOptions,
): Promise<ImportTarget & { close(): Promise<void> }> {
  const { env } = options;
  const nc = await connectNats(options);
  try {
    const streams = await openStreams(nc, options);
    const blobs = new NatsBlobs(nc, { stream: streams.blobs, env });
    const log = await NatsLog.open(nc, { streams, blobs });
    const close = async () => {
      await log.close();
      await nc.close();
    };
    return { log, blobs, clear: () => clear(nc, options, streams), close };
  } catch (error) {
    await nc.close();
    throw error;
  }
}

/**
 * Streams without the cell's record are deleted and created again, not purged: purged entries may
 * return when the server is killed. The stream of the record always exists, because a process that
 * waits for the cell would create another one.
 */
async function clear(
  nc: NatsConnection,
  options: NatsTargetOptions,
  { mail, journal, blobs, kept, history }: Streams,
): Promise<void> {
  const manager = await jetstreamManager(nc, { timeout: CLEAR_TIMEOUT_MS, checkAPI: false });
  for (const stream of [mail, journal, history, blobs]) await remove(manager, stream);
  const token = escapeToken(options.env);
  for (const filter of [`trn.${token}.>`, `a2a.*.${token}.dlq`])
    await manager.streams.purge(kept, { filter });
  await openStreams(nc, options);
}

async function remove(manager: JetStreamManager, stream: string): Promise<void> {
  try {
    await manager.streams.delete(stream);
  } catch (error) {
    const gone =
      error instanceof JetStreamApiError && error.code === JetStreamApiCodes.StreamNotFound;
    if (!gone) throw error;
  }
}
