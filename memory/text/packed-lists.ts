/**
 * Packed lists: very many lists of small numbers in a few arrays of bytes. As an object each, the
 * lists of 40,000 words take several times as much memory, and keep the garbage collector busy.
 *
 * A number takes one byte for each 7 bits. A list that is full moves to a larger place; the place
 * that it leaves is used by other lists.
 */
const BLOCK_BYTES_MIN = 4_096;
const BLOCK_BYTES_MAX = 262_144;
/** A larger place is a block of its own. */
const SHARED_BYTES_MAX = BLOCK_BYTES_MAX / 8;

/** Whole numbers by index, 0 where none was set. It grows. */
export class Column {
  data = new Int32Array(16);

  get(at: number): number {
    return this.data[at] ?? 0;
  }

  set(at: number, value: number): void {
    if (at >= this.data.length) {
      const more = new Int32Array(Math.ceil(Math.max(at + 1, this.data.length * 1.5)));
      more.set(this.data);
      this.data = more;
    }
    this.data[at] = value;
  }
}

/** Of a list: its block, its place there, the size of the place, and the bytes that it has. */
const [BLOCK, AT, SIZE, LENGTH, FIELDS] = [0, 1, 2, 3, 4] as const;

export class PackedLists {
  readonly #blocks: Buffer[] = [];
  /** of the block that is being filled: its number, and the bytes of it that are given away */
  #filled = -1;
  #given = 0;
  /** by list, FIELDS numbers, which the processor reads together */
  readonly #lists = new Column();
  /** by size: places that lists have left, as pairs of block and place */
  readonly #free: number[][] = [];

  /** @param values 0 to 2^31 - 1 each */
  append(list: number, values: readonly number[]): void {
    const row = list * FIELDS;
    const length = this.#lists.get(row + LENGTH);
    let end = length;
    for (const value of values) end += bytesOf(value);
    if (end > SIZES[this.#lists.get(row + SIZE)]!) this.#move(list, end);
    const { data } = this.#lists;
    const block = this.#blocks[data[row + BLOCK]!]!;
    let at = data[row + AT]! + length;
    for (const value of values) at = put(block, at, value);
    data[row + LENGTH] = end;
  }

  /** Appends bytes as they are, for a list without numbers. There is at least one. */
  appendBytes(list: number, bytes: Uint8Array, from: number, to: number): void {
    const row = list * FIELDS;
    const length = this.#lists.get(row + LENGTH);
    const end = length + to - from;
    if (end > SIZES[this.#lists.get(row + SIZE)]!) this.#move(list, end);
    const { data } = this.#lists;
    const block = this.#blocks[data[row + BLOCK]!]!;
    let place = data[row + AT]! + length;
    for (let at = from; at < to; at++) block[place++] = bytes[at]!;
    data[row + LENGTH] = end;
  }

  /** Its bytes as UTF-8. @param list one that was appended to */
  text(list: number): string {
    const row = list * FIELDS;
    const { data } = this.#lists;
    const at = data[row + AT]!;
    return this.#blocks[data[row + BLOCK]!]!.toString('utf8', at, at + data[row + LENGTH]!);
  }

  /** Whether a list, which was appended to, has these bytes. */
  isBytes(list: number, bytes: Uint8Array, from: number, to: number): boolean {
    const row = list * FIELDS;
    const { data } = this.#lists;
    if (data[row + LENGTH] !== to - from) return false;
    const block = this.#blocks[data[row + BLOCK]!]!;
    let place = data[row + AT]!;
    for (let at = from; at < to; at++) if (block[place++] !== bytes[at]) return false;
    return true;
  }

  /** The bytes of a list, until the next change of any list; empty for an unknown one. */
  bytes(list: number): Uint8Array {
    const row = list * FIELDS;
    const { data } = this.#lists;
    const at = data[row + AT] ?? 0;
    const end = at + (data[row + LENGTH] ?? 0);
    return this.#blocks[data[row + BLOCK] ?? 0]?.subarray(at, end) ?? EMPTY;
  }

  /** In the order in which they were appended. */
  numbers(list: number): number[] {
    const bytes = this.bytes(list);
    const found: number[] = [];
    for (let at = 0; at < bytes.length; ) {
      let value = 0;
      for (let shift = 0; ; shift += 7) {
        const byte = bytes[at++]!;
        value |= (byte & 127) << shift;
        if (byte < 128) break;
      }
      found.push(value);
    }
    return found;
  }

  /** Removes the first such number of a list. @returns whether others are left */
  remove(list: number, value: number): boolean {
    const bytes = this.bytes(list);
    let [from, at] = [0, 0];
    for (let found = -1; at < bytes.length && found !== value; ) {
      [from, found] = [at, 0];
      for (let shift = 0; ; shift += 7) {
        const byte = bytes[at++]!;
        found |= (byte & 127) << shift;
        if (byte < 128) break;
      }
      if (found !== value) from = at;
    }
    bytes.copyWithin(from, at);
    this.#lists.set(list * FIELDS + LENGTH, bytes.length - (at - from));
    return bytes.length > at - from;
  }

  /** Afterwards it is empty, and takes no place. What it had is overwritten. */
  clear(list: number): void {
    this.bytes(list).fill(0);
    this.#leave(list);
  }

  #leave(list: number): void {
    const row = list * FIELDS;
    const size = this.#lists.get(row + SIZE);
    if (size > 0)
      (this.#free[size] ??= []).push(this.#lists.get(row + BLOCK), this.#lists.get(row + AT));
    this.#lists.set(row + SIZE, 0);
    this.#lists.set(row + LENGTH, 0);
  }

  #move(list: number, bytes: number): void {
    const row = list * FIELDS;
    const [length, from] = [this.#lists.get(row + LENGTH), this.#lists.get(row + AT)];
    const before = this.#blocks[this.#lists.get(row + BLOCK)];
    const size = sizeOf(bytes, this.#lists.get(row + SIZE));
    this.#leave(list);
    const free = this.#free[size];
    const at = free?.pop();
    const [block, place] = at === undefined ? this.#place(SIZES[size]!) : [free!.pop()!, at];
    if (before && length > 0) copy(before, from, length, this.#blocks[block]!, place);
    this.#lists.set(row + BLOCK, block);
    this.#lists.set(row + AT, place);
    this.#lists.set(row + SIZE, size);
    this.#lists.set(row + LENGTH, length);
  }

  #place(bytes: number): readonly [block: number, place: number] {
    if (bytes > SHARED_BYTES_MAX) return [this.#blocks.push(Buffer.alloc(bytes)) - 1, 0];
    const filled = this.#blocks[this.#filled]?.length ?? 0;
    if (this.#given + bytes > filled) {
      const next = Math.min(BLOCK_BYTES_MAX, Math.max(BLOCK_BYTES_MIN, bytes, 2 * filled));
      this.#filled = this.#blocks.push(Buffer.alloc(next)) - 1;
      this.#given = 0;
    }
    const place = this.#given;
    this.#given += bytes;
    return [this.#filled, place];
  }
}

const EMPTY = new Uint8Array(0);

/** Most lists are so short that a view of them would take longer than the copy. */
const SHORT = 64;

function copy(from: Uint8Array, at: number, length: number, to: Uint8Array, place: number): void {
  if (length > SHORT) return to.set(from.subarray(at, at + length), place);
  for (let n = 0; n < length; n++) to[place + n] = from[at + n]!;
}

/** 0, 4, 8, 16, 32, 48, 64, 96 and so on: small lists move seldom, large ones waste little. */
const SIZES = [
  0,
  4,
  8,
  16,
  ...Array.from({ length: 52 }, (_, at) => (at % 2 === 0 ? 32 : 48) * 2 ** (at >> 1)),
];

/** The least one with so many bytes. @param from one that has fewer */
function sizeOf(bytes: number, from: number): number {
  let size = from + 1;
  while (SIZES[size]! < bytes) size += 1;
  return size;
}

function bytesOf(value: number): number {
  if (value < 2 ** 7) return 1;
  if (value < 2 ** 14) return 2;
  if (value < 2 ** 21) return 3;
  return value < 2 ** 28 ? 4 : 5;
}

/** @returns the place after it */
function put(bytes: Uint8Array, from: number, value: number): number {
  let at = from;
  let rest = value;
  while (rest > 127) {
    bytes[at++] = (rest & 127) | 128;
    rest >>>= 7;
  }
  bytes[at] = rest;
  return at + 1;
}
