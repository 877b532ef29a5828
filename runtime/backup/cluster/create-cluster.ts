/**
 * Backs up a running cluster on NATS: a consistent cut of all shards (`cluster-cut.ts`), its blobs,
 * and files of the data folder where the command runs. Workers and gateways are neither asked nor
 * stopped.
 *
 * History (`cluster-history.ts`) and files of a bucket (`../bucket-files.ts`) are read after the
 * cut. Rows and mail of the cut are in a temporary folder until they are written. Blobs are copied
 * before and after the cut, as files of an embedded store are.
 */
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { FORMAT_VERSION } from '../../log/embedded-store.ts';
import { openStateCache } from '../../state/lmdb-cache.ts';
import type { State } from '../../state/state.ts';
import { Counter, type ExportHeader, FORMAT, type Frame } from '../../transfer/frames.ts';
import { bucketFrames, type BucketOptions } from '../bucket-files.ts';
import { FileFrames } from '../file-frames.ts';
import { type BackupFrame, type BackupHeader, BLOBS_FOLDER, MIN_READERS } from '../frames.ts';
import type { ObjectWriter } from '../objects.ts';
import {
  type BackupContent,
  type CreatedBackup,
  newHeader,
  type WriteBackupOptions,
  writeBackup,
} from '../write-backup.ts';
import { withScratchFolder } from '../scratch-folder.ts';
import { type ClusterHistoryOptions, historyFrames } from './cluster-history.ts';
import { cutCluster } from './cluster-cut.ts';
import { clusterFrames } from './cluster-frames.ts';
import type { ClusterSource } from './nats-source.ts';
import { ShardCopy } from './shard-copy.ts';

export type ClusterBackupOptions = WriteBackupOptions &
  BucketOptions & {
    readonly source: ClusterSource;
    /** where rows and mail are until they are written; default: the temporary folder */
    readonly temporary?: string;
    /** what is kept of turns that are not in the history yet; default: no history at all */
    readonly history?: ClusterHistoryOptions['policyOf'];
  };

/** Snapshots of shards, and the bytes of large log entries: the frames contain both. */
const NOTHING = Buffer.alloc(0);
const LEFT_OUT = ['snap/', 'big/'];

/**
 * @throws TroupeError UNAVAILABLE when NATS does not answer, or shards are trimmed faster than they
 * are read; else as `createBackup`
 */
export async function createClusterBackup(options: ClusterBackupOptions): Promise<CreatedBackup> {
  const { source, temporary = tmpdir() } = options;
  const header = newHeader(options, 'cluster', source.cell, MIN_READERS.cluster);
  return withScratchFolder(temporary, (scratch) => write(options, header, scratch));
}

async function write(
  options: ClusterBackupOptions,
  header: BackupHeader,
  scratch: string,
): Promise<CreatedBackup> {
  const { cell } = options.source;
  const opened: State[] = [];
  const open = async (name: string): Promise<State> => {
    const state = await openStateCache({ path: join(scratch, name), cell });
    opened.push(state);
    return state;
  };
  try {
    const states = { rows: await open('rows'), mail: await open('mail') };
    return await writeBackup(
      options,
      header,
      (objects) => new ClusterContent(options, states, objects),
    );
  } finally {
    await Promise.all(opened.map((state) => state.close()));
  }
}

type States = { readonly rows: State; readonly mail: State };

class ClusterContent implements BackupContent {
  readonly #o: ClusterBackupOptions;
  readonly #states: States;
  readonly #counter = new Counter();
  readonly files: FileFrames;
  readonly counts = { meta: 0, log: 0, state: 0, entries: 0 };
  cutMs = 0;
  position = 0;

  constructor(options: ClusterBackupOptions, states: States, objects?: ObjectWriter) {
    this.#o = options;
    this.#states = states;
    this.files = new FileFrames(options, objects);
  }

  async *frames(): AsyncGenerator<BackupFrame> {
    const { source } = this.#o;
    yield ['part', ['header', this.#header()]];
    yield* this.files.all();
    yield* this.#blobs();
    const copies = this.#copies();
    const from = performance.now();
    const cut = await cutCluster(copies, {
      ...this.#o,
      assertWanted: () => this.files.assertWanted(),
    });
    this.cutMs = performance.now() - from;
    this.position = cut.position;
    yield ['cut', { storeFormat: FORMAT_VERSION, checkpoint: 0, position: this.position }];
    yield* this.#blobs();
    yield* this.#bucket();
    for await (const frame of clusterFrames({ source, copies, cut, rows: this.#states.rows })) {
      this.files.assertWanted();
      this.#count(frame);
      yield ['part', frame];
    }
    const { history: policyOf } = this.#o;
    if (policyOf)
      for await (const frame of historyFrames({ source, copies, cut, policyOf })) {
        this.files.assertWanted();
        this.#count(frame);
        yield ['part', frame];
      }
    yield ['part', ['end', this.#counter.counts]];
  }

  #header(): ExportHeader {
    const { source, program } = this.#o;
    const { cell, env, shards, createdAt } = source;
    return { format: FORMAT, cell, env, shards, createdAt, exportedAt: Date.now(), program };
  }

  #copies(): readonly ShardCopy[] {
    const { source } = this.#o;
    return Array.from(
      { length: source.shards },
      (_, shard) => new ShardCopy({ ...source, ...this.#states, shard }),
    );
  }

  /** One that was deleted since it was listed is not needed by the cut, or is in the first pass. */
  async *#blobs(): AsyncGenerator<BackupFrame> {
    const { blobs } = this.#o.source;
    for (const name of await blobs.list('')) {
      const path = BLOBS_FOLDER + name;
      if (LEFT_OUT.some((prefix) => name.startsWith(prefix)) || this.files.isWritten(path))
        continue;
      const bytes = await blobs.get(name);
      if (bytes === undefined) continue;
      this.#counter.count(['blob', name, bytes]);
      yield* this.files.contents(path, bytes);
    }
  }

  async *#bucket(): AsyncGenerator<BackupFrame> {
    for await (const frame of bucketFrames(this.#o, this.files)) {
      if (frame[0] === 'object' || frame[0] === 'fileEnd')
        this.#counter.count(['artifact', '', '', NOTHING]);
      yield frame;
    }
  }

  #count(frame: Frame): void {
    this.#counter.count(frame);
    if (frame[0] === 'rows') this.counts.state += frame[1].length / 3;
    if (frame[0] === 'mail') this.counts.entries += frame[2].length;
  }
}
