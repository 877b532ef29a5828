/** Batch: turns of one shard that are kept, from one segment to the next. */
import type { Position } from '../log/log.ts';
import type { OpenTurn } from '../shard/commit/group.ts';
import { encodeFullTurn, erasesHistory, type FullTurn, removesHistory } from './full-turns.ts';
import type { HistoryKept, HistoryRules } from './policy.ts';
import { type KnownActor, type OpenEffects, SummaryWriter } from './summary.ts';

/** Turns of one record, in their order. */
export type CommittedTurns = {
  readonly now: number;
  readonly aheadMs: number;
  readonly turns: readonly OpenTurn[];
};

/** Memory that a batch takes at once for turns with bodies. */
const BLOCK_BYTES = 2 ** 16;

export class Batch {
  readonly summaries: SummaryWriter;
  /** turns with bodies, encoded, by actor */
  readonly full = new Map<string, Uint8Array[]>();
  /**
   * actors whose turns had bodies, and whose row was removed or whose history was erased: what they
   * did before is removed, too
   */
  readonly removed = new Set<string>();
  /** the turns that remove what their actors did before: they are kept where others are lost */
  readonly removals: FullTurn[] = [];
  /** an operator erased the history of an actor: it is stored at once */
  erases = false;
  covers: Position = 0;
  lastTurn = 0;
  lastAt = 0;
  readonly #rules: Pick<HistoryRules, 'policyOf'>;
  readonly #kept = new Map<string, Exclude<HistoryKept, 'summary'> | KnownActor>();
  #fullBytes = 0;
  /** the rest of the last block */
  #free: Uint8Array = new Uint8Array();

  constructor(rules: Pick<HistoryRules, 'policyOf'>, effects: OpenEffects) {
    this.#rules = rules;
    this.summaries = new SummaryWriter(effects);
  }

  /** Actors that have summaries. */
  *actors(): Iterable<string> {
    for (const [actor, kept] of this.#kept) if (typeof kept !== 'string') yield actor;
  }

  /** Nothing of it is to be stored. */
  get isEmpty(): boolean {
    return this.summaries.length === 0 && this.full.size === 0 && this.removed.size === 0;
  }

  get bytes(): number {
    return this.summaries.length + this.#fullBytes;
  }

  add({ now, aheadMs, turns }: CommittedTurns, position: Position): void {
    this.covers = position;
    this.lastAt = now;
    for (const turn of turns) {
      this.lastTurn = turn.turnNo;
      if (erasesHistory(turn)) {
        this.erases = true;
        this.removals.push({ now, aheadMs, turn });
      }
      const kept = this.#keptOf(turn.actor);
      if (kept === 'full') this.#addFull({ now, aheadMs, turn });
      else if (kept !== 'none') this.summaries.add(turn, now, kept);
    }
  }

  #keptOf(actor: string): 'none' | 'full' | KnownActor {
    const known = this.#kept.get(actor);
    if (known !== undefined) return known;
    const keep = actor === '' ? 'none' : this.#rules.policyOf(typeOf(actor)).keep;
    const kept = keep === 'summary' ? this.summaries.actor(actor) : keep;
    this.#kept.set(actor, kept);
    return kept;
  }

  #addFull(full: FullTurn): void {
    const { actor } = full.turn;
    if (removesHistory(full.turn)) {
      this.full.delete(actor);
      this.removed.add(actor);
      if (!erasesHistory(full.turn)) this.removals.push(full);
      return;
    }
    const bytes = this.#own(encodeFullTurn(full));
    this.#fullBytes += bytes.length;
    const turns = this.full.get(actor);
    if (turns) turns.push(bytes);
    else this.full.set(actor, [bytes]);
  }

  /**
   * A copy in memory of the batch. What an encoder returns is a part of its buffer of 120 KB, which
   * would stay for as long as the part.
   */
  #own(bytes: Uint8Array): Uint8Array {
    const { length } = bytes;
    if (length > BLOCK_BYTES / 4) return new Uint8Array(bytes);
    if (length > this.#free.length) this.#free = new Uint8Array(BLOCK_BYTES);
    const own = this.#free.subarray(0, length);
    own.set(bytes);
    this.#free = this.#free.subarray(length);
    return own;
  }
}

/** Of an address, which is valid here. */
const typeOf = (actor: string): string => {
  const start = actor.indexOf('/') + 1;
  return actor.slice(start, actor.indexOf('/', start));
};
