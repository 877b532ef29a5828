/**
 * The two encodings: MessagePack inside (logs, state, buses), JSON at the edges (doors, exports).
 *
 * Values are JSON values, Uint8Array and `undefined` fields. Every message stands for itself: no
 * record structures shared between messages, so any process of any version can read any one of them
 * alone. Objects come back as plain objects, integers as numbers. A key `__proto__` comes back as
 * `__proto_`: bytes can not reach a prototype.
 */
import { Packr } from 'msgpackr';
import { TroupeError } from './errors.ts';

const packr = new Packr({
  useRecords: false,
  variableMapSize: true,
  int64AsType: 'number',
  // A decoded Uint8Array must outlive the store's buffer, which LMDB reuses for the next read.
  copyBuffers: true,
});

/**
 * The value as MessagePack. The bytes are the caller's to keep.
 * @throws TroupeError INVALID_ARGUMENT for a value with a cycle, or one nested beyond the stack
 */
export const encode = (value: unknown): Buffer => {
  try {
    return packr.pack(value);
  } catch (cause) {
    throw new TroupeError('INVALID_ARGUMENT', `the value can not be encoded: ${messageOf(cause)}`, {
      cause,
    });
  }
};

/**
 * The value of exactly one encoded message; it shares no memory with `bytes`. `T` is the caller's
 * claim: bytes from outside are checked by a schema afterwards.
 * @throws TroupeError INTERNAL when the bytes are cut, damaged or followed by others
 */
export const decode = <T>(bytes: Uint8Array): T => {
  try {
    return packr.unpack(bytes) as T;
  } catch (cause) {
    throw new TroupeError(
      'INTERNAL',
      `${bytes.length} bytes are no MessagePack value: ${messageOf(cause)}`,
      { cause },
    );
  }
};

/** Default bound of JSON texts in UTF-8 bytes: 1 MiB. */
export const JSON_BYTES_MAX = 1_048_576;

/**
 * JSON text of a value. Bytes have no JSON form: write base64 yourself.
 * @throws TroupeError PAYLOAD_TOO_LARGE above `bytesMax`; INVALID_ARGUMENT for what JSON can not
 * hold
 */
export const toJson = (value: unknown, bytesMax = JSON_BYTES_MAX): string => {
  const text = stringify(value);
  const bytes = Buffer.byteLength(text, 'utf8');
  if (bytes > bytesMax) throw tooLarge(bytes, bytesMax);
  return text;
};

const stringify = (value: unknown): string => {
  try {
    const text: string | undefined = JSON.stringify(value);
    if (text !== undefined) return text;
  } catch (cause) {
    throw new TroupeError('INVALID_ARGUMENT', `the value has no JSON form: ${messageOf(cause)}`, {
      cause,
    });
  }
  throw new TroupeError('INVALID_ARGUMENT', `a value of type ${typeof value} has no JSON form`);
};

/**
 * The value of a JSON text. The size is tested before anything is parsed.
 * @throws TroupeError PAYLOAD_TOO_LARGE above `bytesMax`; INVALID_ARGUMENT when it is not UTF-8 or
 * not JSON
 */
export const fromJson = (text: string | Uint8Array, bytesMax = JSON_BYTES_MAX): unknown => {
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
