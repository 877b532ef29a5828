/**
 * Segments: vectors as bytes, for storage. A segment is complete or damaged: its last bytes are a
 * hash of all others.
 *
 * Format, little endian: magic (4 bytes), dimensions (u32), rows (u32); each row: key (16 bytes),
 * scale (f32), upper bytes, lower bytes; SHA-256.
 */
import { hash, webcrypto } from 'node:crypto';
import { DIMENSIONS_MAX, type Row, type VectorRows } from './vector-rows.ts';

const { subtle } = webcrypto;
/** `tpv` and the version of the format */
const MAGIC = 0x31_76_70_74;
const HEADER_BYTES = 12;
const KEY_BYTES = 16;
const HASH_BYTES = 32;

export type SegmentRow = Row & { readonly key: string };

/** @param keys of rows that exist, as `keyOf` makes them */
export async function segmentOf(rows: VectorRows, keys: readonly string[]): Promise<Uint8Array> {
  const { dimensions } = rows;
  const bytes = Buffer.alloc(HEADER_BYTES + keys.length * rowBytes(dimensions) + HASH_BYTES);
  bytes.writeUInt32LE(MAGIC, 0);
  bytes.writeUInt32LE(dimensions, 4);
  bytes.writeUInt32LE(keys.length, 8);
  let at = HEADER_BYTES;
  for (const key of keys) {
    const { scale, upper, lower } = rows.get(key)!;
    bytes.write(key, at, KEY_BYTES, 'base64url');
    bytes.writeFloatLE(scale, at + KEY_BYTES);
    bytes.set(bytesOf(upper), at + KEY_BYTES + 4);
    bytes.set(bytesOf(lower), at + KEY_BYTES + 4 + dimensions);
    at += rowBytes(dimensions);
  }
  (await hashOf(bytes.subarray(0, at))).copy(bytes, at);
  return bytes;
}

/** undefined: damaged, or of another format */
export async function rowsOfSegment(
  segment: Uint8Array,
): Promise<{ readonly dimensions: number; readonly rows: Iterable<SegmentRow> } | undefined> {
  const bytes = Buffer.from(segment.buffer, segment.byteOffset, segment.byteLength);
  if (bytes.length < HEADER_BYTES + HASH_BYTES || bytes.readUInt32LE(0) !== MAGIC) return undefined;
  const end = bytes.length - HASH_BYTES;
  const expected = await hashOf(bytes.subarray(0, end));
  if (!expected.equals(bytes.subarray(end))) return undefined;
  const [dimensions, count] = [bytes.readUInt32LE(4), bytes.readUInt32LE(8)];
  if (dimensions < 1 || dimensions > DIMENSIONS_MAX) return undefined;
  if (end - HEADER_BYTES !== count * rowBytes(dimensions)) return undefined;
  return { dimensions, rows: eachRowOf(bytes, dimensions, count) };
}

/** How many vectors a segment has, whose contents are not checked; 0 for other bytes. */
export function vectorsIn(segment: Uint8Array): number {
  const bytes = Buffer.from(segment.buffer, segment.byteOffset, segment.byteLength);
  const rowsLength = bytes.length - HEADER_BYTES - HASH_BYTES;
  if (rowsLength < 0 || bytes.readUInt32LE(0) !== MAGIC) return 0;
  const count = bytes.readUInt32LE(8);
  return count * rowBytes(bytes.readUInt32LE(4)) === rowsLength ? count : 0;
}

function* eachRowOf(bytes: Buffer, dimensions: number, count: number): Generator<SegmentRow> {
  for (let n = 0; n < count; n++) {
    const at = HEADER_BYTES + n * rowBytes(dimensions);
    const upper = bytes.subarray(at + KEY_BYTES + 4, at + KEY_BYTES + 4 + dimensions);
    const lower = bytes.subarray(at + KEY_BYTES + 4 + dimensions, at + rowBytes(dimensions));
    yield {
      key: bytes.toString('base64url', at, at + KEY_BYTES),
      scale: bytes.readFloatLE(at + KEY_BYTES),
      upper: signed(upper),
      lower: signed(lower),
    };
  }
}

/** 128 bits of the SHA-256. */
export const keyOf = (text: string | Uint8Array): string =>
  hash('sha256', text, 'buffer').toString('base64url', 0, KEY_BYTES);

/** Differs for other contents: 128 bits of the hash at its end. */
export const nameOf = (segment: Uint8Array): string =>
  Buffer.from(segment.subarray(-HASH_BYTES)).toString('base64url', 0, KEY_BYTES);

const rowBytes = (dimensions: number): number => KEY_BYTES + 4 + 2 * dimensions;
/** In a thread: a segment has up to 8 MB. It is no shared memory. */
const hashOf = async (bytes: Uint8Array): Promise<Buffer> =>
  Buffer.from(await subtle.digest('SHA-256', bytes as Uint8Array<ArrayBuffer>));
const bytesOf = (signedBytes: Int8Array): Uint8Array =>
  new Uint8Array(signedBytes.buffer, signedBytes.byteOffset, signedBytes.byteLength);
const signed = (bytes: Uint8Array): Int8Array =>
  new Int8Array(bytes.buffer, bytes.byteOffset, bytes.byteLength);
