/**
 * TextIndex: ranks texts by their words, with BM25 (Robertson and Zaragoza, 2009), in memory.
 *
 * A word of the question also finds words that are spelled like it, such as other forms of it and
 * what a typing error made of it: words of the vocabulary that share letter trigrams.
 *
 * Words that can add most are ranked first. As soon as the others together are worth less than the
 * last of the best texts has, they only add to texts that were found already (MaxScore: Turtle and
 * Flood, 1995).
 *
 * Invariants:
 *  1. Of a removed text nothing remains but empty numbers; a word that no text has any more leaves
 *     the vocabulary.
 *  2. Texts and words are numbers in packed lists, not objects.
 */
import { insertInto, type Scored } from '../best.ts';
import type { Pace } from '../pace.ts';
import { eachToken, isPlainWord, type TokenVisitor } from '../tokens.ts';
import { Column, PackedLists } from './packed-lists.ts';
import { type Similar, SimilarWords } from './similar-words.ts';
import { Vocabulary } from './vocabulary.ts';

const K1 = 1.2;
const B = 0.75;
/** Removed texts are left in the postings until they are this part of them. */
const REMOVED_SHARE_MAX = 0.5;
const REMOVED_MIN = 1_000;
/** As the length of a text. */
const REMOVED = -1;
/**
 * Of a word: the last id of its postings, plus one; texts that have it and are not removed; its
 * occurrences in the text that is being added.
 */
const [NEXT, LIVE, COUNTED, FIELDS] = [0, 1, 2, 3] as const;
/** Of sums of 32-bit numbers. */
const ROUNDING = 1e-4;

/** A word of the question, and the words that are spelled like it. */
type AskedWord = {
  readonly words: readonly Similar[];
  readonly weight: number;
  /** no text scores more for it */
  readonly most: number;
};

/** Which texts are ranked, and the order of those with the same score. */
export type Ranked = {
  allows(this: void, id: number): boolean;
  isBefore(this: void, id: number, other: number): boolean;
};

export class TextIndex {
  readonly #vocabulary = new Vocabulary();
  readonly #similar = new SimilarWords(this.#vocabulary);
  /** by word: gaps between the ids of texts, each with the number of occurrences */
  readonly #postings = new PackedLists();
  /** by word, FIELDS numbers, which the processor reads together */
  readonly #words = new Column();
  /** by id: the words of a text */
  readonly #wordsOf = new PackedLists();
  /** by id: tokens of a text, or REMOVED */
  readonly #lengths = new Column();
  /** of the text that is being added: its words, and the number of its tokens */
  readonly #counted: number[] = [];
  #length = 0;
  #ids = 0;
  #texts = 0;
  /** tokens of all texts */
  #tokens = 0;
  /** by id, for one search: of the question; 0 before and after it */
  #total = new Float32Array(0);
  /** by id: of the word of a question that the text had last, and which one that was */
  #ofWord = new Float32Array(0);
  #wordAt = new Uint32Array(0);
  #asked = 0;

  /** @returns the id of the text: greater than all before */
  add(text: string): number {
    const id = this.#ids++;
    eachToken(text, this.#count);
    const { data } = this.#words;
    const posting = [0, 0];
    for (const word of this.#counted) {
      const row = word * FIELDS;
      posting[0] = id - data[row + NEXT]!;
      posting[1] = data[row + COUNTED]!;
      this.#postings.append(word, posting);
      data[row + NEXT] = id + 1;
      data[row + COUNTED] = 0;
      data[row + LIVE]! += 1;
    }
    this.#wordsOf.append(id, this.#counted);
    this.#lengths.set(id, this.#length);
    this.#texts += 1;
    this.#tokens += this.#length;
    this.#counted.length = 0;
    this.#length = 0;
    return id;
  }

  readonly #count: TokenVisitor = (bytes, from, to) => {
    let word = this.#vocabulary.find(bytes, from, to);
    if (word < 0) word = this.#addWord(bytes, from, to);
    if (this.#words.data[word * FIELDS + COUNTED]!++ === 0) this.#counted.push(word);
    this.#length += 1;
  };

  #addWord(...token: Parameters<TokenVisitor>): number {
    const word = this.#vocabulary.add(...token);
    // there is room for all of its numbers then
    this.#words.set(word * FIELDS + COUNTED, 0);
    this.#words.set(word * FIELDS + NEXT, 0);
    this.#similar.add(word);
    return word;
  }

  /** Removing an unknown or removed text changes nothing. */
  remove(id: number): void {
    const length = this.#lengths.get(id);
    if (id >= this.#ids || length === REMOVED) return;
    for (const word of this.#wordsOf.numbers(id)) {
      if (--this.#words.data[word * FIELDS + LIVE]! > 0) continue;
      this.#similar.remove(word);
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
   */
  async best(
    question: readonly string[],
    count: number,
    among: Ranked,
    pace: Pace,
  ): Promise<readonly Scored<number>[]> {
    if (this.#texts === 0) return [];
    this.#makeRoom();
    const asked = [...new Set(question)].map((token) => this.#askedWord(token));
    const whole = asked.reduce((sum, { weight }) => sum + weight, 0);
    let rest = asked.reduce((sum, { most }) => sum + most, 0);
    const found: number[] = [];
    let isFound = false;
    for (const { words, most } of asked.sort((a, b) => b.most - a.most)) {
      isFound ||= found.length > 0 && this.#bestOf(found, count, among, rest).length === count;
      rest -= most;
      this.#asked += 1;
      for (const word of words) {
        this.#rank(word, found, isFound);
        if (pace.isDue) await pace.pause();
      }
    }
    const best = this.#bestOf(found, count, among, 0);
    for (const id of found) this.#total[id] = 0;
    return best.map(({ id, score }) => ({ id, score: Math.min(1, score / whole) }));
  }

  #makeRoom(): void {
    if (this.#total.length >= this.#ids) return;
    const room = Math.ceil(this.#ids * 1.25);
    this.#total = new Float32Array(room);
    this.#ofWord = new Float32Array(room);
    this.#wordAt = new Uint32Array(room);
  }

  #askedWord(token: string): AskedWord {
    const exact = this.#vocabulary.numberOf(token);
    const words = isPlainWord(token) ? this.#similar.like(token) : [];
    if (exact !== undefined) words.unshift({ number: exact, likeness: 1 });
    const weights = words.map(({ number, likeness }) => this.#weight(number) * likeness);
    return {
      words,
      weight: this.#weight(exact),
      most: (K1 + 1) * Math.max(0, ...weights),
    };
  }

  /** The best that have more than this, best first. */
  #bestOf(
    found: readonly number[],
    count: number,
    { allows, isBefore }: Ranked,
    over: number,
  ): readonly Scored<number>[] {
    const best: Scored<number>[] = [];
    const floor = over * (1 + ROUNDING);
    let least = floor;
    for (const id of found) {
      const score = this.#total[id]!;
      if (score < least || score <= floor || !allows(id)) continue;
      insertInto(best, { id, score }, count, isBefore);
      if (best.length === count) least = best[count - 1]!.score;
    }
    return best;
  }

  /**
   * Adds what texts have of a word. Of the words that are spelled like a word of the question, the
   * one counts that is worth most. @param isFound whether only texts count that were found before
   */
  #rank({ number, likeness }: Similar, found: number[], isFound: boolean): void {
    const bytes = this.#postings.bytes(number);
    const lengths = this.#lengths.data;
    const total = this.#total;
    const worth = this.#weight(number) * likeness * (K1 + 1);
    const perToken = (K1 * B * this.#texts) / this.#tokens;
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
      const before = total[id]!;
      if (before === 0 && isFound) continue;
      const length = lengths[id]!;
      if (length === REMOVED) continue;
      const score = (worth * count) / (count + K1 * (1 - B) + perToken * length);
      const ofWord = this.#wordAt[id] === this.#asked ? this.#ofWord[id]! : 0;
      if (score <= ofWord) continue;
      if (before === 0) found.push(id);
      this.#wordAt[id] = this.#asked;
      this.#ofWord[id] = score;
      total[id] = before + score - ofWord;
    }
  }

  /** Rare words count more; never negative. @param word undefined: of one that no text has */
  #weight(word: number | undefined): number {
    const live = word === undefined ? 0 : this.#words.get(word * FIELDS + LIVE);
    return Math.log(1 + (this.#texts - live + 0.5) / (live + 0.5));
  }
}
