/**
 * Restore: makes a data folder from a backup. The folder is complete or absent: everything is
 * written beside it, verified, and renamed at the end. A killed restore leaves what it wrote; the
 * next one to the same folder removes it. The cell keeps its name, which keys, intents
 * and mail contain, so the original must never run again beside it.
 */
import { existsSync, readFileSync } from 'node:fs';
import { readdir, rename, rmdir } from 'node:fs/promises';
import { basename, dirname, join, resolve } from 'node:path';
import { defined } from '../../protocols/defined.ts';
import { errorData, TroupeError } from '../../protocols/errors.ts';
import type { Artifacts } from '../artifacts/artifacts.ts';
import { nameContents } from '../artifacts/checks.ts';
import { syncFolder, TEMPORARY_PREFIX } from '../blobs/durable-file.ts';
import { configFileName } from '../config/index.ts';
import { openEmbedded } from '../embedded.ts';
import { cellRow, FORMAT_VERSION, writeDescription } from '../log/embedded-store.ts';
import { LmdbRows } from '../log/lmdb-rows.ts';
import type { RowWrite } from '../log/rows.ts';
import { makeFolder } from '../make-folder.ts';
import type { OpenWith } from '../transfer/envelope.ts';
import { checkFramedFile, damaged, readFramedFile } from '../transfer/framed-file.ts';
import type { ExportHeader, Frame } from '../transfer/frames.ts';
import { type FramesImport, importFrames } from '../transfer/import.ts';
import { cellFrames } from './cluster/cell-frames.ts';
import { wholeFrames } from './cut.ts';
import { FolderFiles } from './folder-files.ts';
import {
  BACKUP_FORMAT,
  type BackupConfig,
  type BackupCounts,
  type BackupFrame,
  type BackupHeader,
  BUCKET_FOLDER,
  checkBackupFrame,
  type CutPoint,
} from './frames.ts';
import { BACKUP_FILE, backupsIn, hasManifest, partOf, readManifest } from './manifest.ts';
import { withScratchFolder } from './scratch-folder.ts';

export type RestoreOptions = {
  /** a folder of backups (the newest one), the folder of one backup, or a file */
  readonly from: string;
  /** absent, or empty */
  readonly into: string;
  readonly openWith?: OpenWith;
  /**
   * where the cell of a cluster's backup is written; default: a store in the new folder, for
   * inspection
   */
  readonly cluster?: Pick<FramesImport, 'target' | 'env' | 'again'>;
  /**
   * the bucket for tenants' files that were in one; called once if there are any. The restore is
   * refused when it finds none. Default: the files are checked, and stay in the backup
   */
  readonly bucket?: () => Promise<BucketTarget | undefined>;
  /** ends it with CANCELLED; no folder is left */
  readonly signal?: AbortSignal;
  readonly onProgress?: (what: string) => void;
};

type BucketTarget = Pick<Artifacts, 'put'>;
type CellOptions = Omit<RestoreOptions, 'bucket'> & { readonly bucket: BucketTarget };

export type Restored = BackupHeader &
  CutPoint & {
    readonly counts: BackupCounts;
    readonly config: BackupConfig;
    /** folder or file of the backup */
    readonly path: string;
  };

const WORDS = {
  writer: 'troupe backup',
  remedy: 'Nothing was restored. Use another backup.',
};
const BATCH_BYTES = 4 * 2 ** 20;
const MAP_SIZE_BYTES = 2 ** 30;
const LOWEST_KEY = Buffer.alloc(1);
const HIGHEST_KEY = Buffer.alloc(64, 0xff);

/**
 * @throws TroupeError CONFLICT when the folder has contents; INVALID_ARGUMENT when the backup is
 * damaged or of a newer format; UNAUTHORIZED when `openWith` does not open it; NOT_FOUND
 */
export async function restoreBackup(options: RestoreOptions): Promise<Restored> {
  const { onProgress } = options;
  const into = resolve(options.into);
  await refuseContents(into);
  const source = await sourceOf(resolve(options.from));
  const write = async (draft: string): Promise<Restored> => {
    onProgress?.(`restoring ${source.path}`);
    const writer = new DataFolderWriter(draft, source.objects);
    try {
      for await (const frame of framesOf(source.file, options)) await writer.write(frame);
    } catch (error) {
      throw error instanceof TroupeError
        ? error
        : damaged(source.file, WORDS, errorData(error).message, error);
    } finally {
      await writer.close();
    }
    const restored = writer.restored();
    if (restored.kind === 'embedded' && options.cluster) throw notOfCluster(source.file);
    const { exported, hasBucketFiles } = writer;
    const stays = !hasBucketFiles || (restored.kind === 'cluster' && !options.cluster);
    const bucket = stays ? checkedOnly : await bucketOf(options, source);
    await restoreCell({ ...options, bucket }, restored, exported, source, join(draft, 'store'));
    await refuseContents(into);
    if (existsSync(into)) await rmdir(into);
    await rename(draft, into);
    await syncFolder(dirname(into));
    return { ...restored, path: source.path };
  };
  return withScratchFolder(dirname(into), write, `${TEMPORARY_PREFIX}${basename(into)}.`);
}

/** The cell of a cluster's backup, which was read once from its begin to its end by now. */
async function restoreCell(
  { cluster, bucket, openWith, signal, onProgress }: CellOptions,
  { kind, cell }: Pick<Restored, 'kind' | 'cell'>,
  header: ExportHeader | undefined,
  { file, objects }: Source,
  store: string,
): Promise<void> {
  const frames = cellFrames(framesOf(file, { openWith, signal }), objects);
  const artifacts = async () => bucket;
  if (kind === 'embedded' && bucket !== checkedOnly) return storeFiles(frames, bucket, onProgress);
  if (kind === 'embedded' || !header) return;
  const about = { ...header, cell };
  const progress = defined({ signal, onProgress });
  if (cluster)
    return void (await importFrames({ ...progress, ...cluster, artifacts }, about, frames));
  await newStore(store, cell);
  const { store: opened, blobs } = await openEmbedded({ path: store });
  try {
    const target = { log: opened.log, blobs, clear: async () => {} };
    await importFrames({ ...progress, target, env: 'local', artifacts }, about, frames);
  } finally {
    await opened.close();
  }
}

/** Stores the files of a bucket that the backup of a data folder has. */
async function storeFiles(
  frames: AsyncIterable<Frame>,
  bucket: BucketTarget,
  onProgress?: (what: string) => void,
): Promise<void> {
  let count = 0;
  for await (const frame of frames) {
    if (frame[0] !== 'artifact') continue;
    const [, tenant, contentType, contents] = frame;
    onProgress?.(`file ${++count} of the bucket`);
    await bucket.put(tenant, contents, { contentType });
  }
}

/** Files of a bucket stay in the backup. */
const checkedOnly: BucketTarget = {
  put: (tenant, contents, options) => nameContents(tenant, contents, options, ['*/*']),
};

async function bucketOf(
  { bucket = async () => checkedOnly }: RestoreOptions,
  { path }: Source,
): Promise<BucketTarget> {
  const found = await bucket();
  if (found) return found;
  throw noPlaceForFiles(path);
}

const notOfCluster = (file: string): TroupeError =>
  new TroupeError(
    'INVALID_ARGUMENT',
    `${file} is a backup of a data folder: restore it without --nats, and move the restored ` +
      'folder with troupe export and troupe import',
  );

const noPlaceForFiles = (path: string): TroupeError =>
  new TroupeError(
    'INVALID_ARGUMENT',
    `${path} has files of an S3 bucket: name the bucket of the new cell in a2a.artifacts.s3 of ` +
      'the configuration (--config FILE), or leave the files out with --no-artifacts',
  );

/** An empty store of this cell. */
async function newStore(path: string, cell: string): Promise<void> {
  makeFolder(path);
  const rows = new LmdbRows(path, MAP_SIZE_BYTES);
  await rows.commit([cellRow(cell)]);
  await rows.close();
  writeDescription(path, cell, FORMAT_VERSION);
}

type Reading = {
  readonly openWith?: OpenWith | undefined;
  readonly signal?: AbortSignal | undefined;
};
type Source = { readonly path: string; readonly file: string; readonly objects?: string };

async function sourceOf(path: string): Promise<Source> {
  const newest = (await backupsIn(path).catch(() => [])).at(-1);
  const folder = hasManifest(path) ? path : newest && join(path, newest);
  if (folder === undefined) {
    await checkFramedFile(path, WORDS);
    return { path, file: path };
  }
  const manifest = await readManifest(folder);
  const file = join(folder, BACKUP_FILE);
  const { sha256 } = await checkFramedFile(file, WORDS);
  if (sha256 !== partOf(manifest, BACKUP_FILE).sha256)
    throw damaged(file, WORDS, 'it is not the file that the manifest names');
  return { path: folder, file, objects: dirname(folder) };
}

async function* framesOf(file: string, { openWith, signal }: Reading): AsyncGenerator<BackupFrame> {
  let last: BackupFrame | undefined;
  for await (const frame of readFramedFile(file, WORDS, openWith)) {
    if (signal?.aborted) throw new TroupeError('CANCELLED', 'the restore was ended');
    if (last === undefined && Array.isArray(frame) && frame[0] === 'header')
      throw new TroupeError(
        'INVALID_ARGUMENT',
        `${file} is an export: troupe import loads it into a cluster`,
      );
    checkBackupFrame(frame);
    if (last === undefined) checkHeader(file, frame);
    last = frame;
    yield frame;
  }
  if (last?.[0] !== 'end') throw damaged(file, WORDS, 'it has no end');
}

function checkHeader(file: string, frame: BackupFrame): void {
  if (frame[0] !== 'backup') throw damaged(file, WORDS, 'it has no header');
  const { minReader, program } = frame[1];
  if (minReader <= BACKUP_FORMAT) return;
  throw new TroupeError(
    'INVALID_ARGUMENT',
    `${file} needs a program that reads format ${minReader} of backups, and was written by troupe ` +
      `${program}; this program reads up to ${BACKUP_FORMAT}`,
  );
}

async function refuseContents(folder: string): Promise<void> {
  const names = await readdir(folder).catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return [];
    throw new TroupeError('INVALID_ARGUMENT', `${folder} is not a folder`, { cause: error });
  });
  if (names.length === 0) return;
  throw new TroupeError(
    'CONFLICT',
    `${folder} is not empty: a restore never changes an existing data folder. Name a new one.`,
  );
}

/** Writes the frames of a backup as a data folder, and counts what it wrote. */
class DataFolderWriter {
  readonly #root: string;
  readonly #files: FolderFiles;
  #rows: LmdbRows | undefined;
  #batch: RowWrite[] = [];
  #batchBytes = 0;
  #header: BackupHeader | undefined;
  #config: BackupConfig | undefined;
  #cut: CutPoint | undefined;
  #counts: BackupCounts | undefined;
  #state = 0;
  #mail = 0;
  exported: ExportHeader | undefined;

  constructor(root: string, objects?: string) {
    this.#root = root;
    this.#files = new FolderFiles(root, objects);
    makeFolder(root);
  }

  restored(): Omit<Restored, 'path'> {
    const found = { header: this.#header, cut: this.#cut, counts: this.#counts };
    const { header, cut, counts } = found;
    if (!header || !cut || !counts || !this.#config) throw new Error('parts of it are missing');
    return { ...header, ...cut, counts, config: this.#config };
  }

  async write(frame: BackupFrame): Promise<void> {
    if (await this.#files.write(frame)) return;
    switch (frame[0]) {
      case 'backup':
        this.#header = frame[1];
        if (!this.#isCluster) makeFolder(join(this.#root, 'store'));
        return;
      case 'config':
        this.#config = frame[1];
        return;
      case 'cut':
        this.#cut = frame[1];
        if (!this.#isCluster) this.#rows = new LmdbRows(join(this.#root, 'store'), MAP_SIZE_BYTES);
        return;
      case 'rows':
        return this.#addRows(frame[1], frame[2]);
      case 'part':
        return this.#countPart(frame[1]);
      case 'end':
        return this.#end(frame[1]);
      default:
    }
  }

  async close(): Promise<void> {
    this.#files.close();
    await this.#rows?.close();
    this.#rows = undefined;
  }

  get hasBucketFiles(): boolean {
    for (const path of this.#files.paths) if (path.startsWith(BUCKET_FOLDER)) return true;
    return false;
  }

  get #isCluster(): boolean {
    return this.#header?.kind === 'cluster';
  }

  #countPart(part: Frame): void {
    if (part[0] === 'header') this.exported = part[1];
    if (part[0] === 'rows') this.#state += part[1].length / 3;
    if (part[0] === 'mail') this.#mail += part[2].length;
  }

  async #addRows(table: RowWrite['table'], cells: readonly Uint8Array[]): Promise<void> {
    for (let i = 0; i + 1 < cells.length; i += 2) {
      this.#batch.push({ table, key: cells[i]!, value: cells[i + 1]! });
      this.#batchBytes += cells[i]!.length + cells[i + 1]!.length;
    }
    if (this.#batchBytes >= BATCH_BYTES) await this.#commit();
  }

  async #commit(): Promise<void> {
    if (!this.#rows) throw new Error('it has rows before the cut');
    await this.#rows.commit(this.#batch);
    this.#batch = [];
    this.#batchBytes = 0;
  }

  /** Everything is written: it must be what the backup counted. */
  async #end(said: BackupCounts): Promise<void> {
    if (!this.#cut || !this.#config) throw new Error('parts of it are missing');
    const found = this.#isCluster ? this.#clusterCounts() : await this.#storeCounts(this.#cut);
    const counts = { ...found, files: this.#files.paths.size, bytes: this.#files.totalBytes };
    for (const name of Object.keys(counts) as (keyof BackupCounts)[])
      if (counts[name] !== said[name])
        throw new Error(`it has ${counts[name]} of ${name}, and its end says ${said[name]}`);
    await this.#files.makeLinks();
    const { text } = this.#config;
    if (text !== undefined) await this.#files.add(configFileName, Buffer.from(text));
    if (!this.#isCluster)
      writeDescription(join(this.#root, 'store'), this.#header!.cell, this.#cut.storeFormat);
    this.#counts = counts;
  }

  #clusterCounts() {
    if (!this.exported) throw new Error('it has no header of its cell');
    return { meta: 0, log: 0, state: this.#state, entries: this.#mail };
  }

  async #storeCounts(cut: CutPoint) {
    const rows = this.#rows;
    if (!rows) throw new Error('parts of it are missing');
    await this.#commit();
    const all = { from: LOWEST_KEY, to: HIGHEST_KEY };
    const count = (table: RowWrite['table']) => rows.count(table, all);
    const entries = this.#entries(cut, this.#header!.cell);
    return { meta: count('meta'), log: count('log'), state: count('state'), entries };
  }

  /** Entries above the checkpoint. @throws Error when frames up to the position are missing */
  #entries({ checkpoint, position }: CutPoint, cell: string): number {
    let entries = 0;
    let last = checkpoint;
    const segments = [...this.#files.paths].filter((path) => path.startsWith('store/wal/')).sort();
    for (const path of segments) {
      const bytes = readFileSync(join(this.#root, path));
      const found = wholeFrames(bytes, { name: basename(path), cell, checkpoint });
      if (found.bytes !== bytes.length) throw new Error(`the segment ${path} is damaged`);
      entries += found.entries;
      last = Math.max(last, found.last);
    }
    if (last !== position) throw new Error(`its log ends at ${last}, and not at ${position}`);
    return entries;
  }
}
