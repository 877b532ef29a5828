/**
 * SimilarWords: the words of a vocabulary that are spelled like a given one, by the trigrams of
 * letters that both have, with the edges of the word (Dice's coefficient).
 */
import { isPlainWord } from '../tokens.ts';
import { Column, PackedLists } from './packed-lists.ts';
import type { Vocabulary } from './vocabulary.ts';

export type Similar = {
  /** of the vocabulary */
  readonly number: number;
  /** 0 to 1: how much a text with this word counts, compared with one that has the given word */
  readonly likeness: number;
};

/** Words below are not similar. */
const DICE_MIN = 0.45;
/** At most so many, the most similar ones; of equally similar ones the first by the alphabet. */
const WORDS_MAX = 12;
/** Bytes of a list: trigrams that more words have say little, and would take long. */
const COMMON_BYTES_MAX = 50_000;

export class SimilarWords {
  readonly #vocabulary: Vocabulary;
  /** by trigram: its list */
  readonly #lists = new Map<number, number>();
  readonly #free: number[] = [];
  /** numbers of the words that have a trigram */
  readonly #words = new PackedLists();
  /** by number of a word: its trigrams; 0: it has no similar words */
  readonly #counts = new Column();
  /** by number of a word, for one look-up: the trigrams that it shares */
  #shared = new Uint8Array(0);

  constructor(vocabulary: Vocabulary) {
    this.#vocabulary = vocabulary;
  }

  /** @param number of a word of the vocabulary that was not added yet */
  add(number: number): void {
    const word = this.#vocabulary.wordOf(number);
    const trigrams = isPlainWord(word) ? trigramsOf(word) : [];
    this.#counts.set(number, trigrams.length);
    const one = [number];
    for (const trigram of trigrams) this.#words.append(this.#listOf(trigram), one);
  }

  /** @param number of a word that was added, and is still in the vocabulary */
  remove(number: number): void {
    if (this.#counts.get(number) === 0) return;
    this.#counts.set(number, 0);
    for (const trigram of trigramsOf(this.#vocabulary.wordOf(number))) {
      const list = this.#lists.get(trigram)!;
      if (this.#words.remove(list, number)) continue;
      this.#words.clear(list);
      this.#lists.delete(trigram);
      this.#free.push(list);
    }
  }

  /** Other words than the given one, the most similar first. They do not depend on the numbers. */
  like(word: string): Similar[] {
    const trigrams = trigramsOf(word);
    const shared = this.#sharedBy(trigrams);
    const own = this.#vocabulary.numberOf(word);
    const found: Similar[] = [];
    for (const number of shared) {
      const dice = (2 * this.#shared[number]!) / (trigrams.length + this.#counts.get(number));
      this.#shared[number] = 0;
      if (dice >= DICE_MIN && number !== own) found.push({ number, likeness: dice });
    }
    const isBefore = (a: Similar, b: Similar) =>
      this.#vocabulary.wordOf(a.number) < this.#vocabulary.wordOf(b.number);
    return found
      .sort((a, b) => b.likeness - a.likeness || (isBefore(a, b) ? -1 : 1))
      .slice(0, WORDS_MAX);
  }

  #listOf(trigram: number): number {
    const known = this.#lists.get(trigram);
    if (known !== undefined) return known;
    const list = this.#free.pop() ?? this.#lists.size;
    this.#lists.set(trigram, list);
    return list;
  }

  /** Counts the trigrams that words share with these. @returns the words that share any */
  #sharedBy(trigrams: readonly number[]): readonly number[] {
    const { numbersEnd } = this.#vocabulary;
    if (this.#shared.length < numbersEnd)
      this.#shared = new Uint8Array(Math.ceil(numbersEnd * 1.25));
    const touched: number[] = [];
    for (const trigram of trigrams) {
      const list = this.#lists.get(trigram);
      if (list === undefined || this.#words.bytes(list).length > COMMON_BYTES_MAX) continue;
      for (const number of this.#words.numbers(list))
        if (this.#shared[number]!++ === 0) touched.push(number);
    }
    return touched;
  }
}

/** Letters from a to z are 1 to 26, and the edge of a word is 0. */
const LETTERS = 27;
const LATIN_TRIGRAMS = LETTERS ** 3;
const CODES = 2 ** 16;

/** Of ` word `, each once, as numbers. Those of letters from a to z are small, so a map is fast. */
function trigramsOf(word: string): readonly number[] {
  const found: number[] = [];
  for (let at = -1; at + 2 <= word.length; at++) {
    const [one, two, three] = [codeAt(word, at), codeAt(word, at + 1), codeAt(word, at + 2)];
    const isLatin = one < LETTERS && two < LETTERS && three < LETTERS;
    const trigram = isLatin
      ? (one * LETTERS + two) * LETTERS + three
      : LATIN_TRIGRAMS + (one * CODES + two) * CODES + three;
    if (!found.includes(trigram)) found.push(trigram);
  }
  return found;
}

/** Other letters are at least LETTERS: words are in lower case. */
function codeAt(word: string, at: number): number {
  if (at < 0 || at >= word.length) return 0;
  const code = word.charCodeAt(at);
  return code >= 97 && code <= 122 ? code - 96 : code;
}
