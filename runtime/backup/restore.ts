/**
 * Restore: makes a data folder from a backup. The folder is complete or absent: everything is
 * written beside it, verified, and renamed at the end. The cell keeps its name, which keys, intents
 * and mail contain, so the original must never run again beside it.
 */
import { createHash, randomBytes } from 'node:crypto';
import {
  closeSync,
  existsSync,
  lstatSync,
  openSync,
  readFileSync,
  rmSync,
  type Stats,
  writeSync,
} from 'node:fs';
import { chmod, readdir, rename, rm, rmdir, symlink } from 'node:fs/promises';
import { basename, dirname, join, posix, resolve } from 'node:path';
import { errorData, TroupeError } from '../../protocols/errors.ts';
import { syncFolder, TEMPORARY_PREFIX } from '../blobs/durable-file.ts';
import { configFileName } from '../config/index.ts';
import { writeDescription } from '../log/embedded-store.ts';
import { LmdbRows } from '../log/lmdb-rows.ts';
import type { RowWrite } from '../log/rows.ts';
import { makeFolder } from '../make-folder.ts';
import type { OpenWith } from '../transfer/envelope.ts';
import { checkFramedFile, damaged, readFramedFile } from '../transfer/framed-file.ts';
import { wholeFrames } from './cut.ts';
import {
  BACKUP_FORMAT,
  type BackupConfig,
  type BackupCounts,
  type BackupFrame,
  type BackupHeader,
  checkBackupFrame,
  type CutPoint,
  type ObjectRef,
} from './frames.ts';
import { BACKUP_FILE, backupsIn, hasManifest, partOf, readManifest } from './manifest.ts';
import { readObject } from './objects.ts';

export type RestoreOptions = {
  /** a folder of backups (the newest one), the folder of one backup, or a file */
  readonly from: string;
  /** absent, or empty */
  readonly into: string;
  readonly openWith?: OpenWith;
  readonly onProgress?: (what: string) => void;
};

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
  const { openWith, onProgress } = options;
  const into = resolve(options.into);
  await refuseContents(into);
  const source = await sourceOf(resolve(options.from));
  makeFolder(dirname(into));
  const draft = join(
    dirname(into),
    `${TEMPORARY_PREFIX}${basename(into)}.${randomBytes(6).toString('hex')}`,
  );
  try {
    onProgress?.(`restoring ${source.path}`);
    const writer = new DataFolderWriter(draft, source.objects);
    try {
      for await (const frame of framesOf(source.file, openWith)) await writer.write(frame);
    } catch (error) {
      throw error instanceof TroupeError
        ? error
        : damaged(source.file, WORDS, errorData(error).message, error);
    } finally {
      await writer.close();
    }
    await refuseContents(into);
    if (existsSync(into)) await rmdir(into);
    await rename(draft, into);
    await syncFolder(dirname(into));
    return { ...writer.restored(), path: source.path };
  } finally {
    await rm(draft, { recursive: true, force: true });
  }
}

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

async function* framesOf(file: string, openWith?: OpenWith): AsyncGenerator<BackupFrame> {
  let last: BackupFrame | undefined;
  for await (const frame of readFramedFile(file, WORDS, openWith)) {
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

type Writing = { readonly path: string; readonly file: number; readonly mode: number };

/** Writes the frames of a backup as a data folder, and counts what it wrote. */
class DataFolderWriter {
  readonly #root: string;
  readonly #objects: string | undefined;
  readonly #paths = new Set<string>();
  /** targets by paths; made at the end, so that no file is written through one */
  readonly #links = new Map<string, string>();
  #rows: LmdbRows | undefined;
  #batch: RowWrite[] = [];
  #batchBytes = 0;
  #writing: Writing | undefined;
  #hash = createHash('sha256');
  #bytes = 0;
  #totalBytes = 0;
  #header: BackupHeader | undefined;
  #config: BackupConfig | undefined;
  #cut: CutPoint | undefined;
  #counts: BackupCounts | undefined;

  constructor(root: string, objects?: string) {
    this.#root = root;
    this.#objects = objects;
    makeFolder(join(root, 'store'));
  }

  restored(): Omit<Restored, 'path'> {
    const found = { header: this.#header, cut: this.#cut, counts: this.#counts };
    const { header, cut, counts } = found;
    if (!header || !cut || !counts || !this.#config) throw new Error('parts of it are missing');
    return { ...header, ...cut, counts, config: this.#config };
  }

  async write(frame: BackupFrame): Promise<void> {
    switch (frame[0]) {
      case 'backup':
        this.#header = frame[1];
        return;
      case 'config':
        this.#config = frame[1];
        return;
      case 'file':
        return this.#begin(frame[1], frame[2]);
      case 'piece':
        return this.#piece(frame[1]);
      case 'fileEnd':
        return this.#endFile(frame[1], frame[2]);
      case 'object':
        return this.#object(frame[1], frame[2], frame[3]);
      case 'link':
        return this.#link(frame[1], frame[2]);
      case 'cut':
        this.#cut = frame[1];
        this.#rows = new LmdbRows(join(this.#root, 'store'), MAP_SIZE_BYTES);
        return;
      case 'rows':
        return this.#addRows(frame[1], frame[2]);
      case 'end':
        return this.#end(frame[1]);
    }
  }

  async close(): Promise<void> {
    if (this.#writing) closeSync(this.#writing.file);
    this.#writing = undefined;
    await this.#rows?.close();
    this.#rows = undefined;
  }

  /** The place of a path; a crafted backup must not reach other folders. */
  #pathOf(path: string): string {
    const isInside = posix.normalize(path) === path && !posix.isAbsolute(path);
    if (!isInside || path === '.' || path.split('/')[0] === '..' || path.includes('\\'))
      throw new Error(`it names the path ${JSON.stringify(path)}`);
    this.#paths.add(path);
    return join(this.#root, path);
  }

  #begin(path: string, mode: number): void {
    if (this.#writing) throw new Error('a file has no end');
    const target = this.#pathOf(path);
    this.#makeRoom(path);
    makeFolder(dirname(target));
    this.#writing = { path: target, file: openSync(target, 'w', 0o600), mode };
    this.#hash = createHash('sha256');
    this.#bytes = 0;
  }

  #link(path: string, to: string): void {
    const target = this.#pathOf(path);
    this.#makeRoom(path);
    rmSync(target, { force: true });
    this.#links.delete(target);
    this.#links.set(target, to);
  }

  /** Files are copied in two passes: what the second one found replaces what is in its way. */
  #makeRoom(path: string): void {
    const parts = path.split('/');
    let isPresent = true;
    for (let depth = 1; depth <= parts.length; depth++) {
      const at = join(this.#root, ...parts.slice(0, depth));
      this.#links.delete(at);
      const found: Stats | undefined = isPresent
        ? lstatSync(at, { throwIfNoEntry: false })
        : undefined;
      const isLast = depth === parts.length;
      if (found?.isDirectory() === isLast) rmSync(at, { recursive: true, force: true });
      isPresent = found !== undefined && found.isDirectory();
    }
  }

  /** Those that the second pass did not replace by a file in their place or above them. */
  async #makeLinks(): Promise<void> {
    for (const [path, target] of this.#links) {
      if (this.#isBelowFile(path)) continue;
      makeFolder(dirname(path));
      await rm(path, { recursive: true, force: true });
      await symlink(target, path);
    }
  }

  #isBelowFile(path: string): boolean {
    for (let at = dirname(path); at !== this.#root; at = dirname(at))
      if (existsSync(at)) return !lstatSync(at).isDirectory();
    return false;
  }

  #piece(bytes: Uint8Array): void {
    if (!this.#writing) throw new Error('a piece belongs to no file');
    for (let done = 0; done < bytes.length; )
      done += writeSync(this.#writing.file, bytes, done, bytes.length - done);
    this.#hash.update(bytes);
    this.#bytes += bytes.length;
  }

  async #endFile(bytes: number, sha256: string): Promise<void> {
    if (!this.#writing) throw new Error('a file ends that was not begun');
    const { path, file, mode } = this.#writing;
    this.#writing = undefined;
    closeSync(file);
    await chmod(path, mode);
    if (bytes !== this.#bytes || sha256 !== this.#hash.digest('hex'))
      throw new Error(`the hash of ${path.slice(this.#root.length + 1)} is wrong`);
    this.#totalBytes += bytes;
  }

  async #object(path: string, mode: number, ref: ObjectRef): Promise<void> {
    if (this.#objects === undefined) throw new Error('a single file refers to objects');
    this.#begin(path, mode);
    for await (const part of readObject(this.#objects, ref)) this.#piece(part);
    await this.#endFile(ref.bytes, ref.sha256);
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
    const { cell } = this.#header!;
    const rows = this.#rows;
    if (!rows || !this.#cut || !this.#config) throw new Error('parts of it are missing');
    await this.#commit();
    const all = { from: LOWEST_KEY, to: HIGHEST_KEY };
    const count = (table: RowWrite['table']) => rows.count(table, all);
    const counts: BackupCounts = {
      meta: count('meta'),
      log: count('log'),
      state: count('state'),
      entries: this.#entries(this.#cut, cell),
      files: this.#paths.size,
      bytes: this.#totalBytes,
    };
    for (const name of Object.keys(counts) as (keyof BackupCounts)[])
      if (counts[name] !== said[name])
        throw new Error(`it has ${counts[name]} of ${name}, and its end says ${said[name]}`);
    await rows.flushed();
    await this.#makeLinks();
    const { text } = this.#config;
    if (text !== undefined) {
      this.#begin(configFileName, 0o600);
      this.#piece(Buffer.from(text));
      closeSync(this.#writing!.file);
      this.#writing = undefined;
    }
    writeDescription(join(this.#root, 'store'), cell, this.#cut.storeFormat);
    this.#counts = counts;
  }

  /** Entries above the checkpoint. @throws Error when frames up to the position are missing */
  #entries({ checkpoint, position }: CutPoint, cell: string): number {
    let entries = 0;
    let last = checkpoint;
    const segments = [...this.#paths].filter((path) => path.startsWith('store/wal/')).sort();
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
