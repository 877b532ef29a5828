/**
 * Cluster: the pure parts of the root's chart: the configured agents, the directives to failed
 * actors, and the row that users see.
 */
import { address, type Address, parseAddress } from '../../protocols/address.ts';
import { agentPath, SETTINGS_CHANGES_MAX, settingsAddress } from '../../protocols/settings.ts';
import type { ActorInput, Project, Reply, Tell } from '../../protocols/statechart.ts';
import type { AlarmRow, ChildAction, RootRow, RootStarted } from '../../protocols/supervision.ts';
import { EMPTY_OUTBOX, put } from '../supervisor/outbox.ts';
import {
  backoffMs,
  countOf,
  DEFAULT_LIMITS,
  orderForFailed,
  sendDue,
  tellOrder,
  wait,
  type Waiting,
  withFailure,
} from '../supervisor/strategy.ts';
import { type Args, on, type RootContext, type RootEvent } from './types.ts';

/** Failures kept; without the record of its failure an actor may only fail once more. */
export const FAILURES_MAX = 1_000;
/**
 * Maximum number of waiting orders; further ones are sent at once, so that no actor stays
 * suspended.
 */
export const WAITING_MAX = 200;
/** Rows of the index `alarms`; beyond it the oldest row is removed. */
export const ALARMS_MAX = 200;

/**
 * The directive to a failed actor: to continue without the message that caused the failure. Its
 * turn was rolled back, so its state is the last valid one, and nothing else could restore it: a
 * restarted session would not know which caller waits for an answer, an order would not know that
 * it is paid. A type that should restart from its initial state declares a supervisor, whose
 * children are restarted by default. A supervisor itself receives its children again from its
 * creator, so it is restarted.
 *
 * In both cases the failures count, and past the intensity the actor is quarantined: then its state
 * is broken, and an operator decides what to lose.
 */
const actionOf = (child: Address): ChildAction =>
  parseAddress(child).type === 'supervisor' ? 'restart' : 'resume';

export const initialContext = ({ self, tenant, now }: ActorInput): RootContext => ({
  self,
  tenant,
  agents: [],
  unconfirmed: [],
  starter: null,
  since: now,
  failures: [],
  waiting: [],
  alarms: [],
  workers: [],
  outbox: EMPTY_OUTBOX,
});

// ---- the life of the cluster

/** Starting another gateway may not change the settings of a cell. */
export const isSeeded = ({ context, event }: Args): boolean =>
  event.type === 'root.start' && event.seed === true && context.agents.length > 0;

/** Applies the configured agents: every agent receives its settings, removed ones retire. */
export function start(args: Args): Partial<RootContext> {
  const { context, event } = args;
  if (event.type !== 'root.start') return {};
  const agents = isSeeded(args) ? context.agents : event.agents;
  const notes = notesOf(context, agents, event.by ?? 'start');
  return { ...configured(args, agents, notes), starter: event.meta.reply ?? null };
}

/** Changes single agents; the settings of the tenant have recorded it. */
export const amend = on('root.amend', (args): Partial<RootContext> => {
  const { context, event } = args;
  const changed = new Set(event.agents.map(({ agentId }) => agentId));
  const agents = [
    ...context.agents.filter(({ agentId }) => !changed.has(agentId)),
    ...event.agents.flatMap(({ settings }) => settings ?? []),
  ];
  return { ...configured(args, agents, []), starter: null };
});

function configured(
  { context, event }: Args,
  agents: RootContext['agents'],
  notes: readonly Tell[],
): Partial<RootContext> {
  const now = new Set(agents.map(({ agentId }) => agentId));
  const gone = context.agents.filter(({ agentId }) => !now.has(agentId));
  const tells = [
    ...agents.map((settings) => configure(context, settings)),
    ...gone.map((agent) => ({ to: agentOf(context, agent), event: { type: 'agent.retire' } })),
    ...notes,
  ];
  return {
    agents,
    unconfirmed: agents.map((settings) => agentOf(context, settings)),
    since: event.meta.now,
    ...put(context, tells),
  };
}

/** Messages that record which agents differ; the first agents of a cell are no change. */
function notesOf(
  { tenant, agents: before }: RootContext,
  after: RootContext['agents'],
  by: string,
): readonly Tell[] {
  if (before.length === 0) return [];
  const was = new Map(before.map((one) => [one.agentId, one]));
  const is = new Map(after.map((one) => [one.agentId, one]));
  const changes = [...new Set([...was.keys(), ...is.keys()])]
    .map((id) => ({ path: agentPath(id), from: was.get(id) ?? null, to: is.get(id) ?? null }))
    .filter(({ from, to }) => sortedText(from) !== sortedText(to));
  const to = settingsAddress(tenant);
  const notes: Tell[] = [];
  for (let at = 0; at < changes.length; at += SETTINGS_CHANGES_MAX) {
    const some = changes.slice(at, at + SETTINGS_CHANGES_MAX);
    notes.push({ to, event: { type: 'settings.note', changes: some, by } });
  }
  return notes;
}

/** Regardless of the order of the keys at the top. */
const sortedText = (settings: object | null): string =>
  JSON.stringify(settings && Object.entries(settings).toSorted(([a], [b]) => (a < b ? -1 : 1)));

type Settings = RootContext['agents'][number];
const agentOf = ({ tenant }: RootContext, { agentId }: Pick<Settings, 'agentId'>): Address =>
  address(tenant, 'agent', agentId);

const configure = (context: RootContext, settings: Settings): Tell => ({
  to: agentOf(context, settings),
  event: { type: 'agent.configure', settings },
  ask: true,
});

/** An agent has answered. An agent that refused its settings reports that to requests for runs. */
export const confirm = ({ context, event }: Args): Partial<RootContext> => ({
  unconfirmed: context.unconfirmed.filter((agent) => agent !== event.meta.from),
});

export const row = ({ context }: Args, status: RootRow['status']): RootRow => ({
  status,
  since: context.since,
  agents: context.agents.length,
});

export const clusterRow = (args: Args, status: RootRow['status']): Project => ({
  index: 'cluster',
  key: 'root',
  value: row(args, status),
});

export const answered = (args: Args, status: RootRow['status']): Reply => ({
  to: args.event.meta.reply,
  result: row(args, status),
});

const settled = (args: Args): RootStarted => ({
  ...row(args, 'running'),
  settings: args.context.agents,
});

export const started = (args: Args): Reply => ({
  to: args.context.starter ?? undefined,
  result: settled(args),
});

export const startedAlready = (args: Args): Reply => ({
  to: args.event.meta.reply,
  result: settled(args),
});

// ---- supervision

/** Counted per actor: the root has no group that fails together. */
export const isOneTooMany = on('supervision.down', ({ context, event }): boolean => {
  const failures = withFailure(
    context.failures,
    { child: event.child, at: event.meta.now },
    DEFAULT_LIMITS,
  );
  return countOf(failures, event.child) > DEFAULT_LIMITS.intensity;
});

export const noteFailure = on(
  'supervision.down',
  ({ context, event }): Partial<RootContext> => ({
    failures: withFailure(
      context.failures,
      { child: event.child, at: event.meta.now },
      DEFAULT_LIMITS,
    ).slice(-FAILURES_MAX),
  }),
);

/** The actor resumes after a while; at once if too many are waiting already. */
export const plan = on('supervision.down', ({ context, event }): Partial<RootContext> => {
  const order = orderForFailed(event, actionOf(event.child));
  const after = backoffMs(countOf(context.failures, event.child), DEFAULT_LIMITS);
  const next: Waiting = { child: event.child, order, due: event.meta.now + after };
  const waiting = wait(context.waiting, [next]);
  return waiting.length > WAITING_MAX ? put(context, carryOut(context, next)) : { waiting };
});

/** A restarted agent has lost its settings. */
function carryOut(context: RootContext, { child, order }: Waiting): readonly Tell[] {
  const settings =
    order === 'sys.restart' && context.agents.find((agent) => agentOf(context, agent) === child);
  return [tellOrder(child, order), ...(settings ? [configure(context, settings)] : [])];
}

export const orderDue = (args: Args): Partial<RootContext> => sendDue(args, carryOut);

/** The actor failed too often: it receives no messages until an operator has decided. */
export const giveUp = on('supervision.down', ({ context, event }): Partial<RootContext> => {
  const { child, error } = event;
  return {
    failures: context.failures.filter((failure) => failure.child !== child),
    waiting: context.waiting.filter((order) => order.child !== child),
    alarms: [...context.alarms.filter((actor) => actor !== child), child],
    ...put(context, [tellOrder(child, 'sys.quarantine', `it failed too often: ${error.message}`)]),
  };
});

// ---- alarms

export const alarmRow = on('supervision.down', ({ context, event }): Project => {
  const { child, error, poison } = event;
  const value: AlarmRow = {
    actor: child,
    error,
    failures: countOf(context.failures, child),
    at: event.meta.now,
    poison,
  };
  return { index: 'alarms', key: child, value };
});

export const hasTooManyAlarms = ({ context }: Args): boolean => context.alarms.length > ALARMS_MAX;

export const oldestAlarmGone = ({ context }: Args): Project => ({
  index: 'alarms',
  key: context.alarms[0]!,
  value: null,
});

export const forgetOldestAlarm = ({ context }: Args): Partial<RootContext> => ({
  alarms: context.alarms.slice(1),
});

const dismissedOf = (event: RootEvent): Address | undefined =>
  event.type === 'alarm.dismiss' ? event.actor : undefined;

export const isKnownAlarm = ({ context, event }: Args): boolean =>
  context.alarms.some((actor) => actor === dismissedOf(event));

export const dismiss = ({ context, event }: Args): Partial<RootContext> => ({
  alarms: context.alarms.filter((actor) => actor !== dismissedOf(event)),
});

export const dismissedAlarm = ({ event }: Args): Project => ({
  index: 'alarms',
  key: dismissedOf(event)!,
  value: null,
});

export const dismissed = ({ event }: Args, known: boolean): Reply => ({
  to: event.meta.reply,
  ...(known
    ? { result: { dismissed: dismissedOf(event) } }
    : {
        error: { code: 'NOT_FOUND', message: `${dismissedOf(event)} has no alarm` },
      }),
});
