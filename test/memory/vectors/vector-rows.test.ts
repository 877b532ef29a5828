import { expect, test } from 'vitest';
import { Pace } from '../../../memory/pace.ts';
import { rowOf, VectorRows } from '../../../memory/vectors/vector-rows.ts';
import { randomOf } from '../../random.ts';
import { vectorOf } from './vector-of.ts';

const all = () => true;

function cosine(one: Float32Array, other: Float32Array): number {
  const dot = one.reduce((sum, component, at) => sum + component * other[at]!, 0);
  return dot / (Math.hypot(...one) * Math.hypot(...other));
}

/** By comparing everything in float64. */
function nearestOf(vectors: ReadonlyMap<string, Float32Array>, query: Float32Array, count: number) {
  const ranked = [...vectors].map(([id, vector]) => ({ id, score: cosine(vector, query) }));
  return ranked.sort((a, b) => b.score - a.score).slice(0, count);
}

test.each([1, 3, 16, 17, 64, 384])(
  'finds what a comparison of all vectors finds, with %i components',
  async (dimensions) => {
    const next = randomOf(dimensions);
    const rows = new VectorRows(dimensions);
    const vectors = new Map<string, Float32Array>();
    for (let step = 0; step < 3_000; step++) {
      const key = `key ${Math.floor(next() * 700)}`;
      if (next() < 0.3) {
        rows.delete(key);
        vectors.delete(key);
      } else {
        const vector = vectorOf(next, dimensions);
        rows.put(key, rowOf(vector));
        vectors.set(key, vector);
      }
      if (step % 300 > 0) continue;
      expect([...rows.keys()].sort()).toEqual([...vectors.keys()].sort());
      const query = vectorOf(next, dimensions);
      const found = await rows.nearest(query, 10, all, new Pace());
      const wanted = nearestOf(vectors, query, 10);
      expect(found).toHaveLength(wanted.length);
      for (const [at, { score }] of found.entries())
        expect(score).toBeCloseTo(wanted[at]!.score, 3);
      for (const { id, score } of found) {
        expect(score).toBeCloseTo(cosine(vectors.get(id)!, query), 3);
        expect(rows.cosine(id, query)).toBe(score);
      }
    }
  },
);

test('finds them among more rows than are compared at once, and leaves out what is refused', async () => {
  const rows = new VectorRows(16);
  const next = randomOf(1);
  for (let n = 0; n < 20_000; n++) rows.put(String(n), rowOf(vectorOf(next, 16)));
  const query = vectorOf(next, 16);
  for (const n of [0, 8_191, 8_192, 19_999]) rows.put(String(n), rowOf(query));
  const best = await rows.nearest(query, 4, all, new Pace());
  expect(best.map(({ id }) => Number(id)).sort((a, b) => a - b)).toEqual([0, 8_191, 8_192, 19_999]);
  const others = await rows.nearest(query, 3, (key) => key !== '8192', new Pace());
  expect(others.map(({ id }) => Number(id)).sort((a, b) => a - b)).toEqual([0, 8_191, 19_999]);
});

test('the length of a vector does not matter, and that of the query neither', async () => {
  const rows = new VectorRows(3);
  rows.put('large', rowOf(Float32Array.of(1e6, 0, 0)));
  rows.put('small', rowOf(Float32Array.of(0, 1e-6, 0)));
  const found = await rows.nearest(Float32Array.of(0, 5e3, 5), 2, all, new Pace());
  expect(found.map(({ id, score }) => [id, Math.round(score * 1e6)])).toEqual([
    ['small', 1e6],
    ['large', 0],
  ]);
});
