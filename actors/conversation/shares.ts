/**
 * Shares: how the messages that are left to a conversation are divided among its runs. Pure.
 *
 * Invariants: the shares of all its runs together are never more than it was given; each run is one
 * hop further than the one before it, and both sessions count as visited.
 */
import { type Lineage, VISITED_MAX } from '../../protocols/lineage.ts';

/**
 * Share of its messages that is kept for what follows the first answer; each step takes half of it.
 */
const KEPT_SHARE = 1 / 4;
const REPLY_SHARE = 1 / 2;

export type Shared = {
  /** goes with the run */
  readonly given: Lineage;
  /** stays for those that follow */
  readonly kept: Lineage;
};

/** Of the first answer. */
export function firstShare(lineage: Lineage): Shared {
  const kept = Math.floor(lineage.left * KEPT_SHARE);
  return {
    given: { ...lineage, left: lineage.left - kept },
    kept: { ...lineage, left: kept },
  };
}

/** Of the run that comes after another one of the exchange. */
export function nextShare(kept: Lineage, sides: readonly string[]): Shared {
  const left = Math.ceil(kept.left * REPLY_SHARE);
  const others = kept.visited.filter((key) => !sides.includes(key));
  const further = {
    hops: kept.hops + 1,
    visited: [...others, ...sides].slice(-VISITED_MAX),
  };
  return { given: { ...further, left }, kept: { ...further, left: kept.left - left } };
}
