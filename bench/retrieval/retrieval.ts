/**
 * How well the search of notes finds what a public benchmark asks for: each document is a note.
 * recall@k is the mean share of a question's documents among the first k; nDCG@10 weighs them by
 * their place and grade, and MRR@10 is the mean of 1 / place of the first.
 */
import { type Embedder, MemoryIndex, type MemoryFiles } from '../../memory/index.ts';
import { type Collection, type Question, readDataset } from './datasets.ts';

export type RetrievalOptions = {
  /** folder of BEIR, or JSON file of LongMemEval */
  readonly path: string;
  /** without it, by words alone */
  readonly embedder?: Embedder | undefined;
  /** the first questions */
  readonly questionsMax?: number | undefined;
  readonly onProgress?: (line: string) => void;
};

export type Retrieval = {
  readonly questions: number;
  readonly unanswerable: number;
  readonly documents: number;
  readonly recallAt5: number;
  readonly recallAt10: number;
  readonly ndcgAt10: number;
  readonly mrrAt10: number;
  /** mean, without the time to build the index */
  readonly searchMs: number;
  readonly tokens: number;
};

/** Several chunks of a document may be among the hits. */
const HITS = 100;
const EMBED_MS = 3_600_000;

/** @throws Error for a file that cannot be read; and when the model fails */
export async function measureRetrieval(options: RetrievalOptions): Promise<Retrieval> {
  const { path, embedder, questionsMax = Infinity, onProgress } = options;
  const { collections, unanswerable } = readDataset(path);
  const sums = { recallAt5: 0, recallAt10: 0, ndcgAt10: 0, mrrAt10: 0, searchMs: 0, tokens: 0 };
  let [asked, documents] = [0, 0];
  for (const collection of collections) {
    if (asked >= questionsMax) break;
    documents += collection.documents.length;
    const found = searchIn(collection, embedder);
    for (const question of collection.questions.slice(0, questionsMax - asked)) {
      const { ids, ms, tokens } = await found(question);
      const { grades } = question;
      sums.recallAt5 += recallOf(ids.slice(0, 5), grades);
      sums.recallAt10 += recallOf(ids.slice(0, 10), grades);
      sums.ndcgAt10 += gainOf(ids.slice(0, 10), grades);
      const first = ids.slice(0, 10).findIndex((id) => grades.has(id));
      sums.mrrAt10 += first < 0 ? 0 : 1 / (first + 1);
      sums.searchMs += ms;
      sums.tokens += tokens;
      asked += 1;
      if (asked % 100 === 0) onProgress?.(`${asked} questions`);
    }
  }
  if (asked === 0) throw new Error(`${path} has no question that a document answers`);
  return {
    questions: asked,
    unanswerable,
    documents,
    recallAt5: sums.recallAt5 / asked,
    recallAt10: sums.recallAt10 / asked,
    ndcgAt10: sums.ndcgAt10 / asked,
    mrrAt10: sums.mrrAt10 / asked,
    searchMs: sums.searchMs / asked,
    tokens: sums.tokens,
  };
}

/** The index is built before the first question is timed. */
function searchIn({ documents }: Collection, embedder: Embedder | undefined) {
  const index = new MemoryIndex({ embedder });
  const files = notesOf(documents);
  const search = async (query: string) => {
    const question = { query, maxResults: HITS, minScore: 0, embedMs: EMBED_MS };
    const answer = await index.search(files, question);
    if (answer.left.length > 0) throw new Error(answer.left[0]!.why);
    if (answer.whyText !== undefined) throw new Error(answer.whyText);
    return answer;
  };
  let isBuilt = false;
  return async ({ text }: Question) => {
    const built = isBuilt ? undefined : await search('');
    isBuilt = true;
    const begun = performance.now();
    const { hits, usage } = await search(text);
    const ms = performance.now() - begun;
    const ids = [...new Set(hits.map(({ path }) => documents[numberOf(path)]!.id))];
    return { ids, ms, tokens: (built?.usage.inputTokens ?? 0) + usage.inputTokens };
  };
}

function notesOf(documents: Collection['documents']): MemoryFiles {
  const listed = documents.map(({ text }, at) => ({
    path: `memory/${at}.md`,
    stamp: 'unchanged',
    bytes: Buffer.byteLength(text),
  }));
  return {
    list: async () => listed,
    read: async (path) => documents[numberOf(path)]?.text,
  };
}

const numberOf = (path: string): number => Number(/(\d+)\.md$/.exec(path)?.[1]);

const recallOf = (ids: readonly string[], grades: Question['grades']): number =>
  ids.filter((id) => grades.has(id)).length / grades.size;

/** Divided by the gain of the best order. */
function gainOf(ids: readonly string[], grades: Question['grades']): number {
  const sum = (of: readonly number[]) =>
    of.reduce((total, grade, at) => total + grade / Math.log2(at + 2), 0);
  const best = [...grades.values()].sort((a, b) => b - a).slice(0, 10);
  return sum(ids.map((id) => grades.get(id) ?? 0)) / sum(best);
}

export const retrievalText = (found: Retrieval): string =>
  [
    `${found.questions} questions, ${found.documents} documents` +
      (found.unanswerable > 0
        ? `, ${found.unanswerable} questions without an answer left out`
        : ''),
    `recall@5   ${found.recallAt5.toFixed(3)}`,
    `recall@10  ${found.recallAt10.toFixed(3)}`,
    `nDCG@10    ${found.ndcgAt10.toFixed(3)}`,
    `MRR@10     ${found.mrrAt10.toFixed(3)}`,
    `search     ${found.searchMs.toFixed(1)} ms`,
    ...(found.tokens > 0 ? [`embedded   ${found.tokens} tokens`] : []),
  ].join('\n');
