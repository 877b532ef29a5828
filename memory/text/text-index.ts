/**
 * TextIndex: ranks texts by their words, with BM25 (Robertson and Zaragoza, 2009), in memory.
 *
 * A word of the question also finds words that are spelled like it, such as other forms of it and
 * what a typing error made of it: words of the vocabulary that share letter trigrams.
 *
 * Invariants:
 *  1. Of a removed text nothing remains but empty numbers; a word that no text has any more leaves
 *     the vocabulary.
 *  2. Texts and words are numbers in packed lists, not objects.
 */
import { insertInto, type Scored } from '../best.ts';
import type { Pace } from '../pace.ts';
import { isPlainWord } from '../tokens.ts';
import { Column, PackedLists } from './packed-lists.ts';
import { SimilarWords } from './similar-words.ts';
import { Vocabulary } from './vocabulary.ts';

const K1 = 1.2;
const B = 0.75;
/** Removed texts are left in the postings until they are this part of them. */
const REMOVED_SHARE_MAX = 0.5;
const REMOVED_MIN = 1_000;
/** As the length of a text. */
const REMOVED = -1;

export class TextIndex {
  readonly #vocabulary = new Vocabulary();
  readonly #similar = new SimilarWords(this.#vocabulary);
  /** by word: gaps between the ids of texts, each with the number of occurrences */
  readonly #postings = new PackedLists();
  /** by word: the last of these ids, plus one */
  readonly #next = new Column();
  /** by word: texts that have it and are not removed */
  readonly #live = new Column();
  /** by word: occurrences in the text that is being added */
  readonly #counted = new Column();
  /** by id: the words of a text */
  readonly #wordsOf = new PackedLists();
  /** by id: tokens of a text, or REMOVED */
  readonly #lengths = new Column();
  #ids = 0;
  #texts = 0;
  /** tokens of all texts */
  #tokens = 0;
  /** by id, for one search: of the present word, and of the question */
  #ofWord = new Float32Array(0);
  #total = new Float32Array(0);

  /** @returns the id of the text: greater than all before */
  add(tokens: readonly string[]): number {
    const id = this.#ids++;
    const words: number[] = [];
    for (const token of tokens) {
      const word = this.#vocabulary.numberOf(token) ?? this.#addWord(token);
      const count = this.#counted.get(word);
      if (count === 0) words.push(word);
      this.#counted.set(word, count + 1);
    }
    for (const word of words) {
      this.#postings.append(word, [id - this.#next.get(word), this.#counted.get(word)]);
      this.#next.set(word, id + 1);
      this.#counted.set(word, 0);
      this.#live.set(word, this.#live.get(word) + 1);
    }
    this.#wordsOf.append(id, words);
    this.#lengths.set(id, tokens.length);
    this.#texts += 1;
    this.#tokens += tokens.length;
    return id;
  }

  #addWord(token: string): number {
    const word = this.#vocabulary.add(token);
    this.#next.set(word, 0);
    if (isPlainWord(token)) this.#similar.add(word);
    return word;
  }

  /** Removing an unknown or removed text changes nothing. */
  remove(id: number): void {
    const length = this.#lengths.get(id);
    if (id >= this.#ids || length === REMOVED) return;
    for (const word of this.#wordsOf.numbers(id)) {
      this.#live.set(word, this.#live.get(word) - 1);
      if (this.#live.get(word) > 0) continue;
      if (isPlainWord(this.#vocabulary.wordOf(word))) this.#similar.remove(word);
      this.#vocabulary.remove(word);
      this.#postings.clear(word);
    }
    this.#wordsOf.clear(id);
    this.#lengths.set(id, REMOVED);
    this.#texts -= 1;
    this.#tokens -= length;
  }

  /** Whether enough texts are removed that a new index with the others is worth its time. */
  get isSparse(): boolean {
    const removed = this.#ids - this.#texts;
    return removed > REMOVED_MIN && removed > this.#ids * REMOVED_SHARE_MAX;
  }

  /**
   * The texts with words of the question, best first. The score is 0 to 1: 1 if the text has every
   * word of the question, as often as an average text has it. One search at a time, without
   * changes meanwhile.
   * @param allows texts that it refuses are not ranked
   */
  async best(
    question: readonly string[],
    count: number,
    allows: (id: number) => boolean,
    pace: Pace,
  ): Promise<readonly Scored<number>[]> {
    if (this.#texts === 0) return [];
    this.#makeRoom();
    const found: number[] = [];
    let most = 0;
    for (const token of new Set(question)) {
      const exact = this.#vocabulary.numberOf(token);
      most += this.#weight(exact === undefined ? 0 : this.#live.get(exact));
      this.#rankWord(token, exact, found);
      await pace.pause();
    }
    const best: Scored<number>[] = [];
    for (const id of found) {
      const score = Math.min(1, this.#total[id]! / most);
      this.#total[id] = 0;
      const least = best.length === count ? best[count - 1]!.score : 0;
      if (score > least && allows(id)) insertInto(best, { id, score }, count);
    }
    return best;
  }

  #makeRoom(): void {
    if (this.#total.length >= this.#ids) return;
    const room = Math.ceil(this.#ids * 1.25);
    this.#ofWord = new Float32Array(room);
    this.#total = new Float32Array(room);
  }

  /** Adds for each text the best of the word and the words that are spelled like it. */
  #rankWord(token: string, exact: number | undefined, found: number[]): void {
    const touched: number[] = [];
    if (exact !== undefined) this.#rankPostings(exact, 1, touched);
    if (isPlainWord(token))
      for (const { number, likeness } of this.#similar.like(token))
        this.#rankPostings(number, likeness, touched);
    for (const id of touched) {
      if (this.#total[id] === 0) found.push(id);
      this.#total[id]! += this.#ofWord[id]!;
      this.#ofWord[id] = 0;
    }
  }

  #rankPostings(word: number, factor: number, touched: number[]): void {
    const bytes = this.#postings.bytes(word);
    const lengths = this.#lengths.data;
    const ofWord = this.#ofWord;
    const weight = this.#weight(this.#live.get(word)) * factor * (K1 + 1);
    const mean = this.#tokens / this.#texts;
    let next = 0;
    for (let at = 0; at < bytes.length; ) {
      let gap = 0;
      let byte: number;
      for (let shift = 0; ; shift += 7) {
        byte = bytes[at++]!;
        gap |= (byte & 127) << shift;
        if (byte < 128) break;
      }
      let count = 0;
      for (let shift = 0; ; shift += 7) {
        byte = bytes[at++]!;
        count |= (byte & 127) << shift;
        if (byte < 128) break;
      }
      const id = next + gap;
      next = id + 1;
      const length = lengths[id]!;
      if (length === REMOVED) continue;
      const norm = K1 * (1 - B + (B * length) / mean);
      const score = (weight * count) / (count + norm);
      const before = ofWord[id]!;
      if (before === 0) touched.push(id);
      if (score > before) ofWord[id] = score;
    }
  }

  /** Rare words count more; never negative. */
  #weight(live: number): number {
    return Math.log(1 + (this.#texts - live + 0.5) / (live + 0.5));
  }
}
