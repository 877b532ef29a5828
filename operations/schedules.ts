/**
 * Schedules: jobs that send a message to a session at later times. The schedule actor decides about
 * its job; lists use committed rows and activate no actor.
 */
import { randomUUID } from 'node:crypto';
import { Type } from '@sinclair/typebox';
import type { AgentRow } from '../protocols/agent.ts';
import { defined } from '../protocols/defined.ts';
import { TroupeError } from '../protocols/errors.ts';
import { checkModelChoice } from '../protocols/models/model-choice.ts';
import {
  JOB_ID,
  keyedJobId,
  type ScheduleFire,
  type ScheduleJob,
  ScheduleJobSchema,
  type ScheduleRow,
  type When,
} from '../protocols/schedule.ts';
import { described } from '../protocols/schedule-times.ts';
import { parseSessionKey } from '../protocols/session-key.ts';
import type { SessionRow } from '../protocols/session.ts';
import {
  type CliInput,
  defineOperation,
  ObjectOf,
  type OperationContext,
  type Resource,
} from './operation.ts';
import { askSchedule, checkJobLimit, type ScheduleCaller, scheduleRows } from './schedule-jobs.ts';
import { isoTime, table } from './text.ts';

const Job = ObjectOf<ScheduleRow>();
const id = Type.String({ description: 'Id of the job' });
const ById = Type.Object({ id });

export const scheduleList = defineOperation({
  name: 'schedules.list',
  scope: 'tenant',
  summary: 'List scheduled jobs, the next to fire first',
  params: Type.Object({
    agent: Type.Optional(Type.String({ description: 'Only jobs of this agent' })),
  }),
  result: Type.Object({ schedules: Type.Array(Job) }),
  errors: ['INVALID_ARGUMENT'],
  http: {
    method: 'GET',
    path: '/v1/schedules',
    operationId: 'listSchedules',
    responses: { 200: 'The next to fire first' },
  },
  cli: {
    command: 'cron list',
    flags: { agent: '--agent <id>' },
    print: ({ schedules: rows }) => listText(rows),
  },
  run: (context, { agent }) => ({
    schedules: scheduleRows(context)
      .filter(({ agentId }) => agent === undefined || agentId === agent)
      .toSorted((a, b) => (a.nextAt ?? Infinity) - (b.nextAt ?? Infinity)),
  }),
});

const JobToSet = Type.Object({
  jobId: Type.Optional(
    Type.String({ pattern: JOB_ID.source, description: 'Id of the job; default a new one' }),
  ),
  job: ScheduleJobSchema,
});

/** What `troupe cron add` accepts. */
const CronAdd = Type.Object({
  message: Type.String({ description: 'The message that the agent receives' }),
  agent: Type.String({ default: 'main', description: 'The agent that receives it' }),
  id: Type.Optional(Type.String({ description: 'Id of the job; default a new one' })),
  name: Type.Optional(
    Type.String({ description: 'Name in lists; default the first words of the message' }),
  ),
  session: Type.Optional(
    Type.String({ description: 'Session that receives it; default one of the job’s own' }),
  ),
  at: Type.Optional(Type.String({ description: 'Once: ISO 8601 with an offset' })),
  every: Type.Optional(Type.Integer({ description: 'Repeatedly, every so many seconds' })),
  cron: Type.Optional(
    Type.String({ description: 'A cron expression of 5 fields, or 6 with seconds first' }),
  ),
  tz: Type.Optional(Type.String({ description: 'IANA time zone of --cron; default UTC' })),
  missed: Type.Optional(
    Type.Union([Type.Literal('once'), Type.Literal('fire-late'), Type.Literal('skip')], {
      description: 'Times that passed while troupe was stopped; default once',
    }),
  ),
});
type CronAdd = Partial<Record<keyof typeof CronAdd.properties, string>> & { every?: number };

const fromCronAdd: CliInput<typeof JobToSet> = {
  schema: CronAdd,
  toParams(given: CronAdd) {
    const { id: jobId, agent = '', message = '', name, session, missed } = given;
    return {
      ...defined({ jobId }),
      job: {
        agentId: agent,
        when: whenOf(given),
        text: message,
        ...defined({ name, sessionKey: session, missed: missed as ScheduleJob['missed'] }),
      },
    };
  },
};

/** @throws TroupeError INVALID_ARGUMENT unless exactly one of the three is set */
function whenOf({ at, every, cron, tz }: CronAdd): When {
  if ([at, every, cron].filter((one) => one !== undefined).length !== 1)
    throw new TroupeError('INVALID_ARGUMENT', 'give exactly one of --at, --every and --cron');
  if (cron !== undefined) return { kind: 'cron', expression: cron, ...defined({ timeZone: tz }) };
  if (every !== undefined) return { kind: 'every', everyMs: every * 1_000 };
  const text = at ?? '';
  const time = Date.parse(text);
  if (!Number.isNaN(time) && /(Z|[+-]\d\d:?\d\d)$/.test(text)) return { kind: 'at', at: time };
  throw new TroupeError(
    'INVALID_ARGUMENT',
    `--at is ${text}: write ISO 8601 with an offset, as 2026-03-29T09:00:00+02:00`,
  );
}

export const scheduleSet = defineOperation({
  name: 'schedules.set',
  scope: 'tenant',
  summary: 'Create a job, or replace the job with the same id',
  params: JobToSet,
  result: Job,
  errors: ['INVALID_ARGUMENT', 'NOT_FOUND', 'CONFLICT', 'RATE_LIMIT_EXCEEDED', 'DEADLINE_EXCEEDED'],
  http: {
    method: 'POST',
    path: '/v1/schedules',
    operationId: 'setSchedule',
    responses: { 200: 'The job' },
    bodyBytesMax: 65_536,
    isKeyed: true,
  },
  cli: {
    command: 'cron add',
    input: fromCronAdd,
    flags: {
      message: '-m, --message <text>',
      agent: '--agent <id>',
      id: '--id <id>',
      name: '--name <name>',
      session: '--session <key>',
      at: '--at <time>',
      every: '--every <seconds>',
      cron: '--cron <expression>',
      tz: '--tz <zone>',
      missed: '--missed <policy>',
    },
    examples: [
      "troupe cron add --cron '0 9 * * 1-5' --tz Europe/Berlin -m 'Sum up my mail.'",
      "troupe cron add --at 2027-01-01T09:00:00+01:00 -m 'Wish me a happy new year.'",
      "troupe cron add --id pulse --every 3600 --missed skip -m 'Look at the servers.'",
    ],
    print: ({ jobId, when, nextAt }) =>
      `${jobId} is set: ${described(when)}, ` +
      `${nextAt === undefined ? 'it will not fire again' : `next ${isoTime(nextAt)}`}\n`,
  },
  run(context, { jobId: named, job }) {
    const { caller, idempotencyKey: key } = context;
    const newId =
      key === undefined ? `job-${randomUUID().slice(0, 13)}` : keyedJobId(caller.sub, key);
    const jobId = named ?? newId;
    checkRun(context, job);
    checkJobLimit(context, jobId);
    return askSchedule<ScheduleRow>(asCaller(context), jobId, { type: 'schedule.put', job });
  },
});

/**
 * @throws TroupeError NOT_FOUND for an unknown agent; INVALID_ARGUMENT for a run that it cannot do
 */
function checkRun(
  { system: { index }, tenant, models }: OperationContext,
  { agentId, sessionKey, model, thinking }: ScheduleJob,
): void {
  const agent = index.get<AgentRow>('agents', tenant, agentId);
  if (agent === undefined) throw new TroupeError('NOT_FOUND', `there is no agent ${agentId}`);
  if (sessionKey !== undefined && agentOf(sessionKey) !== agentId)
    throw new TroupeError(
      'INVALID_ARGUMENT',
      `/job/sessionKey is not a session of this agent: write agent:${agentId}:NAME`,
    );
  const session = sessionKey && index.get<SessionRow>('sessions', tenant, sessionKey);
  const current = (session ? session.ownModel : undefined) ?? agent.model ?? '';
  const paths = { model: '/job/model', thinking: '/job/thinking' };
  checkModelChoice(models(tenant), { model, thinking }, current, paths);
}

function agentOf(sessionKey: string): string | undefined {
  const parts = parseSessionKey(sessionKey);
  return parts.type === 'other' ? undefined : parts.agentId;
}

const remove = defineOperation({
  name: 'schedules.remove',
  scope: 'tenant',
  summary: 'Remove a job; a running run continues',
  params: ById,
  result: Type.Object({ removed: Type.String() }),
  errors: ['INVALID_ARGUMENT', 'NOT_FOUND', 'DEADLINE_EXCEEDED'],
  http: {
    method: 'DELETE',
    path: '/v1/schedules/{id}',
    operationId: 'removeSchedule',
    responses: { 200: 'Removed' },
    isKeyed: true,
  },
  cli: {
    command: 'cron remove',
    args: ['id'],
    print: (_, params) => `${params.id} was removed\n`,
  },
  run: (context, params) =>
    askSchedule<{ removed: string }>(asCaller(context), params.id, { type: 'schedule.remove' }),
});

const fire = defineOperation({
  name: 'schedules.run',
  scope: 'tenant',
  summary: 'Fire a job now, in addition to its schedule',
  params: ById,
  result: Type.Object({ runId: Type.String(), sessionKey: Type.String() }),
  errors: ['INVALID_ARGUMENT', 'NOT_FOUND', 'CONFLICT', 'DEADLINE_EXCEEDED'],
  http: {
    method: 'POST',
    path: '/v1/schedules/{id}/run',
    operationId: 'runSchedule',
    responses: { 200: 'The run' },
    isKeyed: true,
  },
  cli: {
    command: 'cron run',
    args: ['id'],
    print: ({ runId, sessionKey }, params) => `${params.id} runs as ${runId} in ${sessionKey}\n`,
  },
  run: (context, params) =>
    askSchedule<{ runId: string; sessionKey: string }>(asCaller(context), params.id, {
      type: 'schedule.run',
    }),
});

const runs = defineOperation({
  name: 'schedules.runs',
  scope: 'tenant',
  summary: 'List the last runs of a job, newest first',
  params: ById,
  result: Type.Object({ runs: Type.Array(ObjectOf<ScheduleFire>()) }),
  errors: ['INVALID_ARGUMENT', 'NOT_FOUND', 'DEADLINE_EXCEEDED'],
  http: {
    method: 'GET',
    path: '/v1/schedules/{id}/runs',
    operationId: 'listScheduleRuns',
    responses: { 200: 'At most 50' },
  },
  cli: { command: 'cron runs', args: ['id'], print: (result) => runsText(result.runs) },
  run: (context, params) =>
    askSchedule<{ runs: ScheduleFire[] }>(asCaller(context), params.id, { type: 'schedule.runs' }),
});

export const schedules: Resource = {
  name: 'cron',
  operations: [scheduleList, scheduleSet, remove, fire, runs],
};

const asCaller = ({ caller, ...context }: OperationContext): ScheduleCaller => ({
  ...context,
  principal: { sub: caller.sub, roles: ['operator'] },
});

const listText = (rows: readonly ScheduleRow[]): string =>
  rows.length === 0
    ? 'there are no jobs\n'
    : table(
        ['job', 'agent', 'when', 'state', 'next', 'last', 'name'],
        rows.map(({ jobId, agentId, when, state, nextAt, last, name }) => [
          jobId,
          agentId,
          described(when),
          state,
          nextAt === undefined ? '' : isoTime(nextAt),
          last ? `${isoTime(last.firedAt)} ${last.status}` : '',
          name,
        ]),
      );

const runsText = (fires: readonly ScheduleFire[]): string =>
  fires.length === 0
    ? 'the job has not run yet\n'
    : table(
        ['fired', 'due', 'status', 'run', 'error'],
        fires.map(({ firedAt, dueAt, status, runId, error }) => [
          isoTime(firedAt),
          dueAt === undefined ? 'on request' : isoTime(dueAt),
          status,
          runId,
          error?.message ?? '',
        ]),
      );
