/**
 * Record format: the header with which every entry of a mailbox, journal, transcript or dead-letter
 * log begins, so that programs of different versions can share a log.
 *
 *   0xC1 · format u8 · oldest reader u8 · key id u32, big-endian · body
 *
 * `format` is the version of the layout. `oldest reader` is the lowest format that a program must
 * know to read the entry: 1 to `format`. A program that knows it ignores what is new, which is only
 * ever appended to arrays. `key id` names the key that encrypts the body; 0: not encrypted. These
 * bytes are the same in every format.
 *
 * Entries of before the header are the body alone. MessagePack never uses 0xC1, so none of them
 * begins with it.
 *
 * Invariant: an entry that this program cannot read is never taken for damaged or foreign. It is
 * accepted work of a newer program, so its reader stops (E6).
 */
import { encodeBehind } from '../../../protocols/codec.ts';
import { TroupeError } from '../../../protocols/errors.ts';
import type { Position } from '../../log/log.ts';

/** The format that this program writes, and the newest one that it knows. */
export const FORMAT = 1;
/** Programs that know this format can read what this program writes. */
const OLDEST_READER = 1;
const MARK = 0xc1;
const NOT_ENCRYPTED = 0;
export const HEADER_BYTES = 7;

export class CorruptRecord extends Error {
  override readonly name = 'CorruptRecord';
}

/** An entry: the header, and the body as MessagePack. One allocation. */
export function encodeEntry(body: object): Buffer {
  const bytes = encodeBehind(HEADER_BYTES, body);
  writeHeader(bytes);
  return bytes;
}

/** An entry whose body is encoded already, in parts. */
export function entryOf(body: readonly Uint8Array[]): Buffer {
  const bytes = Buffer.concat([Buffer.allocUnsafe(HEADER_BYTES), ...body]);
  writeHeader(bytes);
  return bytes;
}

function writeHeader(bytes: Buffer): void {
  bytes[0] = MARK;
  bytes[1] = FORMAT;
  bytes[2] = OLDEST_READER;
  bytes.writeUInt32BE(NOT_ENCRYPTED, 3);
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
  if (oldestReader <= FORMAT && !isEncrypted) return HEADER_BYTES;
  const keyId = new DataView(bytes.buffer, bytes.byteOffset).getUint32(3);
  throw newerFormat({ format, oldestReader, keyId }, what, position);
}

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
