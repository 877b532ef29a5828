/**
 * Snapshot: the rows of a shard at a committed position as one immutable blob (T1), for logs that
 * do not store the state with the journal. It is written and read back before the SNAPSHOT record
 * names it.
 *
 * Bytes: a version, then pages: length u32, little-endian · msgpack of `[table, key, value, table,
 * key, value, …]`. One page is processed per turn of the event loop and takes about a millisecond,
 * so a large shard blocks nothing.
 */
import { createHash, type Hash } from 'node:crypto';
import { setImmediate as letOthersRun } from 'node:timers/promises';
import { decode, encode } from '../../../protocols/codec.ts';
import type { Blobs } from '../../blobs/blobs.ts';
import type { Position } from '../../log/log.ts';
import type { Put, State, TableRow } from '../../state/state.ts';
import { isHead } from '../commit/fold.ts';

export type SnapshotBlob = {
  readonly covers: Position;
  readonly blob: string;
  readonly sha256: string;
  readonly bytes: number;
};

export type RowsOfShard = { readonly bytes: Buffer; readonly sha256: string };

/** Makes the bytes of a snapshot out of rows, one after the other. */
export class RowsWriter {
  readonly #hash = createHash('sha256');
  readonly #parts: Buffer[] = [];
  #page: (string | Uint8Array)[] = [];
  #size = 0;

  constructor() {
    this.#add(VERSION);
  }

  /** Returns whether this row completed a page: then the caller may let other work run. */
  put({ table, key, value }: TableRow): boolean {
    this.#page.push(table, key, value);
    this.#size += ROW_BYTES + value.length;
    if (this.#size < PAGE_BYTES) return false;
    this.#closePage();
    return true;
  }

  end(): RowsOfShard {
    if (this.#page.length > 0) this.#closePage();
    return { bytes: Buffer.concat(this.#parts), sha256: this.#hash.digest('hex') };
  }

  #closePage(): void {
    const rows = encode(this.#page);
    const length = Buffer.alloc(LENGTH_BYTES);
    length.writeUInt32LE(rows.length);
    this.#add(length);
    this.#add(rows);
    this.#page = [];
    this.#size = 0;
  }

  #add(part: Buffer): void {
    this.#hash.update(part);
    this.#parts.push(part);
  }
}

const VERSION = Buffer.from([1]);
const LENGTH_BYTES = 4;
const PAGE_BYTES = 128 * 1024;
/** Overhead that is counted per row. */
const ROW_BYTES = 64;
/** Hashed in one go. */
const HASH_BYTES = 2 ** 20;

/**
 * The rows as they are at this moment, whatever is written while they are collected: the caller
 * calls it when State holds exactly the fold at `covers`.
 */
export async function collectRows(state: State, shard: number): Promise<RowsOfShard> {
  const writer = new RowsWriter();
  for (const row of state.dump(shard)) if (writer.put(row)) await letOthersRun();
  return writer.end();
}

/** Writes the blob and makes sure that it reads back whole. @throws when it does not */
export async function writeSnapshot(
  blobs: Blobs,
  name: string,
  rows: RowsOfShard,
  covers: Position,
): Promise<SnapshotBlob> {
  const { bytes, sha256 } = rows;
  await blobs.put(name, bytes);
  const back = await blobs.get(name);
  if (!back || (await sha256InTurns(back)) !== sha256)
    throw new Error(`snapshot ${name} does not read back as written`);
  return { covers, blob: name, sha256, bytes: bytes.length };
}

/**
 * Replaces the rows of an empty shard by those of a complete snapshot with a known layout. The row
 * with the folded position is written last: rows without it are incomplete, and the next load
 * clears them.
 * @param write stores puts in State
 * @param pause after each page: lets other work of the process run
 */
export async function restoreRows(
  shard: number,
  bytes: Uint8Array,
  write: (puts: readonly Put[]) => Promise<void>,
  pause: () => Promise<void> = letOthersRun,
): Promise<void> {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const heads: Put[] = [];
  for (let at = VERSION.length; at < bytes.length; ) {
    const length = view.getUint32(at, true);
    const page = bytes.subarray(at + LENGTH_BYTES, at + LENGTH_BYTES + length);
    const puts = putsOf(shard, decode<(string | Uint8Array)[]>(page));
    heads.push(...puts.filter(({ table, key }) => isHead(table, key)));
    await write(puts.filter(({ table, key }) => !isHead(table, key)));
    await pause();
    at += LENGTH_BYTES + length;
  }
  await write(heads);
}

export const isKnownLayout = (bytes: Uint8Array): boolean => bytes[0] === VERSION[0];

/** SHA-256 in hex, made over several turns of the event loop. */
export async function sha256InTurns(bytes: Uint8Array): Promise<string> {
  const hash: Hash = createHash('sha256');
  for (let at = 0; at < bytes.length; at += HASH_BYTES) {
    if (at > 0) await letOthersRun();
    hash.update(bytes.subarray(at, at + HASH_BYTES));
  }
  return hash.digest('hex');
}

/** All of a shard's snapshots begin with this. */
export const snapshotPrefix = (cell: string, shard: number): string => `snap/${cell}/${shard}/`;

export const snapshotName = (
  cell: string,
  shard: number,
  covers: Position,
  epoch: Position,
): string => `${snapshotPrefix(cell, shard)}${covers}-${epoch}`;

/** The position up to which a snapshot of this name covers; NaN when it is no such name. */
export const coversOf = (name: string): number =>
  Number(/\/(\d+)-\d+$/.exec(name)?.[1] ?? Number.NaN);

/** Whether a snapshot that was begun is of no use any more to the owner of `epoch`. */
export function isSuperseded(name: string, covers: Position, epoch: Position): boolean {
  const [, nameCovers, nameEpoch] = /\/(\d+)-(\d+)$/.exec(name) ?? [];
  return Number(nameCovers) < covers || Number(nameEpoch) < epoch;
}

function putsOf(shard: number, page: readonly (string | Uint8Array)[]): Put[] {
  const puts: Put[] = [];
  for (let i = 0; i < page.length; i += 3) {
    const [table, key, value] = page.slice(i, i + 3) as [string, string, Uint8Array];
    puts.push({ shard, table, key, value });
  }
  return puts;
}
