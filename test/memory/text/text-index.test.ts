/** The index of words: beside a plain one with the same formula, which keeps whole texts. */
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { Pace } from '../../../memory/pace.ts';
import { SimilarWords } from '../../../memory/text/similar-words.ts';
import { TextIndex } from '../../../memory/text/text-index.ts';
import { Vocabulary } from '../../../memory/text/vocabulary.ts';
import { isPlainWord } from '../../../memory/tokens.ts';

const [K1, B] = [1.2, 0.75];
const amongAll = { allows: () => true, isBefore: (id: number, other: number) => id < other };
type Texts = ReadonlyMap<number, readonly string[]>;

const bytesOf = (word: string) => {
  const bytes = Buffer.from(word);
  return [bytes, 0, bytes.length] as const;
};

/** Of the words that texts have now; what is similar does not depend on the index. */
function similarOf(texts: Texts, token: string): ReadonlyMap<string, number> {
  const vocabulary = new Vocabulary();
  const similar = new SimilarWords(vocabulary);
  for (const word of new Set([...texts.values()].flat()))
    similar.add(vocabulary.add(...bytesOf(word)));
  const like = isPlainWord(token) ? similar.like(token) : [];
  return new Map([
    [token, 1],
    ...like.map((one) => [vocabulary.wordOf(one.number), one.likeness] as const),
  ]);
}

function scoresOf(texts: Texts, question: readonly string[]): ReadonlyMap<number, number> {
  const mean = [...texts.values()].reduce((sum, text) => sum + text.length, 0) / texts.size;
  const weight = (word: string) => {
    const live = [...texts.values()].filter((text) => text.includes(word)).length;
    return Math.log(1 + (texts.size - live + 0.5) / (live + 0.5));
  };
  const words = [...new Set(question)];
  const most = words.reduce((sum, word) => sum + weight(word), 0);
  const scores = new Map<number, number>();
  for (const token of words) {
    const similar = [...similarOf(texts, token)].map(
      ([word, likeness]) => [word, likeness * weight(word)] as const,
    );
    for (const [id, text] of texts) {
      const norm = K1 * (1 - B + (B * text.length) / mean);
      const ofWord = similar.map(([word, factor]) => {
        const count = text.filter((one) => one === word).length;
        return (factor * (K1 + 1) * count) / (count + norm);
      });
      const score = Math.max(...ofWord);
      if (score > 0) scores.set(id, (scores.get(id) ?? 0) + score);
    }
  }
  return new Map([...scores].map(([id, score]) => [id, Math.min(1, score / most)]));
}

const WORDS = [
  'cellar',
  'cellars',
  'cheese',
  'cheesy',
  'ab',
  'zu',
  '4471',
  'ключ',
  'ключи',
  '猫',
  'garden',
];
const text = fc.array(fc.constantFrom(...WORDS), { maxLength: 12 });
const change = fc.oneof(
  { weight: 3, arbitrary: fc.record({ add: text }) },
  { weight: 2, arbitrary: fc.record({ remove: fc.nat(40) }) },
  {
    weight: 2,
    arbitrary: fc.record({
      ask: fc.array(fc.constantFrom(...WORDS, 'cellr', 'none'), { minLength: 1, maxLength: 4 }),
    }),
  },
);

test('texts are ranked by the words that they have after any changes', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(change, { maxLength: 60 }), async (changes) => {
      const index = new TextIndex();
      const texts = new Map<number, readonly string[]>();
      for (const one of changes) {
        if ('add' in one) texts.set(index.add(one.add.join(' ')), one.add);
        else if ('remove' in one) {
          index.remove(one.remove);
          texts.delete(one.remove);
        } else {
          const found = await index.best(one.ask, 100, amongAll, new Pace());
          const scores = scoresOf(texts, one.ask);
          expect(new Set(found.map(({ id }) => id))).toEqual(new Set(scores.keys()));
          for (const { id, score } of found) expect(score).toBeCloseTo(scores.get(id)!, 5);
          expect(found.every(({ score }, at) => at === 0 || score <= found[at - 1]!.score)).toBe(
            true,
          );
        }
      }
    }),
  );
});

test('the best few are those of all texts, although others are left out early', async () => {
  const word = fc.constantFrom(...WORDS);
  const texts = fc.array(fc.array(fc.oneof(fc.constant('the'), word), { maxLength: 8 }), {
    minLength: 20,
    maxLength: 60,
  });
  const asked = fc.array(fc.oneof(fc.constantFrom('the', 'cellr'), word), {
    minLength: 1,
    maxLength: 5,
  });
  await fc.assert(
    fc.asyncProperty(texts, asked, fc.integer({ min: 1, max: 6 }), async (all, ask, count) => {
      const index = new TextIndex();
      const kept = new Map(all.map((one) => [index.add(one.join(' ')), one] as const));
      const allows = (id: number) => id % 3 > 0;
      const best = await index.best(ask, count, { ...amongAll, allows }, new Pace());
      const scores = scoresOf(kept, ask);
      const expected = [...scores].filter(([id]) => allows(id)).map(([, score]) => score);
      expected.sort((a, b) => b - a);
      expect(best).toHaveLength(Math.min(count, expected.length));
      for (const [at, { id, score }] of best.entries()) {
        expect(score).toBeCloseTo(scores.get(id)!, 5);
        expect(score).toBeCloseTo(expected[at]!, 5);
      }
    }),
    { numRuns: 300 },
  );
});
