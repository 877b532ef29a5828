/**
 * Record format: the header with which every entry of a mailbox, journal, transcript or dead-letter
 * log begins, so that programs of different versions can share a log.
 *
 *   0xC1 · format u8 · oldest reader u8 · key id u32, big-endian · body
 *
 * `format` is the version of the layout (formats.ts). `oldest reader` is the lowest format that a
 * program must know to read the entry: 1 to `format`. A program that knows it ignores what is new,
 * which is only ever appended to arrays. `key id` names the key that encrypts the body; 0: not
 * encrypted. These bytes are the same in every format; the layout of the oldest reader determines
 * whether more precede the body.
 *
 * Entries from before this header are the body alone. MessagePack never uses 0xC1, so none of them
 * begins with it.
 *
 * Invariant: an entry that this program cannot read is never taken for damaged or foreign. It is
 * accepted work of a newer program, so its reader stops (E6).
 */
import assert from 'node:assert/strict';
import { encodeBehind } from '../../../protocols/codec.ts';
import { TroupeError } from '../../../protocols/errors.ts';
import type { Position } from '../../log/log.ts';
import type { RecordFormat } from '../../../protocols/upgrade.ts';
import { FORMATS } from './formats.ts';

/** The newest format that this program can read and write. */
export const FORMAT = FORMATS.at(-1)!.format;
/** Every program that knows formats reads it, so it may be written to any cell. */
export const BASE_FORMAT = FORMATS[0]!.format;
const MARK = 0xc1;
const NOT_ENCRYPTED = 0;
export const HEADER_BYTES = 7;

export class CorruptRecord extends Error {
  override readonly name = 'CorruptRecord';
}

/** What a process writes: raised while it runs, by `troupe upgrade finish`. */
export type WriteFormat = { readonly writes: number };

const formatOf = (format: number): RecordFormat => {
  const known = FORMATS.find((one) => one.format === format);
  assert(known, `format ${format} is not one of this program`);
  return known;
};

/** An entry: the header, and the body as MessagePack. One allocation. */
export function encodeEntry(body: object, format: number = BASE_FORMAT): Buffer {
  const layout = formatOf(format);
  const bytes = encodeBehind(layout.headerBytes, body);
  writeHeader(bytes, layout);
  return bytes;
}

/** An entry of the base format whose body is encoded already, in parts. */
export function entryOf(body: readonly Uint8Array[]): Buffer {
  const bytes = Buffer.concat([Buffer.allocUnsafe(HEADER_BYTES), ...body]);
  writeHeader(bytes, formatOf(BASE_FORMAT));
  return bytes;
}

function writeHeader(bytes: Buffer, { format, oldestReader, headerBytes }: RecordFormat): void {
  bytes[0] = MARK;
  bytes[1] = format;
  bytes[2] = oldestReader;
  bytes.writeUInt32BE(NOT_ENCRYPTED, 3);
  bytes.fill(0, HEADER_BYTES, headerBytes);
}

/**
 * Where the body of an entry begins; 0 without a header.
 * @param what names the entry in errors: 'a mailbox entry'
 * @throws CorruptRecord for a header that no program writes; TroupeError INTERNAL, details.reason
 * NEWER_FORMAT, when only a newer program can read the body
 */
export function bodyStart(bytes: Uint8Array, what: string, position?: Position): number {
  if (bytes[0] !== MARK) return 0;
  const { 1: format = 0, 2: oldestReader = 0 } = bytes;
  if (bytes.length <= HEADER_BYTES || oldestReader < 1 || oldestReader > format)
    throw new CorruptRecord(`${what} whose header is cut or damaged`);
  const isEncrypted = (bytes[3]! | bytes[4]! | bytes[5]! | bytes[6]!) !== 0;
  if (oldestReader <= FORMAT && !isEncrypted) return formatOf(oldestReader).headerBytes;
  const keyId = new DataView(bytes.buffer, bytes.byteOffset).getUint32(3);
  throw newerFormat({ format, oldestReader, keyId }, what, position);
}

/** The format and the oldest reader that a header names, unchecked; undefined without a header. */
export const headerOf = (
  bytes: Uint8Array,
): Pick<RecordFormat, 'format' | 'oldestReader'> | undefined =>
  bytes[0] === MARK ? { format: bytes[1] ?? 0, oldestReader: bytes[2] ?? 0 } : undefined;

/** The format that a program must know to continue; undefined for any other error. */
export const formatNeeded = (error: unknown): number | undefined =>
  error instanceof TroupeError && error.details?.['reason'] === 'NEWER_FORMAT'
    ? (error.details['formatNeeded'] as number)
    : undefined;

type Header = { readonly format: number; readonly oldestReader: number; readonly keyId: number };

function newerFormat(header: Header, what: string, position?: Position): TroupeError {
  const { format, oldestReader, keyId } = header;
  const place = position === undefined ? what : `${what} (position ${position})`;
  const why =
    keyId === NOT_ENCRYPTED
      ? `has format ${format}, for programs that know format ${oldestReader} at least; this one knows ${FORMAT}`
      : `is encrypted with key ${keyId}, which this program cannot do`;
  return new TroupeError(
    'INTERNAL',
    `${place} ${why}. A newer version of troupe wrote it: start that version here. Nothing is lost, and nothing was skipped`,
    {
      details: {
        reason: 'NEWER_FORMAT',
        // This program knows no encryption, so a program that does has a newer format.
        formatNeeded: keyId === NOT_ENCRYPTED ? oldestReader : Math.max(oldestReader, FORMAT + 1),
      },
    },
  );
}
