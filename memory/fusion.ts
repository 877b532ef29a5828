/**
 * Fusion: one ranking of two lists, by words and by meaning. Each list is stretched to 0 to 1,
 * because the scores of a list say little about those of the other. Pure.
 */
import type { Scored } from './best.ts';

export type Weights = { readonly text: number; readonly vector: number };

export type Candidate = {
  readonly id: number;
  /** 0 to 1 */
  readonly score: number;
  /** as the lists have them */
  readonly textScore?: number;
  readonly vectorScore?: number;
};

/**
 * @param weights at least 0, and not both 0
 * @param isBefore of candidates with the same score
 */
export function fused(
  byWords: readonly Scored<number>[],
  byMeaning: readonly Scored<number>[],
  { text, vector }: Weights,
  isBefore: (id: number, other: number) => boolean,
): readonly Candidate[] {
  const [words, meanings] = [stretched(byWords), stretched(byMeaning)];
  const textScores = new Map(byWords.map(({ id, score }) => [id, score]));
  const vectorScores = new Map(byMeaning.map(({ id, score }) => [id, score]));
  const ids = new Set([...textScores.keys(), ...vectorScores.keys()]);
  const candidates = [...ids].map((id): Candidate => {
    const [textScore, vectorScore] = [textScores.get(id), vectorScores.get(id)];
    const total = text * (words.get(id) ?? 0) + vector * (meanings.get(id) ?? 0);
    return {
      id,
      score: total / (text + vector),
      ...(textScore !== undefined && { textScore }),
      ...(vectorScore !== undefined && { vectorScore }),
    };
  });
  return candidates.sort((a, b) => b.score - a.score || (isBefore(a.id, b.id) ? -1 : 1));
}

/** @param list best first */
function stretched(list: readonly Scored<number>[]): ReadonlyMap<number, number> {
  const [best, least] = [list[0]?.score ?? 0, list.at(-1)?.score ?? 0];
  const range = best - least;
  return new Map(list.map(({ id, score }) => [id, range > 0 ? (score - least) / range : 1]));
}

const DAY_MS = 86_400_000;

/** Half of the score after each half-life, for notes of a day; other notes do not age. */
export function aged(score: number, path: string, now: number, halfLifeDays: number): number {
  const day = /(?:^|\/)(\d{4}-\d{2}-\d{2})\.md$/.exec(path)?.[1];
  const from = Date.parse(`${day}T00:00:00Z`);
  if (Number.isNaN(from)) return score;
  return score * 2 ** (-Math.max(0, (now - from) / DAY_MS) / halfLifeDays);
}

/**
 * Maximal marginal relevance: the best candidate first, then those that are good and unlike the
 * ones before (Carbonell and Goldstein, 1998).
 *
 * @param lambda 0 to 1; 1: by score alone
 */
export function diverse<One extends { readonly score: number }>(
  candidates: readonly One[],
  lambda: number,
  count: number,
  wordsOf: (one: One) => ReadonlySet<string>,
): readonly One[] {
  const rest = candidates.map((one) => ({ one, words: wordsOf(one), likeness: 0 }));
  const chosen: One[] = [];
  while (rest.length > 0 && chosen.length < count) {
    const worth = rest.map((each) => lambda * each.one.score - (1 - lambda) * each.likeness);
    const [best] = rest.splice(worth.indexOf(Math.max(...worth)), 1);
    chosen.push(best!.one);
    for (const each of rest)
      each.likeness = Math.max(each.likeness, likenessOf(each.words, best!.words));
  }
  return chosen;
}

/** Jaccard index. */
function likenessOf(one: ReadonlySet<string>, other: ReadonlySet<string>): number {
  let shared = 0;
  for (const word of one) if (other.has(word)) shared += 1;
  const all = one.size + other.size - shared;
  return all === 0 ? 0 : shared / all;
}
