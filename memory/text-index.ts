/**
 * TextIndex: ranks texts by their words, with BM25 (Robertson and Zaragoza, 2009), in memory.
 *
 * A word of the question also finds words that are spelled like it, such as other forms of it and
 * what a typing error made of it: words of the vocabulary that share letter trigrams.
 *
 * Invariant: of a removed text nothing remains but empty numbers; a word that no text has any more
 * leaves the vocabulary.
 */
import { insertInto, type Scored } from './best.ts';
import { SimilarWords } from './similar-words.ts';
import { isPlainWord } from './tokens.ts';

/** Of one word: gaps between ids and numbers of occurrences, as variable-length numbers. */
type Postings = {
  readonly word: string;
  bytes: Uint8Array;
  length: number;
  last: number;
  /** texts that have it and are not removed */
  live: number;
  /** occurrences in the text that is being added */
  counted: number;
};

const K1 = 1.2;
const B = 0.75;
/** Removed texts are left in the postings until they are this part of them. */
const REMOVED_SHARE_MAX = 0.5;
const REMOVED_MIN = 1_000;
/** Bytes of new postings; they double when they are full. */
const ROOM_MIN = 8;

export class TextIndex {
  readonly #words = new Map<string, Postings>();
  readonly #similar = new SimilarWords();
  /** by id: the words of a text; undefined: removed */
  readonly #texts: (readonly Postings[] | undefined)[] = [];
  readonly #lengths: number[] = [];
  #live = 0;
  #length = 0;
  /** by id, for one search: of the present word, and of the question */
  #ofWord = new Float32Array(0);
  #total = new Float32Array(0);

  /** @returns the id of the text: greater than all before */
  add(tokens: readonly string[]): number {
    const id = this.#texts.length;
    const words: Postings[] = [];
    for (const token of tokens) {
      const postings = this.#postingsOf(token);
      if (postings.counted++ === 0) words.push(postings);
    }
    for (const postings of words) {
      append(postings, id, postings.counted);
      postings.counted = 0;
      postings.live += 1;
    }
    this.#texts.push(words);
    this.#lengths.push(tokens.length);
    this.#live += 1;
    this.#length += tokens.length;
    return id;
  }

  #postingsOf(token: string): Postings {
    const known = this.#words.get(token);
    if (known) return known;
    const word = copyOf(token);
    const bytes = new Uint8Array(ROOM_MIN);
    const postings = { word, bytes, length: 0, last: -1, live: 0, counted: 0 };
    this.#words.set(word, postings);
    if (isPlainWord(word)) this.#similar.add(word);
    return postings;
  }

  /** Removing an unknown or removed text changes nothing. */
  remove(id: number): void {
    const words = this.#texts[id];
    if (!words) return;
    this.#texts[id] = undefined;
    this.#live -= 1;
    this.#length -= this.#lengths[id]!;
    for (const postings of words) {
      postings.live -= 1;
      if (postings.live > 0) continue;
      this.#words.delete(postings.word);
      if (isPlainWord(postings.word)) this.#similar.remove(postings.word);
    }
  }

  /** Whether enough texts are removed that a new index with the others is worth its time. */
  get isSparse(): boolean {
    const removed = this.#texts.length - this.#live;
    return removed > REMOVED_MIN && removed > this.#texts.length * REMOVED_SHARE_MAX;
  }

  /**
   * The texts with words of the question, best first. The score is 0 to 1: 1 if the text has every
   * word of the question, as often as an average text has it.
   * @param allows texts that it refuses are not ranked
   */
  best(
    question: readonly string[],
    count: number,
    allows: (id: number) => boolean = () => true,
  ): readonly Scored<number>[] {
    if (this.#live === 0) return [];
    this.#makeRoom();
    const found: number[] = [];
    let most = 0;
    for (const token of new Set(question)) {
      const exact = this.#words.get(token);
      most += this.#weight(exact?.live ?? 0);
      this.#addWord(token, exact, found);
    }
    const best: Scored<number>[] = [];
    for (const id of found) {
      const score = Math.min(1, this.#total[id]! / most);
      this.#total[id] = 0;
      if (allows(id)) insertInto(best, { id, score }, count);
    }
    return best;
  }

  #makeRoom(): void {
    if (this.#total.length >= this.#texts.length) return;
    const room = Math.ceil(this.#texts.length * 1.25);
    this.#ofWord = new Float32Array(room);
    this.#total = new Float32Array(room);
  }

  /** Adds for each text the best of the word and the words that are spelled like it. */
  #addWord(token: string, exact: Postings | undefined, found: number[]): void {
    const touched: number[] = [];
    if (exact) this.#addPostings(exact, 1, touched);
    if (isPlainWord(token))
      for (const { word, likeness } of this.#similar.like(token))
        this.#addPostings(this.#words.get(word)!, likeness, touched);
    for (const id of touched) {
      if (this.#total[id] === 0) found.push(id);
      this.#total[id]! += this.#ofWord[id]!;
      this.#ofWord[id] = 0;
    }
  }

  #addPostings({ bytes, length, live }: Postings, factor: number, touched: number[]): void {
    const weight = this.#weight(live) * factor * (K1 + 1);
    const mean = this.#length / this.#live;
    let id = -1;
    for (let at = 0; at < length; ) {
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
      id += gap;
      if (this.#texts[id] === undefined) continue;
      const norm = K1 * (1 - B + (B * this.#lengths[id]!) / mean);
      const score = (weight * count) / (count + norm);
      const before = this.#ofWord[id]!;
      if (before === 0) touched.push(id);
      if (score > before) this.#ofWord[id] = score;
    }
  }

  /** Rare words count more; never negative. */
  #weight(live: number): number {
    return Math.log(1 + (this.#live - live + 0.5) / (live + 0.5));
  }
}

/** A part of a string would keep the whole text in memory. */
const copyOf = (part: string): string => Buffer.from(part).toString();

function append(postings: Postings, id: number, count: number): void {
  if (postings.length + 10 > postings.bytes.length) {
    const more = new Uint8Array(postings.bytes.length * 2 + ROOM_MIN);
    more.set(postings.bytes);
    postings.bytes = more;
  }
  postings.length = put(postings.bytes, postings.length, id - postings.last);
  postings.length = put(postings.bytes, postings.length, count);
  postings.last = id;
}

function put(bytes: Uint8Array, from: number, value: number): number {
  let at = from;
  let rest = value;
  while (rest > 127) {
    bytes[at++] = (rest & 127) | 128;
    rest >>>= 7;
  }
  bytes[at++] = rest;
  return at;
}
