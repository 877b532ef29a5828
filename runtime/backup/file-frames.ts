/** Frames of files: contents in the folder of objects, or inline in a backup that is one file. */
import { createHash } from 'node:crypto';
import { lstat, readlink } from 'node:fs/promises';
import { TroupeError } from '../../protocols/errors.ts';
import { type BackupFrame, PAGE_BYTES } from './frames.ts';
import { type ObjectWriter, readingFile } from './objects.ts';

export type SourceFile = {
  /** in the data folder, with `/` */
  readonly path: string;
  readonly from: string;
};

export type FileFramesOptions = {
  /** files of the data folder as they are now; called for each pass */
  readonly files: () => AsyncIterable<SourceFile>;
  /** ends it with CANCELLED; no backup is left */
  readonly signal?: AbortSignal;
  readonly onProgress?: (what: string) => void;
};

const REPLACED: ReadonlySet<string> = new Set(['ENOENT', 'ENOTDIR', 'EISDIR']);

export class FileFrames {
  readonly #o: FileFramesOptions;
  readonly #objects: ObjectWriter | undefined;
  /** of the files that are written: what tells that one has not changed since */
  readonly #seen = new Map<string, string>();
  #segments = 0;
  /** of the contents */
  bytes = 0;

  constructor(options: FileFramesOptions, objects?: ObjectWriter) {
    this.#o = options;
    this.#objects = objects;
  }

  /** How many paths are written. */
  get count(): number {
    return this.#seen.size + this.#segments;
  }

  /** The files that are new or changed since the last call. */
  async *all(): AsyncGenerator<BackupFrame> {
    for await (const { path, from } of this.#o.files()) {
      this.assertWanted();
      this.#o.onProgress?.(`file ${this.#seen.size + 1}`);
      try {
        yield* this.#file(path, from);
      } catch (error) {
        // Deleted or replaced since it was listed: no row of the cut refers to it.
        if (!REPLACED.has((error as NodeJS.ErrnoException).code ?? '')) throw error;
      }
    }
  }

  /** A segment of the log: it is in each backup whole, and never an object. */
  async *segment(path: string, contents: AsyncIterable<Uint8Array>): AsyncGenerator<BackupFrame> {
    this.#segments++;
    yield* this.#inline(path, 0o600, contents);
  }

  isWritten(path: string): boolean {
    return this.#seen.has(path);
  }

  /** A file that is not on a disk. */
  async *contents(path: string, bytes: Uint8Array): AsyncGenerator<BackupFrame> {
    this.assertWanted();
    yield* this.#stored(path, 0o600, bytes);
    this.#seen.set(path, '');
  }

  /** The same if an earlier backup has the contents. @returns false if none has */
  async *known(path: string, sha256: string, bytes: number): AsyncGenerator<BackupFrame, boolean> {
    this.assertWanted();
    const ref = await this.#objects?.find(sha256, bytes);
    if (!ref) return false;
    this.bytes += ref.bytes;
    this.#seen.set(path, '');
    yield ['object', path, 0o600, ref];
    return true;
  }

  assertWanted(): void {
    if (this.#o.signal?.aborted) throw new TroupeError('CANCELLED', 'the backup was ended');
  }

  async *#file(path: string, from: string): AsyncGenerator<BackupFrame> {
    const found = await lstat(from);
    const state = `${found.ino}.${found.size}.${found.ctimeMs}`;
    if (this.#seen.get(path) === state) return;
    if (found.isSymbolicLink()) yield ['link', path, await readlink(from)];
    else if (!found.isFile()) return;
    else yield* this.#stored(path, found.mode & 0o777, from);
    this.#seen.set(path, state);
  }

  async *#stored(path: string, mode: number, from: string | Uint8Array) {
    const ref = await this.#objects?.put(from);
    if (ref) {
      this.bytes += ref.bytes;
      yield ['object', path, mode, ref] satisfies BackupFrame;
    } else
      yield* this.#inline(path, mode, typeof from === 'string' ? readingFile(from) : pages(from));
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
    this.bytes += bytes;
    yield ['fileEnd', bytes, hash.digest('hex')];
  }
}

async function* pages(bytes: Uint8Array): AsyncGenerator<Uint8Array> {
  for (let at = 0; at < bytes.length; at += PAGE_BYTES) yield bytes.subarray(at, at + PAGE_BYTES);
}
