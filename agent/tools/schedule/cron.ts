/**
 * `cron`: an agent's scheduled jobs: messages to its sessions at later times. The schedule actors
 * validate the jobs; this tool translates a model's arguments.
 *
 * Invariants: an agent sees and changes only its own jobs. Requests use the call's key, and a new
 * job's id is derived from it, so a repeated call adds nothing. A job cannot write to a session
 * that its creator may not write to. A subagent has no jobs, because its grant ends with its task.
 */
import { createHash } from 'node:crypto';
import { Type } from '@sinclair/typebox';
import { defined } from '../../../protocols/defined.ts';
import {
  JOBS_MAX,
  MISSED_POLICIES,
  PERIOD_MS_MAX,
  PERIOD_MS_MIN,
  scheduleAddress,
  type ScheduleFire,
  type ScheduleJob,
  type ScheduleRow,
  SCHEDULES_INDEX,
  type When,
} from '../../../protocols/schedule.ts';
import { described } from '../../../protocols/schedule-times.ts';
import { parseSessionKey, sessionKey as keys } from '../../../protocols/session-key.ts';
import type { Message } from '../../../protocols/statechart.ts';
import { judge } from '../../policy/talk.ts';
import { talkerOf } from '../sessions/repeatable-ask.ts';
import { defineTool, type ToolContext, type ToolResult } from '../tool.ts';

const Parameters = Type.Object(
  {
    action: Type.Union(
      ['add', 'list', 'update', 'remove', 'run', 'runs'].map((action) => Type.Literal(action)),
      {
        description:
          'add: a new job. list: your jobs. update: change a job. remove: delete a job. run: run a job now. runs: the last runs of a job.',
      },
    ),
    jobId: Type.Optional(Type.String({ maxLength: 64, description: 'id from list; not for add' })),
    name: Type.Optional(Type.String({ minLength: 1, maxLength: 120 })),
    text: Type.Optional(
      Type.String({
        minLength: 1,
        maxLength: 32_768,
        description:
          'the message that you will receive at that time, with everything that you need to know',
      }),
    ),
    at: Type.Optional(
      Type.String({
        description: 'once: ISO 8601 with an offset, such as 2026-03-29T09:00:00+02:00',
      }),
    ),
    everySeconds: Type.Optional(
      Type.Integer({ minimum: PERIOD_MS_MIN / 1_000, maximum: PERIOD_MS_MAX / 1_000 }),
    ),
    cron: Type.Optional(
      Type.String({ maxLength: 256, description: 'a cron expression, such as 0 9 * * 1-5' }),
    ),
    timeZone: Type.Optional(
      Type.String({ maxLength: 64, description: 'IANA zone of `cron`; default UTC' }),
    ),
    session: Type.Optional(
      Type.Union(
        ['own', 'here', 'main'].map((session) => Type.Literal(session)),
        {
          description:
            'the conversation that receives the message: own (default), a separate one for the job; here, this one; main, your main one',
        },
      ),
    ),
    missed: Type.Optional(
      Type.Union(
        MISSED_POLICIES.map((policy) => Type.Literal(policy)),
        {
          description:
            'handling of due times that passed while troupe was not running: once (default): one run for all of them; fire-late: one run for each; skip: none',
        },
      ),
    ),
    enabled: Type.Optional(Type.Boolean()),
  },
  { additionalProperties: false },
);
type Arguments = (typeof Parameters)['static'];

export const cronTool = defineTool({
  name: 'cron',
  groups: ['automation'],
  description:
    'Your own schedule: sends you a message at a later time, once or repeatedly. Survives restarts.',
  parameters: Parameters,
  class: 'keyed',
  parallel: false,
  async run(args, context) {
    if (args.action === 'list') return list(context);
    const no = refusalOf(args, undefined, context);
    if (no !== undefined) return failure(no);
    if (args.action === 'add') return add(args, context);
    const row = args.jobId === undefined ? undefined : await ownJob(args.jobId, context);
    if (!row) {
      const which = args.jobId === undefined ? 'jobId is missing' : `you have no job ${args.jobId}`;
      return failure(`${which}: the action list shows your jobs`);
    }
    const why = refusalOf(args, row, context);
    if (why !== undefined) return failure(why);
    switch (args.action) {
      case 'update':
        return update(row, args, context);
      case 'remove':
        return askJob(row.jobId, { type: 'schedule.remove' }, context, () => 'The job is removed.');
      case 'run':
        return askJob(row.jobId, { type: 'schedule.run' }, context, (result) => {
          const { runId, sessionKey } = result as { runId: string; sessionKey: string };
          return `It runs now, as ${runId} in ${sessionKey}.`;
        });
      default:
        return askJob(row.jobId, { type: 'schedule.runs' }, context, shownRuns);
    }
  },
});

const failure = (text: string): ToolResult => ({ text, isError: true });

/** The target session of the job needs the same permission as a message of the caller. */
function refusalOf(
  { action, session }: Arguments,
  row: ScheduleRow | undefined,
  context: ToolContext,
): string | undefined {
  if (action === 'runs') return undefined;
  const { agentId, sessionKey, talk } = context;
  if (parseSessionKey(sessionKey).type === 'subagent')
    return 'a subagent cannot have jobs, because it ends with its task; ask the agent that started you to schedule it';
  const own = row && keys.cron(agentId, row.jobId);
  const targets = [
    ...(session === 'main' ? [keys.main(agentId, talk.mainKey)] : []),
    ...(row && row.sessionKey !== own ? [row.sessionKey] : []),
  ];
  for (const target of targets) {
    const what = { agentId: agentOf(target) ?? agentId, sessionKey: target };
    const verdict = judge(talk, talkerOf(context), what, 'send');
    if (!verdict.allowed)
      return `this session may not send messages to ${target} (${verdict.rule}): ${verdict.why}`;
  }
  return undefined;
}

const agentOf = (sessionKey: string): string | undefined => {
  const parts = parseSessionKey(sessionKey);
  return 'agentId' in parts ? parts.agentId : undefined;
};

async function add(args: Arguments, context: ToolContext): Promise<ToolResult> {
  const when = whenOf(args);
  if (typeof when === 'string') return failure(when);
  if (!when) return failure('the time is missing: pass one of `at`, `everySeconds` and `cron`');
  if (args.text === undefined)
    return failure('add requires `text`: the message that you will receive');
  const index = await context.system.index();
  if (index.list(SCHEDULES_INDEX, context.tenant, { limit: JOBS_MAX }).length >= JOBS_MAX)
    return failure(`there are ${JOBS_MAX} jobs already: remove one first`);
  const digest = createHash('sha256').update(context.idempotencyKey).digest('hex');
  const job: ScheduleJob = {
    agentId: context.agentId,
    when,
    text: args.text,
    ...settingsOf(args, context),
  };
  return askJob(`job-${digest.slice(0, 16)}`, { type: 'schedule.put', job }, context, shownRow);
}

async function update(row: ScheduleRow, args: Arguments, context: ToolContext) {
  const when = whenOf(args);
  if (typeof when === 'string') return failure(when);
  const changes: Partial<ScheduleJob> = {
    ...defined({ when, text: args.text }),
    ...settingsOf(args, context),
  };
  // Whether the call only enables or disables the job; then its times do not change.
  const event: Message =
    Object.keys(changes).join() === 'enabled'
      ? { type: 'schedule.enable', enabled: changes.enabled }
      : { type: 'schedule.put', changes };
  return askJob(row.jobId, event, context, shownRow);
}

const settingsOf = (
  { name, missed, enabled, session }: Arguments,
  { agentId, sessionKey, talk }: ToolContext,
): Partial<ScheduleJob> => ({
  ...defined({ name, missed, enabled }),
  ...(session === 'here' ? { sessionKey } : {}),
  ...(session === 'main' ? { sessionKey: keys.main(agentId, talk.mainKey) } : {}),
});

/** undefined when the call has no schedule; a string explains what is wrong with it. */
function whenOf({ at, everySeconds, cron, timeZone }: Arguments): When | string | undefined {
  const said = [at, everySeconds, cron].filter((one) => one !== undefined).length;
  if (said > 1) return 'pass only one of `at`, `everySeconds` and `cron`';
  if (at !== undefined) {
    const time = /(Z|[+-]\d\d:?\d\d)$/.test(at) ? Date.parse(at) : Number.NaN;
    if (Number.isNaN(time))
      return `\`at\` is ${JSON.stringify(at.slice(0, 60))}, not ISO 8601 with an offset, such as 2026-03-29T09:00:00+02:00`;
    return { kind: 'at', at: time };
  }
  if (everySeconds !== undefined) return { kind: 'every', everyMs: everySeconds * 1_000 };
  if (cron === undefined) return undefined;
  return { kind: 'cron', expression: cron, ...defined({ timeZone }) };
}

async function ownJob(jobId: string, { tenant, agentId, system }: ToolContext) {
  const row = (await system.index()).get<ScheduleRow>(SCHEDULES_INDEX, tenant, jobId);
  return row?.agentId === agentId ? row : undefined;
}

async function list({ tenant, agentId, system }: ToolContext): Promise<ToolResult> {
  const index = await system.index();
  const rows = index
    .list<ScheduleRow>(SCHEDULES_INDEX, tenant, { limit: JOBS_MAX })
    .filter(({ value }) => value.agentId === agentId);
  if (rows.length === 0) return { text: 'You have no jobs.' };
  return { text: rows.map(({ value }) => shownRow(value)).join('\n') };
}

/** Sends a request to the job's actor under the call's key. */
async function askJob(
  jobId: string,
  event: Message,
  { tenant, system, idempotencyKey }: ToolContext,
  shown: (result: unknown) => string,
): Promise<ToolResult> {
  const answer = await system.ask(scheduleAddress(tenant, jobId), event, { key: idempotencyKey });
  if (answer.kind === 'answered') return { text: shown(answer.result) };
  if (answer.kind === 'refused') return failure(answer.error.message);
  return failure(
    `job ${jobId} did not answer in time: check with the action list before you try again`,
  );
}

const iso = (at: number): string => new Date(at).toISOString();

function shownRow(value: unknown): string {
  const { jobId, name, when, state, nextAt, sessionKey, last, text } = value as ScheduleRow;
  const parts = [
    `${jobId} (${name}): ${described(when)}, ${state}`,
    ...(nextAt === undefined ? [] : [`next ${iso(nextAt)}`]),
    ...(last ? [`last ${iso(last.firedAt)} ${last.status}`] : []),
    `to ${sessionKey}`,
    JSON.stringify(text),
  ];
  return parts.join('; ');
}

function shownRuns(result: unknown): string {
  const { runs } = result as { runs: readonly ScheduleFire[] };
  if (runs.length === 0) return 'It has not run yet.';
  return runs
    .map(({ runId, firedAt, status, error }) =>
      [iso(firedAt), status, runId, ...(error ? [error.message] : [])].join(' '),
    )
    .join('\n');
}
