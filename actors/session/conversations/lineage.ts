/**
 * Lineage: limits that a run passes on with a message, a spawn or a report, and what remains with
 * the sender, so that work that agents start among themselves always ends. Pure.
 *
 * Invariants: remaining messages are divided, never copied: the passed-on and the kept share are
 * together one less than before. A chain has at most `hopsMax` steps.
 */
import { type Lineage, type LineageLimits, VISITED_MAX } from '../../../protocols/lineage.ts';
import type { Run } from '../types.ts';

/** Shares of the remaining messages: for one message, and for one spawn or report. */
const MESSAGE_SHARE = 1 / 4;
const SPAWN_SHARE = 1 / 2;

/** The lineage of work that a user, a client or a schedule started. */
const begun = ({ messagesMax }: LineageLimits): Lineage => ({
  hops: 0,
  visited: [],
  left: messagesMax,
});

const oneMore = ({ hops, visited }: Lineage, self: string, left: number): Lineage => ({
  hops: hops + 1,
  visited: newest([...visited.filter((key) => key !== self), self]),
  left,
});

const newest = (visited: readonly string[]): readonly string[] => visited.slice(-VISITED_MAX);

/** The lineage of a message to another session, and the rest for the sender's run. */
export function onward(
  run: Run | null,
  self: string,
  limits: LineageLimits,
): { readonly lineage: Lineage; readonly left: Lineage } {
  const has = run?.lineage ?? begun(limits);
  const others = Math.max(0, has.left - 1);
  const handed = Math.floor(others * MESSAGE_SHARE);
  return { lineage: oneMore(has, self, handed), left: { ...has, left: others - handed } };
}

/** Why a message may not be sent; undefined if it may. */
export function refusalOf(
  run: Run | null,
  self: string,
  target: string,
  limits: LineageLimits,
): 'loop' | 'hops' | 'messages' | undefined {
  const { hops, visited, left } = run?.lineage ?? begun(limits);
  if (target === self || visited.includes(target)) return 'loop';
  if (hops >= limits.hopsMax) return 'hops';
  return left < 1 ? 'messages' : undefined;
}

/** Lineage of a run with both messages: the longer chain, all sessions, the fewer messages. */
export function joinedLineage(a?: Lineage, b?: Lineage): Lineage | undefined {
  if (!a || !b) return a ?? b;
  return {
    hops: Math.max(a.hops, b.hops),
    visited: newest([...new Set([...a.visited, ...b.visited])]),
    left: Math.min(a.left, b.left),
  };
}

/**
 * The lineage of a spawn or a report. Its messages are deducted from the sender's: a sender that
 * continues keeps the difference, `(lineage?.left ?? messagesMax) - nextHop(…).left`.
 */
export function nextHop(
  lineage: Lineage | undefined,
  self: string,
  limits: LineageLimits,
): Lineage {
  const has = lineage ?? begun(limits);
  return oneMore(has, self, Math.floor(has.left * SPAWN_SHARE));
}
