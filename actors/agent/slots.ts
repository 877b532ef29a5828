/**
 * Slots: the pure parts of the agent's chart: who runs, who waits, what was spent. Functions of
 * context and event; the chart says when.
 */
import type {
  AgentAdmitted,
  AgentRefused,
  AgentRow,
  AgentSettings,
} from '../../protocols/agent.ts';
import type { ErrorCode } from '../../protocols/errors.ts';
import type { ActorInput, Meta, Project, Reply, Tell } from '../../protocols/statechart.ts';
import type { AgentContext, AgentEvent, Slot } from './types.ts';

/** Runs that may wait for a slot; more are refused (I8). */
export const WAITING_MAX = 1_000;
/** A slot whose run is past its time by so much was lost with its session. */
const LEASE_GRACE_MS = 60_000;

type Args = { context: AgentContext; event: AgentEvent };

export const born = ({ self, now }: ActorInput): AgentContext => ({
  self,
  settings: null,
  running: [],
  waiting: [],
  day: dayOf(now),
  tokensToday: 0,
});

export const configure = ({ event }: Args): Partial<AgentContext> =>
  event.type === 'agent.configure' ? { settings: event.settings } : {};

/** Told to the root, which waits for it before doors open. */
export const configured = ({ context, event }: Args): Reply => ({
  to: event.meta.reply,
  result: { agentId: keyOf(context) },
});

const dayOf = (now: number): string => new Date(now).toISOString().slice(0, 10);
const tokensOn = (context: AgentContext, now: number): number =>
  context.day === dayOf(now) ? context.tokensToday : 0;

/** Slots of runs that may still be going. */
const held = (context: AgentContext, now: number): readonly Slot[] =>
  context.running.filter(({ at }) => now - at < context.settings!.timeoutMs + LEASE_GRACE_MS);

export const hasSlot = (context: AgentContext, now: number): boolean =>
  held(context, now).length < context.settings!.runsMax;

export const budgetSpent = (context: AgentContext, now: number): boolean =>
  context.settings!.tokensPerDay > 0 && tokensOn(context, now) >= context.settings!.tokensPerDay;

const slotOf = ({ event }: Args): Slot => {
  const { runId, meta } = event as { runId: string; meta: Meta };
  return { runId, session: meta.from!, at: meta.now };
};

/** A run that asks twice (its session was restarted) keeps its one slot. */
export function admit(args: Args): Partial<AgentContext> {
  const slot = slotOf(args);
  const others = held(args.context, slot.at).filter(({ runId }) => runId !== slot.runId);
  return { running: [...others, slot] };
}

export function wait(args: Args): Partial<AgentContext> {
  const slot = slotOf(args);
  return { waiting: [...args.context.waiting.filter(({ runId }) => runId !== slot.runId), slot] };
}

/** The run's slot is free, or it waits no longer; what it used is counted. */
export function release({ context, event }: Args): Partial<AgentContext> {
  if (event.type !== 'agent.release') return {};
  const { runId, usage, meta } = event;
  const not = (slot: Slot) => slot.runId !== runId;
  return {
    running: context.running.filter(not),
    waiting: context.waiting.filter(not),
    day: dayOf(meta.now),
    tokensToday: tokensOn(context, meta.now) + usage.inputTokens + usage.outputTokens,
  };
}

/** The one that waited longest takes the free slot. */
export function promote({ context, event }: Args): Partial<AgentContext> {
  const [next, ...waiting] = context.waiting;
  return { waiting, running: [...context.running, { ...next!, at: event.meta.now }] };
}

export const admitted = (context: AgentContext, { runId, session }: Slot): Tell => {
  const event: AgentAdmitted = {
    type: 'agent.admitted',
    runId,
    settings: context.settings as AgentSettings,
  };
  return { to: session, event };
};
export const admittedNow = (args: Args): Tell => admitted(args.context, slotOf(args));
/** Told to the one that `promote` let in. */
export const admittedNext = ({ context }: Args): Tell => admitted(context, context.running.at(-1)!);

export function refused(args: Args, code: ErrorCode, why: string): Tell {
  const { runId, session } = slotOf(args);
  const event: AgentRefused = { type: 'agent.refused', runId, error: { code, message: why } };
  return { to: session, event };
}

export function row({ context, event }: Args, status: AgentRow['status']): Project {
  const { settings, running, waiting } = context;
  const now = event.meta.now;
  const value: AgentRow = {
    agentId: keyOf(context),
    status,
    running: running.length,
    waiting: waiting.length,
    day: dayOf(now),
    tokensToday: tokensOn(context, now),
    ...(settings?.model ? { model: settings.model } : {}),
  };
  return { index: 'agents', key: value.agentId, value };
}

export const keyOf = ({ self }: AgentContext): string =>
  self.slice(self.indexOf('/', self.indexOf('/') + 1) + 1);

export function refusedFirst({ context }: Args): Tell {
  const { runId, session } = context.waiting[0]!;
  const event: AgentRefused = {
    type: 'agent.refused',
    runId,
    error: { code: 'FORBIDDEN', message: 'the agent is retired' },
  };
  return { to: session, event };
}
