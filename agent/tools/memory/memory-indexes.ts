/**
 * MemoryIndexes: the indexes of the agents whose notes were searched lately, in this process.
 *
 * Invariant: together they count at most as many chunks as one agent may have, or are a single
 * index. An index that was dropped is built again from the files.
 */
import {
  type Answer,
  CHUNKS_MAX,
  type Embedder,
  type MemoryFiles,
  type MemoryIndex,
  type MemoryIndexOptions,
  type Question,
  type SegmentStore,
} from '../../../memory/index.ts';
import { type Address, parseAddress } from '../../../protocols/address.ts';

export type MemoryIndexesOptions = {
  /** without it, notes are found by their words */
  readonly embedder?: Embedder | undefined;
  /** where vectors of the notes of an agent are stored */
  readonly segmentsOf?: (owner: Address) => SegmentStore;
};

export type MemoryCounts = {
  /** searches that were answered, and the time that they took together */
  readonly searches: number;
  readonly seconds: number;
  /** of them: by words only, although a model is configured */
  readonly withoutVectors: number;
  readonly embeddedTokens: number;
  /** at present */
  readonly indexes: number;
  readonly chunks: number;
  /** of these indexes: their vectors are searched by a graph */
  readonly graphs: number;
};

/** An index without chunks counts as so many, because it takes memory, too. */
const CHUNKS_OF_AN_INDEX = 100;

export class MemoryIndexes {
  readonly #options: MemoryIndexesOptions;
  /** by the owner of the workspace, whose path may differ at each opening; oldest use first */
  readonly #indexes = new Map<Address, MemoryIndex>();

  readonly #counts = { searches: 0, seconds: 0, embeddedTokens: 0, withoutVectors: 0 };

  constructor(options: MemoryIndexesOptions = {}) {
    this.#options = options;
  }

  async use<Result>(
    owner: Address,
    work: (index: MemoryIndex) => Promise<Result>,
  ): Promise<Result> {
    const { openIndex } = await import('./open-index.ts');
    const index = this.#indexes.get(owner) ?? openIndex(this.#optionsOf(owner));
    this.#indexes.delete(owner);
    this.#indexes.set(owner, index);
    try {
      return await work(index);
    } finally {
      this.#limit();
    }
  }

  /** Of this process, since its start. */
  get counts(): MemoryCounts {
    const indexes = [...this.#indexes.values()];
    return {
      ...this.#counts,
      indexes: indexes.length,
      chunks: indexes.reduce((sum, { size }) => sum + size, 0),
      graphs: indexes.filter(({ graph }) => graph?.status === 'ready').length,
    };
  }

  /** Searches, and counts it. @throws as `MemoryIndex.search` */
  async search(owner: Address, files: MemoryFiles, question: Question): Promise<Answer> {
    const begun = performance.now();
    const answer = await this.use(owner, (index) => index.search(files, question));
    const counts = this.#counts;
    counts.searches += 1;
    counts.seconds += (performance.now() - begun) / 1_000;
    counts.embeddedTokens += answer.usage.inputTokens;
    if (answer.whyText !== undefined) counts.withoutVectors += 1;
    return answer;
  }

  /** The owners of the indexes, oldest use first. */
  get owners(): readonly Address[] {
    return [...this.#indexes.keys()];
  }

  /** The workspace of a subagent ends with it, so its vectors are not stored. */
  #optionsOf(owner: Address): Omit<MemoryIndexOptions, 'graph'> {
    const { embedder, segmentsOf } = this.#options;
    const isAgent = parseAddress(owner).type === 'agent';
    const segments = isAgent ? segmentsOf?.(owner) : undefined;
    return { embedder, segments };
  }

  #limit(): void {
    let chunks = 0;
    for (const [owner, index] of [...this.#indexes].reverse()) {
      chunks += index.size + CHUNKS_OF_AN_INDEX;
      if (chunks <= CHUNKS_MAX || owner === this.owners.at(-1)) continue;
      this.#indexes.delete(owner);
      index.close();
    }
  }
}
