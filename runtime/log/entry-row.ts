/**
 * Entry rows: how the embedded store writes a log entry and a subject. Keys are binary and sort by
 * position:
 *
 *   log key     subject number u32 · position u64, big-endian
 *   log value   CRC-32 u32 · log time f64, milliseconds (both little-endian) · bytes
 *   meta key    's' · subject in UTF-8
 *   meta value  subject number u32, big-endian
 *
 * The CRC covers time and bytes and is seeded with the position, so a damaged row and a row at the
 * wrong place are both found when read.
 */
import { crc32 } from 'node:zlib';
import { TroupeError } from '../../protocols/errors.ts';
import type { LogEntry, Position } from './log.ts';
import type { KeyedRow } from './rows.ts';

/** Longest subject in UTF-8 bytes (LMDB's key limit less the prefix). */
export const SUBJECT_BYTES_MAX = 1900;

const HEADER_BYTES = 12;
const HIGH = 2 ** 32;
const SUBJECT_PREFIX = 's';

export const entryKey = (subjectNumber: number, position: Position): Uint8Array => {
  const key = Buffer.allocUnsafe(12);
  key.writeUInt32BE(subjectNumber, 0);
  key.writeUInt32BE(Math.floor(position / HIGH), 4);
  key.writeUInt32BE(position % HIGH, 8);
  return key;
};

export const positionOfKey = (key: Uint8Array): Position => {
  const view = new DataView(key.buffer, key.byteOffset, key.byteLength);
  return view.getUint32(4) * HIGH + view.getUint32(8);
};

/** Bytes of a stored entry beside its own. */
export const ENTRY_HEADER_BYTES = HEADER_BYTES;

/** @param value `ENTRY_HEADER_BYTES` longer than the bytes */
export const writeEntry = (
  value: Buffer,
  position: Position,
  logTimeMs: number,
  bytes: Uint8Array,
): void => {
  value.set(bytes, HEADER_BYTES);
  value.writeDoubleLE(logTimeMs, 4);
  value.writeUInt32LE(crc32(value.subarray(4), position % HIGH), 0);
};

/** The entry in a value that `writeEntry` made; shares its memory. */
export const entryOf = (position: Position, value: Buffer): LogEntry => ({
  position,
  bytes: value.subarray(HEADER_BYTES),
  logTimeMs: value.readDoubleLE(4),
});

/** @throws TroupeError INTERNAL, details.reason CORRUPT, when the row is not what was written */
export const decodeEntry = (subject: string, row: KeyedRow): LogEntry => {
  const position = positionOfKey(row.key);
  const value = Buffer.from(row.value.buffer, row.value.byteOffset, row.value.byteLength);
  const whole = value.length >= HEADER_BYTES;
  if (!whole || value.readUInt32LE(0) !== crc32(value.subarray(4), position % HIGH)) {
    throw new TroupeError(
      'INTERNAL',
      `entry ${position} of ${subject} is damaged on disk: restore the data folder from a backup`,
      { details: { reason: 'CORRUPT', subject, position } },
    );
  }
  return entryOf(position, value);
};

/** @throws TroupeError INVALID_ARGUMENT when the subject is empty, too long or no valid Unicode */
export const subjectKey = (subject: string): Uint8Array => {
  const key = Buffer.from(SUBJECT_PREFIX + subject, 'utf8');
  const bytes = key.length - SUBJECT_PREFIX.length;
  if (
    bytes === 0 ||
    bytes > SUBJECT_BYTES_MAX ||
    key.toString('utf8') !== SUBJECT_PREFIX + subject
  ) {
    throw new TroupeError(
      'INVALID_ARGUMENT',
      `a subject is valid Unicode of 1 to ${SUBJECT_BYTES_MAX} bytes; this one has ${bytes}`,
    );
  }
  return key;
};

/** What the keys of subjects with this prefix begin with; the prefix may be empty. */
export const subjectPrefix = (prefix: string): Buffer => Buffer.from(SUBJECT_PREFIX + prefix);

/** The subject of a key that `subjectKey` made. */
export const subjectOfKey = (key: Uint8Array): string =>
  Buffer.from(key.buffer, key.byteOffset, key.byteLength).toString('utf8', SUBJECT_PREFIX.length);

/** The subject's bytes in its key; shares its memory. */
export const nameInKey = (key: Buffer): Buffer => key.subarray(SUBJECT_PREFIX.length);

export const encodeNumber = (value: number): Uint8Array => {
  const bytes = Buffer.allocUnsafe(4);
  bytes.writeUInt32BE(value, 0);
  return bytes;
};

export const decodeNumber = (bytes: Uint8Array): number =>
  new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength).getUint32(0);
