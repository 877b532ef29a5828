/** `troupe cron`: messages to agents at later times (AL11). */
import { defined } from '../protocols/defined.ts';
import type { ScheduleFire, ScheduleJob, ScheduleRow, When } from '../protocols/schedule.ts';
import { described } from '../protocols/schedule-times.ts';
import { TroupeError } from '../protocols/errors.ts';
import { exitCodes } from './exit.ts';
import { gatewayHttp } from './gateway-http.ts';
import type { ClientOptions } from './options.ts';
import { table } from '../operations/text.ts';
import { printJson } from './output.ts';

type OfTenant = ClientOptions & { readonly tenant?: string };
export type CronListOptions = OfTenant & { readonly agent?: string };
export type CronAddOptions = OfTenant & {
  readonly message: string;
  readonly agent: string;
  readonly id?: string;
  readonly name?: string;
  readonly session?: string;
  readonly at?: string;
  readonly every?: number;
  readonly cron?: string;
  readonly tz?: string;
  readonly missed?: NonNullable<ScheduleJob['missed']>;
};

export async function list(options: CronListOptions): Promise<number> {
  const http = await gatewayHttp(options);
  const query = queryOf(options, options.agent === undefined ? {} : { agent: options.agent });
  const listed = await http<{ schedules: readonly ScheduleRow[] }>({
    method: 'GET',
    path: `/v1/schedules${query}`,
  });
  const { schedules } = listed;
  if (options.json) printJson(listed);
  else if (schedules.length === 0) process.stdout.write('nothing is scheduled\n');
  else {
    const head = ['job', 'agent', 'when', 'state', 'next', 'last', 'name'];
    process.stdout.write(table(head, schedules.map(cells)));
  }
  return exitCodes.ok;
}

export async function add(options: CronAddOptions): Promise<number> {
  const { id, agent, name, session, message, missed } = options;
  const job: ScheduleJob = {
    agentId: agent,
    when: whenOf(options),
    text: message,
    ...defined({ name, sessionKey: session, missed }),
  };
  const http = await gatewayHttp(options);
  const row = await http<ScheduleRow>({
    method: 'POST',
    path: `/v1/schedules${queryOf(options)}`,
    body: { ...defined({ jobId: id }), job },
  });
  if (options.json) printJson(row);
  else {
    const next = row.nextAt === undefined ? 'it has no time to come' : `next ${iso(row.nextAt)}`;
    process.stdout.write(`${row.jobId} is set: ${described(row.when)}, ${next}\n`);
  }
  return exitCodes.ok;
}

export async function remove(id: string, options: OfTenant): Promise<number> {
  const http = await gatewayHttp(options);
  const path = `/v1/schedules/${encodeURIComponent(id)}${queryOf(options)}`;
  const removed = await http({ method: 'DELETE', path });
  if (options.json) printJson(removed);
  else process.stdout.write(`${id} is removed\n`);
  return exitCodes.ok;
}

export async function run(id: string, options: OfTenant): Promise<number> {
  const http = await gatewayHttp(options);
  const fired = await http<{ runId: string; sessionKey: string }>({
    method: 'POST',
    path: `/v1/schedules/${encodeURIComponent(id)}/run${queryOf(options)}`,
  });
  if (options.json) printJson(fired);
  else process.stdout.write(`${id} runs as ${fired.runId} in ${fired.sessionKey}\n`);
  return exitCodes.ok;
}

export async function runs(id: string, options: OfTenant): Promise<number> {
  const http = await gatewayHttp(options);
  const listed = await http<{ runs: readonly ScheduleFire[] }>({
    method: 'GET',
    path: `/v1/schedules/${encodeURIComponent(id)}/runs${queryOf(options)}`,
  });
  if (options.json) printJson(listed);
  else if (listed.runs.length === 0) process.stdout.write('it has not run yet\n');
  else {
    const rows = listed.runs.map(({ firedAt, dueAt, status, runId, error }) => [
      iso(firedAt),
      dueAt === undefined ? 'asked for' : iso(dueAt),
      status,
      runId,
      error?.message ?? '',
    ]);
    process.stdout.write(table(['fired', 'due', 'status', 'run', 'error'], rows));
  }
  return exitCodes.ok;
}

/** @throws TroupeError INVALID_ARGUMENT unless exactly one way to say when was taken */
function whenOf({ at, every, cron, tz }: CronAddOptions): When {
  if ([at, every, cron].filter((one) => one !== undefined).length !== 1)
    throw new TroupeError('INVALID_ARGUMENT', 'say when: one of --at, --every and --cron');
  if (cron !== undefined) return { kind: 'cron', expression: cron, ...defined({ timeZone: tz }) };
  if (every !== undefined) return { kind: 'every', everyMs: every * 1_000 };
  const time = Date.parse(at!);
  if (Number.isNaN(time) || !/(Z|[+-]\d\d:?\d\d)$/.test(at!))
    throw new TroupeError(
      'INVALID_ARGUMENT',
      `--at is ${at}: write ISO 8601 with its offset, as 2026-03-29T09:00:00+02:00`,
    );
  return { kind: 'at', at: time };
}

const queryOf = ({ tenant }: OfTenant, more: Record<string, string> = {}): string => {
  const query = new URLSearchParams({ ...more, ...defined({ tenant }) });
  return query.size === 0 ? '' : `?${query.toString()}`;
};

const iso = (at: number): string => new Date(at).toISOString();

const cells = ({ jobId, agentId, when, state, nextAt, last, name }: ScheduleRow): string[] => [
  jobId,
  agentId,
  described(when),
  state,
  nextAt === undefined ? '' : iso(nextAt),
  last ? `${iso(last.firedAt)} ${last.status}` : '',
  name,
];
