/**
 * Data file: looks at LMDB's file before LMDB maps it into memory. LMDB trusts its file; a file that is
 * not one, or that was cut short, would otherwise end the process (SIGBUS) instead of giving an error.
 *
 * Layout (lmdb-js 3, mdb.c `MDB_meta`, 64 bit little-endian): a page header of 24 bytes, then magic u32,
 * version u32, address u64, map size u64, two trees of 48 bytes (page size u32 first), last page u64,
 * transaction u64. Copies stand at 0, at half a page and at one page; the newest one counts.
 */
import {
  closeSync,
  existsSync,
  fstatSync,
  ftruncateSync,
  openSync,
  readSync,
  rmSync,
} from 'node:fs';
import { corrupt } from './store-errors.ts';

const MAGIC = 0xbeefc0de;
const VERSION = 2;
const META_BYTES = 168;

/** Stands beside a data file that was lengthened and not yet read in full. */
const UNPROVEN_SUFFIX = '.unproven';

/**
 * Checks the file and makes every page LMDB may look at readable: where pages are missing at the end, by
 * zeros. LMDB itself leaves such files when nothing refers to those pages, so whoever gets `unproven`
 * must read everything once and call `dataFileProven`; until then the answer stays `unproven`.
 * @throws TroupeError INTERNAL, details.reason CORRUPT
 */
export const checkDataFile = (path: string): 'whole' | 'unproven' => {
  const file = openSync(path, 'r+');
  try {
    const needed = bytesNeeded(path, file);
    if (fstatSync(file).size < needed) {
      closeSync(openSync(path + UNPROVEN_SUFFIX, 'w'));
      ftruncateSync(file, needed);
    }
  } finally {
    closeSync(file);
  }
  return existsSync(path + UNPROVEN_SUFFIX) ? 'unproven' : 'whole';
};

export const dataFileProven = (path: string): void =>
  rmSync(path + UNPROVEN_SUFFIX, { force: true });

const bytesNeeded = (path: string, file: number): number => {
  const first = readMeta(file, 0);
  if (first === undefined) throw corrupt(path, 'it does not begin like an LMDB file');
  const { pageBytes } = first;
  const second = readMeta(file, pageBytes);
  if (second === undefined || second.pageBytes !== pageBytes) {
    throw corrupt(path, 'its second header is damaged');
  }
  let newest = first;
  for (const meta of [second, readMeta(file, pageBytes / 2)]) {
    if (meta !== undefined && meta.transaction > newest.transaction) newest = meta;
  }
  return (newest.lastPage + 1) * pageBytes;
};

type Meta = { readonly pageBytes: number; readonly lastPage: number; readonly transaction: number };

const readMeta = (file: number, at: number): Meta | undefined => {
  const page = Buffer.alloc(META_BYTES);
  if (readSync(file, page, 0, META_BYTES, at) < META_BYTES) return undefined;
  if (page.readUInt32LE(24) !== MAGIC || (page.readUInt32LE(28) & 0xffff) !== VERSION)
    return undefined;
  const pageBytes = page.readUInt32LE(48);
  const powerOfTwo = pageBytes >= 256 && pageBytes <= 65_536 && (pageBytes & (pageBytes - 1)) === 0;
  if (!powerOfTwo) return undefined;
  const lastPage = Number(page.readBigUInt64LE(144));
  const transaction = Number(page.readBigUInt64LE(152));
  return { pageBytes, lastPage, transaction };
};
