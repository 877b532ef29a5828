/**
 * VectorRows: vectors by key, and the nearest ones to another vector. It compares all of them, so
 * it misses none.
 *
 * A component is stored in two bytes. WebAssembly compares the upper bytes of all rows (scan.wat);
 * the best rows are compared again with both bytes, which are exact to 1/32,000 of the largest
 * component.
 *
 * Invariant: the bytes of a deleted vector are overwritten or never read again.
 */
import { insertInto, type Scored } from '../best.ts';
import { KeyMap } from '../key-map.ts';
import type { Pace } from '../pace.ts';
import { SCAN_CODE } from './scan-code.ts';

export const DIMENSIONS_MAX = 4_096;

/** A vector as it is stored: `scale * (upper + lower / LOWER_PARTS)`, of length 1. */
export type Row = {
  readonly scale: number;
  readonly upper: Int8Array;
  readonly lower: Int8Array;
};

/** Vectors with the most similar upper bytes that are compared again, at least. */
const COMPARED_AGAIN_MIN = 40;
/** Rows of one call of WebAssembly, which other work waits for. */
const ROWS_AT_ONCE = 8_192;
const ROWS_OF_A_BLOCK = 1_024;
const PAGE = 65_536;
const LOWER_PARTS = 254;
const UPPER_MAX = 127;

type Scan = (query: number, row: number, count: number, bytes: number, out: number) => void;
let code: WebAssembly.Module | undefined;
/** Compiled for the first vectors: most processes have none, and it is the start of an engine. */
const scanCode = (): WebAssembly.Module =>
  (code ??= new WebAssembly.Module(Buffer.from(SCAN_CODE, 'base64')));

export class VectorRows {
  readonly dimensions: number;
  /** Receives each key whose vector was put or deleted, after that. */
  onChange: ((key: string) => void) | undefined;
  /** of a row in WebAssembly: a multiple of 16 */
  readonly #bytes: number;
  readonly #memory: WebAssembly.Memory;
  readonly #scan: Scan;
  /** addresses in the memory; the query is at 0 */
  readonly #out: number;
  readonly #first: number;
  readonly #keys: string[] = [];
  readonly #scales: number[] = [];
  readonly #rowOf = new KeyMap<number>();
  /** lower bytes, ROWS_OF_A_BLOCK rows each */
  readonly #lower: Int8Array[] = [];

  /** @param dimensions 1 to DIMENSIONS_MAX */
  constructor(dimensions: number) {
    this.dimensions = dimensions;
    this.#bytes = Math.ceil(dimensions / 16) * 16;
    this.#out = 2 * this.#bytes;
    this.#first = this.#out + 4 * ROWS_AT_ONCE;
    const { exports } = new WebAssembly.Instance(scanCode());
    this.#memory = exports['memory'] as WebAssembly.Memory;
    this.#scan = exports['scan'] as Scan;
  }

  get size(): number {
    return this.#keys.length;
  }

  has(key: string): boolean {
    return this.#rowOf.has(key);
  }

  keys(): readonly string[] {
    return this.#keys;
  }

  get(key: string): Row | undefined {
    const row = this.#rowOf.get(key);
    return row === undefined ? undefined : this.#rowAt(row);
  }

  /** Replaces the vector of a known key. */
  put(key: string, { scale, upper, lower }: Row): void {
    const row = this.#rowOf.get(key) ?? this.#keys.length;
    this.#makeRoom(row + 1);
    this.#keys[row] = key;
    this.#scales[row] = scale;
    this.#rowOf.set(key, row);
    this.#upperOf(row).set(upper);
    this.#lowerOf(row).set(lower);
    this.onChange?.(key);
  }

  /** The last row takes its place. */
  delete(key: string): void {
    const row = this.#rowOf.get(key);
    if (row === undefined) return;
    this.#rowOf.delete(key);
    const last = this.#keys.length - 1;
    const moved = this.#keys[last]!;
    if (row !== last) {
      this.#keys[row] = moved;
      this.#scales[row] = this.#scales[last]!;
      this.#rowOf.set(moved, row);
      this.#upperOf(row).set(this.#upperOf(last));
      this.#lowerOf(row).set(this.#lowerOf(last));
    }
    this.#keys.pop();
    this.#scales.pop();
    this.#upperOf(last).fill(0);
    this.#lowerOf(last).fill(0);
    this.onChange?.(key);
  }

  /**
   * The vectors with the greatest cosine to the query, best first.
   * @param allows keys that it refuses are not ranked
   */
  async nearest(
    query: Float32Array,
    count: number,
    allows: (key: string) => boolean,
    pace: Pace,
  ): Promise<readonly Scored<string>[]> {
    const unit = unitOf(query);
    const asked = rowOf(unit);
    const wanted = Math.max(COMPARED_AGAIN_MIN, count);
    const similar: Scored<string>[] = [];
    let least = -Infinity;
    for (let from = 0; from < this.size; from += ROWS_AT_ONCE) {
      const rows = Math.min(ROWS_AT_ONCE, this.size - from);
      const products = this.#products(asked, from, rows);
      for (let row = from; row < from + rows; row++) {
        const score = products[row - from]! * this.#scales[row]!;
        if (score < least || !allows(this.#keys[row]!)) continue;
        insertInto(similar, { id: this.#keys[row]!, score }, wanted, byKey);
        if (similar.length === wanted) least = similar[wanted - 1]!.score;
      }
      await pace.pause();
    }
    return this.bestOf(
      similar.map(({ id }) => id),
      unit,
      count,
    );
  }

  /**
   * Of these keys those with the greatest cosine to the query, best first, without unknown ones.
   */
  bestOf(keys: Iterable<string>, query: Float32Array, count: number): readonly Scored<string>[] {
    const unit = unitOf(query);
    const best: Scored<string>[] = [];
    for (const key of keys)
      if (this.has(key))
        insertInto(best, { id: key, score: this.#cosine(key, unit) }, count, byKey);
    return best;
  }

  /** Writes the vector of a known key, of length 1, as `dimensions` numbers. */
  copy(key: string, target: Float32Array, at: number): void {
    const { scale, upper, lower } = this.#rowAt(this.#rowOf.get(key)!);
    for (let d = 0; d < this.dimensions; d++)
      target[at + d] = scale * (upper[d]! + lower[d]! / LOWER_PARTS);
  }

  /** -1 to 1; undefined for an unknown key */
  cosine(key: string, query: Float32Array): number | undefined {
    return this.has(key) ? this.#cosine(key, unitOf(query)) : undefined;
  }

  #cosine(key: string, unit: Float32Array): number {
    const { scale, upper, lower } = this.#rowAt(this.#rowOf.get(key)!);
    let sum = 0;
    for (let at = 0; at < unit.length; at++)
      sum += unit[at]! * (upper[at]! + lower[at]! / LOWER_PARTS);
    return Math.max(-1, Math.min(1, sum * scale));
  }

  /** Of the query and the upper bytes of some rows. */
  #products({ upper }: Row, from: number, rows: number): Int32Array {
    const { buffer } = this.#memory;
    const wide = new Int16Array(buffer, 0, this.#bytes);
    wide.fill(0);
    wide.set(upper);
    const first = this.#first + from * this.#bytes;
    this.#scan(0, first, rows, this.#bytes, this.#out);
    return new Int32Array(buffer, this.#out, rows);
  }

  #rowAt(row: number): Row {
    const upper = this.#upperOf(row);
    return { scale: this.#scales[row]!, upper, lower: this.#lowerOf(row) };
  }

  #upperOf(row: number): Int8Array {
    const at = this.#first + row * this.#bytes;
    return new Int8Array(this.#memory.buffer, at, this.dimensions);
  }

  #lowerOf(row: number): Int8Array {
    const at = (row % ROWS_OF_A_BLOCK) * this.dimensions;
    const block = this.#lower[Math.floor(row / ROWS_OF_A_BLOCK)]!;
    return block.subarray(at, at + this.dimensions);
  }

  #makeRoom(rows: number): void {
    const needed = this.#first + rows * this.#bytes - this.#memory.buffer.byteLength;
    if (needed > 0) {
      const spare = this.#memory.buffer.byteLength / 8;
      this.#memory.grow(Math.ceil(Math.max(needed, spare) / PAGE));
    }
    while (this.#lower.length * ROWS_OF_A_BLOCK < rows)
      this.#lower.push(new Int8Array(ROWS_OF_A_BLOCK * this.dimensions));
  }
}

const byKey = (key: string, other: string): boolean => key < other;

/** @param vector finite and not zero */
export function rowOf(vector: Float32Array): Row {
  const unit = unitOf(vector);
  const largest = unit.reduce((most, one) => Math.max(most, Math.abs(one)), 0);
  const scale = Math.fround(largest / UPPER_MAX);
  const upper = new Int8Array(unit.length);
  const lower = new Int8Array(unit.length);
  for (let at = 0; at < unit.length; at++) {
    const parts = unit[at]! / scale;
    upper[at] = Math.round(parts);
    lower[at] = Math.round((parts - upper[at]!) * LOWER_PARTS);
  }
  return { scale, upper, lower };
}

function unitOf(vector: Float32Array): Float32Array {
  let squares = 0;
  for (const one of vector) squares += one * one;
  const length = Math.sqrt(squares);
  return Math.abs(length - 1) < 1e-6 ? vector : vector.map((one) => one / length);
}
