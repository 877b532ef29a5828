/**
 * Lineage: what goes with a message, a spawn or a report that a run makes, and what its sender
 * keeps; so that nothing that agents begin among themselves goes on for ever. Pure.
 *
 * Invariants: messages are divided, never copied: what a sender hands on and what it keeps are
 * together what it had, less the one that it sends. A chain is `hopsMax` long at most.
 */
import { type Lineage, type LineageLimits, VISITED_MAX } from '../../../protocols/lineage.ts';
import type { Run } from '../types.ts';

/** Of the messages that are left: what goes with one message, and with one spawn or report. */
const MESSAGE_SHARE = 1 / 4;
const SPAWN_SHARE = 1 / 2;

/** What a person, a client or a schedule began. */
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

/** What goes with a message to another session, and what the sender's run goes on with. */
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

/** Why a message may not go; undefined: it may. */
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

/** Of a run that takes both: the longer way, all sessions on either, the fewer messages. */
export function joinedLineage(a?: Lineage, b?: Lineage): Lineage | undefined {
  if (!a || !b) return a ?? b;
  return {
    hops: Math.max(a.hops, b.hops),
    visited: newest([...new Set([...a.visited, ...b.visited])]),
    left: Math.min(a.left, b.left),
  };
}

/**
 * What goes with a spawn or a report. Its messages are taken from the sender's: a sender that goes
 * on keeps the difference, `(lineage?.left ?? messagesMax) - nextHop(…).left`.
 */
export function nextHop(
  lineage: Lineage | undefined,
  self: string,
  limits: LineageLimits,
): Lineage {
  const has = lineage ?? begun(limits);
  return oneMore(has, self, Math.floor(has.left * SPAWN_SHARE));
}
