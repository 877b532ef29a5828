/**
 * Cut: the embedded store at one position of its log, taken by a process beside the one that writes
 * it. No writer waits for it: it only reads.
 *
 * The rows are those of one commit of LMDB, which names the last frame that it contains. The log
 * supplies the frames above. Segments are append-only, and are removed when a durable checkpoint
 * contains them. So:
 *
 *  1. open the segments: an open file can be read after it was removed;
 *  2. begin a read transaction of LMDB;
 *  3. list the segments again and open the new ones;
 *  4. read the frames above the checkpoint. Where some are missing, a checkpoint removed a segment
 *     that was made after step 1: begin again.
 *
 * The position of the cut is the last whole frame. Everything that was answered before step 4 is at
 * or below it, because an answer follows the write of its frame.
 */
import { constants } from 'node:fs';
import { type FileHandle, open, readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { TroupeError } from '../../protocols/errors.ts';
import { CHECKPOINT, decodeCheckpoint } from '../log/checkpoint-row.ts';
import { readDescription, WAL_FOLDER } from '../log/embedded-store.ts';
import { LmdbSnapshot } from '../log/lmdb-snapshot.ts';
import type { KeyedRow, TableName } from '../log/rows.ts';
import { corrupt } from '../log/store-errors.ts';
import { decodeSegmentHeader, entriesOf, frameAt, SEGMENT_HEADER_BYTES } from '../log/wal/frame.ts';

export type Cut = {
  readonly cell: string;
  /** of the store's folder */
  readonly storeFormat: number;
  /** last frame that the rows contain */
  readonly checkpoint: number;
  /** last frame of the cut */
  readonly position: number;
  /** those with frames above the checkpoint, oldest first; at least the newest one */
  readonly segments: readonly CutSegment[];
  /** copies, in key order */
  readonly rows: (table: TableName) => Iterable<KeyedRow>;
  readonly close: () => Promise<void>;
};

export type CutSegment = {
  readonly name: string;
  /** of its header and whole frames */
  readonly bytes: number;
  /** entries of its frames above the checkpoint */
  readonly entries: number;
  readonly read: () => AsyncIterable<Uint8Array>;
};

const ATTEMPTS_MAX = 20;
const RETRY_MS = 20;
const PIECE_BYTES = 2 ** 20;
const SEGMENT = /^\d{15}\.wal$/;

/**
 * @param path of the store; the process that uses it may run
 * @throws TroupeError NOT_FOUND without a store; INTERNAL (CORRUPT, FORMAT) when it cannot be read
 */
export async function takeCut(path: string): Promise<Cut> {
  const description = readDescription(path);
  if (description === undefined)
    throw new TroupeError('NOT_FOUND', `${path} contains no data of troupe`);
  const { cell, formatVersion } = description;
  let snapshot = new LmdbSnapshot(path);
  try {
    for (let attempt = 1; ; attempt++) {
      const held = new OpenSegments(join(path, WAL_FOLDER));
      try {
        const at = await attemptCut(snapshot, held, cell);
        const read = snapshot;
        const close = async () => {
          await held.close();
          await read.close();
        };
        return { ...at, cell, storeFormat: formatVersion, rows: (t) => read.all(t), close };
      } catch (error) {
        await held.close();
        if (!(error instanceof Gap)) throw error;
        if (attempt === ATTEMPTS_MAX) throw corrupt(path, error.message);
        await sleep(RETRY_MS);
        // An erasure may have replaced the file meanwhile.
        await snapshot.close();
        snapshot = new LmdbSnapshot(path);
      }
    }
  } catch (error) {
    await snapshot.close();
    throw error;
  }
}

/** Frames are missing: a segment was removed meanwhile, or the log is damaged. */
class Gap extends Error {}

async function attemptCut(
  snapshot: LmdbSnapshot,
  held: OpenSegments,
  cell: string,
): Promise<Pick<Cut, 'checkpoint' | 'position' | 'segments'>> {
  await held.look();
  snapshot.renew();
  const checkpoint = decodeCheckpoint(snapshot.row('meta', CHECKPOINT));
  await held.look();
  const needed = held.neededAbove(checkpoint);
  if (needed.length === 0 && checkpoint > 0) throw new Gap('its log is missing');
  const segments: CutSegment[] = [];
  let last = checkpoint;
  for (const [i, { name, firstFrame, file }] of needed.entries()) {
    const bytes = await wholeFile(file);
    const isNewest = i === needed.length - 1;
    if (isNewest && decodeSegmentHeader(bytes) === undefined) break; // is being made
    const from = i === 0 ? Math.min(firstFrame, checkpoint + 1) : last + 1;
    if (firstFrame !== from) throw new Gap(`frames ${from} to ${firstFrame - 1} are missing`);
    const found = wholeFrames(bytes, { name, cell, checkpoint });
    last = Math.max(last, found.last);
    segments.push({ name, ...found, read: () => pieces(file, found.bytes) });
  }
  return { checkpoint, position: last, segments };
}

export type WholeFrames = {
  /** number of the last whole frame; one below the first frame if there is none */
  readonly last: number;
  readonly bytes: number;
  readonly entries: number;
};

/**
 * The whole frames at the beginning of a segment.
 * @throws Error when it has no header, or that of another cell
 */
export function wholeFrames(
  segment: Buffer,
  { name, cell, checkpoint }: { name: string; cell: string; checkpoint: number },
): WholeFrames {
  const header = decodeSegmentHeader(segment);
  if (header === undefined) throw new Gap(`segment ${name} has no valid header`);
  if (header.cell !== cell) throw new Gap(`segment ${name} belongs to cell ${header.cell}`);
  let last = header.firstFrame - 1;
  let at = SEGMENT_HEADER_BYTES;
  let entries = 0;
  for (;;) {
    const frame = frameAt(segment, at);
    if (frame === undefined || frame.number !== last + 1) return { last, bytes: at, entries };
    if (frame.number > checkpoint) for (const _ of entriesOf(frame)) entries++;
    last = frame.number;
    at += frame.bytes.length;
  }
}

type OpenSegment = {
  readonly name: string;
  readonly firstFrame: number;
  readonly file: FileHandle;
};

/** Segments that stay readable although the log removes them. */
class OpenSegments {
  readonly #folder: string;
  readonly #files = new Map<string, FileHandle>();

  constructor(folder: string) {
    this.#folder = folder;
  }

  /** Opens all segments that are there now, again those that are open: a start may replace one. */
  async look(): Promise<void> {
    for (const name of (await absentIsEmpty(readdir(this.#folder))).filter(isSegment)) {
      const file = await openExisting(join(this.#folder, name));
      if (file === undefined) continue;
      await this.#files.get(name)?.close();
      this.#files.set(name, file);
    }
  }

  /** From the segment on that has the first frame above the checkpoint, or may get it. */
  neededAbove(checkpoint: number): readonly OpenSegment[] {
    const all = [...this.#files]
      .map(([name, file]) => ({ name, file, firstFrame: Number.parseInt(name, 10) }))
      .toSorted((a, b) => a.firstFrame - b.firstFrame);
    const next = all.findIndex(({ firstFrame }) => firstFrame > checkpoint + 1);
    return all.slice(Math.max(0, (next < 0 ? all.length : next) - 1));
  }

  async close(): Promise<void> {
    for (const file of this.#files.values()) await file.close();
    this.#files.clear();
  }
}

const isSegment = (name: string): boolean => SEGMENT.test(name);

async function absentIsEmpty(names: Promise<string[]>): Promise<readonly string[]> {
  try {
    return await names;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return [];
    throw error;
  }
}

async function openExisting(path: string): Promise<FileHandle | undefined> {
  try {
    return await open(path, constants.O_RDONLY);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw error;
  }
}

async function wholeFile(file: FileHandle): Promise<Buffer> {
  const { size } = await file.stat();
  const parts: Buffer[] = [];
  for await (const part of pieces(file, size)) parts.push(part);
  return Buffer.concat(parts);
}

/** The first bytes of a file; fewer where it ends. */
async function* pieces(file: FileHandle, bytes: number): AsyncGenerator<Buffer> {
  for (let at = 0; at < bytes; ) {
    const piece = Buffer.allocUnsafe(Math.min(PIECE_BYTES, bytes - at));
    const { bytesRead } = await file.read(piece, 0, piece.length, at);
    if (bytesRead === 0) return;
    yield piece.subarray(0, bytesRead);
    at += bytesRead;
  }
}
