/**
 * Frames: the units of the write-ahead log. A frame is valid as a whole or not at all, so the
 * entries in it are stored together. All numbers are little-endian.
 *
 *   segment   magic 'TRW' · version u8 · minimum reader u8 · 0 · key id u16 · cell 16 bytes ·
 *             first frame u48 · synced u48 · CRC-32 u32 of all that precedes
 *   frame     magic 'TRF' · version u8 · CRC-32 u32 of all that follows · payload length u32 ·
 *             number u48 · synced u48 · key id u16 · payload
 *   payload   entries: subject length u16 · subject in UTF-8 · position u48 · value length u32 ·
 *             value
 *
 * A value is an entry as `entry-row.ts` writes it. `synced` is the number of the last frame that
 * was known to be on the disk when these bytes were written: damage up to it is damage, and damage
 * above it may be what a power loss left. A key id other than 0 is reserved for encrypted payloads.
 */
import { crc32 } from 'node:zlib';

/** Of segments and frames; one that needs a newer reader is refused. */
export const WAL_VERSION = 1;

const SEGMENT_MAGIC = Buffer.from('TRW');
const FRAME_MAGIC = Buffer.from('TRF');
export const SEGMENT_HEADER_BYTES = 40;
export const FRAME_HEADER_BYTES = 26;
const CRC_END = 8;
/** Of an entry, beside its subject and its value. */
const ENTRY_BYTES = 12;

export type SegmentHeader = {
  /** lowest reader that understands the segment */
  readonly minReader: number;
  readonly cell: string;
  readonly firstFrame: number;
  readonly synced: number;
};

export const encodeSegmentHeader = (header: Omit<SegmentHeader, 'minReader'>): Buffer => {
  const bytes = Buffer.alloc(SEGMENT_HEADER_BYTES);
  SEGMENT_MAGIC.copy(bytes);
  bytes.writeUInt8(WAL_VERSION, 3);
  bytes.writeUInt8(WAL_VERSION, 4);
  Buffer.from(header.cell, 'hex').copy(bytes, 8, 0, 16);
  bytes.writeUIntLE(header.firstFrame, 24, 6);
  bytes.writeUIntLE(header.synced, 30, 6);
  bytes.writeUInt32LE(crc32(bytes.subarray(0, 36)), 36);
  return bytes;
};

/** undefined when the bytes are not a whole header */
export const decodeSegmentHeader = (bytes: Buffer): SegmentHeader | undefined => {
  if (bytes.length < SEGMENT_HEADER_BYTES || !bytes.subarray(0, 3).equals(SEGMENT_MAGIC))
    return undefined;
  if (bytes.readUInt32LE(36) !== crc32(bytes.subarray(0, 36))) return undefined;
  return {
    minReader: bytes.readUInt8(4),
    cell: bytes.toString('hex', 8, 24),
    firstFrame: bytes.readUIntLE(24, 6),
    synced: bytes.readUIntLE(30, 6),
  };
};

export type FrameEntry = {
  readonly subject: string;
  readonly position: number;
  /** shares the frame's memory */
  readonly value: Buffer;
};

/** Lays out one frame. Its header is written by `sealFrame`, when its number is known. */
export class FrameBuilder {
  readonly bytes: Buffer;
  #at = FRAME_HEADER_BYTES;

  /** @param payloadBytes sum of `frameEntryBytes` of what will be added */
  constructor(payloadBytes: number) {
    this.bytes = Buffer.allocUnsafe(FRAME_HEADER_BYTES + payloadBytes);
  }

  /** Space for the value of an entry, which the caller fills. */
  entry(subject: Uint8Array, position: number, valueBytes: number): Buffer {
    const { bytes } = this;
    bytes.writeUInt16LE(subject.length, this.#at);
    bytes.set(subject, this.#at + 2);
    const at = this.#at + 2 + subject.length;
    bytes.writeUIntLE(position, at, 6);
    bytes.writeUInt32LE(valueBytes, at + 6);
    this.#at = at + 10 + valueBytes;
    return bytes.subarray(at + 10, this.#at);
  }
}

export const frameEntryBytes = (subject: Uint8Array, valueBytes: number): number =>
  ENTRY_BYTES + subject.length + valueBytes;

/** Writes the header of a frame whose payload is complete. */
export const sealFrame = (frame: Buffer, number: number, synced: number): void => {
  FRAME_MAGIC.copy(frame);
  frame.writeUInt8(WAL_VERSION, 3);
  frame.writeUInt32LE(frame.length - FRAME_HEADER_BYTES, 8);
  frame.writeUIntLE(number, 12, 6);
  frame.writeUIntLE(synced, 18, 6);
  frame.writeUInt16LE(0, 24);
  frame.writeUInt32LE(crc32(frame.subarray(CRC_END)), 4);
};

export type Frame = { readonly number: number; readonly synced: number; readonly bytes: Buffer };

/** The whole and undamaged frame at an offset of a segment; undefined when there is none. */
export const frameAt = (segment: Buffer, at: number): Frame | undefined => {
  if (at + FRAME_HEADER_BYTES > segment.length) return undefined;
  if (!segment.subarray(at, at + 3).equals(FRAME_MAGIC)) return undefined;
  const end = at + FRAME_HEADER_BYTES + segment.readUInt32LE(at + 8);
  if (segment.readUInt8(at + 3) !== WAL_VERSION || end > segment.length) return undefined;
  const bytes = segment.subarray(at, end);
  if (bytes.readUInt32LE(4) !== crc32(bytes.subarray(CRC_END))) return undefined;
  return { number: bytes.readUIntLE(12, 6), synced: bytes.readUIntLE(18, 6), bytes };
};

/** The next valid frame from an offset on, wherever it begins. */
export const nextFrame = (segment: Buffer, from: number): Frame | undefined => {
  for (let at = segment.indexOf(FRAME_MAGIC, from); at >= 0; ) {
    const frame = frameAt(segment, at);
    if (frame) return frame;
    at = segment.indexOf(FRAME_MAGIC, at + 1);
  }
  return undefined;
};

/** The entries of a valid frame, in order. */
export function* entriesOf({ bytes }: Frame): Iterable<FrameEntry> {
  for (let at = FRAME_HEADER_BYTES; at < bytes.length; ) {
    const name = at + 2;
    const end = name + bytes.readUInt16LE(at);
    const value = end + 10;
    at = value + bytes.readUInt32LE(end + 6);
    yield {
      subject: bytes.toString('utf8', name, end),
      position: bytes.readUIntLE(end, 6),
      value: bytes.subarray(value, at),
    };
  }
}
