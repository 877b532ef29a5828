/**
 * WalFolder: the few file operations that the write-ahead log needs, so that the simulator can put
 * a failing disk below it. `openWalFolder` gives those of a real folder.
 */
import {
  closeSync,
  fdatasync,
  fsync,
  ftruncateSync,
  openSync,
  readdirSync,
  readFileSync,
  rmSync,
  truncateSync,
  write,
  writeSync,
} from 'node:fs';
import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { makeFolder } from '../../make-folder.ts';

export interface SegmentFile {
  /**
   * Writes all bytes at an offset. They survive the death of the process when it returns.
   * @throws an error of the system; any part of the bytes may be written then
   */
  write(bytes: Uint8Array, at: number): void;
  /** The same, in a thread: a slow disk does not hold the event loop. One write at a time. */
  writeInThread(bytes: Uint8Array, at: number): Promise<void>;
  /** @throws an error of the system */
  truncate(size: number): void;
  /** Resolves when everything that was written before the call survives a power loss. */
  sync(): Promise<void>;
  /** Closes it after the writes and syncs that are running; later ones are refused. */
  close(): void;
}

export interface WalFolder {
  /** names of the segments, in no order */
  list(): readonly string[];
  read(name: string): Buffer;
  /** a new empty segment */
  create(name: string): SegmentFile;
  truncate(name: string, size: number): void;
  /** Resolves when a segment that was written by an earlier process survives a power loss. */
  syncSegment(name: string): Promise<void>;
  remove(name: string): void;
  /** The same, in a thread: freeing the blocks of a large file takes milliseconds. */
  removeInThread(name: string): Promise<void>;
  /** Resolves when the names of the segments survive a power loss. */
  sync(): Promise<void>;
}

const SEGMENT = /^\d{15}\.wal$/;

export const openWalFolder = (path: string): WalFolder => {
  makeFolder(path);
  return {
    list: () => readdirSync(path).filter((name) => SEGMENT.test(name)),
    read: (name) => readFileSync(join(path, name)),
    create: (name) => new NodeSegmentFile(openSync(join(path, name), 'w', 0o600)),
    truncate: (name, size) => truncateSync(join(path, name), size),
    syncSegment: (name) => syncPath(join(path, name)),
    remove: (name) => rmSync(join(path, name), { force: true }),
    removeInThread: (name) => rm(join(path, name), { force: true }),
    // Windows cannot open a folder, and needs no flush of one.
    sync: async () => (process.platform === 'win32' ? undefined : syncPath(path)),
  };
};

const writeLater = promisify(write);
const syncLater = promisify(fdatasync);

class NodeSegmentFile implements SegmentFile {
  readonly #file: number;
  /** syncs and writes that threads do: the file is closed after them */
  #pending = 0;
  #closing = false;

  constructor(file: number) {
    this.#file = file;
  }

  write(bytes: Uint8Array, at: number): void {
    for (let done = 0; done < bytes.length; )
      done += writeSync(this.#file, bytes, done, bytes.length - done, at + done);
  }

  writeInThread(bytes: Uint8Array, at: number): Promise<void> {
    return this.#pend(async () => {
      for (let done = 0; done < bytes.length; ) {
        const length = bytes.length - done;
        done += (await writeLater(this.#file, bytes, done, length, at + done)).bytesWritten;
      }
    });
  }

  truncate(size: number): void {
    ftruncateSync(this.#file, size);
  }

  sync(): Promise<void> {
    return this.#pend(() => syncLater(this.#file));
  }

  close(): void {
    if (this.#closing) return;
    this.#closing = true;
    if (this.#pending === 0) closeSync(this.#file);
  }

  async #pend(work: () => Promise<void>): Promise<void> {
    // Its descriptor may be that of another file by now.
    if (this.#closing && this.#pending === 0) throw new Error('the segment is closed');
    this.#pending++;
    try {
      await work();
    } finally {
      this.#pending--;
      if (this.#closing && this.#pending === 0) closeSync(this.#file);
    }
  }
}

const syncPath = async (path: string): Promise<void> => {
  const file = openSync(path, 'r');
  try {
    await promisify(fsync)(file);
  } finally {
    closeSync(file);
  }
};
