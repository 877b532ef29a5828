/**
 * Ledger: the pure parts of the budget's chart: today's usage, the runs that have a slot, and the
 * runs that wait for one. Functions of context and event; the chart says when.
 */
import { parseAddress } from '../../protocols/address.ts';
import {
  BUDGET_KEY,
  type BudgetOpened,
  type BudgetRefused,
  type BudgetRow,
  BUDGETS_INDEX,
  type BudgetSpent,
  type BudgetTaken,
} from '../../protocols/budget.ts';
import type { ErrorData } from '../../protocols/errors.ts';
import type { ActorInput, Project, Reply, Tell } from '../../protocols/statechart.ts';
import {
  type Args,
  type ArgsOf,
  type BudgetContext,
  on,
  type RunSlot,
  type SlotRequest,
} from './types.ts';

/** Runs that may wait for a slot; more are refused (I8). */
export const WAITING_MAX = 1_000;
/** Agents that receive the budget status; one more replaces the oldest. */
export const AGENTS_MAX = 1_000;
/** Agents that one turn notifies, well below the limit of a turn; the others follow. */
export const ANSWERS_PER_TURN = 32;
const DAY_MS = 86_400_000;

export const initialContext = ({ self, now }: ActorInput): BudgetContext => ({
  self,
  ceilings: {},
  agents: [],
  day: dayOf(now),
  tokensToday: 0,
  costToday: 0,
  running: [],
  waiting: [],
  spent: null,
  untold: [],
  answered: 0,
});

const dayOf = (now: number): string => new Date(now).toISOString().slice(0, 10);

/** The sums of the current day. */
function sumsOn(context: BudgetContext, now: number) {
  const { day, tokensToday, costToday } = context;
  return day === dayOf(now) ? { tokensToday, costToday } : { tokensToday: 0, costToday: 0 };
}

// ---- senders

/** Only agents of the tenant may use its budget. */
export function isNoAgent({ context, event }: Args): boolean {
  const { from } = event.meta;
  if (from === undefined) return true;
  const sender = parseAddress(from);
  return sender.type !== 'agent' || sender.tenant !== parseAddress(context.self).tenant;
}

export const notAnAgent = ({ event }: Args): Reply => ({
  to: event.meta.reply,
  error: { code: 'FORBIDDEN', message: 'only agents of the tenant share its budget' },
});

// ---- messages of agents

export function configure({ context, event }: Args): Partial<BudgetContext> {
  if (event.type !== 'budget.configure') return {};
  const agent = event.meta.from!;
  const others = context.agents.filter((one) => one !== agent);
  return {
    ceilings: event.ceilings,
    running: event.ceilings.runsMax ? context.running : [],
    agents: [...others, agent].slice(-AGENTS_MAX),
    untold: context.spent
      ? [...context.untold.filter((one) => one !== agent), agent]
      : context.untold,
  };
}

const askerOf = ({ event }: ArgsOf<'budget.take'>): SlotRequest => {
  const { runId, forMs, meta } = event;
  return { runId, forMs, agent: meta.from! };
};

/** A run whose lease has ended asks as a new one: its slot may be another's. */
export const holdsAlready = on('budget.take', (args): boolean => {
  const { context, event } = args;
  return held(context, event.meta.now).some(({ runId }) => runId === event.runId);
});

export const waitsAlready = on('budget.take', (args): boolean =>
  args.context.waiting.some(({ runId }) => runId === askerOf(args).runId),
);

export const wait = on(
  'budget.take',
  (args): Partial<BudgetContext> => ({
    waiting: [...args.context.waiting, askerOf(args)],
  }),
);

/** Releases the run's slot, or removes the run from the queue, and counts its usage. */
export function release({ context, event }: Args): Partial<BudgetContext> {
  if (event.type !== 'budget.release') return {};
  const { runId, usage, meta } = event;
  const { tokensToday, costToday } = sumsOn(context, meta.now);
  return {
    running: context.running.filter((one) => one.runId !== runId),
    waiting: context.waiting.filter((one) => one.runId !== runId),
    day: dayOf(meta.now),
    tokensToday: tokensToday + usage.inputTokens + usage.outputTokens,
    costToday: costToday + (usage.costUsd ?? 0),
  };
}

// ---- the budget status of the day

/** Notifies every agent of a change. */
export function judge({ context, event }: Args): Partial<BudgetContext> {
  const spent = reached(context, event.meta.now);
  return spent === context.spent ? {} : { spent, untold: context.agents };
}

function reached(context: BudgetContext, now: number): BudgetContext['spent'] {
  const { tokensPerDay, costPerDayUsd } = context.ceilings;
  const { tokensToday, costToday } = sumsOn(context, now);
  if (tokensPerDay && tokensToday >= tokensPerDay) return 'tokensPerDay';
  return costPerDayUsd && costToday >= costPerDayUsd ? 'costPerDayUsd' : null;
}

/** Until the UTC day ends. */
export const dayEndMs = ({ event }: Args): number => DAY_MS - (event.meta.now % DAY_MS);

const overBudget = ({ spent }: BudgetContext): ErrorData => ({
  code: 'RATE_LIMIT_EXCEEDED',
  message:
    `what all agents together may use in a day is spent (budget.${spent}); ` +
    'it is reset at 00:00 UTC',
});

/** The message to the first agent that has not received the current state. */
export function verdict({ context, event }: Args): Tell {
  const spent: BudgetSpent = {
    type: 'budget.spent',
    day: dayOf(event.meta.now),
    error: overBudget(context),
  };
  const opened: BudgetOpened = { type: 'budget.opened' };
  return { to: context.untold[0]!, event: context.spent ? spent : opened };
}

export const dropNotified = ({ context }: Args): Partial<BudgetContext> => ({
  untold: context.untold.slice(1),
  answered: context.answered + 1,
});

// ---- slots

const held = (context: BudgetContext, now: number): readonly RunSlot[] =>
  context.running.filter(({ until }) => now < until);

export const newTurn = (): Partial<BudgetContext> => ({ answered: 0 });

export const turnIsFull = ({ untold, waiting, answered }: BudgetContext): boolean =>
  answered >= ANSWERS_PER_TURN && untold.length + waiting.length > 0;

export const nextIsRefused = ({ waiting, spent }: BudgetContext): boolean =>
  waiting.length > 0 && spent !== null;

export const nextMayRun = ({ context, event }: Args): boolean => {
  const { runsMax } = context.ceilings;
  const isFree = !runsMax || held(context, event.meta.now).length < runsMax;
  return context.waiting.length > 0 && isFree;
};

/** Time until a slot is free at the latest, even if its agent was lost. */
export const leaseMs = ({ context, event }: Args): number => {
  const { now } = event.meta;
  return Math.min(...held(context, now).map(({ until }) => until)) - now;
};

const taken = (to: Tell['to'], runId: string): Tell => {
  const event: BudgetTaken = { type: 'budget.taken', runId };
  return { to, event };
};
/** The repeated answer to a run that already has its slot. */
export const takenAgain = on('budget.take', (args): Tell => {
  const { agent, runId } = askerOf(args);
  return taken(agent, runId);
});
export const takenFirst = ({ context }: Args): Tell => {
  const { agent, runId } = context.waiting[0]!;
  return taken(agent, runId);
};

/** The longest waiting run gets the free slot. */
export function promote({ context, event }: Args): Partial<BudgetContext> {
  const { now } = event.meta;
  const [next, ...waiting] = context.waiting;
  const place: RunSlot = { runId: next!.runId, until: now + next!.forMs };
  const running = context.ceilings.runsMax ? [...held(context, now), place] : [];
  return { waiting, running, answered: context.answered + 1 };
}

const refusal = ({ agent, runId }: SlotRequest, error: ErrorData): Tell => {
  const event: BudgetRefused = { type: 'budget.refused', runId, error };
  return { to: agent, event };
};
export const refusedFirst = ({ context }: Args): Tell =>
  refusal(context.waiting[0]!, overBudget(context));
export const refusedAsFull = on(
  'budget.take',
  (args): Tell =>
    refusal(askerOf(args), {
      code: 'RATE_LIMIT_EXCEEDED',
      message: `${WAITING_MAX} runs wait for a place (agents.maxConcurrent)`,
    }),
);

export const dropFirst = ({ context }: Args): Partial<BudgetContext> => ({
  waiting: context.waiting.slice(1),
  answered: context.answered + 1,
});

// ---- the row

export function row({ context, event }: Args): Project {
  const { now } = event.meta;
  const { spent, ceilings, waiting } = context;
  const { tokensToday, costToday } = sumsOn(context, now);
  const value: BudgetRow = {
    status: spent ? 'spent' : 'open',
    ...(spent ? { spent } : {}),
    ceilings,
    day: dayOf(now),
    tokensToday,
    costTodayUsd: costToday,
    running: held(context, now).length,
    waiting: waiting.length,
  };
  return { index: BUDGETS_INDEX, key: BUDGET_KEY, value };
}
