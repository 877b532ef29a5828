/**
 * SimilarWords: the words of a vocabulary that are spelled like a given one, by the trigrams of
 * letters that both have, with the edges of the word (Dice's coefficient).
 */
import { PackedLists } from './packed-lists.ts';
import type { Vocabulary } from './vocabulary.ts';

export type Similar = {
  /** of the vocabulary */
  readonly number: number;
  /** 0 to 1: how much a text with this word counts, compared with one that has the given word */
  readonly likeness: number;
};

/** Words below are not similar. */
const DICE_MIN = 0.45;
/** At most so many, the most similar ones. */
const WORDS_MAX = 12;
/** Bytes of a list: trigrams that more words have say little, and would take long. */
const COMMON_BYTES_MAX = 50_000;

export class SimilarWords {
  readonly #vocabulary: Vocabulary;
  /** numbers of the lists below */
  readonly #trigrams = new Map<string, number>();
  readonly #free: number[] = [];
  /** numbers of the words that have a trigram */
  readonly #words = new PackedLists();
  /** by number of a word, for one look-up: the trigrams that it shares */
  #shared = new Uint8Array(0);

  constructor(vocabulary: Vocabulary) {
    this.#vocabulary = vocabulary;
  }

  /** @param number of a word of the vocabulary that was not added yet */
  add(number: number): void {
    for (const trigram of trigramsOf(this.#vocabulary.wordOf(number)))
      this.#words.append(this.#listOf(trigram), [number]);
  }

  #listOf(trigram: string): number {
    const known = this.#trigrams.get(trigram);
    if (known !== undefined) return known;
    const list = this.#free.pop() ?? this.#trigrams.size;
    this.#trigrams.set(trigram, list);
    return list;
  }

  /** @param number of a word that was added, and is still in the vocabulary */
  remove(number: number): void {
    for (const trigram of trigramsOf(this.#vocabulary.wordOf(number))) {
      const list = this.#trigrams.get(trigram)!;
      if (this.#words.remove(list, number)) continue;
      this.#words.clear(list);
      this.#trigrams.delete(trigram);
      this.#free.push(list);
    }
  }

  /** Other words than the given one, the most similar first. */
  like(word: string): Similar[] {
    const trigrams = trigramsOf(word);
    const shared = this.#sharedBy(trigrams);
    const found: Similar[] = [];
    for (const number of shared) {
      const other = this.#vocabulary.wordOf(number);
      // a word of n letters has n trigrams, if none of them is repeated
      const dice = (2 * this.#shared[number]!) / (trigrams.length + other.length);
      this.#shared[number] = 0;
      if (dice >= DICE_MIN && other !== word) found.push({ number, likeness: dice });
    }
    return found.sort((a, b) => b.likeness - a.likeness).slice(0, WORDS_MAX);
  }

  /** Counts the trigrams that words share with these. @returns the words that share any */
  #sharedBy(trigrams: readonly string[]): readonly number[] {
    const { numbersEnd } = this.#vocabulary;
    if (this.#shared.length < numbersEnd)
      this.#shared = new Uint8Array(Math.ceil(numbersEnd * 1.25));
    const touched: number[] = [];
    for (const trigram of trigrams) {
      const list = this.#trigrams.get(trigram);
      if (list === undefined || this.#words.bytes(list).length > COMMON_BYTES_MAX) continue;
      for (const number of this.#words.numbers(list))
        if (this.#shared[number]!++ === 0) touched.push(number);
    }
    return touched;
  }
}

/** Of ` word `, each once. */
function trigramsOf(word: string): readonly string[] {
  const edged = ` ${word} `;
  const found = new Set<string>();
  for (let at = 0; at + 3 <= edged.length; at++) found.add(edged.slice(at, at + 3));
  return [...found];
}
