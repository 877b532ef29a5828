/** Job: the pure parts of the schedule's chart: due times, fires, and their outcomes. */
import { checker, describeErrors } from '../../protocols/check.ts';
import type { Address } from '../../protocols/address.ts';
import { address } from '../../protocols/address.ts';
import type { ErrorData } from '../../protocols/errors.ts';
import {
  JOB_ID,
  LATE_FIRES_MAX,
  ON_TIME_MS,
  RUNS_KEPT,
  type ScheduleEnable,
  type ScheduleFire,
  type ScheduleGet,
  type ScheduleJob,
  ScheduleJobSchema,
  type SchedulePut,
  type ScheduleRemove,
  type ScheduleRun,
  type ScheduleRuns,
  type When,
} from '../../protocols/schedule.ts';
import { patternInWords } from '../../protocols/pattern-words.ts';
import { faultIn, nextTime, timesBetween } from '../../protocols/schedule-times.ts';
import type { RunStatus, SessionReceive, SessionReset, Usage } from '../../protocols/session.ts';
import { sessionKey } from '../../protocols/session-key.ts';
import { type ActorInput, type Delivered, type Tell, wallOf } from '../../protocols/statechart.ts';

export type ScheduleContext = {
  readonly jobId: string;
  readonly tenant: string;
  /** null before the first `put` */
  readonly job: ScheduleJob | null;
  readonly createdAt: number;
  readonly updatedAt: number;
  /** the next due time is the first one after it */
  readonly cursor: number;
  readonly nextAt: number | null;
  readonly firing: (ScheduleFire & { readonly looks: number }) | null;
  /** ended fires, the newest first, at most RUNS_KEPT */
  readonly runs: readonly ScheduleFire[];
  readonly fires: number;
  readonly skipped: number;
};

export type ScheduleEvent =
  | Delivered<SchedulePut>
  | Delivered<ScheduleEnable>
  | Delivered<ScheduleRun>
  | Delivered<ScheduleRemove>
  | Delivered<ScheduleRuns>
  | Delivered<ScheduleGet>
  | Delivered<{ type: 'reply'; to: string; result?: unknown; error?: ErrorData }>
  | Delivered<{ type: 'refused'; to: string; message: string; error: ErrorData }>;

/** The input of the effect `look`, and its result; null while the run is active. */
export type LookInput = {
  readonly tenant: string;
  readonly session: Address;
  readonly runId: string;
};
export type Looked = {
  readonly status: Exclude<RunStatus, 'queued' | 'running'>;
  readonly endedAt: number;
  readonly error?: ErrorData;
  readonly text?: string;
  readonly model?: string;
  readonly usage?: Usage;
} | null;

export type State = { context: ScheduleContext };
export type Args = State & { event: ScheduleEvent };

/**
 * Most model runs take longer. The first pause is short, so that a short run does not delay a job
 * that fires each second.
 */
const LOOK_MS_MIN = 250;
const LOOK_MS_MAX = 30_000;
/** A run whose row has not changed for this time is lost: the row is removed soon after. */
const LOST_MS = 86_400_000;

export const initialContext = ({ key, tenant, now }: ActorInput): ScheduleContext => ({
  jobId: key,
  tenant,
  job: null,
  createdAt: now,
  updatedAt: now,
  cursor: now,
  nextAt: null,
  firing: null,
  runs: [],
  fires: 0,
  skipped: 0,
});

// ---- settings

const checkJob = checker(ScheduleJobSchema);

/** The job after the change. */
const jobAfter = ({ context }: State, { job, changes }: Delivered<SchedulePut>): unknown =>
  job ?? { ...context.job, ...changes };

export function problemOf(args: Args): string | undefined {
  const { context, event } = args;
  if (event.type !== 'schedule.put') return undefined;
  if (!JOB_ID.test(context.jobId))
    return `the id of a job must be ${patternInWords(JOB_ID.source)}`;
  if (event.changes && !context.job) return 'there is none of this id to change';
  if (isOvertaken(args)) return 'it was changed meanwhile: read it again';
  const answer = checkJob(jobAfter(args, event));
  if (!answer.ok) return describeErrors(answer.errors);
  const { enabled, when } = answer.value;
  return enabled === false ? undefined : faultIn(when, wallOf(event.meta));
}
/** The job was changed after the caller had read it. */
export function isOvertaken({ context, event }: Args): boolean {
  if (event.type !== 'schedule.put' || event.ifUpdatedAt === undefined) return false;
  return event.ifUpdatedAt !== (context.job ? context.updatedAt : 0);
}
export const isValid = (args: Args): boolean => problemOf(args) === undefined;

export function take(args: Args): Partial<ScheduleContext> {
  const { context, event } = args;
  if (event.type !== 'schedule.put') return {};
  const { now } = event.meta;
  const wall = wallOf(event.meta);
  const set = jobAfter(args, event) as ScheduleJob;
  const isSame =
    isOn(args) &&
    context.job !== null &&
    !wasWrong(context.cursor, wall) &&
    isSameWhen(set.when, context.job.when, wall);
  const cursor = isSame ? context.cursor : wall;
  const when = isSame ? context.job.when : begun(set.when, cursor);
  const createdAt = context.job ? context.createdAt : now;
  return planned({ ...context, job: { ...set, when }, createdAt, updatedAt: now, cursor });
}
const begun = (when: When, cursor: number): When =>
  when.kind === 'every' ? { ...when, from: when.from ?? cursor } : when;
/**
 * The present times continue then: a repeated request does not move the next one, unless they have
 * not begun.
 */
const isSameWhen = (wanted: When, present: When, wall: number): boolean => {
  const hasBegun = present.kind === 'every' && present.from !== undefined && present.from <= wall;
  return sorted(hasBegun ? { from: present.from, ...wanted } : wanted) === sorted(present);
};
const sorted = (when: object): string => JSON.stringify(Object.entries(when).toSorted());

/** A job that is enabled again continues with future times. */
export function enable({ context, event }: Args): Partial<ScheduleContext> {
  if (event.type !== 'schedule.enable') return {};
  const { now } = event.meta;
  const job = { ...jobOf(context), enabled: event.enabled };
  const wasOn = isOn({ context });
  const cursor = wasOn ? context.cursor : wallOf(event.meta);
  return planned({ ...context, job, updatedAt: now, cursor });
}

const planned = (context: ScheduleContext): ScheduleContext => ({
  ...context,
  nextAt: isOn({ context })
    ? (nextTime(jobOf(context).when, context.cursor, lateMsOf(context)) ?? null)
    : null,
});

/** The job's share of the stagger: the same for each of its times, and spread over the jobs. */
function lateMsOf({ job, jobId }: ScheduleContext): number {
  const staggerMs = job?.when.kind === 'cron' ? (job.when.staggerMs ?? 0) : 0;
  // FNV-1a, whose low bits are distributed as well as its high bits
  let hash = 0x811c9dc5;
  for (const character of jobId) hash = Math.imul(hash ^ character.charCodeAt(0), 0x01000193);
  return (hash >>> 0) % (staggerMs + 1);
}

export const jobOf = ({ job }: ScheduleContext): ScheduleJob => job!;
export const isOn = ({ context }: State): boolean => context.job?.enabled ?? true;
export const hasNext = ({ context }: State): boolean => context.nextAt !== null;
/** The job has fired for all its times and is configured to be removed then. */
export const isSpent = ({ context }: State): boolean =>
  isOn({ context }) &&
  context.nextAt === null &&
  jobOf(context).deleteAfterRun === true &&
  context.runs[0]?.status === 'ok';
/** The job has fired before and is configured to reset its session. */
export const isAnew = ({ context }: State): boolean =>
  jobOf(context).fresh === true && context.fires > 0;

// ---- due times

export const untilDueMs = ({ context, event }: Args): number =>
  Math.max(0, context.nextAt! - wallOf(event.meta));
/** False when the clock was set back while the job waited. */
export const isDue = ({ context, event }: Args): boolean => wallOf(event.meta) >= context.nextAt!;

/**
 * Handles a clock that was set back. By a few hours: the job waits for the clock, so that no time
 * fires twice. By more: the clock was wrong before, and times count from its current value, as in
 * cron(8).
 */
export function replan({ context, event }: Args): Partial<ScheduleContext> {
  const now = wallOf(event.meta);
  return planned({
    ...context,
    cursor: wasWrong(context.cursor, now) ? now : context.cursor,
  });
}
const CORRECTION_MS = 3 * 3_600_000;
const wasWrong = (cursor: number, wall: number): boolean => cursor - wall > CORRECTION_MS;

/** The due times that have passed, oldest first, and those for which the job fires. */
function dueNow({ context, event }: Args): { passed: readonly number[]; fireFor?: number } {
  const { when, missed = 'once' } = jobOf(context);
  const now = wallOf(event.meta);
  const first = context.nextAt!;
  const later = timesBetween(when, first, now, lateMsOf(context));
  const passed = [first, ...later].slice(-LATE_FIRES_MAX);
  const fireFor = missed === 'fire-late' ? passed[0]! : passed.at(-1)!;
  return missed === 'skip' && now - fireFor > ON_TIME_MS ? { passed } : { passed, fireFor };
}
export const isMissed = (args: Args): boolean => dueNow(args).fireFor === undefined;

/** Skips all times that have passed. */
export function skip(args: Args): Partial<ScheduleContext> {
  const { context, event } = args;
  const { passed } = dueNow(args);
  const last = passed.at(-1)!;
  const over: ScheduleFire = {
    runId: `${context.jobId}.${last}`,
    dueAt: last,
    firedAt: event.meta.now,
    endedAt: event.meta.now,
    status: 'skipped',
    sessionKey: sessionKeyOf(context),
  };
  const skipped = context.skipped + passed.length;
  return planned({ ...remembered(context, over), skipped, cursor: last });
}

const remembered = (context: ScheduleContext, over: ScheduleFire): ScheduleContext => ({
  ...context,
  runs: [over, ...context.runs].slice(0, RUNS_KEPT),
});

export function fire(args: Args): Partial<ScheduleContext> {
  const { context, event } = args;
  const { passed, fireFor = 0 } = dueNow(args);
  // Earlier missed times have no fire of their own.
  const before = passed.indexOf(fireFor) + (passed[0] === context.nextAt ? 0 : 1);
  const cut = planned({ ...context, cursor: fireFor, skipped: context.skipped + before });
  const named = `${context.jobId}.${fireFor}`;
  // A clock that was set back by hours shows a time for the second time.
  const isRepeat = context.runs.some(({ runId }) => runId === named);
  const runId = isRepeat ? `${named}.${context.fires}` : named;
  return fired(cut, { runId, dueAt: fireFor, firedAt: event.meta.now });
}

/**
 * Fires outside the configured times; the run id is derived from the id of the requesting message.
 */
export const fireNow = ({ context, event }: Args): Partial<ScheduleContext> =>
  fired(context, { runId: runNowId({ context, event }), firedAt: event.meta.now });
const runNowId = ({ context, event }: Args): string => `${context.jobId}.now.${event.meta.id}`;

const fired = (
  context: ScheduleContext,
  about: Pick<ScheduleFire, 'runId' | 'dueAt' | 'firedAt'>,
): ScheduleContext => ({
  ...context,
  firing: { ...about, status: 'running', sessionKey: sessionKeyOf(context), looks: 0 },
  fires: context.fires + 1,
});

// ---- outcomes

export const nameOf = ({ job }: ScheduleContext): string => job!.name ?? job!.text.slice(0, 60);

export const sessionKeyOf = ({ job, jobId }: ScheduleContext): string =>
  job!.sessionKey ?? sessionKey.cron(job!.agentId, jobId);
const sessionOf = (context: ScheduleContext): Address =>
  address(context.tenant, 'session', sessionKeyOf(context));

/** A separate run after the session's current one; it never steers another run. */
export function receive({ context }: State): Tell {
  const { text, model, thinking, timeoutMs } = jobOf(context);
  const event: SessionReceive = {
    type: 'session.receive',
    runId: context.firing!.runId,
    text,
    sender: `schedule ${nameOf(context)}`,
    queue: 'followup',
    channel: 'cron',
    ...(model === undefined ? {} : { model }),
    ...(thinking === undefined ? {} : { thinking }),
    ...(timeoutMs === undefined ? {} : { timeoutMs }),
  };
  return { to: sessionOf(context), event, ask: true, principal: SELF };
}
const SELF = { sub: 'schedule', roles: [] };

/** Resets the session before the message, so that the agent has no context of earlier fires. */
export function startAnew({ context }: State): Tell {
  const event: SessionReset = { type: 'session.reset', reason: 'cron' };
  return { to: sessionOf(context), event, principal: SELF };
}

export const lookInput = ({ context }: State): LookInput => ({
  tenant: context.tenant,
  session: sessionOf(context),
  runId: context.firing!.runId,
});
export const lookMs = ({ context }: State): number =>
  Math.min(LOOK_MS_MIN * 2 ** context.firing!.looks, LOOK_MS_MAX);
export const countLook = ({ context }: State): Partial<ScheduleContext> => ({
  firing: { ...context.firing!, looks: context.firing!.looks + 1 },
});

export const isRefusal = ({ event }: Args): boolean =>
  event.type === 'refused' || (event.type === 'reply' && event.error !== undefined);
export const isLost = ({ context, event }: Args): boolean =>
  event.meta.now - context.firing!.firedAt > LOST_MS;

export const noteRefused = ({ context, event }: Args): Partial<ScheduleContext> => ({
  ...ended(context, {
    status: 'error',
    endedAt: event.meta.now,
    ...('error' in event && event.error ? { error: event.error } : {}),
  }),
});
export const noteEnd = ({ context }: Args, { looked }: { looked: Looked }) =>
  looked ? ended(context, looked) : {};
export const noteLost = ({ context, event }: Args): Partial<ScheduleContext> =>
  ended(context, { status: 'lost', endedAt: event.meta.now });

function ended(
  context: ScheduleContext,
  outcome: Omit<ScheduleFire, 'runId' | 'dueAt' | 'firedAt' | 'sessionKey'>,
): Partial<ScheduleContext> {
  const { looks: _, ...about } = context.firing!;
  return { ...remembered(context, { ...about, ...outcome }), firing: null };
}
