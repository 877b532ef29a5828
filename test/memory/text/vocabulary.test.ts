/** Words by number: beside a Map, which does the same. */
import fc from 'fast-check';
import { expect, onTestFinished, test, vi } from 'vitest';
import { PackedLists } from '../../../memory/text/packed-lists.ts';
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

/** One step of FNV-1a, and 2 ** `stages` words that have the same hash by its usual beginning. */
const step = (hash: number, code: number) => Math.imul(hash ^ code, 0x01_00_01_93);
function wordsOfOneHash(stages: number): string[] {
  let hash = 0x81_1c_9d_c5 | 0;
  let all = [''];
  for (let stage = 0; stage < stages; stage++) {
    const parts = new Map<number, string>();
    for (let n = 0; ; n++) {
      const part = (Math.imul(n, 0x9e_37_79_b1) >>> 0).toString(36).padStart(7, '0');
      let after = hash;
      for (let at = 0; at < part.length; at++) after = step(after, part.charCodeAt(at));
      const other = parts.get(after);
      parts.set(after, part);
      if (other === undefined) continue;
      all = all.flatMap((word) => [word + other, word + part]);
      hash = after;
      break;
    }
  }
  return all;
}

test('bug: notes with words of one hash made each look-up compare all of them', () => {
  const vocabulary = new Vocabulary();
  const compared = vi.spyOn(PackedLists.prototype, 'isBytes');
  onTestFinished(() => compared.mockRestore());
  const chosen = wordsOfOneHash(10);
  expect(new Set(chosen).size).toBe(1_024);
  for (const word of chosen.map((one) => Buffer.from(one)))
    if (vocabulary.find(word, 0, word.length) < 0) vocabulary.add(word, 0, word.length);
  expect(vocabulary.numbersEnd).toBe(1_024);
  expect(compared.mock.calls.length).toBeLessThan(100);
});
