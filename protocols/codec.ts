/**
 * The two encodings: MessagePack internally (logs, state, buses), JSON externally (entry points,
 * exports).
 *
 * Values are JSON values, Uint8Array and `undefined` fields. Every message is self-contained:
 * messages share no record structures, so a process of any version can decode any message alone.
 * Decoding returns plain objects, and integers as numbers. A key `__proto__` is decoded as
 * `__proto_`, so bytes cannot modify a prototype.
 */
import { Packr, RESERVE_START_SPACE } from 'msgpackr';
import { TroupeError } from './errors.ts';

const packr = new Packr({
  useRecords: false,
  variableMapSize: true,
  int64AsType: 'number',
  // A decoded Uint8Array must not depend on the store's buffer, which LMDB reuses for the next
  // read.
  copyBuffers: true,
});

/**
 * Encodes the value as MessagePack. The caller owns the bytes.
 * @throws TroupeError INVALID_ARGUMENT for a cyclic value, or one nested too deeply for the stack
 */
export const encode = (value: unknown): Buffer => pack(value);

/**
 * As `encode`, behind a number of bytes that the caller must write. They have any content.
 * @param before 1 to 255
 */
export const encodeBehind = (before: number, value: unknown): Buffer =>
  pack(value, RESERVE_START_SPACE | before);

/**
 * The encoder cuts small values from a buffer, which grows to several times its largest value. Each
 * value keeps its whole buffer in memory.
 */
const BUFFER_BYTES_MAX = 2 ** 17;

const pack = (value: unknown, options?: number): Buffer => {
  try {
    const bytes = packr.pack(value, options);
    // Otherwise each later value, however small, would hold as much memory as the largest one.
    if (bytes.buffer.byteLength > BUFFER_BYTES_MAX) packr.useBuffer(Buffer.allocUnsafeSlow(65_536));
    return bytes;
  } catch (cause) {
    throw new TroupeError('INVALID_ARGUMENT', `the value cannot be encoded: ${messageOf(cause)}`, {
      cause,
    });
  }
};

/**
 * Decodes exactly one message, which begins at `start`. The value shares no memory with `bytes`.
 * `T` is not checked: validate external bytes against a schema afterwards.
 * @throws TroupeError INTERNAL when the bytes are truncated, damaged or followed by others
 */
export const decode = <T>(bytes: Uint8Array, start = 0): T => {
  try {
    return packr.unpack(bytes, start === 0 ? undefined : { start }) as T;
  } catch (cause) {
    throw new TroupeError(
      'INTERNAL',
      `${bytes.length} bytes are not a MessagePack value: ${messageOf(cause)}`,
      { cause },
    );
  }
};

/**
 * Parses a JSON text. The size is checked before parsing.
 * @throws TroupeError PAYLOAD_TOO_LARGE above `bytesMax`; INVALID_ARGUMENT when it is not UTF-8 or
 * not JSON
 */
export const fromJson = (text: string | Uint8Array, bytesMax: number): unknown => {
  const bytes = typeof text === 'string' ? Buffer.byteLength(text, 'utf8') : text.byteLength;
  if (bytes > bytesMax) throw tooLarge(bytes, bytesMax);
  try {
    return JSON.parse(typeof text === 'string' ? text : UTF8.decode(text)) as unknown;
  } catch (cause) {
    throw new TroupeError('INVALID_ARGUMENT', `this is not JSON: ${messageOf(cause)}`, { cause });
  }
};

const UTF8 = new TextDecoder('utf-8', { fatal: true });

const tooLarge = (bytes: number, bytesMax: number) =>
  new TroupeError(
    'PAYLOAD_TOO_LARGE',
    `the JSON text has ${bytes} bytes, at most ${bytesMax} are allowed`,
    {
      details: { bytes, bytesMax },
    },
  );

const messageOf = (cause: unknown) => (cause instanceof Error ? cause.message : String(cause));
