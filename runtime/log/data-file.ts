/**
 * Data file: verifies LMDB's file before LMDB maps it into memory. LMDB trusts its file: a missing
 * page is SIGBUS, a page of garbage an assertion or worse, and either ends the process. So the file
 * is checked here first, and an error says what to do.
 *
 * Format: lmdb-js 3 on 64-bit little-endian machines (mdb.c: MDB_page_header, MDB_meta, MDB_db,
 * MDB_node). Offsets are in bytes. Three headers ("metas") are at 0, at half a page and at one
 * page.
 */
import { closeSync, fstatSync, openSync, readFileSync, readSync } from 'node:fs';
import { corrupt } from './store-errors.ts';
import { findTreeDamage } from './page-tree.ts';

const MAGIC = 0xbeefc0de;
const VERSION = 2;
const META_BYTES = 168;
/** set in a meta whose transaction was not yet flushed */
const UNFLUSHED = 0x1000;
/** Larger files are walked only when their end is missing, so that a start stays under a second. */
export const WALK_ALWAYS_BYTES_MAX = 64 * 2 ** 20;

/**
 * @returns whether the newest commit may not be on the disk, and LMDB must return to the one
 * before. Only earlier programs left such a file, at a power loss
 * @throws TroupeError INTERNAL, details.reason CORRUPT, when LMDB could not read the file safely
 */
export const checkDataFile = (path: string): boolean => {
  const file = openSync(path, 'r');
  try {
    const first = readMeta(file, 0);
    if (first === undefined) throw corrupt(path, 'it does not begin like an LMDB file');
    const { pageBytes } = first;
    const second = readMeta(file, pageBytes);
    const flushed = readMeta(file, pageBytes / 2);
    if (second?.pageBytes !== pageBytes) throw corrupt(path, 'its second header is damaged');
    const { size } = fstatSync(file);
    const boot = bootOfMachine();
    const chosen = choose(boot, choose(boot, first, second), flushed);
    const isOlder = [first, second].some(({ transaction }) => transaction > chosen.transaction);
    const whole = size >= (chosen.lastPage + 1) * pageBytes;
    if (whole && size > WALK_ALWAYS_BYTES_MAX) return isOlder;
    const candidates = boot === 0n ? [chosen, first, second, flushed ?? first] : [chosen];
    const found = candidates.map((meta) => findTreeDamage(file, pageBytes, size, meta.roots));
    if (found.every((damage) => damage !== undefined)) throw corrupt(path, found[0]!);
    return isOlder;
  } finally {
    closeSync(file);
  }
};

type Meta = {
  readonly pageBytes: number;
  readonly lastPage: number;
  readonly transaction: bigint;
  readonly unflushed: boolean;
  readonly boot: bigint;
  /** of the tree of free pages and of the main tree */
  readonly roots: readonly bigint[];
};

const readMeta = (file: number, at: number): Meta | undefined => {
  const page = Buffer.alloc(META_BYTES);
  if (readSync(file, page, 0, META_BYTES, at) < META_BYTES) return undefined;
  if (page.readUInt32LE(24) !== MAGIC || (page.readUInt32LE(28) & 0xffff) !== VERSION)
    return undefined;
  const pageBytes = page.readUInt32LE(48);
  const powerOfTwo = pageBytes >= 256 && pageBytes <= 65_536 && (pageBytes & (pageBytes - 1)) === 0;
  if (!powerOfTwo) return undefined;
  return {
    pageBytes,
    unflushed: (page.readUInt16LE(52) & UNFLUSHED) !== 0,
    roots: [page.readBigUInt64LE(88), page.readBigUInt64LE(136)],
    lastPage: Number(page.readBigUInt64LE(144)),
    transaction: page.readBigUInt64LE(152),
    boot: page.readBigInt64LE(160),
  };
};

/**
 * The meta at which LMDB opens (mdb_pick_meta with MDB_PREVSNAPSHOT): the later one, unless the
 * machine was restarted since and the later one was not flushed.
 */
const choose = (boot: bigint, a: Meta, b: Meta | undefined): Meta => {
  if (b === undefined || b.transaction === 0n) return a;
  const [earlier, later] = a.transaction >= b.transaction ? [b, a] : [a, b];
  return !later.unflushed || (later.boot !== 0n && later.boot === boot) ? later : earlier;
};

/** As LMDB reads it; 0 if it cannot be determined. */
const bootOfMachine = (): bigint => {
  if (process.platform !== 'linux') return 0n;
  try {
    const first = readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').split('-')[0]!;
    return BigInt(`0x${first}`);
  } catch {
    return 0n;
  }
};
