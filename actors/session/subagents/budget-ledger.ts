/**
 * Budget ledger: what a session may still grant to subagents, and what was used. Pure.
 *
 * The ledger of a root session is filled from the limits of its tree, that of a subagent's session
 * from its own grant. A grant is subtracted; what was not used returns with the end.
 *
 * Invariants: no value is negative. The rest plus the grants of children never exceeds the initial
 * amount, so nothing is granted twice in a tree.
 */
import type { Usage } from '../../../protocols/session.ts';
import type { SpawnLimits, SubagentEnded } from '../../../protocols/subagent.ts';
import type { BudgetLedger, Child } from './related-sessions.ts';
import { defined } from '../action-result.ts';
import { NO_USAGE, sum } from '../../../protocols/models/model-usage.ts';
import type { SessionContext } from '../types.ts';

export const tokensOf = ({ inputTokens, outputTokens }: Usage): number =>
  inputTokens + outputTokens;

const NOTHING_BELOW: BudgetLedger['below'] = { usage: NO_USAGE, spawned: 0 };

/** The ledger, which is created at the first spawn and filled again at the first of a new tree. */
export function ledgerOf({ books, terms }: SessionContext, limits: SpawnLimits): BudgetLedger {
  const { concurrentMax, onParentReset: onReset } = limits;
  if (books && !books.renewed) return { ...books, concurrentMax, onReset };
  const { started = 0, below: before = NOTHING_BELOW } = books ?? {};
  const costPerTreeUsd = limits.costPerTreeUsd > 0 ? limits.costPerTreeUsd : undefined;
  const { tokens, spawns, costUsd } = terms ?? {
    tokens: limits.tokensPerTree,
    spawns: limits.perTreeMax,
    costUsd: costPerTreeUsd,
  };
  return {
    tokens,
    spawns,
    ...defined({ costUsd }),
    started,
    concurrentMax,
    onReset,
    below: before,
  };
}

/**
 * What the session may grant now. A subagent's session uses the same grant for its own runs. It
 * keeps half of the rest, so that it can read the results of the subagents that it starts.
 */
export function leftOf({ terms, usage }: SessionContext, books: BudgetLedger) {
  const share = (left: number, used: number): number => (terms ? (left - used) / 2 : left);
  return {
    tokens: Math.floor(share(books.tokens, tokensOf(usage))),
    costUsd: share(books.costUsd ?? Infinity, usage.costUsd ?? 0),
    spawns: books.spawns,
  };
}

export type Grant = Pick<Child, 'tokens' | 'costUsd' | 'spawns'>;

export function taken(books: BudgetLedger, { tokens, costUsd = 0, spawns }: Grant): BudgetLedger {
  const cost = books.costUsd === undefined ? {} : { costUsd: books.costUsd - costUsd };
  return {
    ...books,
    tokens: books.tokens - tokens,
    ...cost,
    spawns: books.spawns - 1 - spawns,
    started: books.started + 1,
  };
}

/** Returns its grant, minus what it and all below it used; an excess is subtracted as well. */
export function settled(
  books: BudgetLedger,
  child: Grant,
  { usage, spawned }: SubagentEnded,
): BudgetLedger {
  const back = (left: number, granted: number, used: number) => Math.max(0, left + granted - used);
  const cost =
    books.costUsd === undefined
      ? {}
      : { costUsd: back(books.costUsd, child.costUsd ?? 0, usage.costUsd ?? 0) };
  return {
    ...books,
    tokens: back(books.tokens, child.tokens, tokensOf(usage)),
    ...cost,
    spawns: books.spawns + Math.max(0, child.spawns - spawned),
    below: {
      usage: sum(books.below.usage, usage),
      spawned: books.below.spawned + 1 + spawned,
    },
  };
}

/** Usage of all ended subagents, and the number of started ones, descendants included. */
export const below = ({ books }: SessionContext): BudgetLedger['below'] =>
  books?.below ?? NOTHING_BELOW;

/**
 * In a subagent's session: what its own subagents have reserved or used of its grant. It counts
 * against the session's limits like its own usage.
 */
export function heldBelow({ terms, books }: SessionContext): Usage {
  if (!terms || !books) return NO_USAGE;
  const costUsd =
    terms.costUsd === undefined || books.costUsd === undefined
      ? undefined
      : terms.costUsd - books.costUsd;
  const inputTokens = terms.tokens - books.tokens;
  return { inputTokens, outputTokens: 0, ...defined({ costUsd }) };
}

/**
 * A user's message starts a run: a new tree, unless a subagent of the old one is active. A grant is
 * never renewed.
 */
export function renewedLedger(context: SessionContext): Partial<SessionContext> {
  const { books, terms, children = [] } = context;
  if (!books || terms || children.some(({ lost }) => !lost)) return {};
  return {
    books: { ...books, renewed: true },
    ...(children.length > 0 ? { children: children.map(outsideLedger) } : {}),
  };
}

/** Removes the child from the ledger: its end no longer changes the ledger. */
export const outsideLedger = (child: Child): Child => ({ ...child, apart: true });

/** The session is reset: a root gets a new tree, a subagent's session the rest of its grant. */
export function ledgerAtReset(context: SessionContext): BudgetLedger | undefined {
  const { books, terms, usage, children = [] } = context;
  if (!terms)
    return books && children.length > 0 ? { ...books, started: 0, renewed: true } : undefined;
  const kept = books ?? {
    ...defined({ costUsd: terms.costUsd }),
    tokens: terms.tokens,
    spawns: terms.spawns,
    concurrentMax: 1,
    onReset: 'cascade' as const,
    below: NOTHING_BELOW,
  };
  const cost =
    kept.costUsd === undefined ? {} : { costUsd: Math.max(0, kept.costUsd - (usage.costUsd ?? 0)) };
  return { ...kept, ...cost, tokens: Math.max(0, kept.tokens - tokensOf(usage)), started: 0 };
}
