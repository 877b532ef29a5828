/**
 * Coalescer: joins small blocks into larger messages, so that a channel is not flooded. It holds
 * blocks until they are long enough, or until no block has arrived for a while. Pure: the time is a
 * parameter.
 *
 * Invariants: blocks keep their order and none is lost. Joined blocks are at most `charactersMax`
 * long; a single block that is longer passes unchanged.
 */
import type { Block } from './chunker.ts';

export type CoalesceOptions = {
  /** from this length on, blocks are published at once */
  readonly charactersMin: number;
  readonly charactersMax: number;
  /** pause after which held blocks are published, milliseconds; 0: blocks are not held */
  readonly idleMs: number;
};

export const COALESCE_DEFAULTS: CoalesceOptions = {
  charactersMin: 1_500,
  charactersMax: 4_000,
  idleMs: 1_000,
};

export class Coalescer {
  readonly #options: CoalesceOptions;
  #held: Block | undefined;
  #dueAt = 0;

  constructor(options: Partial<CoalesceOptions> = {}) {
    this.#options = { ...COALESCE_DEFAULTS, ...options };
  }

  /** When the held blocks are due; undefined: none is held. */
  get dueAt(): number | undefined {
    return this.#held === undefined ? undefined : this.#dueAt;
  }

  /** Adds blocks that were complete at `nowMs`. Returns the blocks to publish now. */
  add(blocks: readonly Block[], nowMs: number): readonly Block[] {
    if (this.#options.idleMs === 0) return blocks;
    const published: Block[] = [];
    for (const block of blocks) {
      const held = this.#held;
      const joined = held === undefined ? block : join(held, block);
      if (held !== undefined && joined.text.length > this.#options.charactersMax) {
        published.push(held);
        this.#held = block;
      } else this.#held = joined;
      this.#dueAt = nowMs + this.#options.idleMs;
      if (this.#held.text.length >= this.#options.charactersMin) published.push(...this.end());
    }
    return published;
  }

  /** The blocks that are due at `nowMs`. */
  due(nowMs: number): readonly Block[] {
    return this.#held !== undefined && nowMs >= this.#dueAt ? this.end() : [];
  }

  /** All held blocks. */
  end(): readonly Block[] {
    const held = this.#held;
    this.#held = undefined;
    return held === undefined ? [] : [held];
  }
}

const join = (a: Block, b: Block): Block => ({
  text: a.text + b.text,
  from: a.from,
  to: b.to,
});
