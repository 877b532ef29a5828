/**
 * FileBlobs: blobs as files of a folder. A blob `a/b/c` is the file `=c` in `a/b`. No name contains
 * `=`, so the file of the blob `a/b` differs from the folder of the blob `a/b/c`.
 *
 * A file appears under its name only when it is complete and flushed, so a crash leaves either the
 * blob or nothing. The folder belongs to one process (its lock is the data folder's).
 */
import { readdir, readFile, rm, unlink } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import type { Blobs } from './blobs.ts';
import { syncFolder, TEMPORARY_PREFIX, writeFileDurably } from './durable-file.ts';
import { blobTaken, checkBlobName } from './name.ts';
import { makeFolder } from '../make-folder.ts';

const MARK = '=';

/** Creates the folder if it does not exist, and removes incomplete files of a crash. */
export const openFileBlobs = async (path: string): Promise<Blobs> => {
  makeFolder(path);
  for (const file of await readdir(path, { recursive: true })) {
    const name = file.slice(Math.max(file.lastIndexOf('/'), file.lastIndexOf('\\')) + 1);
    if (name.startsWith(TEMPORARY_PREFIX)) await rm(join(path, file), { force: true });
  }
  return new FileBlobs(path);
};

/** For a process beside the one that has opened the folder; it removes nothing. */
export const fileBlobsBeside = (path: string): Blobs => new FileBlobs(path);

class FileBlobs implements Blobs {
  readonly #path: string;
  /**
   * running puts by name: a second put of a name waits for the first and then compares the bytes
   */
  readonly #putting = new Map<string, Promise<void>>();

  constructor(path: string) {
    this.#path = path;
  }

  async put(name: string, bytes: Uint8Array): Promise<void> {
    checkBlobName(name);
    const before = this.#putting.get(name) ?? Promise.resolve();
    const putting = before.catch(() => {}).then(() => this.#put(name, bytes));
    this.#putting.set(name, putting);
    try {
      await putting;
    } finally {
      if (this.#putting.get(name) === putting) this.#putting.delete(name);
    }
  }

  async get(name: string): Promise<Uint8Array | undefined> {
    checkBlobName(name);
    return absentIsUndefined(readFile(this.#file(name)));
  }

  async delete(name: string): Promise<void> {
    checkBlobName(name);
    await absentIsUndefined(unlink(this.#file(name)));
  }

  async list(prefix: string): Promise<readonly string[]> {
    const slash = prefix.lastIndexOf('/');
    const folder = prefix.slice(0, Math.max(0, slash));
    if (folder !== '') checkBlobName(folder);
    const names: string[] = [];
    await this.#collect(folder === '' ? '' : `${folder}/`, prefix, names);
    return names.sort();
  }

  async #put(name: string, bytes: Uint8Array): Promise<void> {
    const stored = await absentIsUndefined(readFile(this.#file(name)));
    if (stored !== undefined) {
      if (stored.equals(bytes)) return;
      throw blobTaken(name);
    }
    await this.#makeFolder(dirname(this.#file(name)));
    await writeFileDurably(this.#file(name), bytes);
  }

  /** Flushes every folder above that was just created, so that the new name is durable, too. */
  async #makeFolder(folder: string): Promise<void> {
    const first = makeFolder(folder);
    if (first === undefined) return;
    for (let made = folder; made.length >= first.length; made = dirname(made))
      await syncFolder(dirname(made));
  }

  #file(name: string): string {
    const slash = name.lastIndexOf('/') + 1;
    return join(this.#path, name.slice(0, slash), MARK + name.slice(slash));
  }

  async #collect(folder: string, prefix: string, names: string[]): Promise<void> {
    const files = await absentIsUndefined(
      readdir(join(this.#path, folder), { withFileTypes: true }),
    );
    for (const file of files ?? []) {
      if (file.isDirectory()) {
        const inside = `${folder}${file.name}/`;
        if (inside.startsWith(prefix) || prefix.startsWith(inside))
          await this.#collect(inside, prefix, names);
      } else if (file.name.startsWith(MARK)) {
        const name = folder + file.name.slice(MARK.length);
        if (name.startsWith(prefix)) names.push(name);
      }
    }
  }
}

const absentIsUndefined = async <T>(asked: Promise<T>): Promise<T | undefined> => {
  try {
    return await asked;
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === 'ENOENT' || code === 'ENOTDIR') return undefined;
    throw error;
  }
};
