/**
 * A disk in memory under a store: it distinguishes the data that survive the end of the process
 * from those that survive a power loss, and fails where a test requests it.
 */
import type { KeyedRow, RowRange, Rows, RowWrite, TableName } from '../../../runtime/log/rows.ts';
import type { SegmentFile, WalFolder } from '../../../runtime/log/wal/folder.ts';
import { type Frame, nextFrame } from '../../../runtime/log/wal/frame.ts';

/** Chooses among the possible outcomes. */
export type Dice = {
  /** a whole number from `from` to `to`, both inclusive */
  whole(from: number, to: number): number;
  chance(probability: number): boolean;
};

type Segment = {
  bytes: Buffer;
  /** what survives a power loss */
  synced: Buffer;
  isNameSynced: boolean;
};

/** Unit in which a power loss keeps or loses unsynced data. */
const PAGE_BYTES = 512;

export class SimulatedDisk {
  readonly segments = new Map<string, Segment>();
  readonly tables = new SimulatedTables();
  /** while true, the disk is full; a part of a write may still be written */
  isFull = false;
  /** next write of a segment: part of the bytes, then an error; or an error after all bytes */
  nextWrite: 'fits' | 'short' | 'complete, but reported as failed' = 'fits';
  /** whether a failed write can be undone */
  canTruncate = true;
  canSync = true;
  canRemove = true;
  /** called before a sync or a commit is done, which wait for it */
  delay: () => Promise<void> = async () => {};
  /** notified of each frame, in order, perhaps more than once */
  onFrame: (frame: Frame) => void = () => {};
  /** when a frame is reported: when it survives the process's death, or a power loss */
  frameCounts: 'written' | 'synced' = 'written';
  /** a dead process can change nothing */
  #owner = 0;

  /** The disk as the next process sees it; the process before it is dead. */
  open(): { readonly folder: WalFolder; readonly rows: Rows } {
    const owner = ++this.#owner;
    const isAlive = () => owner === this.#owner;
    return { folder: new SimulatedFolder(this, isAlive), rows: new SimulatedRows(this, isAlive) };
  }

  report(segment: Buffer): void {
    for (let next = nextFrame(segment, 0); next; ) {
      this.onFrame(next);
      next = nextFrame(segment, next.bytes.byteOffset - segment.byteOffset + next.bytes.length);
    }
  }

  /** Ends the process, possibly in the middle of a write. */
  kill(dice?: Dice): void {
    this.#owner++;
    const newest = [...this.segments.keys()].sort().at(-1);
    if (newest === undefined || dice === undefined || dice.chance(0.5)) return;
    const segment = this.segments.get(newest)!;
    const torn = Buffer.from(segment.bytes.subarray(-dice.whole(1, 200)));
    const part = torn.subarray(0, dice.whole(1, torn.length));
    segment.bytes = Buffer.concat([segment.bytes, part]);
  }

  /**
   * Power loss: each unsynced page is kept, absent or full of zeros; the header of rows, or not.
   */
  loseSuffix(dice: Dice): void {
    this.#owner++;
    const { tables } = this;
    if (dice.chance(0.5)) tables.flushed = tables.committed;
    else tables.committed = tables.flushed;
    for (const [name, segment] of this.segments) {
      if (!segment.isNameSynced && dice.chance(0.5)) {
        this.segments.delete(name);
        continue;
      }
      const { bytes, synced } = segment;
      const length = dice.whole(synced.length, bytes.length);
      const kept = Buffer.from(bytes.subarray(0, length));
      for (let at = synced.length; at < length; at += PAGE_BYTES)
        if (dice.chance(0.3)) kept.fill(0, at, Math.min(at + PAGE_BYTES, length));
      segment.bytes = kept;
      segment.synced = kept;
      segment.isNameSynced = true;
    }
  }
}

class SimulatedFolder implements WalFolder {
  readonly #disk: SimulatedDisk;
  readonly #isAlive: () => boolean;

  constructor(disk: SimulatedDisk, isAlive: () => boolean) {
    this.#disk = disk;
    this.#isAlive = isAlive;
  }

  list(): readonly string[] {
    return [...this.#disk.segments.keys()];
  }

  read(name: string): Buffer {
    return Buffer.from(this.#disk.segments.get(name)!.bytes);
  }

  create(name: string): SegmentFile {
    this.#assertAlive();
    const empty = Buffer.alloc(0);
    const segment = { bytes: empty, synced: empty, isNameSynced: false };
    this.#disk.segments.set(name, segment);
    let isClosed = false;
    const assertOpen = () => {
      if (isClosed) throw new Error('EBADF: the segment is closed');
    };
    return {
      write: (bytes, at) => {
        assertOpen();
        this.#write(segment, bytes, at);
      },
      writeInThread: async (bytes, at) => {
        assertOpen();
        await this.#disk.delay();
        this.#write(segment, bytes, at);
      },
      truncate: (size) => {
        this.#assertAlive();
        if (!this.#disk.canTruncate) throw new Error('EIO: ftruncate');
        segment.bytes = segment.bytes.subarray(0, size);
      },
      sync: async () => {
        assertOpen();
        await this.#sync(segment);
      },
      close: () => {
        isClosed = true;
      },
    };
  }

  truncate(name: string, size: number): void {
    const segment = this.#disk.segments.get(name)!;
    segment.bytes = Buffer.from(segment.bytes.subarray(0, size));
    segment.synced = segment.bytes;
  }

  syncSegment(name: string): Promise<void> {
    return this.#sync(this.#disk.segments.get(name)!);
  }

  remove(name: string): void {
    this.#assertAlive();
    this.#disk.segments.delete(name);
  }

  async removeInThread(name: string): Promise<void> {
    await this.#disk.delay();
    if (!this.#disk.canRemove) throw new Error('EIO: i/o error, unlink');
    this.remove(name);
  }

  async sync(): Promise<void> {
    const names = [...this.#disk.segments.values()];
    await this.#disk.delay();
    for (const segment of names) segment.isNameSynced = true;
  }

  #write(segment: Segment, bytes: Uint8Array, at: number): void {
    this.#assertAlive();
    const { nextWrite, isFull } = this.#disk;
    this.#disk.nextWrite = 'fits';
    const isShort = isFull || nextWrite === 'short';
    const written = isShort ? bytes.subarray(0, bytes.length >> 1) : bytes;
    segment.bytes = Buffer.concat([segment.bytes.subarray(0, at), written]);
    if (isShort) throw new Error('ENOSPC: no space left on device, write');
    if (nextWrite !== 'fits') throw new Error('EIO: i/o error, write');
    if (this.#disk.frameCounts === 'written') this.#disk.report(Buffer.from(bytes));
  }

  async #sync(segment: Segment): Promise<void> {
    const { bytes } = segment;
    await this.#disk.delay();
    if (!this.#disk.canSync) throw new Error('EIO: i/o error, fdatasync');
    // A shorter state that was synced meanwhile is not overwritten by this older one.
    if (!this.#isAlive()) return;
    segment.synced = bytes;
    if (this.#disk.frameCounts === 'synced') this.#disk.report(bytes);
  }

  #assertAlive(): void {
    if (!this.#isAlive()) throw new Error('this process is dead');
  }
}

type Rowset = ReadonlyMap<string, Uint8Array>;

/**
 * Rows by table and key, as LMDB keeps them: the header that names them is written, then flushed.
 */
class SimulatedTables {
  /** what the next process sees */
  committed: Rowset = new Map();
  /** what survives a power loss */
  flushed: Rowset = new Map();
  /** number of writes of each commit */
  readonly commits: number[] = [];
  canCommit = true;
}

class SimulatedRows implements Rows {
  readonly #disk: SimulatedDisk;
  readonly #isAlive: () => boolean;
  /** what readers see: the last commit that was answered */
  #seen: Rowset;
  #sorted: { readonly of: Rowset; readonly names: readonly string[] } | undefined;

  constructor(disk: SimulatedDisk, isAlive: () => boolean) {
    this.#disk = disk;
    this.#isAlive = isAlive;
    this.#seen = disk.tables.committed;
  }

  get(table: TableName, key: Uint8Array): Uint8Array | undefined {
    return this.#seen.get(nameOf(table, key));
  }

  *range(table: TableName, { from, to, limit, reverse }: RowRange): Iterable<KeyedRow> {
    const seen = this.#seen;
    const all = this.#names();
    const names = all.slice(firstFrom(all, nameOf(table, from)), firstFrom(all, nameOf(table, to)));
    if (reverse === true) names.reverse();
    for (const name of names.slice(0, limit)) {
      const key = Buffer.from(name.slice(table.length + 1), 'hex');
      yield { key, value: seen.get(name)! };
    }
  }

  *passing(range: RowRange): Iterable<KeyedRow> {
    yield* this.range('state', range);
  }

  *frozen(table: TableName, range: RowRange): Iterable<KeyedRow> {
    yield* Array.from(this.range(table, range));
  }

  *keys(table: TableName, range: RowRange): Iterable<Uint8Array> {
    for (const { key } of this.range(table, range)) yield key;
  }

  count(table: TableName, range: RowRange): number {
    return [...this.keys(table, range)].length;
  }

  async commit(writes: readonly RowWrite[]): Promise<void> {
    const { tables, delay } = this.#disk;
    await delay();
    if (!this.#isAlive()) throw new Error('this process is dead');
    if (!tables.canCommit || this.#disk.isFull) throw new Error('ENOSPC');
    tables.commits.push(writes.length);
    const rows = new Map(this.#seen);
    for (const { table, key, value } of writes) {
      if (value === null) rows.delete(nameOf(table, key));
      else rows.set(nameOf(table, key), Uint8Array.from(value));
    }
    tables.committed = rows;
    await delay();
    if (!this.#isAlive()) throw new Error('this process is dead');
    tables.flushed = rows;
    this.#seen = rows;
  }

  async close(): Promise<void> {}

  #names(): readonly string[] {
    const seen = this.#seen;
    if (this.#sorted?.of !== seen) this.#sorted = { of: seen, names: [...seen.keys()].sort() };
    return this.#sorted.names;
  }
}

/** Index of the first name that is not below the given one. */
const firstFrom = (names: readonly string[], name: string): number => {
  let low = 0;
  let high = names.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (names[middle]! < name) low = middle + 1;
    else high = middle;
  }
  return low;
};

const nameOf = (table: TableName, key: Uint8Array): string =>
  `${table}/${Buffer.from(key.buffer, key.byteOffset, key.byteLength).toString('hex')}`;
