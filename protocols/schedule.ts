/**
 * Schedules: messages to sessions at times that were set before (AL11). What doors and tools say to
 * a schedule actor, and the rows it leaves. Its address is `{tenant}/schedule/{jobId}`.
 */
import { createHash } from 'node:crypto';
import { type Static, Type } from '@sinclair/typebox';
import { type Address, address } from './address.ts';
import type { ErrorData } from './errors.ts';
import type { RunStatus, Usage } from './session.ts';
import { escapeToken } from './subjects.ts';

/** Shortest time between two fires. */
export const PERIOD_MS_MIN = 1_000;
export const PERIOD_MS_MAX = 366 * 86_400_000;
/** Jobs of one tenant. Doors count rows, so that jobs added at the same moment may exceed it. */
export const JOBS_MAX = 1_000;
/** Runs that a job remembers. */
export const RUNS_KEPT = 50;
/** A job that will not fire again leaves so long after its last run. */
export const JOB_RETENTION_MS = 7 * 86_400_000;
/** Due times that `fire-late` makes up for; what lies before is counted as skipped. */
export const LATE_FIRES_MAX = 100;
/** Longest delay that spreads the times of a cron expression. */
export const STAGGER_MS_MAX = 3_600_000;
/** Of the answer that a fire got, kept with it. */
export const FIRE_TEXT_CHARACTERS_MAX = 400;
/** A fire that comes no later than this is on time, whatever `missed` says. */
export const ON_TIME_MS = 60_000;

const closed = { additionalProperties: false } as const;

/** When a job fires. Times are epoch milliseconds. */
export const WhenSchema = Type.Union([
  /** once */
  Type.Object({ kind: Type.Literal('at'), at: Type.Integer({ minimum: 0 }) }, closed),
  /** each `everyMs` after `from`; default from when it is set */
  Type.Object(
    {
      kind: Type.Literal('every'),
      everyMs: Type.Integer({ minimum: PERIOD_MS_MIN, maximum: PERIOD_MS_MAX }),
      from: Type.Optional(Type.Integer({ minimum: 0 })),
    },
    closed,
  ),
  /**
   * a cron expression of 5 fields, or 6 with seconds in front, in an IANA zone (default UTC);
   * `staggerMs`: each time is later by the same part of it, which the job's id makes
   */
  Type.Object(
    {
      kind: Type.Literal('cron'),
      expression: Type.String({ minLength: 1, maxLength: 256 }),
      timeZone: Type.Optional(Type.String({ minLength: 1, maxLength: 64 })),
      staggerMs: Type.Optional(Type.Integer({ minimum: 0, maximum: STAGGER_MS_MAX })),
    },
    closed,
  ),
]);
export type When = Static<typeof WhenSchema>;

/**
 * What becomes of due times that passed while nothing ran, or while the fire before was still
 * running: `once` (default) makes up for all of them with one fire, `fire-late` with one fire for
 * each (the last LATE_FIRES_MAX), `skip` with none: the job goes on at its next time.
 */
export const MISSED_POLICIES = ['once', 'fire-late', 'skip'] as const;
export type MissedPolicy = (typeof MISSED_POLICIES)[number];

export const ScheduleJobSchema = Type.Object(
  {
    agentId: Type.String({ minLength: 1, maxLength: 63 }),
    /** for people; default the first words of the text */
    name: Type.Optional(Type.String({ minLength: 1, maxLength: 120 })),
    when: WhenSchema,
    /** the message that the session receives */
    text: Type.String({ minLength: 1, maxLength: 32_768 }),
    /** canonical; default a session of the job's own, `agent:{agentId}:cron:{jobId}` */
    sessionKey: Type.Optional(Type.String({ minLength: 1, maxLength: 512 })),
    enabled: Type.Optional(Type.Boolean()),
    missed: Type.Optional(Type.Union(MISSED_POLICIES.map((policy) => Type.Literal(policy)))),
    /** for people; the agent never sees it */
    description: Type.Optional(Type.String({ maxLength: 4_096 })),
    /** what a form of a client is called by, and shows; nothing goes by them */
    declarationKey: Type.Optional(Type.String({ minLength: 1, maxLength: 200 })),
    displayName: Type.Optional(Type.String({ minLength: 1, maxLength: 200 })),
    kind: Type.Optional(Type.Union([Type.Literal('turn'), Type.Literal('event')])),
    announce: Type.Optional(Type.Boolean()),
    /** true: it is removed once it has no time left and its last run ended well */
    deleteAfterRun: Type.Optional(Type.Boolean()),
    /** true: its session begins anew before every fire but the first */
    fresh: Type.Optional(Type.Boolean()),
    /** of the run, as SessionReceive has them */
    model: Type.Optional(Type.String({ minLength: 1, maxLength: 256 })),
    thinking: Type.Optional(Type.String({ minLength: 1, maxLength: 32 })),
    timeoutMs: Type.Optional(Type.Integer({ minimum: 1_000, maximum: 172_800_000 })),
  },
  closed,
);
export type ScheduleJob = Static<typeof ScheduleJobSchema>;

/**
 * Sets a job, new or instead of the one there is, or changes some of what is set; its history
 * stays. With `ifUpdatedAt` only over what was set then (0: nothing), else CONFLICT. Answer:
 * ScheduleRow.
 */
export type SchedulePut = { readonly type: 'schedule.put'; readonly ifUpdatedAt?: number } & (
  | { readonly job: ScheduleJob; readonly changes?: undefined }
  | { readonly changes: Partial<ScheduleJob>; readonly job?: undefined }
);
/** Turns it on or off; what runs goes on. Answer: ScheduleRow. */
export type ScheduleEnable = { readonly type: 'schedule.enable'; readonly enabled: boolean };
/** Fires now, beside its times. Answer: { runId }, or CONFLICT while it runs. */
export type ScheduleRun = { readonly type: 'schedule.run' };
/** Answer: { removed: jobId }; what runs goes on. */
export type ScheduleRemove = { readonly type: 'schedule.remove' };
/** Answer: ScheduleRow, written anew. */
export type ScheduleGet = { readonly type: 'schedule.get' };
/** Answer: { runs: ScheduleFire[] }, the newest first. */
export type ScheduleRuns = { readonly type: 'schedule.runs' };

/** One fire of a job. */
export type ScheduleFire = {
  readonly runId: string;
  /** the time it was due; absent when somebody asked for it */
  readonly dueAt?: number;
  readonly firedAt: number;
  readonly endedAt?: number;
  /**
   * `lost`: it was not heard of any more for a day; `skipped`: its time passed and the policy made
   * up for it with nothing
   */
  readonly status: Exclude<RunStatus, 'queued'> | 'lost' | 'skipped';
  readonly error?: ErrorData;
  /** where it was told */
  readonly sessionKey?: string;
  /** first words of the answer */
  readonly text?: string;
  readonly model?: string;
  readonly usage?: Usage;
};

/** Index `schedules`, key jobId. */
export const SCHEDULES_INDEX = 'schedules';
export type ScheduleRow = {
  readonly jobId: string;
  readonly agentId: string;
  readonly name: string;
  readonly sessionKey: string;
  readonly when: When;
  /** at most 200 characters */
  readonly text: string;
  readonly missed: MissedPolicy;
  /** `over`: it has no time left */
  readonly state: 'waiting' | 'running' | 'off' | 'over';
  readonly createdAt: number;
  readonly updatedAt: number;
  readonly nextAt?: number;
  readonly last?: ScheduleFire;
  /** that ended, or was skipped, last */
  readonly lastEnded?: ScheduleFire;
  /** fires in a row, the last one among them, that did not end well */
  readonly failures?: number;
  /** as it is set; absent in rows of version 1: `schedule.get` writes them anew */
  readonly job?: ScheduleJob;
  readonly fires: number;
  /** due times that passed without a fire of their own */
  readonly skipped: number;
};

/** Index `schedule-runs`, key jobId: the fires that ended, the newest first. */
export const SCHEDULE_RUNS_INDEX = 'schedule-runs';
export type ScheduleRunsRow = { readonly jobId: string; readonly runs: readonly ScheduleFire[] };

/** On `schedulesTopic`, for watchers: what happened to a job. Ephemeral. */
export type ScheduleChange = {
  readonly type: 'schedule.changed';
  readonly action: 'added' | 'updated' | 'removed' | 'started' | 'finished';
  readonly row: ScheduleRow;
};
export const schedulesTopic = (tenant: string): string => `schedules.${escapeToken(tenant)}`;

/** Job ids stand inside session keys, run ids and paths. */
export const JOB_ID = /^[A-Za-z0-9_-]{1,64}$/;

/**
 * Id of the job that `sub` adds under an idempotency key: a repeat, at whichever gateway, means the
 * same job.
 */
export const keyedJobId = (sub: string, idempotencyKey: string): string =>
  `key-${digestOf(JSON.stringify([sub, idempotencyKey]))}`;

/** Id of the job of a declaration. */
export const declaredJobId = (declarationKey: string): string => `decl-${digestOf(declarationKey)}`;

const digestOf = (text: string): string =>
  createHash('sha256').update(text).digest('hex').slice(0, 32);

/** Key of a message to a job: a repeat of the same message gets the first answer. */
export const jobMessageKey = (sub: string, type: string, idempotencyKey: string): string =>
  JSON.stringify([type, sub, idempotencyKey]);

export const scheduleAddress = (tenant: string, jobId: string): Address =>
  address(tenant, 'schedule', jobId);
