/**
 * Create: writes a backup of an embedded installation, beside the process that uses it. That
 * process is neither asked nor stopped.
 *
 * Blobs are written before the rows that refer to them, and never change. So files are copied
 * twice: all before the cut, which takes long and does not matter, and right after the cut those
 * that are new. Every blob that a row of the cut refers to is in one of the two, unless it was made
 * and deleted between them.
 *
 * Memory: one page of rows, one segment of the log, and about 200 bytes per file.
 */
import { createHash } from 'node:crypto';
import { lstat, readlink, rename, rm, readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { TroupeError } from '../../protocols/errors.ts';
import { syncFolder, TEMPORARY_PREFIX, writeFileDurably } from '../blobs/durable-file.ts';
import { readDescription } from '../log/embedded-store.ts';
import { lockFolder } from '../log/folder-lock.ts';
import { makeFolder } from '../make-folder.ts';
import { isSealed, type SealFor } from '../transfer/envelope.ts';
import { writeFramedFile } from '../transfer/framed-file.ts';
import { type Cut, takeCut } from './cut.ts';
import {
  BACKUP_FORMAT,
  type BackupConfig,
  type BackupCounts,
  type BackupFrame,
  type BackupHeader,
  type BackupTable,
  PAGE_BYTES,
} from './frames.ts';
import { BACKUP_FILE, backupId, OBJECTS_FILE, sha256Of, writeManifest } from './manifest.ts';
import { ObjectWriter, readingFile } from './objects.ts';

export type BackupOptions = {
  /** folder of the store */
  readonly store: string;
  /** files of the data folder as they are now; called twice */
  readonly files: () => AsyncIterable<SourceFile>;
  readonly config: BackupConfig;
  /** a folder of backups, which shares objects between them; or one new file */
  readonly to: { readonly folder: string } | { readonly file: string };
  /** version of this program */
  readonly program: string;
  /** default: none, so the backup is not encrypted */
  readonly seal?: SealFor;
  /** for encrypted objects: 32 bytes that stay the same; required with `seal` and a folder */
  readonly secret?: Uint8Array;
  /** ends it with CANCELLED; no backup is left */
  readonly signal?: AbortSignal;
  readonly onProgress?: (what: string) => void;
};

export type SourceFile = {
  /** in the data folder, with `/` */
  readonly path: string;
  readonly from: string;
};

export type CreatedBackup = BackupCounts & {
  readonly id: string;
  readonly path: string;
  readonly cell: string;
  readonly createdAt: number;
  readonly position: number;
  readonly encrypted: boolean;
  /** contents that an earlier backup of the folder did not have */
  readonly newObjects: number;
  readonly newBytes: number;
  /** from the begin of the cut until it was held, milliseconds; no writer waits for it */
  readonly cutMs: number;
};

const REPLACED: ReadonlySet<string> = new Set(['ENOENT', 'ENOTDIR', 'EISDIR']);
const TABLES: readonly BackupTable[] = ['meta', 'log', 'state'];

/**
 * @throws TroupeError NOT_FOUND without a store; CONFLICT when the file exists; UNAVAILABLE
 * (LOCKED) when another process writes to the folder of backups; INTERNAL when the store is damaged
 */
export async function createBackup(options: BackupOptions): Promise<CreatedBackup> {
  const { store, to, seal = {}, program } = options;
  const description = readDescription(store);
  if (description === undefined)
    throw new TroupeError('NOT_FOUND', `${store} contains no data of troupe`);
  const createdAt = Date.now();
  const header: BackupHeader = {
    format: BACKUP_FORMAT,
    minReader: BACKUP_FORMAT,
    id: backupId(createdAt),
    kind: 'embedded',
    cell: description.cell,
    program,
    createdAt,
  };
  if ('folder' in to) return intoFolder(options, header, to.folder);
  const writer = new BackupWriter(options, header);
  await writeFramedFile(to.file, writer.frames(), { seal, level: 1 });
  return writer.summary(to.file);
}

async function intoFolder(
  options: BackupOptions,
  header: BackupHeader,
  folder: string,
): Promise<CreatedBackup> {
  const { seal = {}, secret, program } = options;
  makeFolder(folder);
  const lock = await lockFolder(folder);
  const { id, ...about } = header;
  const draft = join(folder, TEMPORARY_PREFIX + id);
  try {
    await removeDrafts(folder);
    makeFolder(draft);
    const objects = new ObjectWriter(folder, isSealed(seal) ? secret : undefined);
    const writer = new BackupWriter(options, header, objects);
    const frames = writer.frames();
    const written = await writeFramedFile(join(draft, BACKUP_FILE), frames, { seal, level: 1 });
    const names = Buffer.from([...objects.names].sort().join('\n'));
    await writeFileDurably(join(draft, OBJECTS_FILE), names);
    const listed = { file: OBJECTS_FILE, bytes: names.length, sha256: sha256Of(names) };
    await writeManifest(draft, {
      ...about,
      id,
      program,
      position: writer.position,
      encrypted: isSealed(seal),
      parts: [{ file: BACKUP_FILE, ...written }, listed],
    });
    await rename(draft, join(folder, id));
    await syncFolder(folder);
    return writer.summary(join(folder, id));
  } catch (error) {
    await rm(draft, { recursive: true, force: true });
    throw error;
  } finally {
    await lock.release();
  }
}

/** What a killed process left. Its objects stay: the next backup refers to them. */
async function removeDrafts(folder: string): Promise<void> {
  for (const name of await readdir(folder))
    if (name.startsWith(TEMPORARY_PREFIX))
      await rm(join(folder, name), { recursive: true, force: true });
}

class BackupWriter {
  readonly #o: BackupOptions;
  readonly #header: BackupHeader;
  readonly #objects: ObjectWriter | undefined;
  /** of the files that are written: what tells that one has not changed since */
  readonly #seen = new Map<string, string>();
  #counts = { meta: 0, log: 0, state: 0, entries: 0, bytes: 0 };
  #segments = 0;
  #cutMs = 0;
  position = 0;

  constructor(options: BackupOptions, header: BackupHeader, objects?: ObjectWriter) {
    this.#o = options;
    this.#header = header;
    this.#objects = objects;
  }

  async *frames(): AsyncGenerator<BackupFrame> {
    const { config, store, onProgress } = this.#o;
    yield ['backup', this.#header];
    yield ['config', config];
    yield* this.#files();
    const from = performance.now();
    const cut = await takeCut(store);
    this.#cutMs = performance.now() - from;
    try {
      const { cell, storeFormat, checkpoint, position } = cut;
      if (cell !== this.#header.cell)
        throw new TroupeError('CONFLICT', `${store} was replaced during the backup`);
      this.position = position;
      yield ['cut', { storeFormat, checkpoint, position }];
      yield* this.#files();
      onProgress?.(`the store at position ${position}`);
      for (const table of TABLES) yield* this.#rows(cut, table);
      yield* this.#log(cut);
    } finally {
      await cut.close();
    }
    yield ['end', this.#total()];
  }

  summary(path: string): CreatedBackup {
    const { id, cell, createdAt } = this.#header;
    const { newObjects = 0, newBytes = 0 } = this.#objects ?? {};
    const about = { id, path, cell, createdAt, position: this.position };
    const encrypted = isSealed(this.#o.seal ?? {});
    const cutMs = Math.round(this.#cutMs);
    return { ...about, ...this.#total(), encrypted, newObjects, newBytes, cutMs };
  }

  #total(): BackupCounts {
    return { ...this.#counts, files: this.#seen.size + this.#segments };
  }

  async *#files(): AsyncGenerator<BackupFrame> {
    for await (const { path, from } of this.#o.files()) {
      this.#assertWanted();
      this.#o.onProgress?.(`file ${this.#seen.size + 1}`);
      try {
        yield* this.#file(path, from);
      } catch (error) {
        // Deleted or replaced since it was listed: no row of the cut refers to it.
        if (!REPLACED.has((error as NodeJS.ErrnoException).code ?? '')) throw error;
      }
    }
  }

  async *#file(path: string, from: string): AsyncGenerator<BackupFrame> {
    const found = await lstat(from);
    const state = `${found.ino}.${found.size}.${found.ctimeMs}`;
    if (this.#seen.get(path) === state) return;
    const mode = found.mode & 0o777;
    if (found.isSymbolicLink()) yield ['link', path, await readlink(from)];
    else if (!found.isFile()) return;
    else if (this.#objects) {
      const ref = await this.#objects.put(from);
      if (ref) {
        this.#counts.bytes += ref.bytes;
        yield ['object', path, mode, ref];
      } else yield* this.#inline(path, mode, readingFile(from));
    } else yield* this.#inline(path, mode, readingFile(from));
    this.#seen.set(path, state);
  }

  async *#inline(
    path: string,
    mode: number,
    contents: AsyncIterable<Uint8Array>,
  ): AsyncGenerator<BackupFrame> {
    const hash = createHash('sha256');
    let bytes = 0;
    let isBegun = false;
    for await (const piece of contents) {
      if (!isBegun) yield ['file', path, mode];
      isBegun = true;
      hash.update(piece);
      bytes += piece.length;
      yield ['piece', piece];
    }
    if (!isBegun) yield ['file', path, mode];
    this.#counts.bytes += bytes;
    yield ['fileEnd', bytes, hash.digest('hex')];
  }

  async *#rows(cut: Cut, table: BackupTable): AsyncGenerator<BackupFrame> {
    let page: Uint8Array[] = [];
    let size = 0;
    for (const { key, value } of cut.rows(table)) {
      page.push(key, value);
      size += key.length + value.length;
      this.#counts[table]++;
      if (size < PAGE_BYTES) continue;
      this.#assertWanted();
      yield ['rows', table, page];
      page = [];
      size = 0;
    }
    if (page.length > 0) yield ['rows', table, page];
  }

  async *#log({ segments }: Cut): AsyncGenerator<BackupFrame> {
    for (const { name, entries, read } of segments) {
      this.#counts.entries += entries;
      this.#segments++;
      yield* this.#inline(`store/wal/${name}`, 0o600, read());
    }
  }

  #assertWanted(): void {
    if (this.#o.signal?.aborted) throw new TroupeError('CANCELLED', 'the backup was ended');
  }
}
