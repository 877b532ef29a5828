/**
 * Segments: the history of one shard, a batch of turns each, appended by its owner to a subject
 * that no trim of the shard touches. Each names all actors in it by hash, so a reader decodes only
 * those of its actor.
 *
 * Invariant: the owner appends behind the last segment that it knows (a fence, as in a journal), so
 * `covers` and turn numbers rise from segment to segment.
 */
import { crc32, inflateRawSync } from 'node:zlib';
import { decode } from '../../protocols/codec.ts';
import type { Log, LogEntry, Position } from '../log/log.ts';
import { bodyStart, encodeEntry } from '../shard/commit/record-format.ts';
import { deflated } from './deflate.ts';
import { readSummaries, summariesUpTo, type SummaryWriter, type TurnSummary } from './summary.ts';

/** Where turns with bodies of one actor are. */
export type FullPlace = readonly [actor: string, position: Position];

export type SegmentHead = {
  /** every turn of the journal up to here is in this segment or an earlier one, or is not kept */
  readonly covers: Position;
  readonly lastTurn: number;
  /** shard time of its last turn */
  readonly lastAt: number;
  /** bytes of all segments and bodies up to this one, those that were removed included */
  readonly total: number;
  /**
   * position of a segment some way before it, from which all that follow can be read; 0 for none
   */
  readonly back: Position;
  readonly full: readonly FullPlace[];
};

export type Segment = SegmentHead & {
  readonly position: Position;
  /** of all actors with summaries in it, each four bytes, rising */
  readonly hashes: Uint8Array;
  /** deflated: names and turns */
  readonly body: Uint8Array;
};

const HASH_BYTES = 4;
/** Segments between one and the one that its `back` names. */
export const SEGMENTS_BACK = 64;

const hashOf = (actor: string): number => crc32(actor) >>> 0;

export async function encodeSegment(
  head: Omit<SegmentHead, 'total'>,
  { actors, summaries }: { readonly actors: Iterable<string>; readonly summaries: SummaryWriter },
  total: (bytes: number) => number,
): Promise<Buffer> {
  const { covers, lastTurn, lastAt, back, full } = head;
  const hashes = packHashes(Array.from(actors, hashOf));
  const body = await deflated(encodeEntry([summaries.names, summaries.bytes()]));
  const sum = total(hashes.length + body.length);
  return packSegment({ covers, lastTurn, lastAt, total: sum, back, full, hashes, body });
}

/** The bytes that `decodeSegment` decodes. */
export const packSegment = (segment: Omit<Segment, 'position'>): Buffer => {
  const { covers, lastTurn, lastAt, total, back, full, hashes, body } = segment;
  return encodeEntry([covers, lastTurn, lastAt, total, back, full, hashes, body]);
};

/** A segment without the turns behind the numbered one; undefined when nothing remains. */
export async function segmentUpTo(segment: Segment, turnNo: number): Promise<Segment | undefined> {
  if (segment.lastTurn <= turnNo) return segment;
  const inflated = inflateRawSync(segment.body);
  const start = bodyStart(inflated, 'summaries of turns');
  const [names, all] = decode<[string[], Uint8Array]>(inflated, start);
  const { bytes, lastTurn, lastAt } = summariesUpTo(names, all, turnNo);
  if (bytes.length === 0) return undefined;
  const body = await deflated(encodeEntry([names, bytes]));
  return { ...segment, lastTurn, lastAt, body };
}

export function decodeSegment({ bytes, position }: LogEntry): Segment {
  const start = bodyStart(bytes, 'a segment of history', position);
  const [covers, lastTurn, lastAt, total, back, full, hashes, body] = decode<
    [number, number, number, number, number, FullPlace[], Uint8Array, Uint8Array]
  >(bytes, start);
  return { position, covers, lastTurn, lastAt, total, back, full, hashes, body };
}

/** The turns of an actor in it, in their order. */
export function summariesIn({ hashes, body }: Segment, actor: string): TurnSummary[] {
  return hasHash(hashes, hashOf(actor)) ? summariesOf(body, actor) : [];
}

function summariesOf(body: Uint8Array, actor?: string): TurnSummary[] {
  const bytes = inflateRawSync(body);
  const start = bodyStart(bytes, 'summaries of turns');
  return readSummaries(...decode<[string[], Uint8Array]>(bytes, start), actor);
}

/** The last segment of a shard; undefined if there is none. */
export async function lastSegment(log: Log, subject: string): Promise<Segment | undefined> {
  const last = await log.readLast(subject);
  return last && decodeSegment(last);
}

/** Segments from the newest to the oldest; of those that are trimmed meanwhile some may come. */
export async function* segmentsBackwards(log: Log, subject: string): AsyncGenerator<Segment> {
  let first = await lastSegment(log, subject);
  if (first) yield first;
  while (first && first.back > 0) {
    const before = await segmentsBetween(log, subject, first.back, first.position);
    yield* before.toReversed();
    first = before[0];
  }
}

async function segmentsBetween(
  log: Log,
  subject: string,
  from: Position,
  to: Position,
): Promise<Segment[]> {
  const found: Segment[] = [];
  for (let next = from; next < to; ) {
    const entries = await log.read(subject, next, { limit: SEGMENTS_BACK });
    found.push(...entries.filter(({ position }) => position < to).map(decodeSegment));
    next = (entries.at(-1)?.position ?? to) + 1;
  }
  return found;
}

function packHashes(hashes: number[]): Buffer {
  const sorted = hashes.toSorted((a, b) => a - b);
  const bytes = Buffer.allocUnsafe(sorted.length * HASH_BYTES);
  sorted.forEach((hash, at) => bytes.writeUInt32BE(hash, at * HASH_BYTES));
  return bytes;
}

function hasHash(hashes: Uint8Array, hash: number): boolean {
  const view = new DataView(hashes.buffer, hashes.byteOffset, hashes.byteLength);
  let low = 0;
  let high = hashes.length / HASH_BYTES;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (view.getUint32(middle * HASH_BYTES) < hash) low = middle + 1;
    else high = middle;
  }
  return low * HASH_BYTES < hashes.length && view.getUint32(low * HASH_BYTES) === hash;
}
