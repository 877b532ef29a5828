/**
 * SimilarWords: the words of a vocabulary that are spelled like a given one, by the trigrams of
 * letters that both have, with the edges of the word (Dice's coefficient).
 */

export type Similar = {
  readonly word: string;
  /** 0 to 1: how much a text with this word counts, compared with one that has the given word */
  readonly likeness: number;
};

/** Words below are not similar. */
const DICE_MIN = 0.45;
/** At most so many, the most similar ones. */
const WORDS_MAX = 12;
/** Trigrams that more words have say little, and would take long. */
const COMMON_MAX = 20_000;

export class SimilarWords {
  readonly #words: (string | undefined)[] = [];
  readonly #numbers = new Map<string, number>();
  readonly #free: number[] = [];
  /** numbers of the words that have a trigram */
  readonly #byTrigram = new Map<string, number[]>();
  /** by number, for one look-up */
  #shared = new Uint8Array(0);

  add(word: string): void {
    if (this.#numbers.has(word)) return;
    const number = this.#free.pop() ?? this.#words.length;
    this.#words[number] = word;
    this.#numbers.set(word, number);
    for (const trigram of trigramsOf(word)) {
      const list = this.#byTrigram.get(trigram);
      if (list) list.push(number);
      else this.#byTrigram.set(trigram, [number]);
    }
  }

  remove(word: string): void {
    const number = this.#numbers.get(word);
    if (number === undefined) return;
    this.#numbers.delete(word);
    this.#words[number] = undefined;
    this.#free.push(number);
    for (const trigram of trigramsOf(word)) this.#leave(trigram, number);
  }

  #leave(trigram: string, number: number): void {
    const list = this.#byTrigram.get(trigram)!;
    const last = list.pop()!;
    if (last !== number) list[list.indexOf(number)] = last;
    if (list.length === 0) this.#byTrigram.delete(trigram);
  }

  /** Other words than the given one, the most similar first. */
  like(word: string): readonly Similar[] {
    const trigrams = trigramsOf(word);
    if (this.#shared.length < this.#words.length)
      this.#shared = new Uint8Array(Math.ceil(this.#words.length * 1.25));
    const touched: number[] = [];
    for (const trigram of trigrams) {
      const list = this.#byTrigram.get(trigram);
      if (!list || list.length > COMMON_MAX) continue;
      for (const number of list) if (this.#shared[number]!++ === 0) touched.push(number);
    }
    const found: Similar[] = [];
    for (const number of touched) {
      const other = this.#words[number]!;
      // a word of n letters has n trigrams, if none of them is repeated
      const dice = (2 * this.#shared[number]!) / (trigrams.length + other.length);
      this.#shared[number] = 0;
      if (dice >= DICE_MIN && other !== word) found.push({ word: other, likeness: dice });
    }
    return found.sort((a, b) => b.likeness - a.likeness).slice(0, WORDS_MAX);
  }
}

/** Of ` word `, each once. */
function trigramsOf(word: string): readonly string[] {
  const edged = ` ${word} `;
  const found = new Set<string>();
  for (let at = 0; at + 3 <= edged.length; at++) found.add(edged.slice(at, at + 3));
  return [...found];
}
