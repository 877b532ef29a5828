/**
 * storeAnswers: stores the vectors that a batch has made. It may be repeated: a vector that is
 * stored already stays, and what was used is that of all answers.
 *
 * Only texts that are awaited receive a vector. A text whose answer is missing, or of another
 * length than the others, has none, and is embedded directly by the next search.
 */
import type { BatchAnswer } from '../embedder.ts';
import { Pace } from '../pace.ts';
import { readAwaited } from './awaited-texts.ts';
import { keyOf } from './segment.ts';
import type { SegmentStore } from './segment-store.ts';
import { DIMENSIONS_MAX } from './vector-rows.ts';
import { SEGMENT_ROWS_MAX, StoredVectors } from './stored-vectors.ts';

export type StoredAnswers = {
  /** awaited texts that have a vector now */
  readonly stored: number;
  readonly inputTokens: number;
};

/** @throws errors of the store and of the answers; then part of them is stored */
export async function storeAnswers(
  store: SegmentStore,
  identity: string,
  answers: AsyncIterable<BatchAnswer>,
): Promise<StoredAnswers> {
  const pace = new Pace();
  const vectors = new StoredVectors(identity, store);
  await vectors.load(pace);
  const awaited = await readAwaited(store, keyOf(identity));
  let inputTokens = 0;
  const group = new Map<string, Float32Array>();
  const save = async () => {
    const length = vectors.rows?.dimensions ?? usualLength(group.values());
    for (const [key, vector] of group) if (vector.length === length) vectors.put(key, vector);
    group.clear();
    await vectors.save(
      () => true,
      async (keys) => new Set(keys),
    );
  };
  for await (const { key, vector, inputTokens: used } of answers) {
    inputTokens += used;
    if (vector && vector.length <= DIMENSIONS_MAX && awaited.has(key) && !vectors.has(key))
      group.set(key, vector);
    if (group.size >= SEGMENT_ROWS_MAX) await save();
    await pace.pause();
  }
  await save();
  return { stored: [...awaited].filter((key) => vectors.has(key)).length, inputTokens };
}

/** Of most of them, because a single wrong answer must not decide; of equally many the longest. */
function usualLength(vectors: Iterable<Float32Array>): number | undefined {
  const counts = new Map<number, number>();
  for (const { length } of vectors) counts.set(length, (counts.get(length) ?? 0) + 1);
  const [usual] = [...counts].sort(([one, n], [other, m]) => m - n || other - one);
  return usual?.[0];
}
