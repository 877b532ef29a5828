/**
 * `cron.*`: reads, changes and starts scheduled jobs. The schedule actor decides every change;
 * lists come from committed rows and activate no actor.
 */
import type { SessionScope, TenantScope } from '../../tenant/tenant-scope.ts';
import { randomUUID } from 'node:crypto';
import { defined } from '../../../../protocols/defined.ts';
import { TroupeError } from '../../../../protocols/errors.ts';
import {
  CRON_PAGE,
  type CronAddParams,
  type CronJob,
  type CronJobParams,
  type CronListParams,
  type CronListResult,
  type CronRunParams,
  type CronUpdateParams,
} from '../../../../protocols/gateway/index.ts';
import {
  declaredJobId,
  keyedJobId,
  type ScheduleJob,
  type SchedulePut,
  type ScheduleRow,
  SCHEDULES_INDEX,
} from '../../../../protocols/schedule.ts';
import { sessionKey as keys } from '../../../../protocols/session-key.ts';
import { checkModelChoice, type ModelRules } from '../../../../protocols/models/model-choice.ts';
import { askSchedule, checkJobLimit, scheduleRows } from '../../../../operations/schedule-jobs.ts';
import { jobFrom } from './cron-params.ts';
import {
  clientJob,
  compactJob,
  isOn,
  previewOf,
  revisionOf,
  runStatus,
  snapshotOf,
} from './cron-results.ts';
import { ACCEPT_TIMEOUT_MS } from '../../limits.ts';
import { modelNow } from '../../sessions/session-model.ts';
import { type MethodTable, published } from '../method.ts';
import { principalOf, type Request } from '../request.ts';

/** What methods about scheduled jobs need. */
export type CronContext = SessionScope & { readonly models: ModelRules };
export type CronRunContext = CronContext & { readonly bootId: string };

/** Asks the job on behalf of the connected client. @throws TroupeError as `askSchedule` */
export const askJob = async <Result>(
  request: Request<TenantScope>,
  jobId: string,
  message: Parameters<typeof askSchedule>[2],
  idempotencyKey?: string,
): Promise<Result> => {
  const { system, tenant } = request.context;
  const caller = {
    system,
    tenant,
    principal: principalOf(request),
    timeoutMs: ACCEPT_TIMEOUT_MS,
    ...defined({ idempotencyKey }),
  };
  try {
    return await askSchedule<Result>(caller, jobId, message);
  } catch (error) {
    throw error instanceof TroupeError && error.code === 'NOT_FOUND' ? notFound(jobId) : error;
  }
};

export const notFound = (jobId: string): TroupeError =>
  new TroupeError('NOT_FOUND', `there is no automation ${jobId.slice(0, 80)}`, {
    details: { code: 'CRON_JOB_NOT_FOUND', jobId },
  });

/** The row in its current version. @throws TroupeError NOT_FOUND */
export const scheduleRow = async (
  request: Request<TenantScope>,
  jobId: string,
): Promise<ScheduleRow> => {
  const { system, tenant } = request.context;
  const row = system.index.get<ScheduleRow>(SCHEDULES_INDEX, tenant, jobId);
  if (!row) throw notFound(jobId);
  return row.job ? row : askJob<ScheduleRow>(request, jobId, { type: 'schedule.get' });
};

/** @throws TroupeError INVALID_ARGUMENT unless exactly one job is named */
export const jobIdOf = ({ id, jobId }: CronJobParams): string => {
  const named = id ?? jobId;
  if (named !== undefined && (id === undefined || jobId === undefined || id === jobId))
    return named;
  throw new TroupeError('INVALID_ARGUMENT', '/id: pass the id of one job');
};

// ---- reading

const cronList = async (
  request: Request<CronContext>,
  params: CronListParams,
): Promise<CronListResult> => {
  const { names } = request.context;
  const fitting = scheduleRows(request.context).filter((row) => matches(row, params));
  const sorted = fitting.toSorted(order(params));
  const { offset = 0, limit = CRON_PAGE } = params;
  const rows = await Promise.all(
    sorted.slice(offset, offset + limit).map((row) => currentRow(request, row)),
  );
  const next = offset + rows.length;
  const hasMore = next < sorted.length;
  const jobs = rows.map((row) => {
    const job = clientJob(names, row);
    return params.compact ? compactJob(job) : job;
  });
  return {
    jobs,
    snapshotRevision: snapshotOf(sorted),
    total: sorted.length,
    offset,
    limit,
    hasMore,
    nextOffset: hasMore ? next : null,
    ...(params.compact || params.includeDeliveryPreviews === false
      ? {}
      : { deliveryPreviews: Object.fromEntries(rows.map((row) => [row.jobId, previewOf(row)])) }),
  };
};

/** Upgrades a row of version 1. A job that was removed in the meantime is listed as it was. */
const currentRow = async (request: Request<CronContext>, row: ScheduleRow): Promise<ScheduleRow> =>
  row.job ? row : scheduleRow(request, row.jobId).catch(() => row);

const matches = (row: ScheduleRow, params: CronListParams): boolean => {
  const { agentId, sessionKey, scheduleKind = 'all', lastRunStatus = 'all', query = '' } = params;
  const on = isOn(row) && row.state !== 'over';
  const which = params.enabled ?? (params.includeDisabled ? 'all' : 'enabled');
  if (which !== 'all' && on !== (which === 'enabled')) return false;
  if (agentId !== undefined && row.agentId !== agentId) return false;
  if (sessionKey !== undefined && row.sessionKey !== sessionKey) return false;
  if (scheduleKind !== 'all' && row.when.kind !== scheduleKind) return false;
  if (params.trigger === 'conditional') return false;
  const last = row.lastEnded ? runStatus(row.lastEnded) : 'unknown';
  if (lastRunStatus !== 'all' && last !== lastRunStatus) return false;
  const text = `${row.jobId} ${row.name} ${row.job?.description ?? ''} ${row.text}`;
  return text.toLowerCase().includes(query.trim().toLowerCase());
};

const order = ({ sortBy = 'nextRunAtMs', sortDir = 'asc' }: CronListParams) => {
  const sign = sortDir === 'asc' ? 1 : -1;
  const by = (a: ScheduleRow, b: ScheduleRow): number => {
    if (sortBy === 'name') return a.name.localeCompare(b.name);
    if (sortBy === 'updatedAtMs') return a.updatedAt - b.updatedAt;
    // Jobs without a next run come last.
    return Math.sign((a.nextAt ?? Number.MAX_VALUE) - (b.nextAt ?? Number.MAX_VALUE));
  };
  return (a: ScheduleRow, b: ScheduleRow): number =>
    by(a, b) * sign || (a.jobId < b.jobId ? -1 : 1);
};

const cronStatus = ({ context }: Request<CronContext>) => {
  const rows = scheduleRows(context);
  const next = rows.flatMap(({ nextAt }) => (nextAt === undefined ? [] : [nextAt]));
  return {
    enabled: true,
    triggersEnabled: false,
    storePath: 'troupe',
    storage: 'troupe',
    jobs: rows.length,
    nextWakeAtMs: next.length === 0 ? null : Math.min(...next),
  };
};

const cronGet = async (request: Request<CronContext>, params: CronJobParams): Promise<CronJob> =>
  clientJob(request.context.names, await scheduleRow(request, jobIdOf(params)));

// ---- changing

const cronAdd = async (request: Request<CronContext>, params: CronAddParams) => {
  const { names, system, tenant } = request.context;
  const { declarationKey, idempotencyKey } = params;
  const jobId = newJobId(request, params);
  const before = system.index.get<ScheduleRow>(SCHEDULES_INDEX, tenant, jobId);
  checkJobLimit(request.context, jobId);
  const job = jobFrom(request.context, jobId, params);
  checkTurn(request.context, jobId, job, params.payload);
  const isSame =
    before?.job !== undefined && revisionOf(withAnchor(job, before)) === revisionOf(before.job);
  const row = isSame
    ? before
    : await askJob<ScheduleRow>(request, jobId, { type: 'schedule.put', job }, idempotencyKey);
  const shown = clientJob(names, row);
  const deliveryPreview = previewOf(row);
  if (declarationKey === undefined) return { ...shown, deliveryPreview };
  return {
    created: before === undefined,
    ...(before === undefined ? {} : { updated: !isSame }),
    job: shown,
    deliveryPreview,
  };
};

/** The same key has the same id at every gateway. */
const newJobId = (
  request: Request<CronContext>,
  { declarationKey, idempotencyKey }: CronAddParams,
): string => {
  if (declarationKey !== undefined) return declaredJobId(declarationKey);
  if (idempotencyKey === undefined) return randomUUID();
  return keyedJobId(principalOf(request).sub, idempotencyKey);
};

/**
 * Validates only what the client passes: a job that was stored with another catalog stays editable.
 * @throws TroupeError INVALID_ARGUMENT
 */
const checkTurn = (
  context: CronContext,
  jobId: string,
  { agentId, sessionKey = keys.cron(agentId, jobId), model: modelOfJob }: ScheduleJob,
  payload: CronUpdateParams['patch']['payload'],
): void => {
  if (payload?.kind !== 'agentTurn') return;
  const { model, thinking } = payload;
  const now = modelOfJob ?? modelNow(context, sessionKey);
  checkModelChoice(context.models, { model, thinking }, now, {
    model: '/payload/model',
    thinking: '/payload/thinking',
  });
};

/** Keeps the start of the period of an existing job, unless the client sets one. */
const withAnchor = (job: ReturnType<typeof jobFrom>, { when: there }: ScheduleRow) => {
  const { when } = job;
  if (when.kind !== 'every' || there.kind !== 'every' || when.from !== undefined) return job;
  return there.from === undefined ? job : { ...job, when: { ...when, from: there.from } };
};

const cronUpdate = async (
  request: Request<CronContext>,
  params: CronUpdateParams,
): Promise<CronJob> => {
  const { names } = request.context;
  const jobId = jobIdOf(params);
  const row = await scheduleRow(request, jobId);
  const { expectedConfigRevision: expected, patch } = params;
  if (expected !== undefined && row.job && expected !== revisionOf(row.job)) {
    throw new TroupeError('CONFLICT', 'the automation was changed in the meantime: read it again', {
      details: { code: 'CRON_JOB_CHANGED', jobId, configRevision: revisionOf(row.job) },
    });
  }
  const job = withAnchor(jobFrom(request.context, jobId, patch, row.job), row);
  checkTurn(request.context, jobId, job, patch.payload);
  const put: SchedulePut = { type: 'schedule.put', job, ifUpdatedAt: row.updatedAt };
  return clientJob(names, await askJob<ScheduleRow>(request, jobId, put));
};

const cronRemove = async (request: Request<CronContext>, params: CronJobParams) => {
  await askJob(request, jobIdOf(params), { type: 'schedule.remove' });
  return { ok: true, removed: true } as const;
};

const cronRun = async (request: Request<CronRunContext>, params: CronRunParams) => {
  const jobId = jobIdOf(params);
  const row = await scheduleRow(request, jobId);
  const about = { ok: true, processInstanceId: request.context.bootId } as const;
  const { mode = 'force', expectedProcessInstanceId: expected } = params;
  if (expected !== undefined && expected !== request.context.bootId)
    throw new TroupeError('CONFLICT', '/expectedProcessInstanceId: another gateway answers now');
  // Due jobs start by themselves, so no job is due here.
  if (mode === 'due') return { ...about, ran: false, reason: 'not-due' } as const;
  if (mode === 'if-enabled' && !isOn(row))
    return { ...about, ran: false, reason: 'disabled' } as const;
  try {
    const fired = await askJob<{ runId: string; sessionKey: string }>(
      request,
      jobId,
      { type: 'schedule.run' },
      params.idempotencyKey,
    );
    return { ...about, enqueued: true, ...fired } as const;
  } catch (error) {
    if (!(error instanceof TroupeError) || error.code !== 'CONFLICT') throw error;
    return { ...about, ran: false, reason: 'already-running' } as const;
  }
};

export const cronJobTable: MethodTable<CronRunContext> = [
  published('cron.list', cronList),
  published('cron.status', cronStatus),
  published('cron.get', cronGet),
  published('cron.add', cronAdd),
  published('cron.update', cronUpdate),
  published('cron.remove', cronRemove),
  published('cron.run', cronRun),
];
