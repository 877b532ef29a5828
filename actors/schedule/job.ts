/** Job: the pure parts of the schedule's chart: what is due, what is fired, what is told. */
import { checker, describeErrors } from '../../protocols/check.ts';
import type { Address } from '../../protocols/address.ts';
import { address } from '../../protocols/address.ts';
import type { ErrorCode, ErrorData } from '../../protocols/errors.ts';
import {
  JOB_ID,
  LATE_FIRES_MAX,
  ON_TIME_MS,
  RUNS_KEPT,
  type ScheduleEnable,
  type ScheduleFire,
  type ScheduleJob,
  ScheduleJobSchema,
  type SchedulePut,
  type ScheduleRemove,
  type ScheduleRow,
  type ScheduleRun,
  type ScheduleRuns,
  SCHEDULES_INDEX,
} from '../../protocols/schedule.ts';
import { faultIn, nextTime, timesBetween } from '../../protocols/schedule-times.ts';
import type { RunStatus, SessionReceive } from '../../protocols/session.ts';
import { sessionKey } from '../../protocols/session-key.ts';
import type { ActorInput, Delivered, Project, Reply, Tell } from '../../protocols/statechart.ts';

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
  | Delivered<{ type: 'reply'; to: string; result?: unknown; error?: ErrorData }>
  | Delivered<{ type: 'refused'; to: string; message: string; error: ErrorData }>;

/** What the effect `look` is asked, and what it finds; null while the run goes on. */
export type LookInput = {
  readonly tenant: string;
  readonly session: Address;
  readonly runId: string;
};
export type Looked = {
  readonly status: Exclude<RunStatus, 'queued' | 'running'>;
  readonly endedAt: number;
  readonly error?: ErrorData;
} | null;

type State = { context: ScheduleContext };
type Args = State & { event: ScheduleEvent };

/** Most runs of a model take longer; one that does not must not hold up a job of each second. */
const LOOK_MS_MIN = 250;
const LOOK_MS_MAX = 30_000;
/** A run that is not heard of for so long is lost: its row leaves soon after. */
const LOST_MS = 86_400_000;

export const born = ({ key, tenant, now }: ActorInput): ScheduleContext => ({
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

// ---- what is set

const checkJob = checker(ScheduleJobSchema);

/** The job as it would be. */
const jobAfter = ({ context }: State, { job, changes }: Delivered<SchedulePut>): unknown =>
  job ?? { ...context.job, ...changes };

function problemOf(args: Args): string | undefined {
  const { context, event } = args;
  if (event.type !== 'schedule.put') return undefined;
  if (!JOB_ID.test(context.jobId)) return `the id of a job matches ${JOB_ID.source}`;
  if (event.changes && !context.job) return 'there is none of this id to change';
  const answer = checkJob(jobAfter(args, event));
  if (!answer.ok) return describeErrors(answer.errors);
  const { enabled, when } = answer.value;
  return enabled === false ? undefined : faultIn(when, event.meta.now);
}
export const isFit = (args: Args): boolean => problemOf(args) === undefined;

export function take(args: Args): Partial<ScheduleContext> {
  const { context, event } = args;
  if (event.type !== 'schedule.put') return {};
  const { now } = event.meta;
  const set = jobAfter(args, event) as ScheduleJob;
  const { when } = set;
  const job = when.kind === 'every' ? { ...set, when: { ...when, from: when.from ?? now } } : set;
  const createdAt = context.job ? context.createdAt : now;
  return planned({ ...context, job, createdAt, updatedAt: now, cursor: now });
}

/** When it is turned on again, it goes on with the times to come. */
export function enable({ context, event }: Args): Partial<ScheduleContext> {
  if (event.type !== 'schedule.enable') return {};
  const { now } = event.meta;
  const job = { ...jobOf(context), enabled: event.enabled };
  const wasOn = isOn({ context });
  return planned({ ...context, job, updatedAt: now, cursor: wasOn ? context.cursor : now });
}

const planned = (context: ScheduleContext): ScheduleContext => ({
  ...context,
  nextAt: isOn({ context }) ? (nextTime(jobOf(context).when, context.cursor) ?? null) : null,
});

const jobOf = ({ job }: ScheduleContext): ScheduleJob => job!;
export const isOn = ({ context }: State): boolean => context.job?.enabled ?? true;
export const hasNext = ({ context }: State): boolean => context.nextAt !== null;

// ---- when it is due

export const untilDueMs = ({ context, event }: Args): number =>
  Math.max(0, context.nextAt! - event.meta.now);

/** Due times that have come, oldest first, and which of them is fired for. */
function dueNow({ context, event }: Args): { passed: readonly number[]; fireFor?: number } {
  const { when, missed = 'once' } = jobOf(context);
  const { now } = event.meta;
  const first = context.nextAt!;
  const later = timesBetween(when, first, now);
  const passed = [first, ...later].slice(-LATE_FIRES_MAX);
  const fireFor = missed === 'fire-late' ? passed[0]! : passed.at(-1)!;
  return missed === 'skip' && now - fireFor > ON_TIME_MS ? { passed } : { passed, fireFor };
}
export const isMissed = (args: Args): boolean => dueNow(args).fireFor === undefined;

/** None of the times that have passed is made up for. */
export function skip(args: Args): Partial<ScheduleContext> {
  const { context } = args;
  const { passed } = dueNow(args);
  const skipped = context.skipped + passed.length;
  return planned({ ...context, skipped, cursor: passed.at(-1)! });
}

export function fire(args: Args): Partial<ScheduleContext> {
  const { context, event } = args;
  const { passed, fireFor = 0 } = dueNow(args);
  // Times before the one that is fired for have none of their own.
  const before = passed.indexOf(fireFor) + (passed[0] === context.nextAt ? 0 : 1);
  const cut = planned({ ...context, cursor: fireFor, skipped: context.skipped + before });
  const runId = `${context.jobId}.${fireFor}`;
  return fired(cut, { runId, dueAt: fireFor, firedAt: event.meta.now });
}

/** Beside its times; the id of the asking message makes the run's. */
export const fireNow = ({ context, event }: Args): Partial<ScheduleContext> =>
  fired(context, { runId: runNowId({ context, event }), firedAt: event.meta.now });
const runNowId = ({ context, event }: Args): string => `${context.jobId}.now.${event.meta.id}`;

const fired = (
  context: ScheduleContext,
  about: Pick<ScheduleFire, 'runId' | 'dueAt' | 'firedAt'>,
): ScheduleContext => ({
  ...context,
  firing: { ...about, status: 'running', looks: 0 },
  fires: context.fires + 1,
});

// ---- what becomes of it

const sessionKeyOf = ({ job, jobId }: ScheduleContext): string =>
  job!.sessionKey ?? sessionKey.cron(job!.agentId, jobId);
const sessionOf = (context: ScheduleContext): Address =>
  address(context.tenant, 'session', sessionKeyOf(context));

/** Its own run, after what goes on in the session: never a word into another's. */
export function receive({ context }: State): Tell {
  const event: SessionReceive = {
    type: 'session.receive',
    runId: context.firing!.runId,
    text: jobOf(context).text,
    sender: `schedule ${nameOf(context)}`,
    queue: 'followup',
    channel: 'cron',
  };
  const principal = { sub: 'schedule', roles: [] };
  return { to: sessionOf(context), event, ask: true, principal };
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
  outcome: Pick<ScheduleFire, 'status' | 'endedAt' | 'error'>,
): Partial<ScheduleContext> {
  const { looks: _, ...about } = context.firing!;
  const runs = [{ ...about, ...outcome }, ...context.runs].slice(0, RUNS_KEPT);
  return { firing: null, runs };
}

// ---- what is told

const nameOf = ({ job }: ScheduleContext): string => job!.name ?? job!.text.slice(0, 60);

const stateOf = (context: ScheduleContext): ScheduleRow['state'] => {
  if (context.firing) return 'running';
  if (!isOn({ context })) return 'off';
  return context.nextAt === null ? 'over' : 'waiting';
};

const lastOf = ({ firing, runs }: ScheduleContext): ScheduleFire | undefined => {
  if (!firing) return runs[0];
  const { looks: _, ...about } = firing;
  return about;
};

export function rowOf(context: ScheduleContext): ScheduleRow {
  const { jobId, createdAt, updatedAt, nextAt, fires, skipped } = context;
  const { agentId, when, text, missed = 'once' } = jobOf(context);
  const last = lastOf(context);
  return {
    jobId,
    agentId,
    name: nameOf(context),
    sessionKey: sessionKeyOf(context),
    when,
    text: text.slice(0, 200),
    missed,
    state: stateOf(context),
    createdAt,
    updatedAt,
    fires,
    skipped,
    ...(nextAt === null ? {} : { nextAt }),
    ...(last ? { last } : {}),
  };
}
export const row = ({ context }: State): Project => ({
  index: SCHEDULES_INDEX,
  key: context.jobId,
  value: rowOf(context),
});
export const noRow = ({ context }: State): Project => ({
  index: SCHEDULES_INDEX,
  key: context.jobId,
  value: null,
});

export const tellRow = ({ context, event }: Args): Reply => ({
  to: event.meta.reply,
  result: rowOf(context),
});
export const tellRun = ({ context, event }: Args): Reply => ({
  to: event.meta.reply,
  result: { runId: context.firing!.runId, sessionKey: sessionKeyOf(context) },
});
export const tellRuns = ({ context, event }: Args): Reply => {
  const last = context.firing ? [lastOf(context)!] : [];
  return { to: event.meta.reply, result: { runs: [...last, ...context.runs] } };
};
export const tellRemoved = ({ context, event }: Args): Reply => ({
  to: event.meta.reply,
  result: { removed: context.jobId },
});

const refusal = ({ event }: Args, code: ErrorCode, message: string): Reply => ({
  to: event.meta.reply,
  error: { code, message },
});
export const unfit = (args: Args): Reply =>
  refusal(args, 'INVALID_ARGUMENT', `the job can not be set: ${problemOf(args)}`);
export const unknown = (args: Args): Reply =>
  refusal(
    args,
    'NOT_FOUND',
    `there is no job ${args.context.jobId}: \`troupe cron list\` shows those there are`,
  );
export const runsAlready = (args: Args): Reply =>
  refusal(
    args,
    'CONFLICT',
    `job ${args.context.jobId} runs already (${args.context.firing!.runId}): wait for its end`,
  );
