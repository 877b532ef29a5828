/**
 * Create: writes a backup of an embedded installation, beside the process that uses it. That
 * process is neither asked nor stopped.
 *
 * Blobs are written before the rows that refer to them, and never change. So files are copied
 * twice: all before the cut, which takes long and does not matter, and right after the cut those
 * that are new. Every blob that a row of the cut refers to is in one of the two, unless it was made
 * and deleted between them. Files of a bucket (`bucket-files.ts`) are read after the cut.
 *
 * Memory: one page of rows, one segment of the log, and about 200 bytes per file.
 */
import { TroupeError } from '../../protocols/errors.ts';
import { readDescription } from '../log/embedded-store.ts';
import { bucketFrames, type BucketOptions } from './bucket-files.ts';
import { type Cut, takeCut } from './cut.ts';
import { FileFrames } from './file-frames.ts';
import {
  type BackupFrame,
  type BackupHeader,
  type BackupTable,
  MIN_READERS,
  PAGE_BYTES,
} from './frames.ts';
import type { ObjectWriter } from './objects.ts';
import {
  type BackupContent,
  type CreatedBackup,
  newHeader,
  type WriteBackupOptions,
  writeBackup,
} from './write-backup.ts';

export type BackupOptions = WriteBackupOptions &
  BucketOptions & {
    /** folder of the store */
    readonly store: string;
  };

const TABLES: readonly BackupTable[] = ['meta', 'log', 'state'];

/**
 * @throws TroupeError NOT_FOUND without a store; CONFLICT when the file exists; UNAVAILABLE
 * (LOCKED) when another process writes to the folder of backups, or the bucket cannot be read;
 * INTERNAL when the store is damaged
 */
export async function createBackup(options: BackupOptions): Promise<CreatedBackup> {
  const { store } = options;
  const description = readDescription(store);
  if (description === undefined)
    throw new TroupeError('NOT_FOUND', `${store} contains no data of troupe`);
  const minReader = options.bucket ? MIN_READERS.withBucket : MIN_READERS.embedded;
  const header = newHeader(options, 'embedded', description.cell, minReader);
  return writeBackup(options, header, (objects) => new StoreContent(options, header, objects));
}

class StoreContent implements BackupContent {
  readonly #o: BackupOptions;
  readonly #header: BackupHeader;
  readonly files: FileFrames;
  readonly counts = { meta: 0, log: 0, state: 0, entries: 0 };
  cutMs = 0;
  position = 0;

  constructor(options: BackupOptions, header: BackupHeader, objects?: ObjectWriter) {
    this.#o = options;
    this.#header = header;
    this.files = new FileFrames(options, objects);
  }

  async *frames(): AsyncGenerator<BackupFrame> {
    const { store, onProgress } = this.#o;
    yield* this.files.all();
    const from = performance.now();
    const cut = await takeCut(store);
    this.cutMs = performance.now() - from;
    try {
      const { cell, storeFormat, checkpoint, position } = cut;
      if (cell !== this.#header.cell)
        throw new TroupeError('CONFLICT', `${store} was replaced during the backup`);
      this.position = position;
      yield ['cut', { storeFormat, checkpoint, position }];
      yield* this.files.all();
      yield* bucketFrames(this.#o, this.files);
      onProgress?.(`the store at position ${position}`);
      for (const table of TABLES) yield* this.#rows(cut, table);
      yield* this.#log(cut);
    } finally {
      await cut.close();
    }
  }

  async *#rows(cut: Cut, table: BackupTable): AsyncGenerator<BackupFrame> {
    let page: Uint8Array[] = [];
    let size = 0;
    for (const { key, value } of cut.rows(table)) {
      page.push(key, value);
      size += key.length + value.length;
      this.counts[table]++;
      if (size < PAGE_BYTES) continue;
      this.files.assertWanted();
      yield ['rows', table, page];
      page = [];
      size = 0;
    }
    if (page.length > 0) yield ['rows', table, page];
  }

  async *#log({ segments }: Cut): AsyncGenerator<BackupFrame> {
    for (const { name, entries, read } of segments) {
      this.counts.entries += entries;
      yield* this.files.segment(`store/wal/${name}`, read());
    }
  }
}
