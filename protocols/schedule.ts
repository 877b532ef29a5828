/**
 * Schedules: messages sent to sessions at configured times. Messages that entry points and tools
 * send to a schedule actor, and its rows. The address is `{tenant}/schedule/{jobId}`.
 */
import { createHash } from 'node:crypto';
import { type Static, Type } from '@sinclair/typebox';
import { type Address, address } from './address.ts';
import type { ErrorData } from './errors.ts';
import type { RunStatus, Usage } from './session.ts';
import { escapeToken } from './subjects.ts';

/** Minimum interval between two fires. */
export const PERIOD_MS_MIN = 1_000;
export const PERIOD_MS_MAX = 366 * 86_400_000;
/**
 * Maximum number of jobs per tenant. Entry points count rows, so concurrent additions may exceed
 * it.
 */
export const JOBS_MAX = 1_000;
/** Runs kept in a job's history. */
export const RUNS_KEPT = 50;
/** A job without further times is removed this long after its last run. */
export const JOB_RETENTION_MS = 7 * 86_400_000;
/** Due times that `fire-late` makes up for; earlier ones count as skipped. */
export const LATE_FIRES_MAX = 100;
/** Maximum delay that spreads the times of a cron expression. */
export const STAGGER_MS_MAX = 3_600_000;
/** Maximum length of the answer stored with a fire. */
export const FIRE_TEXT_CHARACTERS_MAX = 400;
/** A fire within this delay counts as on time, regardless of `missed`. */
export const ON_TIME_MS = 60_000;

const closed = { additionalProperties: false } as const;

/** When a job fires. Times are epoch milliseconds. */
export const WhenSchema = Type.Union([
  /** once */
  Type.Object({ kind: Type.Literal('at'), at: Type.Integer({ minimum: 0 }) }, closed),
  /** every `everyMs` after `from`; default from the time it is set */
  Type.Object(
    {
      kind: Type.Literal('every'),
      everyMs: Type.Integer({ minimum: PERIOD_MS_MIN, maximum: PERIOD_MS_MAX }),
      from: Type.Optional(Type.Integer({ minimum: 0 })),
    },
    closed,
  ),
  /**
   * a cron expression of 5 fields, or 6 with leading seconds, in an IANA zone (default UTC).
   * `staggerMs`: delays each time by a fixed part of it, derived from the job's id
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
 * Policy for due times that passed during downtime or during the previous fire: `once` (default)
 * fires once for all of them, `fire-late` once for each (the last LATE_FIRES_MAX), `skip` not at
 * all.
 */
export const MISSED_POLICIES = ['once', 'fire-late', 'skip'] as const;
export type MissedPolicy = (typeof MISSED_POLICIES)[number];

export const ScheduleJobSchema = Type.Object(
  {
    agentId: Type.String({ minLength: 1, maxLength: 63 }),
    /** for users; default: the beginning of the text */
    name: Type.Optional(Type.String({ minLength: 1, maxLength: 120 })),
    when: WhenSchema,
    /** the message that the session receives */
    text: Type.String({ minLength: 1, maxLength: 32_768 }),
    /** canonical; default: a session of its own, `agent:{agentId}:cron:{jobId}` */
    sessionKey: Type.Optional(Type.String({ minLength: 1, maxLength: 512 })),
    enabled: Type.Optional(Type.Boolean()),
    missed: Type.Optional(Type.Union(MISSED_POLICIES.map((policy) => Type.Literal(policy)))),
    /** for users; never sent to the agent */
    description: Type.Optional(Type.String({ maxLength: 4_096 })),
    /** client-side names and display settings; ignored by the runtime */
    declarationKey: Type.Optional(Type.String({ minLength: 1, maxLength: 200 })),
    displayName: Type.Optional(Type.String({ minLength: 1, maxLength: 200 })),
    kind: Type.Optional(Type.Union([Type.Literal('turn'), Type.Literal('event')])),
    announce: Type.Optional(Type.Boolean()),
    /** true: the job is removed after its last time when its last run succeeded */
    deleteAfterRun: Type.Optional(Type.Boolean()),
    /** true: the session is reset before every fire but the first */
    fresh: Type.Optional(Type.Boolean()),
    /** of the run, see SessionReceive */
    model: Type.Optional(Type.String({ minLength: 1, maxLength: 256 })),
    thinking: Type.Optional(Type.String({ minLength: 1, maxLength: 32 })),
    timeoutMs: Type.Optional(Type.Integer({ minimum: 1_000, maximum: 172_800_000 })),
  },
  closed,
);
export type ScheduleJob = Static<typeof ScheduleJobSchema>;

/**
 * Creates, replaces or changes a job; its history is kept. With `ifUpdatedAt`, CONFLICT unless the
 * job was last set at that time (0: does not exist). Reply: ScheduleRow.
 */
export type SchedulePut = { readonly type: 'schedule.put'; readonly ifUpdatedAt?: number } & (
  | { readonly job: ScheduleJob; readonly changes?: undefined }
  | { readonly changes: Partial<ScheduleJob>; readonly job?: undefined }
);
/** Enables or disables it; a running fire continues. Reply: ScheduleRow. */
export type ScheduleEnable = { readonly type: 'schedule.enable'; readonly enabled: boolean };
/** Fires now, in addition to its times. Reply: { runId }, or CONFLICT during a fire. */
export type ScheduleRun = { readonly type: 'schedule.run' };
/** Reply: { removed: jobId }; a running fire continues. */
export type ScheduleRemove = { readonly type: 'schedule.remove' };
/** Reply: ScheduleRow, rewritten. */
export type ScheduleGet = { readonly type: 'schedule.get' };
/** Reply: { runs: ScheduleFire[] }, newest first. */
export type ScheduleRuns = { readonly type: 'schedule.runs' };

/** One fire of a job. */
export type ScheduleFire = {
  readonly runId: string;
  /** the due time; absent for a manual fire */
  readonly dueAt?: number;
  readonly firedAt: number;
  readonly endedAt?: number;
  /** `lost`: no result for a day; `skipped`: the due time passed and the policy skipped it */
  readonly status: Exclude<RunStatus, 'queued'> | 'lost' | 'skipped';
  readonly error?: ErrorData;
  /** where the reply was sent */
  readonly sessionKey?: string;
  /** beginning of the answer */
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
  /** `over`: no times left */
  readonly state: 'waiting' | 'running' | 'off' | 'over';
  readonly createdAt: number;
  readonly updatedAt: number;
  readonly nextAt?: number;
  readonly last?: ScheduleFire;
  /** the last fire that ended or was skipped */
  readonly lastEnded?: ScheduleFire;
  /** consecutive fires that failed, up to the last one */
  readonly failures?: number;
  /** the settings; absent in rows of version 1, which `schedule.get` rewrites */
  readonly job?: ScheduleJob;
  readonly fires: number;
  /** due times that passed without a fire of their own */
  readonly skipped: number;
};

/** Index `schedule-runs`, key jobId: completed fires, newest first. */
export const SCHEDULE_RUNS_INDEX = 'schedule-runs';
export type ScheduleRunsRow = { readonly jobId: string; readonly runs: readonly ScheduleFire[] };

/** On `schedulesTopic`, for watchers: a change of a job. Ephemeral. */
export type ScheduleChange = {
  readonly type: 'schedule.changed';
  readonly action: 'added' | 'updated' | 'removed' | 'started' | 'finished';
  readonly row: ScheduleRow;
};
export const schedulesTopic = (tenant: string): string => `schedules.${escapeToken(tenant)}`;

/** Job ids are part of session keys, run ids and paths. */
export const JOB_ID = /^[A-Za-z0-9_-]{1,64}$/;

/**
 * Id of the job that `sub` creates under an idempotency key. A repeat at any gateway refers to the
 * same job.
 */
export const keyedJobId = (sub: string, idempotencyKey: string): string =>
  `key-${digestOf(JSON.stringify([sub, idempotencyKey]))}`;

/** Id of the job of a declaration. */
export const declaredJobId = (declarationKey: string): string => `decl-${digestOf(declarationKey)}`;

const digestOf = (text: string): string =>
  createHash('sha256').update(text).digest('hex').slice(0, 32);

/** Key of a message to a job: a repeat of the same message gets the first reply. */
export const jobMessageKey = (sub: string, type: string, idempotencyKey: string): string =>
  JSON.stringify([type, sub, idempotencyKey]);

export const scheduleAddress = (tenant: string, jobId: string): Address =>
  address(tenant, 'schedule', jobId);
