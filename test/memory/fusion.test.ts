import { expect, test } from 'vitest';
import { aged, diverse, fused } from '../../memory/fusion.ts';
import { MemoryIndex } from '../../memory/index.ts';
import { heldFiles } from './held-files.ts';

const list = (...scores: readonly (readonly [id: number, score: number])[]) =>
  scores.map(([id, score]) => ({ id, score }));
const EQUAL = { text: 0.5, vector: 0.5 };

const byId = (id: number, other: number) => id < other;

test('a candidate of both lists is before those of one, whatever the scale of a list', () => {
  const words = list([1, 0.9], [2, 0.8], [3, 0.1]);
  const meaning = list([4, 0.31], [2, 0.3], [5, 0.2]);
  const ranked = fused(words, meaning, EQUAL, byId);
  expect(ranked.map(({ id }) => id)).toEqual([2, 1, 4, 3, 5]);
  expect(ranked[0]).toMatchObject({ textScore: 0.8, vectorScore: 0.3 });
  expect(ranked[0]!.score).toBeCloseTo((0.7 / 0.8 + 0.1 / 0.11) / 2, 9);
  expect(ranked[1]).toEqual({ id: 1, score: 0.5, textScore: 0.9 });
});

test('weights count relative to each other; a weight of 0 leaves the list to the end', () => {
  const [words, meaning] = [list([1, 1], [2, 0.5]), list([3, 1], [1, 0.2])];
  expect(fused(words, meaning, { text: 1, vector: 0 }, byId).map(({ id }) => id)).toEqual([
    1, 2, 3,
  ]);
  const [best] = fused(words, meaning, { text: 0.2, vector: 0.6 }, byId);
  expect(best!.id).toBe(3);
  expect(best!.score).toBeCloseTo(0.75, 9);
});

test('one candidate, equal scores and empty lists', () => {
  expect(fused(list([1, 0.2]), [], EQUAL, byId)).toEqual([{ id: 1, score: 0.5, textScore: 0.2 }]);
  expect(fused(list([2, 0.2], [1, 0.2]), [], EQUAL, byId).map(({ id }) => id)).toEqual([1, 2]);
  expect(fused([], [], EQUAL, byId)).toEqual([]);
});

test('a daily log loses half of its score in a half-life, other notes none', () => {
  const now = Date.UTC(2026, 2, 31);
  expect(aged(1, 'memory/2026-03-01.md', now, 30)).toBeCloseTo(0.5, 9);
  expect(aged(1, 'memory/2026-03-31.md', now, 30)).toBe(1);
  expect(aged(1, 'memory/2027-03-31.md', now, 30)).toBe(1);
  for (const path of ['MEMORY.md', 'memory/2026-03-01-plan.md', 'memory/2026-99-99.md'])
    expect(aged(0.7, path, now, 30)).toBe(0.7);
});

test('diverse results leave out what is like a better one, as long as there is something else', () => {
  const one = (name: string, score: number, words: string) => ({ name, score, words });
  const all = [
    one('a', 1, 'cat sleeps chair'),
    one('b', 0.95, 'cat sleeps chair'),
    one('c', 0.6, 'dog barks'),
  ];
  const wordsOf = ({ words }: { words: string }) => new Set(words.split(' '));
  const names = (lambda: number) => diverse(all, lambda, 2, wordsOf).map(({ name }) => name);
  expect(names(1)).toEqual(['a', 'b']);
  expect(names(0.7)).toEqual(['a', 'c']);
  expect(diverse(all, 0.5, 9, wordsOf)).toHaveLength(3);
  expect(diverse([], 0.5, 9, wordsOf)).toEqual([]);
});

test('a search ranks newer daily logs first, or diverse ones, if it is asked to', async () => {
  const files = heldFiles([
    ['memory/2026-01-01.md', 'espresso beans order'],
    ['memory/2026-03-30.md', 'espresso beans order'],
    ['memory/cup.md', 'espresso cup'],
  ]);
  const index = new MemoryIndex();
  const now = Date.UTC(2026, 2, 31);
  const paths = async (more: object) => {
    const question = { query: 'espresso beans order', maxResults: 2, minScore: 0, now, ...more };
    return (await index.search(files, question)).hits.map(({ path }) => path);
  };
  expect(await paths({})).toEqual(['memory/2026-01-01.md', 'memory/2026-03-30.md']);
  expect(await paths({ halfLifeDays: 30 })).toEqual(['memory/2026-03-30.md', 'memory/cup.md']);
  expect(await paths({ lambda: 0.3 })).toEqual(['memory/2026-01-01.md', 'memory/cup.md']);
});
