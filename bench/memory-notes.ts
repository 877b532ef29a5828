/**
 * Notes of an agent in real files: chunks of 100 words, drawn from 40,000 made-up words by Zipf's
 * law, and questions of four words.
 */
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { randomOf } from '../test/random.ts';

const WORDS = 40_000;
const CHUNK_WORDS = 100;
const FILES = 100;

/** Files with the same number of chunks each; a chunk has its own heading. */
export class Notes {
  readonly root: string;
  readonly chunks: readonly string[];
  readonly questions: readonly string[];

  constructor(root: string, count: number) {
    this.root = root;
    const next = randomOf(count);
    const words = vocabulary(randomOf(3));
    const drawn = zipf(words, next);
    const chunk = () => Array.from({ length: CHUNK_WORDS }, drawn).join(' ');
    this.chunks = Array.from({ length: count }, chunk);
    const one = (from: number, to: number) => words[from + Math.floor(next() * (to - from))]!;
    this.questions = Array.from({ length: 200 }, () =>
      [one(0, 200), one(200, 20_000), one(200, 20_000), one(200, 20_000)].join(' '),
    );
    mkdirSync(join(root, 'memory'), { recursive: true });
    for (let file = 0; file < FILES; file++) this.#write(file, count / FILES);
  }

  #write(file: number, each: number): void {
    const own = this.chunks.slice(file * each, (file + 1) * each);
    writeFileSync(this.#pathOf(file), own.map((text) => `# Note\n${text}\n`).join(''));
  }

  /** A new file of 10 chunks, or other text in it. */
  change(count: number): void {
    const own = this.chunks.slice(count, count + 10);
    writeFileSync(this.#pathOf(FILES), own.map((text) => `# Note ${count}\n${text}\n`).join(''));
  }

  #pathOf(file: number): string {
    return join(this.root, 'memory', `${file}.md`);
  }
}

function vocabulary(next: () => number): readonly string[] {
  const letters = 'etaoinshrdlucmfwypvbgk';
  const letter = () => letters[Math.floor(next() ** 1.4 * letters.length)]!;
  const made = new Set<string>();
  while (made.size < WORDS)
    made.add(Array.from({ length: 3 + Math.floor(next() * 7) }, letter).join(''));
  return [...made];
}

/** A word: the more frequent, the earlier it is in the list. */
function zipf(words: readonly string[], next: () => number): () => string {
  const sums = new Float64Array(words.length);
  let sum = 0;
  for (let at = 0; at < words.length; at++) sums[at] = sum += 1 / (at + 10);
  return () => {
    const wanted = next() * sum;
    let [low, high] = [0, words.length - 1];
    while (low < high) {
      const middle = (low + high) >> 1;
      if (sums[middle]! < wanted) low = middle + 1;
      else high = middle;
    }
    return words[low]!;
  };
}
