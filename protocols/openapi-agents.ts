/** The paths for operators about agents at work: schedules, subagents. */
import type { Schema } from './documents.ts';
import {
  answered,
  headerParameter,
  job,
  json,
  listOf,
  object,
  pathParameter,
  queryParameter,
  row,
  tenant,
  text,
} from './openapi-operation.ts';

export const agentPaths = (): Schema => ({
  ...schedulePaths(),
  ...subagentPaths(),
});

const jobId = pathParameter('id', 'The job');

const subagentId = pathParameter('id', 'The subagent');

const idempotencyKey = headerParameter(
  'Idempotency-Key',
  'A repeat within 24 hours gets the first answer; with another request: CONFLICT',
);

const schedulePaths = (): Schema => ({
  '/v1/schedules': {
    get: job({
      id: 'listSchedules',
      summary: 'Messages to sessions at later times',
      parameters: [queryParameter('agent', 'Of one agent only'), tenant],
      answers: { 200: answered('The next first', object({ schedules: listOf(row) })) },
      errors: ['INVALID_ARGUMENT'],
    }),
    post: job({
      id: 'setSchedule',
      summary: 'Set a job, new or instead of the one of that id',
      parameters: [idempotencyKey, tenant],
      body: json(object({ jobId: text('default a new one'), job: row }, ['job'])),
      answers: { 200: answered('The job as it is then', row) },
      errors: ['INVALID_ARGUMENT', 'NOT_FOUND', 'CONFLICT', 'DEADLINE_EXCEEDED'],
    }),
  },
  '/v1/schedules/{id}': {
    delete: job({
      id: 'removeSchedule',
      summary: 'Take a job away; what runs goes on',
      parameters: [jobId, tenant],
      answers: { 200: answered('Done', object({ removed: text() })) },
      errors: ['INVALID_ARGUMENT', 'NOT_FOUND', 'DEADLINE_EXCEEDED'],
    }),
  },
  '/v1/schedules/{id}/run': {
    post: job({
      id: 'runSchedule',
      summary: 'Fire a job now, beside its times',
      parameters: [jobId, idempotencyKey, tenant],
      answers: { 200: answered('The run', object({ runId: text(), sessionKey: text() })) },
      errors: ['INVALID_ARGUMENT', 'NOT_FOUND', 'CONFLICT', 'DEADLINE_EXCEEDED'],
    }),
  },
  '/v1/schedules/{id}/runs': {
    get: job({
      id: 'listScheduleRuns',
      summary: 'The last runs of a job, the newest first',
      parameters: [jobId, tenant],
      answers: { 200: answered('At most 50', object({ runs: listOf(row) })) },
      errors: ['INVALID_ARGUMENT', 'NOT_FOUND', 'DEADLINE_EXCEEDED'],
    }),
  },
});

const subagentPaths = (): Schema => ({
  '/v1/subagents': {
    get: job({
      id: 'listSubagents',
      summary: 'Agents that work for others, the newest first',
      parameters: [
        queryParameter('session', 'Of one parent only, by its session key'),
        queryParameter('all', 'true: those of the last 28 hours that have ended, too'),
        tenant,
      ],
      answers: { 200: answered('At most 1,000', object({ subagents: listOf(row) })) },
      errors: ['INVALID_ARGUMENT'],
    }),
  },
  '/v1/subagents/census': {
    get: job({
      id: 'countSubagents',
      summary: 'How many there are in which state, and those that should have ended and have not',
      parameters: [tenant],
      answers: {
        200: answered(
          'The census',
          object({
            counts: row,
            open: listOf(row),
            unreported: { type: 'integer' },
            overdue: { type: 'integer' },
          }),
        ),
      },
      errors: ['INVALID_ARGUMENT'],
    }),
  },
  '/v1/subagents/{id}/kill': {
    post: job({
      id: 'killSubagent',
      summary: 'End it and all that it has started',
      parameters: [subagentId, tenant],
      body: json(object({ reason: text('told to its parent') }, ['reason'])),
      answers: {
        200: answered('Empty when it had ended already', object({ killed: listOf(text()) })),
      },
      errors: ['INVALID_ARGUMENT', 'NOT_FOUND', 'DEADLINE_EXCEEDED'],
    }),
  },
  '/v1/subagents/{id}/steer': {
    post: job({
      id: 'steerSubagent',
      summary: 'Tell it something while it runs',
      parameters: [subagentId, tenant],
      body: json(object({ text: text('joins its run') }, ['text'])),
      answers: { 200: answered('Told', object({ delivered: { type: 'boolean' } })) },
      errors: ['INVALID_ARGUMENT', 'NOT_FOUND', 'CONFLICT', 'DEADLINE_EXCEEDED'],
    }),
  },
});
