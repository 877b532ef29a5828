/**
 * Coalescer: joins small blocks into larger messages, so that a channel is not flooded: it holds
 * what it got until that is long enough, or nothing came for a while. Pure: the time is given.
 *
 * Invariants: blocks keep their order and none is lost; nothing longer than `charactersMax` is put
 * together, though a block that is longer by itself passes.
 */
import type { Block } from './chunker.ts';

export type CoalesceOptions = {
  /** from here on it is told at once */
  readonly charactersMin: number;
  readonly charactersMax: number;
  /** quiet after which what is held is told, milliseconds; 0: nothing is held */
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

  /** When what is held is due; undefined: nothing is held. */
  get dueAt(): number | undefined {
    return this.#held === undefined ? undefined : this.#dueAt;
  }

  /** Takes blocks that were complete at `nowMs`. Returns those to tell now. */
  add(blocks: readonly Block[], nowMs: number): readonly Block[] {
    if (this.#options.idleMs === 0) return blocks;
    const told: Block[] = [];
    for (const block of blocks) {
      const held = this.#held;
      const joined = held === undefined ? block : join(held, block);
      if (held !== undefined && joined.text.length > this.#options.charactersMax) {
        told.push(held);
        this.#held = block;
      } else this.#held = joined;
      this.#dueAt = nowMs + this.#options.idleMs;
      if (this.#held.text.length >= this.#options.charactersMin) told.push(...this.end());
    }
    return told;
  }

  /** What is due at `nowMs`. */
  due(nowMs: number): readonly Block[] {
    return this.#held !== undefined && nowMs >= this.#dueAt ? this.end() : [];
  }

  /** Everything that is held. */
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
