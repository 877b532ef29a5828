/** Messages: the rows of a schedule, its published events and its answers. Pure. */
import type { ErrorCode } from '../../protocols/errors.ts';
import {
  type ScheduleChange,
  type ScheduleFire,
  type ScheduleRow,
  type ScheduleRunsRow,
  SCHEDULE_RUNS_INDEX,
  SCHEDULES_INDEX,
  schedulesTopic,
} from '../../protocols/schedule.ts';
import type { Project, Publish, Reply } from '../../protocols/statechart.ts';
import {
  type Args,
  isOn,
  isOvertaken,
  jobOf,
  nameOf,
  problemOf,
  type ScheduleContext,
  sessionKeyOf,
  type State,
} from './job.ts';

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
  const { jobId, createdAt, updatedAt, nextAt, fires, skipped, runs } = context;
  const job = jobOf(context);
  const { agentId, when, text, missed = 'once' } = job;
  const last = lastOf(context);
  const wentWell = runs.findIndex(({ status }) => status === 'ok' || status === 'skipped');
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
    ...(runs[0] ? { lastEnded: runs[0] } : {}),
    failures: wentWell < 0 ? runs.length : wentWell,
    job,
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

export const runsRow = ({ context }: State): Project => ({
  index: SCHEDULE_RUNS_INDEX,
  key: context.jobId,
  value: { jobId: context.jobId, runs: context.runs } satisfies ScheduleRunsRow,
});
export const noRunsRow = ({ context }: State): Project => ({
  index: SCHEDULE_RUNS_INDEX,
  key: context.jobId,
  value: null,
});

const change = (context: ScheduleContext, action: ScheduleChange['action']): Publish => ({
  topic: schedulesTopic(context.tenant),
  event: { type: 'schedule.changed', action, row: rowOf(context) },
});
/** Whether the job was just created. */
export const sayPut = ({ context }: State): Publish =>
  change(context, context.createdAt === context.updatedAt ? 'added' : 'updated');
export const sayUpdated = ({ context }: State): Publish => change(context, 'updated');
export const sayRemoved = ({ context }: State): Publish => change(context, 'removed');
export const sayStarted = ({ context }: State): Publish => change(context, 'started');
export const sayFinished = ({ context }: State): Publish => change(context, 'finished');

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
  refusal(
    args,
    isOvertaken(args) ? 'CONFLICT' : 'INVALID_ARGUMENT',
    `the job cannot be set: ${problemOf(args)}`,
  );
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
