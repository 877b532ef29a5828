/**
 * Slots: the pure parts of the agent's chart: who runs, who waits, what was spent. Functions of
 * context and event; the chart says when.
 */
import {
  AGENT_DAYS_INDEX,
  type AgentAdmitted,
  type AgentDay,
  type AgentRefused,
  type AgentRow,
  type AgentSettings,
  DAY_ROWS_KEPT_MS,
} from '../../protocols/agent.ts';
import { defined } from '../../protocols/defined.ts';
import { contentHashOf } from '../../protocols/document.ts';
import type { ErrorData } from '../../protocols/errors.ts';
import type { ActorInput, Project, Reply, Tell } from '../../protocols/statechart.ts';
import { type AgentContext, type Args, type ArgsOf, on, type WaitingRun } from './types.ts';

/** Runs that may wait for a slot; more are refused (I8). */
export const WAITING_MAX = 1_000;
/** A slot whose run has exceeded its time limit by this much was lost with its session. */
export const LEASE_GRACE_MS = 60_000;
/** Ends of leases are rounded up, so that at most so many different ones exist at once. */
const LEASES_MAX = 16;
/** A run that waits for a slot of the tenant requests again after this time. */
const ASK_AGAIN_MS = 60_000;
/** Sessions that one turn answers, well below what a turn may send; the others are next. */
export const ANSWERS_PER_TURN = 32;

export const initialContext = ({ self, now }: ActorInput): AgentContext => ({
  self,
  settings: null,
  leases: [],
  waiting: [],
  day: dayOf(now),
  tokensToday: 0,
  costToday: 0,
  allowed: [],
  tenantSpent: null,
  answered: 0,
});

export function configure({ context, event }: Args): Partial<AgentContext> {
  if (event.type !== 'agent.configure') return {};
  const { settings } = event;
  const standing = standingOf(settings);
  return {
    settings,
    tenantSpent: settings.tenant ? context.tenantSpent : null,
    ...(standing || context.standing ? { standing } : {}),
  };
}

/**
 * The standing lease that these settings allow: it names them, so other settings revoke it. None
 * where the agent must count runs or usage before each run.
 */
function standingOf(settings: AgentSettings): string | undefined {
  const { runsMax, tokensPerDay, costPerDayUsd, tenant } = settings;
  const isLimited = runsMax > 0 || tokensPerDay > 0 || Boolean(costPerDayUsd) || tenant;
  return isLimited ? undefined : contentHashOf(JSON.stringify(settings)).slice(0, 24);
}

/** The answer to the root, which waits for it before it opens entry points. */
export const configured = ({ context, event }: Args): Reply => ({
  to: event.meta.reply,
  result: { agentId: keyOf(context) },
});

const dayOf = (now: number): string => new Date(now).toISOString().slice(0, 10);

/** The sums of the current day. */
function sumsOn({ day, tokensToday, costToday }: AgentContext, now: number) {
  return day === dayOf(now) ? { tokensToday, costToday } : { tokensToday: 0, costToday: 0 };
}

type Leases = AgentContext['leases'];

/**
 * When the lease of a run that starts now ends: after its time limit, rounded up to bound the
 * number of different ends.
 */
export function leaseOf({ settings }: AgentContext, now: number): number {
  const { timeoutMs } = settings!;
  const step = Math.max(LEASE_GRACE_MS, Math.ceil(timeoutMs / LEASES_MAX));
  return Math.ceil((now + timeoutMs + LEASE_GRACE_MS) / step) * step;
}

const going = ({ leases }: AgentContext, now: number): Leases =>
  leases.filter(([until]) => now < until);

/** Runs that may still be active. */
export const held = (context: AgentContext, now: number): number =>
  going(context, now).reduce((sum, [, runs]) => sum + runs, 0);

/** Adds one slot from now on. */
export function hold(context: AgentContext, now: number): Pick<AgentContext, 'leases'> {
  const lease = leaseOf(context, now);
  const others = going(context, now).filter(([until]) => until !== lease);
  const runs = context.leases.find(([until]) => until === lease)?.[1] ?? 0;
  return { leases: [...others, [lease, runs + 1] as const].toSorted(([a], [b]) => a - b) };
}

/** Releases one slot; an expired lease is already removed. */
const letGo = (leases: Leases, lease: number | undefined): Leases =>
  leases.flatMap(([until, runs]) => {
    if (until !== lease) return [[until, runs] as const];
    return runs > 1 ? [[until, runs - 1] as const] : [];
  });

/** Slots of the agent; without a limit no run needs one. */
export const slotsOf = ({ settings }: AgentContext): number => settings!.runsMax || Infinity;

export const hasSlot = ({ context, event }: Args): boolean =>
  held(context, event.meta.now) < slotsOf(context);

/**
 * Time until a slot is free at the latest, whatever happened to its session, or until waiting runs
 * request a slot of the tenant again.
 */
export const leaseMs = ({ context, event }: Args): number => {
  const { now } = event.meta;
  const ends = going(context, now).map(([until]) => until);
  const again = context.waiting.some(({ asked }) => asked) ? [now + ASK_AGAIN_MS] : [];
  return Math.max(0, Math.min(...ends, ...again) - now);
};

/** Why no run may begin today; undefined: they may. */
export function overBudget(context: AgentContext, now: number): ErrorData | undefined {
  const { tokensPerDay, costPerDayUsd } = context.settings!;
  const { tokensToday, costToday } = sumsOn(context, now);
  if (tokensPerDay > 0 && tokensToday >= tokensPerDay) return OVER_TOKENS;
  if (costPerDayUsd && costToday >= costPerDayUsd) return OVER_COST;
  return context.tenantSpent?.day === dayOf(now) ? context.tenantSpent.error : undefined;
}

/** Only sessions request runs; a client outside could not be answered. */
export const isFromOutside = ({ event }: Args): boolean => event.meta.from === undefined;

export const notASession = ({ event }: Args): Reply => ({
  to: event.meta.reply,
  error: { code: 'INVALID_ARGUMENT', message: 'only a session may ask an agent to admit a run' },
});

const waitingRunOf = ({ event }: ArgsOf<'agent.admit'>): WaitingRun => {
  const { runId, nested, meta } = event;
  return { runId, session: meta.from!, at: meta.now, ...(nested ? { nested } : {}) };
};

/** It asks again and keeps its position. */
export const waitsAlready = on('agent.admit', (args): boolean =>
  args.context.waiting.some(({ runId }) => runId === waitingRunOf(args).runId),
);

/** Another run has started to wait for this one, so this one needs no slot any more. */
export const becomesNested = on(
  'agent.admit',
  (args): boolean =>
    isNested(args) &&
    args.context.waiting.some(({ runId, nested }) => runId === waitingRunOf(args).runId && !nested),
);

export const markNested = on(
  'agent.admit',
  (args): Partial<AgentContext> => ({
    waiting: args.context.waiting.map((slot) =>
      slot.runId === waitingRunOf(args).runId ? { ...slot, nested: true } : slot,
    ),
  }),
);

export const wait = on(
  'agent.admit',
  (args): Partial<AgentContext> => ({
    waiting: [...args.context.waiting, waitingRunOf(args)],
  }),
);

// ---- one turn answers a bounded number of waiting runs

export const newTurn = (): Partial<AgentContext> => ({ answered: 0 });

export const turnIsFull = ({ waiting, answered }: AgentContext): boolean =>
  waiting.length > 0 && answered >= ANSWERS_PER_TURN;

/** The first request arrived before the day's budget was spent. */
export const nextIsOverBudget = ({ context, event }: Args): boolean =>
  context.waiting.length > 0 && overBudget(context, event.meta.now) !== undefined;

export const nextMayRun = (args: Args): boolean => args.context.waiting.length > 0 && hasSlot(args);

/** Releases the run's slot, or removes the run from the queue, and counts its usage. */
export function release({ context, event }: Args): Partial<AgentContext> {
  if (event.type !== 'agent.release') return {};
  const { runId, usage, lease, meta } = event;
  const { tokensToday, costToday } = sumsOn(context, meta.now);
  return {
    leases: letGo(context.leases, lease),
    waiting: context.waiting.filter((slot) => slot.runId !== runId),
    day: dayOf(meta.now),
    tokensToday: tokensToday + usage.inputTokens + usage.outputTokens,
    costToday: costToday + (usage.costUsd ?? 0),
  };
}

/** The row of the day before, with the first end of a run on another day. */
export function pastDay({ context, event }: Args): Project | undefined {
  const { day, tokensToday: tokens, costToday: costUsd } = context;
  if (day === dayOf(event.meta.now) || tokens + costUsd === 0) return undefined;
  const value: AgentDay = { agentId: keyOf(context), day, tokens, costUsd };
  const key = `${day}/${value.agentId}`;
  return { index: AGENT_DAYS_INDEX, key, value, keepMs: DAY_ROWS_KEPT_MS };
}

/** The run was admitted twice, or after it had been cancelled. */
export const onReturn = ({ context, event }: Args): Partial<AgentContext> =>
  event.type === 'agent.return' ? { leases: letGo(context.leases, event.lease) } : {};

/** The longest waiting run gets the free slot. */
export function promote({ context, event }: Args): Partial<AgentContext> {
  const [, ...waiting] = context.waiting;
  return { ...hold(context, event.meta.now), waiting, answered: context.answered + 1 };
}

export const refuseFirst = ({ context }: Args): Partial<AgentContext> => ({
  waiting: context.waiting.slice(1),
  answered: context.answered + 1,
});

export const admitted = (args: Args, run: WaitingRun): Tell =>
  admission(args, run, leaseOf(args.context, args.event.meta.now));

function admission({ context }: Args, { runId, session }: WaitingRun, lease: number): Tell {
  const settings = context.settings as AgentSettings;
  const { standing } = context;
  const event: AgentAdmitted = {
    type: 'agent.admitted',
    runId,
    settings,
    lease,
    ...defined({ standing }),
  };
  return { to: session, event };
}
/** Admits the run that `promote` removes from the queue. */
export const admittedFirst = (args: Args): Tell => admitted(args, args.context.waiting[0]!);

// ---- runs without a slot: those that another agent's run caused, and all under a standing lease

/** The lease of a run without a slot; no real lease ends at that time. */
const NO_SLOT = 0;

const isNested = on('agent.admit', (args): boolean => waitingRunOf(args).nested === true);

export const needsNoSlot = on(
  'agent.admit',
  (args): boolean => args.context.standing !== undefined || isNested(args),
);

/**
 * The answer to a new request. A nested run may not wait: its caller holds a slot until it ends.
 */
export const admittedWithoutSlot = on(
  'agent.admit',
  (args): Tell => admission(args, waitingRunOf(args), NO_SLOT),
);

const firstWithoutSlot = ({ waiting, standing }: AgentContext): WaitingRun | undefined =>
  standing === undefined ? waiting.find(({ nested }) => nested) : waiting[0];

/**
 * The run arrived while the agent was paused, or waits for a slot that it does not need any more.
 */
export const slotlessWaits = ({ context }: Args): boolean =>
  firstWithoutSlot(context) !== undefined;

export const admittedSlotless = (args: Args): Tell =>
  admission(args, firstWithoutSlot(args.context)!, NO_SLOT);

export function letSlotlessIn({ context }: Args): Partial<AgentContext> {
  const first = firstWithoutSlot(context);
  return {
    waiting: context.waiting.filter((slot) => slot !== first),
    answered: context.answered + 1,
  };
}

export const refused = (args: ArgsOf<'agent.admit'>, error: ErrorData): Tell =>
  refusal(waitingRunOf(args), error);
/** Refuses the run that waited longest. */
export const refusedFirst = ({ context }: Args, error: ErrorData): Tell =>
  refusal(context.waiting[0]!, error);

export function refusal({ runId, session }: WaitingRun, error: ErrorData): Tell {
  const event: AgentRefused = { type: 'agent.refused', runId, error };
  return { to: session, event };
}

export const unknown = ({ context }: Args): ErrorData => ({
  code: 'NOT_FOUND',
  message: `no agent '${keyOf(context)}' is configured (agents.agents)`,
});
const OVER_TOKENS: ErrorData = {
  code: 'RATE_LIMIT_EXCEEDED',
  message: "the agent's tokens of today are spent (agents.agents[].tokensPerDay)",
};
const OVER_COST: ErrorData = {
  code: 'RATE_LIMIT_EXCEEDED',
  message: "the agent's money of today is spent (agents.agents[].costPerDayUsd)",
};
/** The answer while the day's budget is exhausted. */
export const refusedNow = on('agent.admit', (args): Tell => refused(args, spentNow(args)));
/** Refuses the run that waited longest. */
export const refusedFirstNow = (args: Args): Tell => refusedFirst(args, spentNow(args));
const spentNow = ({ context, event }: Args): ErrorData => overBudget(context, event.meta.now)!;
export const QUEUE_FULL: ErrorData = {
  code: 'RATE_LIMIT_EXCEEDED',
  message: `${WAITING_MAX} runs wait for this agent, which is its limit`,
};
export const RETIRED: ErrorData = { code: 'FORBIDDEN', message: 'the agent is retired' };

// ---- the row

export function row({ context, event }: Args, status: AgentRow['status']): Project {
  // The sums are those of its last day with a run, until a run ends on another day.
  const { settings, waiting, allowed, standing, day, tokensToday, costToday } = context;
  const now = event.meta.now;
  const value: AgentRow = {
    agentId: keyOf(context),
    status,
    running: held(context, now),
    waiting: waiting.length,
    day,
    tokensToday,
    ...(costToday > 0 ? { costTodayUsd: costToday } : {}),
    ...(settings?.model ? { model: settings.model } : {}),
    // none while no run may start
    ...(status === 'active' ? defined({ standing }) : {}),
    ...(allowed.length > 0 ? { allowed } : {}),
  };
  return { index: 'agents', key: value.agentId, value };
}

export const keyOf = ({ self }: AgentContext): string =>
  self.slice(self.indexOf('/', self.indexOf('/') + 1) + 1);
