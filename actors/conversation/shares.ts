/**
 * How the remaining messages of a conversation are divided among its runs. Pure.
 *
 * Invariants: the shares of all runs together never exceed the conversation's grant; each run is
 * one hop further than the one before it, and both sessions count as visited.
 */
import { type Lineage, VISITED_MAX } from '../../protocols/lineage.ts';

/**
 * The share of the messages that is reserved for the turns after the first answer; each turn uses
 * half of the rest.
 */
const KEPT_SHARE = 1 / 4;
const REPLY_SHARE = 1 / 2;

export type Shared = {
  /** granted to the run */
  readonly given: Lineage;
  /** remaining for the runs that follow */
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
