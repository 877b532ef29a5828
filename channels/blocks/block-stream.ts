/**
 * BlockStream: splits one growing text into blocks to publish: it is cut, then joined to the sizes
 * that a channel accepts. Pure: the time is a parameter.
 *
 * Invariants: published text is not published again when the model rewrites it with the same words.
 * When the words differ, blocks restart, and the first of them says `replace`.
 */
import { type Block, BlockChunker, type BlockOptions } from './chunker.ts';
import { Coalescer, type CoalesceOptions } from './coalescer.ts';

export type BlockStreamOptions = {
  readonly chunk?: Partial<BlockOptions>;
  readonly coalesce?: Partial<CoalesceOptions>;
};
export type PublishedBlock = Block & { readonly replace?: true };

export class BlockStream {
  readonly #options: BlockStreamOptions;
  #chunker: BlockChunker;
  readonly #coalescer: Coalescer;
  #fed = '';
  #replaces = false;

  constructor(options: BlockStreamOptions = {}) {
    this.#options = options;
    this.#chunker = new BlockChunker(options.chunk);
    this.#coalescer = new Coalescer(options.coalesce);
  }

  /** The part of the text that was processed. */
  get fed(): string {
    return this.#fed;
  }

  /** When the held blocks are due; undefined: none is held. */
  get dueAt(): number | undefined {
    return this.#coalescer.dueAt;
  }

  /** Accepts the current text. Returns the blocks to publish. */
  follow(text: string, nowMs: number): readonly PublishedBlock[] {
    return this.#published(this.#coalescer.add(this.#take(text), nowMs));
  }

  due(nowMs: number): readonly PublishedBlock[] {
    return this.#published(this.#coalescer.due(nowMs));
  }

  /** The text up to now; it may continue. */
  flush(): readonly PublishedBlock[] {
    const rest = this.#coalescer.add(this.#chunker.end(), 0);
    return this.#published([...rest, ...this.#coalescer.end()]);
  }

  /** The complete text; the next text starts a new sequence. */
  end(): readonly PublishedBlock[] {
    const last = this.flush();
    this.#startAnew();
    return last;
  }

  /** The blocks that the current text completes. */
  #take(text: string): readonly Block[] {
    const { published } = this.#chunker;
    if (!text.startsWith(this.#fed)) {
      // A repeated call first has to reach the published length.
      if (this.#fed.startsWith(text)) return [];
      if (text.slice(0, published) === this.#fed.slice(0, published)) {
        this.#chunker.forgetRest();
        this.#fed = text.slice(0, published);
      } else {
        this.#startAnew();
        this.#replaces = true;
      }
    }
    const blocks = this.#chunker.push(text.slice(this.#fed.length));
    this.#fed = text;
    return blocks;
  }

  #startAnew(): void {
    this.#chunker = new BlockChunker(this.#options.chunk);
    this.#fed = '';
  }

  #published(blocks: readonly Block[]): readonly PublishedBlock[] {
    if (blocks.length === 0 || !this.#replaces) return blocks;
    this.#replaces = false;
    return blocks.map((block, at) => (at === 0 ? { ...block, replace: true } : block));
  }
}
