/** The logs and blobs of a running cell on NATS, to be read only. Nothing is created there. */
import { JetStreamApiCodes, JetStreamApiError, jetstreamManager } from '@nats-io/jetstream';
import { TroupeError } from '../../../protocols/errors.ts';
import { cellSubject, escapeToken } from '../../../protocols/subjects.ts';
import type { Blobs } from '../../blobs/blobs.ts';
import { NatsBlobs } from '../../blobs/nats-blobs.ts';
import { decodeCell } from '../../cell-record.ts';
import { connectNats, type NatsOptions } from '../../cluster/nats-connection.ts';
import { noCluster, openStreams, type StreamsOptions } from '../../cluster/nats-streams.ts';
import type { CellRecord } from '../../cluster/cell.ts';
import type { Log } from '../../log/log.ts';
import { NatsLog } from '../../log/nats-log.ts';

export type ClusterSource = Pick<CellRecord, 'cell' | 'shards' | 'createdAt'> & {
  readonly env: string;
  readonly log: Log;
  readonly blobs: Blobs;
  /** Subjects of transcripts and dead letters, sorted. */
  kept(): Promise<readonly string[]>;
  /** Subjects of history, sorted; undefined when the cell has none. */
  history(): Promise<readonly string[] | undefined>;
  close(): Promise<void>;
};

const TIMEOUT_MS = 30_000;
const isAbsent = (error: unknown): boolean =>
  error instanceof JetStreamApiError && error.code === JetStreamApiCodes.StreamNotFound;

/** @throws TroupeError NOT_FOUND without a cell; UNAVAILABLE during an import */
export async function openClusterSource(
  options: NatsOptions & Pick<StreamsOptions, 'env' | 'onStatus' | 'signal'>,
): Promise<ClusterSource> {
  const { env } = options;
  const nc = await connectNats(options);
  try {
    const streams = await openStreams(nc, { ...options, create: false });
    const blobs = new NatsBlobs(nc, { stream: streams.blobs, env });
    const log = await NatsLog.open(nc, { streams, blobs });
    const last = await log.readLast(cellSubject(env));
    if (!last) throw noCluster(env);
    const { cell, shards, createdAt, importing } = decodeCell<CellRecord>(last);
    if (importing === true)
      throw new TroupeError('UNAVAILABLE', `an import into the cell ${env} is under way`);
    const manager = await jetstreamManager(nc, { timeout: TIMEOUT_MS, checkAPI: false });
    const token = escapeToken(env);
    const subjectsIn = async (stream: string, filters: readonly string[]) => {
      const names: string[] = [];
      for (const filter of filters) {
        const { state } = await manager.streams.info(stream, { subjects_filter: filter });
        names.push(...Object.keys(state.subjects ?? {}));
      }
      return names.sort();
    };
    const kept = () => subjectsIn(streams.kept, [`trn.${token}.>`, `a2a.*.${token}.dlq`]);
    const history = () =>
      subjectsIn(streams.history, [`hst.${token}.>`]).catch((error: unknown) => {
        if (!isAbsent(error)) throw error;
        return undefined;
      });
    const close = async () => {
      await log.close();
      await nc.close();
    };
    return { env, cell, shards, createdAt, log, blobs, kept, history, close };
  } catch (error) {
    await nc.close();
    throw error;
  }
}
