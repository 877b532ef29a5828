/** The files of a backup, written below a folder. */
import { createHash } from 'node:crypto';
import { closeSync, existsSync, lstatSync, openSync, rmSync, type Stats, writeSync } from 'node:fs';
import { chmod, rm, symlink } from 'node:fs/promises';
import { dirname, join, posix } from 'node:path';
import { makeFolder } from '../make-folder.ts';
import { BLOBS_FOLDER, BUCKET_FOLDER, type BackupFrame, type ObjectRef } from './frames.ts';
import { readObject } from './objects.ts';

type Writing = { readonly path: string; readonly file: number | undefined; readonly mode: number };

export class FolderFiles {
  readonly #root: string;
  readonly #objects: string | undefined;
  readonly paths = new Set<string>();
  /** targets by paths; made at the end, so that no file is written through one */
  readonly #links = new Map<string, string>();
  #writing: Writing | undefined;
  #hash = createHash('sha256');
  #bytes = 0;
  /** of the contents of all files */
  totalBytes = 0;

  /** @param objects the folder of backups, if it shares objects */
  constructor(root: string, objects?: string) {
    this.#root = root;
    this.#objects = objects;
  }

  /**
   * Blobs of a cluster and files of a bucket are checked, and not written. @returns false for
   * another kind of frame
   */
  async write(frame: BackupFrame): Promise<boolean> {
    if (frame[0] === 'file') this.#begin(frame[1], frame[2]);
    else if (frame[0] === 'piece') this.#piece(frame[1]);
    else if (frame[0] === 'fileEnd') await this.#endFile(frame[1], frame[2]);
    else if (frame[0] === 'object') await this.#object(frame[1], frame[2], frame[3]);
    else if (frame[0] === 'link') this.#link(frame[1], frame[2]);
    else return false;
    return true;
  }

  /** A file that is not counted. */
  async add(path: string, contents: Uint8Array): Promise<void> {
    const { totalBytes } = this;
    const isKnown = this.paths.has(path);
    this.#begin(path, 0o600);
    this.#piece(contents);
    await this.#endFile(contents.length, this.#hash.copy().digest('hex'));
    this.totalBytes = totalBytes;
    if (!isKnown) this.paths.delete(path);
  }

  close(): void {
    if (this.#writing?.file !== undefined) closeSync(this.#writing.file);
    this.#writing = undefined;
  }

  /** The place of a path; a crafted backup must not reach other folders. */
  #pathOf(path: string): string {
    const isInside = posix.normalize(path) === path && !posix.isAbsolute(path);
    if (!isInside || path === '.' || path.split('/')[0] === '..' || path.includes('\\'))
      throw new Error(`it names the path ${JSON.stringify(path)}`);
    this.paths.add(path);
    return join(this.#root, path);
  }

  #begin(path: string, mode: number): void {
    if (this.#writing) throw new Error('a file has no end');
    const target = this.#pathOf(path);
    const isWritten = !path.startsWith(BLOBS_FOLDER) && !path.startsWith(BUCKET_FOLDER);
    if (isWritten) this.#makeRoom(path);
    if (isWritten) makeFolder(dirname(target));
    const file = isWritten ? openSync(target, 'w', 0o600) : undefined;
    this.#writing = { path: target, file, mode };
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
  async makeLinks(): Promise<void> {
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
    const { file } = this.#writing;
    if (file !== undefined)
      for (let done = 0; done < bytes.length; )
        done += writeSync(file, bytes, done, bytes.length - done);
    this.#hash.update(bytes);
    this.#bytes += bytes.length;
  }

  async #endFile(bytes: number, sha256: string): Promise<void> {
    if (!this.#writing) throw new Error('a file ends that was not begun');
    const { path, file, mode } = this.#writing;
    this.#writing = undefined;
    if (file !== undefined) {
      closeSync(file);
      await chmod(path, mode);
    }
    if (bytes !== this.#bytes || sha256 !== this.#hash.digest('hex'))
      throw new Error(`the hash of ${path.slice(this.#root.length + 1)} is wrong`);
    this.totalBytes += bytes;
  }

  async #object(path: string, mode: number, ref: ObjectRef): Promise<void> {
    if (this.#objects === undefined) throw new Error('a single file refers to objects');
    this.#begin(path, mode);
    for await (const part of readObject(this.#objects, ref)) this.#piece(part);
    await this.#endFile(ref.bytes, ref.sha256);
  }
}
