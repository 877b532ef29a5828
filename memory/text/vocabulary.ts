/**
 * Vocabulary: the words of an index, by small numbers. A number is used again when its word is
 * removed.
 */
export class Vocabulary {
  readonly #numbers = new Map<string, number>();
  readonly #words: (string | undefined)[] = [];
  readonly #free: number[] = [];

  /** All numbers are smaller. */
  get numbersEnd(): number {
    return this.#words.length;
  }

  /** undefined: unknown */
  numberOf(word: string): number | undefined {
    return this.#numbers.get(word);
  }

  /** The word with this number, which exists. */
  wordOf(number: number): string {
    return this.#words[number]!;
  }

  /** @param word an unknown one */
  add(word: string): number {
    const own = copyOf(word);
    const number = this.#free.pop() ?? this.#words.length;
    this.#words[number] = own;
    this.#numbers.set(own, number);
    return number;
  }

  remove(number: number): void {
    this.#numbers.delete(this.#words[number]!);
    this.#words[number] = undefined;
    this.#free.push(number);
  }
}

/** A part of a string would keep the whole text in memory. */
const copyOf = (part: string): string => Buffer.from(part).toString();
