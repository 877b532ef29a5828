/**
 * Page tree: walks the B+trees of an LMDB file by its own reads and reports the first thing that
 * LMDB would stumble over: a page outside of the file, a page that is not the one it should be, a
 * node that reaches out of its page, a page reached twice. What nodes contain is not looked at.
 *
 * Page: number u64 · transaction u64 · pad u16 · flags u16 · lower u16 · upper u16 · node offsets
 * u16 each.
 * Node: low u16 · high u16 · flags u16 · key length u16 · key · data. In a branch, low, high and
 * flags are the child's page number; in a leaf, low and high are the data's length.
 */
import { readSync } from 'node:fs';

const HEADER_BYTES = 24;
const NODE_HEADER_BYTES = 8;
const BRANCH = 0x01;
const LEAF = 0x02;
/** data is on pages of its own: page u64 · transaction u64 · pages u64 */
const BIG_DATA = 0x01;
const BIG_DATA_BYTES = 24;
/** data is a tree: 40 bytes, then its root u64 */
const SUB_TREE = 0x02;
const SUB_TREE_BYTES = 48;
const ROOT_OFFSET = 40;
/** root of an empty tree */
const NO_PAGE = 2n ** 64n - 1n;

/** What is wrong with the trees, in words; undefined when nothing is. */
export const findTreeDamage = (
  file: number,
  pageBytes: number,
  fileBytes: number,
  roots: readonly bigint[],
): string | undefined => {
  const pages = Math.floor(fileBytes / pageBytes);
  const page = Buffer.alloc(pageBytes);
  const seen = new Uint8Array(pages);
  const waiting = roots.filter((root) => root !== NO_PAGE);
  for (let next = waiting.pop(); next !== undefined; next = waiting.pop()) {
    if (next >= BigInt(pages)) return `page ${next} is missing, the file ends at page ${pages}`;
    const number = Number(next);
    if (seen[number] === 1) return `page ${number} is referred to twice`;
    seen[number] = 1;
    readSync(file, page, 0, pageBytes, number * pageBytes);
    if (page.readBigUInt64LE(0) !== next) return `page ${number} holds something else`;
    const damage = readPage(page, pages, waiting);
    if (damage !== undefined) return `page ${number}: ${damage}`;
  }
  return undefined;
};

/** Adds the pages this one refers to. */
const readPage = (page: Buffer, pages: number, waiting: bigint[]): string | undefined => {
  const kind = page.readUInt16LE(18) & (BRANCH | LEAF);
  const lower = page.readUInt16LE(20);
  const upper = page.readUInt16LE(22);
  if (kind !== BRANCH && kind !== LEAF) return 'it is not a page of a tree';
  if (lower > upper || upper > page.length - HEADER_BYTES) return 'its bounds are impossible';
  for (let i = 0; i < lower >> 1; i++) {
    const at = HEADER_BYTES + page.readUInt16LE(HEADER_BYTES + 2 * i);
    if (at + NODE_HEADER_BYTES > page.length) return `node ${i} is outside of it`;
    const damage =
      kind === BRANCH ? readBranch(page, at, waiting) : readLeaf(page, at, pages, waiting);
    if (damage !== undefined) return `node ${i} ${damage}`;
  }
  return undefined;
};

const readBranch = (page: Buffer, at: number, waiting: bigint[]): string | undefined => {
  if (at + NODE_HEADER_BYTES + page.readUInt16LE(at + 6) > page.length) return 'reaches out of it';
  waiting.push(BigInt(page.readUIntLE(at, 6)));
  return undefined;
};

const readLeaf = (
  page: Buffer,
  at: number,
  pages: number,
  waiting: bigint[],
): string | undefined => {
  const flags = page.readUInt16LE(at + 4);
  const data = at + NODE_HEADER_BYTES + page.readUInt16LE(at + 6);
  const big = (flags & BIG_DATA) !== 0;
  const dataBytes = big ? BIG_DATA_BYTES : page.readUInt32LE(at);
  if (data + dataBytes > page.length) return 'reaches out of it';
  if (big) {
    const end = page.readBigUInt64LE(data) + page.readBigUInt64LE(data + 16);
    return end > BigInt(pages) ? 'refers to pages that are missing' : undefined;
  }
  if ((flags & SUB_TREE) === 0) return undefined;
  if (dataBytes !== SUB_TREE_BYTES) return 'is not a tree';
  const root = page.readBigUInt64LE(data + ROOT_OFFSET);
  if (root !== NO_PAGE) waiting.push(root);
  return undefined;
};
