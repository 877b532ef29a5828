/**
 * State rows: how the embedded store writes a row of State, and the order of keys.
 *
 *   key     shard u16, big-endian · table · 0 · key, both UTF-8
 *   value   CRC-32 u32, little-endian · bytes
 */
import { crc32 } from 'node:zlib';
import { TroupeError } from '../../protocols/errors.ts';
import { prefixEnd, type RowRange } from '../log/rows.ts';
import { type Put, type RangeOptions, STATE_KEY_BYTES_MAX } from './state.ts';

/** Rows of one `range` when the caller names no limit. */
export const RANGE_LIMIT_DEFAULT = 1000;
/** Longest table name in UTF-8 bytes: what LMDB's key limit leaves. */
export const STATE_TABLE_BYTES_MAX = 200;
const SHARD_MAX = 0xffff;
const CRC_BYTES = 4;

/**
 * Refuses what cannot be a row's address: two texts must never share a row, and no text may reach
 * into another table.
 * @throws TroupeError INVALID_ARGUMENT
 */
export const checkAddress = (shard: number, table: string, key: string): void => {
  if (!Number.isInteger(shard) || shard < 0 || shard > SHARD_MAX)
    refuse(`shard ${shard} is not in 0..${SHARD_MAX}`);
  if (table === '' || table.includes('\0') || tooLong(table, STATE_TABLE_BYTES_MAX)) {
    refuse(`table ${JSON.stringify(table)} is not 1 to ${STATE_TABLE_BYTES_MAX} bytes without NUL`);
  }
  if (tooLong(key, STATE_KEY_BYTES_MAX)) {
    refuse(
      `a key of ${Buffer.byteLength(key)} bytes in table ${table} exceeds ${STATE_KEY_BYTES_MAX}`,
    );
  }
  if (LONE_SURROGATE.test(key))
    refuse(`key ${JSON.stringify(key)} in table ${table} is not valid Unicode`);
};

/** @throws TroupeError INVALID_ARGUMENT for the first put whose address cannot be stored */
export const checkPuts = (puts: readonly Put[]): void => {
  for (const put of puts) checkAddress(put.shard, put.table, put.key);
};

const LONE_SURROGATE = /\p{Surrogate}/u;

const tooLong = (text: string, bytesMax: number): boolean =>
  text.length > bytesMax || (text.length * 3 > bytesMax && Buffer.byteLength(text) > bytesMax);

const refuse = (why: string): never => {
  throw new TroupeError('INVALID_ARGUMENT', `the row cannot be stored: ${why}`);
};

export const stateKey = (shard: number, table: string, key: string): Buffer => {
  const text = `\0\0${table}\0${key}`;
  const bytes = Buffer.from(text, 'utf8');
  bytes.writeUInt16BE(shard, 0);
  return bytes;
};

/** The part of a state key that is the caller's key. */
export const keyOfStateKey = (bytes: Uint8Array, table: string): string =>
  Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString(
    'utf8',
    3 + Buffer.byteLength(table),
  );

/** Table and key of any state key. */
export const addressOfStateKey = (
  bytes: Uint8Array,
): { readonly table: string; readonly key: string } => {
  const end = bytes.indexOf(0, 2);
  const text = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  return { table: text.toString('utf8', 2, end), key: text.toString('utf8', end + 1) };
};

export const tableRange = (shard: number, table: string, options: RangeOptions = {}): RowRange => {
  const prefix = stateKey(shard, table, '');
  return {
    from: options.from === undefined ? prefix : stateKey(shard, table, options.from),
    to: options.to === undefined ? prefixEnd(prefix) : stateKey(shard, table, options.to),
    limit: options.limit ?? RANGE_LIMIT_DEFAULT,
    reverse: options.reverse ?? false,
  };
};

export const shardRange = (shard: number): RowRange => {
  const from = Buffer.allocUnsafe(2);
  from.writeUInt16BE(shard, 0);
  return shard === SHARD_MAX ? { from, to: Buffer.alloc(8, 0xff) } : { from, to: prefixEnd(from) };
};

export const encodeValue = (bytes: Uint8Array): Buffer => {
  const value = Buffer.allocUnsafe(CRC_BYTES + bytes.length);
  value.set(bytes, CRC_BYTES);
  value.writeUInt32LE(crc32(bytes), 0);
  return value;
};

/**
 * The bytes of a row's value.
 * @param addressOf called only when something is wrong
 * @throws TroupeError INTERNAL, details.reason CORRUPT, when the value is not what was written
 */
export const checkedValue = (
  value: Uint8Array,
  addressOf: () => readonly [shard: number, table: string, key: string],
): Uint8Array => {
  if (value.length >= CRC_BYTES) {
    const bytes = value.subarray(CRC_BYTES);
    const sum = (value[0]! | (value[1]! << 8) | (value[2]! << 16) | (value[3]! << 24)) >>> 0;
    if (sum === crc32(bytes)) return bytes;
  }
  const [shard, table, key] = addressOf();
  throw new TroupeError(
    'INTERNAL',
    `row ${JSON.stringify(key)} of table ${table}, shard ${shard}, is damaged on disk: ` +
      'restore the data folder from a backup',
    { details: { reason: 'CORRUPT', shard, table, key } },
  );
};

/** Order of texts by their UTF-8 bytes; JavaScript's own order differs above U+D7FF. */
export const compareUtf8 = (a: string, b: string): number => {
  const length = Math.min(a.length, b.length);
  for (let i = 0; i < length; i++) {
    const x = a.charCodeAt(i);
    const y = b.charCodeAt(i);
    if (x !== y) return rank(x) - rank(y);
  }
  return a.length - b.length;
};

/** Surrogates (code points from U+10000) come after U+E000..U+FFFF in UTF-8. */
const rank = (unit: number): number =>
  unit < 0xd800 ? unit : unit < 0xe000 ? unit + 0x10000 : unit;
