/**
 * Recovery of the write-ahead log: reads the frames that the last checkpoint does not contain, and
 * cuts what an interrupted write left at the end.
 *
 * A frame that is not whole ends the log if nothing behind it was known to be on the disk: then it
 * is what a killed process or a power loss left, and no answer depended on it that was promised to
 * survive that. Damage below a frame or segment that names it as synced is refused: nothing is
 * skipped.
 */
import { TroupeError } from '../../../protocols/errors.ts';
import { corrupt } from '../store-errors.ts';
import type { WalFolder } from './folder.ts';
import {
  decodeSegmentHeader,
  type Frame,
  frameAt,
  nextFrame,
  SEGMENT_HEADER_BYTES,
  type SegmentHeader,
  WAL_VERSION,
} from './frame.ts';

export type RecoverOptions = {
  readonly folder: WalFolder;
  /** of the data folder, for errors */
  readonly path: string;
  readonly cell: string;
  /** number of the last frame that the checkpoint contains; 0 before the first checkpoint */
  readonly checkpoint: number;
  /** called for each frame above the checkpoint, in order */
  onFrame(frame: Frame): void;
};

export type Recovered = {
  /** number of the last frame */
  readonly last: number;
  readonly segments: readonly FoundSegment[];
  /** what was cut, in words; undefined when nothing was, or only an incomplete last frame */
  readonly cut: string | undefined;
};

export type FoundSegment = { readonly name: string; readonly firstFrame: number };

type Segment = FoundSegment & { readonly bytes: Buffer; readonly header: SegmentHeader };

export const segmentName = (firstFrame: number): string =>
  `${firstFrame.toString().padStart(15, '0')}.wal`;

/**
 * @throws TroupeError INTERNAL: details.reason CORRUPT when frames are missing or damaged that were
 * on the disk, FORMAT when a newer program wrote a segment
 */
export const recoverWal = (options: RecoverOptions): Recovered => {
  const { folder, path, checkpoint } = options;
  const all = [...folder.list()].sort();
  if (all.length === 0 && checkpoint > 0) throw corrupt(path, 'its log is missing');
  const names = all.slice(firstNeeded(all, checkpoint));
  const found = all.slice(0, all.length - names.length).map(foundSegment);
  let last = 0;
  for (const [i, name] of names.entries()) {
    const segment = open(options, name);
    if (segment === undefined) {
      // The process ended while it made the segment: there is nothing in it yet.
      if (i < names.length - 1) throw corrupt(path, `segment ${name} has no valid header`);
      folder.remove(name);
      break;
    }
    const { firstFrame } = segment;
    if (i > 0 && firstFrame !== last + 1)
      throw corrupt(path, `frames ${last + 1} to ${firstFrame - 1} of its log are missing`);
    if (i === 0 && firstFrame > checkpoint + 1)
      throw corrupt(path, `frames ${checkpoint + 1} to ${firstFrame - 1} of its log are missing`);
    found.push({ name, firstFrame });
    const end = readSegment(options, segment);
    last = end.last;
    if (end.at === segment.bytes.length) continue;
    const lost = lostBehind(options, segment, end, names.slice(i + 1));
    folder.truncate(name, end.at);
    for (const later of names.slice(i + 1)) folder.remove(later);
    return { last: atLeast(last, checkpoint), segments: found, cut: lost };
  }
  return { last: atLeast(last, checkpoint), segments: found, cut: undefined };
};

const foundSegment = (name: string): FoundSegment => ({
  name,
  firstFrame: Number.parseInt(name, 10),
});

/** Index of the first segment with a frame above the checkpoint, or that may get one. */
const firstNeeded = (names: readonly string[], checkpoint: number): number => {
  const next = names.findIndex((name) => foundSegment(name).firstFrame > checkpoint + 1);
  return Math.max(0, (next < 0 ? names.length : next) - 1);
};

const atLeast = (last: number, checkpoint: number): number => Math.max(last, checkpoint);

const open = ({ folder, path, cell }: RecoverOptions, name: string): Segment | undefined => {
  const bytes = folder.read(name);
  const header = decodeSegmentHeader(bytes);
  if (header === undefined) return undefined;
  if (header.minReader > WAL_VERSION) {
    throw new TroupeError(
      'INTERNAL',
      `the log in ${path} needs a program that reads version ${header.minReader} of its segments; ` +
        `this program reads up to ${WAL_VERSION}. Use the newer program that wrote it.`,
      { details: { reason: 'FORMAT', path, formatVersion: header.minReader } },
    );
  }
  if (header.cell !== cell) throw corrupt(path, `segment ${name} belongs to cell ${header.cell}`);
  return { name, firstFrame: header.firstFrame, bytes, header };
};

type End = { readonly last: number; readonly at: number };

/** Reads whole frames in order of their numbers; returns where they end. */
const readSegment = (options: RecoverOptions, { firstFrame, bytes }: Segment): End => {
  let last = firstFrame - 1;
  for (let at = SEGMENT_HEADER_BYTES; ; ) {
    const frame = frameAt(bytes, at);
    if (frame === undefined || frame.number !== last + 1) return { last, at };
    if (frame.number > options.checkpoint) options.onFrame(frame);
    last = frame.number;
    at += frame.bytes.length;
  }
};

/**
 * What is behind the end of the whole frames. @throws TroupeError INTERNAL (CORRUPT) when a later
 * frame says that the first missing one was on the disk
 */
const lostBehind = (
  { folder, path }: RecoverOptions,
  { bytes, name }: Segment,
  { last, at }: End,
  laterNames: readonly string[],
): string | undefined => {
  const missing = last + 1;
  let frames = 0;
  const look = (segment: Buffer, from: number): void => {
    for (let next = nextFrame(segment, from); next; ) {
      if (next.number > last) {
        if (next.synced >= missing)
          throw corrupt(path, `frame ${missing} of its log is damaged (${name}, byte ${at})`);
        frames++;
      }
      const end = next.bytes.byteOffset - segment.byteOffset + next.bytes.length;
      next = nextFrame(segment, end);
    }
  };
  look(bytes, at + 1);
  for (const later of laterNames) {
    const segment = folder.read(later);
    const header = decodeSegmentHeader(segment);
    if (header && header.synced >= missing)
      throw corrupt(path, `frame ${missing} of its log is damaged (${name}, byte ${at})`);
    look(segment, 0);
  }
  if (frames === 0) return undefined;
  return `${frames} frames from number ${missing} on were incomplete after a power loss and were removed`;
};
