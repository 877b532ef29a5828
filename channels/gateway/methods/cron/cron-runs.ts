/** `cron.runs`: results of job runs, newest first, from committed rows. */
import type { TenantScope } from '../../tenant/tenant-scope.ts';
import {
  CRON_PAGE,
  type CronRunLogEntry,
  type CronRunsParams,
} from '../../../../protocols/gateway/index.ts';
import {
  JOBS_MAX,
  type ScheduleFire,
  type ScheduleRow,
  SCHEDULE_RUNS_INDEX,
  type ScheduleRunsRow,
} from '../../../../protocols/schedule.ts';
import { logEntry } from './cron-results.ts';
import { scheduleRows } from '../../../../operations/schedule-jobs.ts';
import { askJob, jobIdOf, notFound, scheduleRow } from './cron-jobs.ts';
import { type MethodTable, published } from '../method.ts';
import type { Request } from '../request.ts';

const cronRuns = async (request: Request<TenantScope>, params: CronRunsParams) => {
  const named = params.id ?? params.jobId;
  const all =
    (params.scope ?? (named === undefined ? 'all' : 'job')) === 'all'
      ? runsOfAll(request, params.agentId)
      : await runsOf(request, jobIdOf(params), params.agentId);
  const fitting = all.filter((entry) => matches(entry, params));
  const sign = params.sortDir === 'asc' ? 1 : -1;
  const sorted = fitting.toSorted((a, b) => (a.ts - b.ts) * sign);
  const { offset = 0, limit = CRON_PAGE } = params;
  const entries = sorted.slice(offset, offset + limit);
  const next = offset + entries.length;
  const hasMore = next < sorted.length;
  return {
    entries,
    total: sorted.length,
    offset,
    limit,
    hasMore,
    nextOffset: hasMore ? next : null,
  };
};

const runsOf = async (
  request: Request<TenantScope>,
  jobId: string,
  agentId: string | undefined,
) => {
  const row = await scheduleRow(request, jobId);
  if (agentId !== undefined && agentId !== row.agentId) throw notFound(jobId);
  const { runs } = await askJob<{ runs: readonly ScheduleFire[] }>(request, jobId, {
    type: 'schedule.runs',
  });
  return entriesOf(row, runs);
};

const runsOfAll = (
  { context }: Request<TenantScope>,
  agentId: string | undefined,
): readonly CronRunLogEntry[] => {
  const { system, tenant } = context;
  const kept = new Map(
    system.index
      .list<ScheduleRunsRow>(SCHEDULE_RUNS_INDEX, tenant, { limit: JOBS_MAX })
      .map(({ value }) => [value.jobId, value.runs]),
  );
  return scheduleRows(context)
    .filter((row) => agentId === undefined || row.agentId === agentId)
    .flatMap((row) => entriesOf(row, kept.get(row.jobId) ?? []));
};

/** Only ended runs have entries. */
const entriesOf = (row: ScheduleRow, runs: readonly ScheduleFire[]): readonly CronRunLogEntry[] =>
  runs.filter(({ status }) => status !== 'running').map((fire) => logEntry(row, fire));

const matches = (entry: CronRunLogEntry, params: CronRunsParams): boolean => {
  const { runId, status = 'all', statuses, deliveryStatus, deliveryStatuses, query = '' } = params;
  if (runId !== undefined && entry.runId !== runId) return false;
  if (statuses ? !statuses.includes(entry.status) : status !== 'all' && status !== entry.status)
    return false;
  const delivery =
    deliveryStatuses ?? (deliveryStatus === undefined ? undefined : [deliveryStatus]);
  if (delivery && !delivery.includes(entry.deliveryStatus)) return false;
  const text = `${entry.jobName ?? ''} ${entry.summary ?? ''} ${entry.error ?? ''}`;
  return text.toLowerCase().includes(query.trim().toLowerCase());
};

export const cronRunTable: MethodTable<TenantScope> = [published('cron.runs', cronRuns)];
