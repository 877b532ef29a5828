/** Words by number: beside a Map, which does the same. */
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { Vocabulary } from '../../../memory/text/vocabulary.ts';

const words = Array.from({ length: 300 }, (_, n) => (n % 7 === 0 ? `từ${n}库` : `word${n * n}`));

test('it has the words of a Map after any changes', () => {
  fc.assert(
    fc.property(
      fc.array(fc.nat(words.length - 1), { minLength: 2_000, maxLength: 2_000 }),
      (picked) => {
        const vocabulary = new Vocabulary();
        const numbers = new Map<string, number>();
        for (const word of picked.map((at) => words[at]!)) {
          const number = numbers.get(word);
          expect(vocabulary.numberOf(word)).toBe(number);
          if (number === undefined) {
            const bytes = Buffer.from(`-${word}-`);
            numbers.set(word, vocabulary.add(bytes, 1, bytes.length - 1));
          } else {
            vocabulary.remove(number);
            numbers.delete(word);
          }
        }
        for (const word of words) expect(vocabulary.numberOf(word)).toBe(numbers.get(word));
        for (const [word, number] of numbers) {
          expect(vocabulary.wordOf(number)).toBe(word);
          expect(number).toBeLessThan(vocabulary.numbersEnd);
        }
        expect(new Set(numbers.values()).size).toBe(numbers.size);
      },
    ),
    { numRuns: 20 },
  );
});

test('numbers of removed words are used again', () => {
  const vocabulary = new Vocabulary();
  for (let round = 0; round < 50; round++)
    for (const word of ['one', 'two', 'three']) {
      const bytes = Buffer.from(`${word}${round}`);
      vocabulary.remove(vocabulary.add(bytes, 0, bytes.length));
    }
  expect(vocabulary.numbersEnd).toBe(1);
});
