/**
 * Shared limits: what an agent shares with the other agents of its tenant: the budget of the day,
 * and slots for runs. Pure parts of its chart; the tenant's budget actor is the other side.
 *
 * A waiting run requests a slot of the tenant when the agent has a slot for it, at most ASKED_MAX
 * at once; an unused slot is released. Without limits of the tenant no messages are sent.
 */
import { parseAddress } from '../../protocols/address.ts';
import type { TenantCeilings } from '../../protocols/agent.ts';
import {
  budgetAddress,
  type BudgetConfigure,
  type BudgetRelease,
  type BudgetTake,
} from '../../protocols/budget.ts';
import type { Usage } from '../../protocols/session.ts';
import type { Message, Tell } from '../../protocols/statechart.ts';
import {
  admitted,
  held,
  hold,
  LEASE_GRACE_MS,
  nextMayRun as slotIsFree,
  refusal,
  slotsOf,
} from './slots.ts';
import { type AgentContext, type Args, type ArgsOf, on, type WaitingRun } from './types.ts';

/**
 * Maximum number of runs of one agent that request a slot of the tenant at once; the others wait
 * here.
 */
export const ASKED_MAX = 32;
const NOTHING: Usage = { inputTokens: 0, outputTokens: 0 };

const toBudget = ({ self }: AgentContext, event: Message): Tell => ({
  to: budgetAddress(parseAddress(self).tenant),
  event,
});

/** Whether the event's settings contain limits of the tenant, or remove existing ones. */
export const concernsTenant = ({ context, event }: Args): boolean =>
  event.type === 'agent.configure' &&
  (event.settings.tenant !== undefined || hasCeilings({ context }));

export const hasCeilings = ({ context }: Pick<Args, 'context'>): boolean =>
  context.settings?.tenant !== undefined;

/** The message to the tenant's budget about its limits. */
export const configured = ({ context, event }: Args): Tell => {
  const ceilings: TenantCeilings =
    event.type === 'agent.configure' ? (event.settings.tenant ?? {}) : {};
  const configure: BudgetConfigure = { type: 'budget.configure', ceilings };
  return toBudget(context, configure);
};

/** Reports the usage of the run of the event and releases its slot. */
export const released = on('agent.release', ({ context, event }): Tell => {
  const { runId, usage } = event;
  const release: BudgetRelease = { type: 'budget.release', runId, usage };
  return toBudget(context, release);
});

// ---- slots of the tenant

const hasLane = ({ settings }: AgentContext): boolean => Boolean(settings?.tenant?.runsMax);

/** The run needs no slot of the tenant. */
export const nextMayRun = (args: Args): boolean => !hasLane(args.context) && slotIsFree(args);

export const nextMayAsk = ({ context, event }: Args): boolean => {
  if (!hasLane(context)) return false;
  const asked = context.waiting.filter((slot) => slot.asked).length;
  const used = held(context, event.meta.now) + asked;
  const someoneCould = context.waiting.length > asked;
  return someoneCould && asked < ASKED_MAX && used < slotsOf(context);
};

/** The first that has not requested a slot yet. */
export const takes = ({ context }: Args): Tell => {
  const { runId } = context.waiting.find(({ asked }) => !asked)!;
  const forMs = context.settings!.timeoutMs + LEASE_GRACE_MS;
  const take: BudgetTake = { type: 'budget.take', runId, forMs };
  return toBudget(context, take);
};

export const noteAsked = ({ context }: Args): Partial<AgentContext> => {
  const next = context.waiting.findIndex(({ asked }) => !asked);
  return {
    waiting: context.waiting.map((slot, index) =>
      index === next ? { ...slot, asked: true } : slot,
    ),
    answered: context.answered + 1,
  };
};

/** Repeats a request without an answer; for a run that has its slot a repeat changes nothing. */
export const askAgain = ({ context }: Args): Partial<AgentContext> => ({
  waiting: context.waiting.map(({ asked: _, ...slot }) => slot),
});

/** The budget of the tenant answers for one run. */
type Answer = ArgsOf<'budget.taken' | 'budget.refused'>;
const runOf = ({ event }: Answer): string => event.runId;
const ofEvent = (args: Answer) => args.context.waiting.find(({ runId }) => runId === runOf(args));

/** The answer is about a run that still waits. */
export const isAwaited = on(
  ['budget.taken', 'budget.refused'],
  (args): boolean => ofEvent(args) !== undefined,
);

/** Admits the run that received a slot of the tenant. */
export const admittedWithPlace = on(
  ['budget.taken', 'budget.refused'],
  (args): Tell => admitted(args, ofEvent(args)!),
);

export const promoteAwaited = on(
  ['budget.taken', 'budget.refused'],
  (args): Partial<AgentContext> => ({
    ...dropAwaited(args),
    ...hold(args.context, args.event.meta.now),
  }),
);

/** Refuses the run that the tenant refused. */
export const refusedByTenant = on(['budget.taken', 'budget.refused'], (args): Tell => {
  const { event } = args;
  const error = event.type === 'budget.refused' ? event.error : UNSAID;
  return refusal(ofEvent(args)!, error);
});
const UNSAID = { code: 'RATE_LIMIT_EXCEEDED', message: 'the tenant has no place' } as const;

export const dropAwaited = on(
  ['budget.taken', 'budget.refused'],
  (args): Partial<AgentContext> => ({
    waiting: args.context.waiting.filter(({ runId }) => runId !== runOf(args)),
  }),
);

/** The run continues to wait, and requests a slot again at its turn. */
export const unaskAwaited = on(
  ['budget.taken', 'budget.refused'],
  (args): Partial<AgentContext> => ({
    waiting: args.context.waiting.map(({ asked, ...slot }) =>
      asked && slot.runId !== runOf(args) ? { ...slot, asked } : slot,
    ),
  }),
);

const givenBack = (context: AgentContext, runId: string): Tell => {
  const release: BudgetRelease = { type: 'budget.release', runId, usage: NOTHING };
  return toBudget(context, release);
};
export const awaitedGivenBack = on(
  ['budget.taken', 'budget.refused'],
  (args): Tell => givenBack(args.context, runOf(args)),
);

/** The longest waiting run is refused, and has requested a slot. */
export const firstAsked = ({ context }: Args): boolean => context.waiting[0]?.asked === true;
export const firstGivenBack = ({ context }: Args): Tell =>
  givenBack(context, context.waiting[0]!.runId);
export const unaskFirst = ({ context }: Args): Partial<AgentContext> => {
  const [{ asked: _, ...first }, ...rest] = context.waiting as [WaitingRun, ...WaitingRun[]];
  return { waiting: [first, ...rest], answered: context.answered + 1 };
};

// ---- the budget status of the tenant

export const noteVerdict = ({ event }: Args): Partial<AgentContext> => ({
  tenantSpent: event.type === 'budget.spent' ? { day: event.day, error: event.error } : null,
});
