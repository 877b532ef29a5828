/**
 * Write-ahead log: frames in append-only segment files. A write returns when the kernel has the
 * frame, so it survives the death of the process; `sync` makes it survive a power loss.
 *
 * Invariants:
 *  - frames are numbered without gaps, also over restarts;
 *  - a write that fails leaves nothing that recovery could take for a frame, or it ends the log;
 *  - a segment is removed only by `removeUpTo`, never the newest one;
 *  - the first write after a start begins a new segment.
 */
import type { SegmentFile, WalFolder } from './folder.ts';
import { encodeSegmentHeader, SEGMENT_HEADER_BYTES, sealFrame } from './frame.ts';
import { type FoundSegment, type Recovered, segmentName } from './recovery.ts';

/** A segment that is larger is followed by a new one. */
export const SEGMENT_BYTES_MAX = 8 * 2 ** 20;

/** The frame may or may not be stored, and no other one can be written. */
export class WalBroken extends Error {
  override readonly name = 'WalBroken';
}

export class WriteAheadLog {
  readonly #folder: WalFolder;
  readonly #cell: string;
  /** oldest first; the newest is written to */
  readonly #segments: FoundSegment[];
  /** made by the first write */
  #current: SegmentFile | undefined;
  #at = SEGMENT_HEADER_BYTES;
  #last: number;
  #synced: number;
  /** files with bytes, or a name, that may not be on the disk */
  #unsynced = new Set<SegmentFile>();
  /** those that the running sync has still to write; it closes the ones that are not needed then */
  readonly #inSync = new Set<SegmentFile>();
  #isNewName = false;
  /** the next frame begins a new segment */
  #isRotating = false;
  #syncing: Promise<void> = Promise.resolve();
  #isSyncing = false;

  /** @param recovered of the same folder; its frames are on the disk */
  constructor(folder: WalFolder, cell: string, { last, segments }: Recovered) {
    this.#folder = folder;
    this.#cell = cell;
    this.#last = last;
    this.#synced = last;
    this.#segments = [...segments];
  }

  /** Number of the last frame written. */
  get last(): number {
    return this.#last;
  }

  /** Number of the last frame that survives a power loss. */
  get synced(): number {
    return this.#synced;
  }

  /**
   * A sync is running. Until it ends, the kernel may hold a write to the same file: on a saturated
   * disk for hundreds of milliseconds. Then `writeInThread` keeps the event loop free.
   */
  get isSyncing(): boolean {
    return this.#isSyncing;
  }

  /**
   * Writes a frame that `FrameBuilder` laid out, as the next one.
   * @throws WalBroken when it is unknown whether the frame is stored; any other error means that it
   * is not
   */
  write(frame: Buffer): void {
    const file = this.#fileFor(frame);
    try {
      file.write(frame, this.#at);
    } catch (cause) {
      this.#erase(file, cause);
      throw cause;
    }
    this.#written(file, frame);
  }

  /** As `write`, in a thread. No other frame may be written until it resolves or rejects. */
  async writeInThread(frame: Buffer): Promise<void> {
    const file = this.#fileFor(frame);
    try {
      await file.writeInThread(frame, this.#at);
    } catch (cause) {
      this.#erase(file, cause);
      throw cause;
    }
    this.#written(file, frame);
  }

  /**
   * Resolves when all frames written before the call survive a power loss. Calls run one at a time.
   * @throws an error of the system; the kernel does not retry, so the log must not be continued
   */
  sync(): Promise<void> {
    this.#syncing = this.#syncing.then(() => this.#sync());
    return this.#syncing;
  }

  get isSynced(): boolean {
    return this.#synced === this.#last;
  }

  /**
   * Removes segments whose frames are all below the given one, which must be synced, and in a
   * durable checkpoint. The segment with that frame stays, so the log is never without one.
   * @throws an error of the system
   */
  async removeUpTo(frame: number): Promise<void> {
    while (this.#segments.length > 1 && this.#segments[1]!.firstFrame <= frame)
      await this.#folder.removeInThread(this.#segments.shift()!.name);
  }

  /** The next frame begins a new segment, so that `removeUpTo` can remove the present one. */
  rotate(): void {
    this.#isRotating = true;
  }

  close(): void {
    for (const file of this.#unsynced) file.close();
    this.#current?.close();
  }

  #fileFor(frame: Buffer): SegmentFile {
    const isFull = this.#at > SEGMENT_BYTES_MAX || this.#isRotating;
    const file = this.#current === undefined || isFull ? this.#begin() : this.#current;
    sealFrame(frame, this.#last + 1, this.#synced);
    return file;
  }

  #written(file: SegmentFile, frame: Buffer): void {
    this.#unsynced.add(file);
    this.#at += frame.length;
    this.#last++;
  }

  async #sync(): Promise<void> {
    const last = this.#last;
    for (const file of this.#unsynced) this.#inSync.add(file);
    const isNewName = this.#isNewName;
    this.#unsynced = new Set();
    this.#isNewName = false;
    this.#isSyncing = true;
    try {
      if (isNewName) await this.#folder.sync();
      for (const file of this.#inSync) {
        await file.sync();
        this.#inSync.delete(file);
        this.#closeUnneeded(file);
      }
    } finally {
      this.#isSyncing = false;
    }
    this.#synced = Math.max(this.#synced, last);
  }

  #begin(): SegmentFile {
    const firstFrame = this.#last + 1;
    const name = segmentName(firstFrame);
    const file = this.#folder.create(name);
    try {
      const header = { cell: this.#cell, firstFrame, synced: this.#synced };
      file.write(encodeSegmentHeader(header), 0);
    } catch (error) {
      file.close();
      throw error;
    }
    const previous = this.#current;
    if (this.#segments.at(-1)?.name !== name) this.#segments.push({ name, firstFrame });
    this.#unsynced.add(file);
    this.#isNewName = true;
    this.#isRotating = false;
    this.#at = SEGMENT_HEADER_BYTES;
    this.#current = file;
    if (previous) this.#closeUnneeded(previous);
    return file;
  }

  /** Closes a file that is neither written nor synced any more. */
  #closeUnneeded(file: SegmentFile): void {
    if (file === this.#current || this.#unsynced.has(file) || this.#inSync.has(file)) return;
    file.close();
  }

  /** Makes sure that a failed write left no frame. */
  #erase(file: SegmentFile, cause: unknown): void {
    try {
      file.truncate(this.#at);
    } catch {
      throw new WalBroken(`a write failed and could not be undone: ${String(cause)}`, { cause });
    }
  }
}
