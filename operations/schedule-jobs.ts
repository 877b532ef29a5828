/** Reads of scheduled jobs and messages to them, for all entry points. */
import { TroupeError } from '../protocols/errors.ts';
import {
  jobMessageKey,
  JOBS_MAX,
  scheduleAddress,
  type ScheduleGet,
  type SchedulePut,
  type ScheduleRemove,
  type ScheduleRow,
  type ScheduleRun,
  type ScheduleRuns,
  SCHEDULES_INDEX,
} from '../protocols/schedule.ts';
import { askActor, type AskOptions } from './ask-actor.ts';
import type { OperationContext } from './operation.ts';

type Jobs = Pick<OperationContext, 'tenant'> & {
  readonly system: Pick<OperationContext['system'], 'index'>;
};
type ToSchedule = SchedulePut | ScheduleRun | ScheduleRemove | ScheduleRuns | ScheduleGet;

/** Rows of the tenant's jobs, at most JOBS_MAX. */
export const scheduleRows = ({ system: { index }, tenant }: Jobs): readonly ScheduleRow[] =>
  index.list<ScheduleRow>(SCHEDULES_INDEX, tenant, { limit: JOBS_MAX }).map(({ value }) => value);

/** @throws TroupeError RATE_LIMIT_EXCEEDED when the job is new and the tenant has JOBS_MAX jobs */
export function checkJobLimit(jobs: Jobs, jobId: string): void {
  if (jobs.system.index.get(SCHEDULES_INDEX, jobs.tenant, jobId) !== undefined) return;
  if (scheduleRows(jobs).length < JOBS_MAX) return;
  const text = `there are already ${JOBS_MAX} jobs: remove one first`;
  throw new TroupeError('RATE_LIMIT_EXCEEDED', text);
}

export type ScheduleCaller = Pick<OperationContext, 'tenant' | 'idempotencyKey'> & {
  readonly system: Pick<OperationContext['system'], 'ask'>;
  readonly principal: { readonly sub: string; readonly roles: readonly string[] };
} & Pick<AskOptions, 'timeoutMs'>;

/**
 * Sends a message to the actor of a job and returns its answer. A repeat of the message with the
 * same key returns the first answer.
 * @throws TroupeError NOT_FOUND for an unknown job; CONFLICT when the key was used with another
 *   message; the actor's refusal; DEADLINE_EXCEEDED
 */
export function askSchedule<T>(
  { system, tenant, principal, idempotencyKey, timeoutMs }: ScheduleCaller,
  jobId: string,
  message: ToSchedule,
): Promise<T> {
  const { sub, roles } = principal;
  const key =
    idempotencyKey === undefined ? undefined : jobMessageKey(sub, message.type, idempotencyKey);
  const to = scheduleAddress(tenant, jobId);
  return askActor<T>({ system, caller: { sub } }, to, message, {
    name: `job ${jobId}`,
    roles,
    key,
    timeoutMs,
    timedOut: `job ${jobId} has stored the request, but has not answered yet: read its state again`,
  });
}
