/** Translates jobs and runs of the schedule actor into OpenClaw's protocol. Pure. */
import { createHash } from 'node:crypto';
import { defined } from '../../../../protocols/defined.ts';
import type { CronEvent, CronJob, CronRunLogEntry } from '../../../../protocols/gateway/index.ts';
import type {
  ScheduleChange,
  ScheduleFire,
  ScheduleJob,
  ScheduleRow,
} from '../../../../protocols/schedule.ts';
import { type AgentNames, mainSessionKey } from '../../../../operations/sessions/session-key.ts';

/** @param row of the current version, which contains the job */
export const clientJob = (names: AgentNames, row: ScheduleRow): CronJob => {
  const job = jobOf(row);
  const { deleteAfterRun, description, displayName, declarationKey } = job;
  const { state, ...shown } = stateOf(row);
  return {
    id: row.jobId,
    agentId: row.agentId,
    name: row.name,
    enabled: isOn(row),
    createdAtMs: row.createdAt,
    updatedAtMs: row.updatedAt,
    configRevision: revisionOf(job),
    schedule: scheduleOf(row),
    sessionTarget: targetOf(names, row),
    wakeMode: 'now',
    payload: payloadOf(job),
    delivery: job.announce ? { mode: 'announce', channel: 'last' } : { mode: 'none' },
    state,
    ...shown,
    ...defined({ deleteAfterRun, description, displayName, declarationKey }),
  };
};

export const isOn = ({ job, state }: ScheduleRow): boolean =>
  job ? job.enabled !== false : state !== 'off';

const jobOf = ({ job, agentId, when, text }: ScheduleRow): ScheduleJob =>
  job ?? { agentId, when, text };

const digest = (value: unknown): string =>
  `sha256:${createHash('sha256').update(JSON.stringify(value)).digest('base64url')}`;
/** Changes exactly when the job's settings change. */
export const revisionOf = (job: ScheduleJob): string =>
  digest(Object.entries(job).toSorted(([a], [b]) => (a < b ? -1 : 1)));
/** Revision of a list of jobs: changes when one of them changes. */
export const snapshotOf = (rows: readonly ScheduleRow[]): string =>
  digest(
    rows.map(({ jobId, updatedAt, nextAt, state, fires }) => [
      jobId,
      updatedAt,
      nextAt,
      state,
      fires,
    ]),
  );

const scheduleOf = ({ when, createdAt }: ScheduleRow): CronJob['schedule'] => {
  switch (when.kind) {
    case 'at':
      return { kind: 'at', at: new Date(when.at).toISOString() };
    case 'every':
      return { kind: 'every', everyMs: when.everyMs, anchorMs: when.from ?? createdAt };
    case 'cron': {
      const { expression: expr, timeZone: tz = 'UTC', staggerMs } = when;
      return { kind: 'cron', expr, tz, ...defined({ staggerMs }) };
    }
  }
};

/**
 * The session target. A job's own session that is not reset between runs is named by its key,
 * because `isolated` means a reset.
 */
const targetOf = (names: AgentNames, row: ScheduleRow): string => {
  if (row.job?.sessionKey === undefined && row.job?.fresh === true) return 'isolated';
  const isMain = row.sessionKey === mainSessionKey(names, row.agentId);
  return isMain ? 'main' : `session:${row.sessionKey}`;
};

const payloadOf = ({ kind, text, model, thinking, timeoutMs }: ScheduleJob): CronJob['payload'] =>
  kind === 'event'
    ? { kind: 'systemEvent', text }
    : {
        kind: 'agentTurn',
        message: text,
        ...defined({ model, thinking }),
        ...(timeoutMs === undefined ? {} : { timeoutSeconds: timeoutMs / 1_000 }),
      };

export const runStatus = ({ status }: ScheduleFire): 'ok' | 'error' | 'skipped' =>
  status === 'ok' || status === 'skipped' ? status : 'error';

/** Why a run failed; undefined when it succeeded. */
const errorOf = ({ status, error }: ScheduleFire): string | undefined => {
  if (status === 'ok' || status === 'running') return undefined;
  return error?.message ?? WHY[status];
};
const WHY = {
  error: 'the run failed',
  aborted: 'the run was aborted',
  timeout: 'the run took longer than its limit',
  lost: 'the run was lost',
  skipped: 'the job was due while no worker ran, and it does not catch up',
} as const;

const durationOf = ({ firedAt, endedAt = firedAt }: ScheduleFire): number =>
  Math.max(0, endedAt - firedAt);

const stateOf = ({ nextAt, last, lastEnded, failures }: ScheduleRow) => {
  const next = nextAt === undefined ? {} : { nextRunAtMs: nextAt };
  const running = last?.status === 'running' ? { runningAtMs: last.firedAt } : {};
  if (!lastEnded) return { ...next, state: { ...next, ...running } };
  const lastRunStatus = runStatus(lastEnded);
  const error = errorOf(lastEnded);
  const ran = { lastRunAtMs: lastEnded.firedAt, lastRunStatus };
  const lastDeliveryStatus = 'not-requested' as const;
  return {
    ...next,
    ...ran,
    ...defined({ lastRunError: error }),
    lastDeliveryStatus,
    state: {
      ...next,
      ...running,
      ...ran,
      lastStatus: lastRunStatus,
      lastDurationMs: durationOf(lastEnded),
      ...defined({ lastError: error, consecutiveErrors: failures }),
      lastDeliveryStatus,
    },
  };
};

/** A job in the compact list of the Control UI. */
export const compactJob = (job: CronJob) => {
  const iso = (ms: number | undefined) => (ms === undefined ? null : new Date(ms).toISOString());
  const { id, name, agentId, updatedAtMs, enabled, schedule, declarationKey, displayName } = job;
  return {
    id,
    name,
    agentId,
    updatedAtMs,
    ...defined({ declarationKey, displayName }),
    enabled,
    nextRunAt: iso(job.nextRunAtMs),
    nextRunAtMs: job.nextRunAtMs ?? null,
    scheduleKind: schedule.kind,
    schedule,
    lastRunAt: iso(job.lastRunAtMs),
    lastRunAtMs: job.lastRunAtMs ?? null,
    lastRunStatus: job.lastRunStatus ?? null,
    lastRunError: job.lastRunError ?? null,
  };
};

/** Where replies are delivered: to the session, which every client can read. */
export const previewOf = ({ sessionKey, job }: ScheduleRow) =>
  job?.announce
    ? { label: 'announce -> last', detail: `stays in the session ${sessionKey}` }
    : { label: 'not requested', detail: 'not requested' };

export const logEntry = (row: ScheduleRow, fire: ScheduleFire): CronRunLogEntry => {
  const {
    runId,
    firedAt,
    endedAt = firedAt,
    sessionKey = row.sessionKey,
    text,
    model,
    usage,
  } = fire;
  const status = runStatus(fire);
  const error = errorOf(fire);
  const slash = model?.indexOf('/') ?? -1;
  return {
    ts: endedAt,
    jobId: row.jobId,
    jobName: row.name,
    action: 'finished',
    status,
    completionStatus: status === 'ok' ? 'succeeded' : 'failed',
    deliveryStatus: 'not-requested',
    sessionKey,
    runId,
    runAtMs: firedAt,
    durationMs: durationOf(fire),
    ...defined({ error }),
    // Of a run that failed the answer says why, as the error does.
    ...(text === undefined || status !== 'ok' ? {} : { summary: text }),
    ...(model === undefined ? {} : { model: model.slice(slash + 1) }),
    ...(model && slash > 0 ? { provider: model.slice(0, slash) } : {}),
    ...(usage
      ? {
          usage: {
            input_tokens: usage.inputTokens,
            output_tokens: usage.outputTokens,
            total_tokens: usage.inputTokens + usage.outputTokens,
          },
        }
      : {}),
    ...defined({ nextRunAtMs: row.nextAt }),
  };
};

export const eventOf = (names: AgentNames, { action, row }: ScheduleChange): CronEvent => {
  const about = {
    jobId: row.jobId,
    action,
    job: clientJob(names, row),
    ...defined({ nextRunAtMs: row.nextAt }),
  };
  const fire = action === 'finished' ? row.lastEnded : action === 'started' ? row.last : undefined;
  if (!fire) return about;
  const { runId, runAtMs, sessionKey, status, durationMs, error, summary } = logEntry(row, fire);
  const started = { ...about, runId, runAtMs, ...(sessionKey ? { sessionKey } : {}) };
  if (action === 'started') return started;
  return {
    ...started,
    status,
    durationMs,
    ...defined({ error, summary }),
  };
};
