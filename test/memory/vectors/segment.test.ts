import { expect, test } from 'vitest';
import { keyOf, rowsOfSegment, segmentOf, vectorsIn } from '../../../memory/vectors/segment.ts';
import { rowOf, VectorRows } from '../../../memory/vectors/vector-rows.ts';
import { randomOf } from '../../random.ts';
import { vectorOf } from './vector-of.ts';

const next = randomOf(7);
const rows = new VectorRows(20);
const keys = Array.from({ length: 50 }, (_, n) => keyOf(`text ${n}`));
for (const key of keys) rows.put(key, rowOf(vectorOf(next, 20)));
const segment = await segmentOf(rows, keys);

const readOf = async (bytes: Uint8Array) => {
  const read = await rowsOfSegment(bytes);
  return read && { ...read, rows: [...read.rows] };
};

test('has the same vectors when it is read', async () => {
  const read = (await readOf(segment))!;
  expect(read.dimensions).toBe(20);
  expect(read.rows.map(({ key }) => key)).toEqual(keys);
  for (const { key, ...row } of read.rows) expect(row).toEqual(rows.get(key));
});

test('a segment without rows can be read', async () => {
  expect(await readOf(await segmentOf(rows, []))).toEqual({ dimensions: 20, rows: [] });
});

test('bug: an erasure counted billions of vectors in a segment with a damaged beginning', () => {
  expect(vectorsIn(segment)).toBe(50);
  const damaged = Uint8Array.from(segment);
  damaged.fill(255, 8, 12);
  expect(vectorsIn(damaged)).toBe(0);
  expect(vectorsIn(segment.subarray(0, 43))).toBe(0);
});

test('1,000 damaged segments are recognized', async () => {
  for (let seed = 0; seed < 1_000; seed++) {
    const damage = randomOf(seed);
    const bytes = Uint8Array.from(segment);
    const at = () => Math.floor(damage() * bytes.length);
    if (seed % 3 === 0) expect(await readOf(bytes.subarray(0, at()))).toBeUndefined();
    const [byte, bit] = [at(), Math.floor(damage() * 8)];
    bytes[byte]! ^= 1 << bit;
    expect(await readOf(bytes), `bit ${bit} of byte ${byte}`).toBeUndefined();
    expect(await readOf(Buffer.concat([segment, bytes.subarray(0, 1 + at())]))).toBeUndefined();
  }
});
