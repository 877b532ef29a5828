/**
 * Computes service level objectives: 95 % of envelopes accepted within 1 s, 95 % of tasks ended
 * within 60 s after their ETA, and at most 1 dead letter per 1,000 tasks.
 *
 * Boundary: reads committed rows and counts of this process; it activates no actor. Rows are read
 * in slices, so that other work runs between them. Task ids are digests, so the first rows are a
 * fair sample of too many.
 */
import { type TaskRow, TASKS_INDEX, type TaskView } from '../protocols/task.ts';
import type { DeadLetters, Index, Metrics } from '../runtime/index.ts';

export type Objective = {
  readonly name: 'ack_p95' | 'done_p95' | 'dead_letters';
  /** one sentence for users */
  readonly what: string;
  /** at most */
  readonly target: number;
  /** null: nothing to measure yet */
  readonly measured: number | null;
  readonly unit: 'ms' | 's' | 'ratio';
  /** number of measurements */
  readonly samples: number;
  /** null: nothing to measure yet */
  readonly kept: boolean | null;
};

export type SloReport = {
  readonly tenant: string;
  readonly at: string;
  readonly hours: number;
  /** tasks accepted in this time; an estimate when they were too many to count */
  readonly tasks: number;
  readonly estimated: boolean;
  readonly objectives: readonly Objective[];
  /** no objective is missed */
  readonly kept: boolean;
};

export type SloOptions = {
  readonly index: Index;
  readonly deadLetters: Pick<DeadLetters, 'domains' | 'list'>;
  readonly metrics: Pick<Metrics, 'ack'>;
  readonly tenant: string;
  /** 1 to 24: tasks are kept for 28 hours after their end */
  readonly hours: number;
  /** epoch milliseconds */
  readonly now: number;
  /** maximum number of rows to read; default 200,000 */
  readonly rowsMax?: number;
};

export const SLO_HOURS_MAX = 24;
/** Milliseconds, seconds beyond the ETA, letters per task. */
const TARGET = { ackMs: 1_000, lateSec: 60, deadLetters: 0.001 } as const;
const SLICE = 500;
const LETTERS_PAGE = 1_000;
/** The runtime's own dead letters, which belong to no task. */
const RUNTIME_DOMAIN = 'actors';

export async function sloReport(options: SloOptions): Promise<SloReport> {
  const { tenant, hours, now, metrics } = options;
  const tasks = await tasksSince(options, now - hours * 3_600_000);
  const letters = await lettersSince(options, now - hours * 3_600_000);
  const objectives = [ackObjective(metrics), doneObjective(tasks.lateSec), dead(letters, tasks)];
  return {
    tenant,
    at: new Date(now).toISOString(),
    hours,
    tasks: tasks.accepted,
    estimated: tasks.estimated,
    objectives,
    kept: objectives.every(({ kept }) => kept !== false),
  };
}

/**
 * Of tasks that were accepted in the last `hours`: seconds between ETA and end that 95 of 100 keep;
 * undefined without any.
 */
export async function lateP95(
  options: Pick<SloOptions, 'index' | 'tenant' | 'hours' | 'now' | 'rowsMax'>,
): Promise<number | undefined> {
  const { lateSec } = await tasksSince(options, options.now - options.hours * 3_600_000);
  return percentile95(lateSec) ?? undefined;
}

function ackObjective(metrics: Pick<Metrics, 'ack'>): Objective {
  const ack = metrics.ack();
  const since = ack ? `, since ${new Date(ack.since).toISOString()}` : '';
  return {
    name: 'ack_p95',
    what: `time to accept 95 of 100 envelopes at this gateway${since}`,
    target: TARGET.ackMs,
    measured: ack ? Math.round(ack.p95Ms * 10) / 10 : null,
    unit: 'ms',
    samples: ack?.count ?? 0,
    kept: ack ? ack.p95Ms <= TARGET.ackMs : null,
  };
}

function doneObjective(lateSec: Float64Array): Objective {
  const measured = percentile95(lateSec);
  return {
    name: 'done_p95',
    what: 'end of 95 of 100 tasks after their ETA; below 0 is earlier',
    target: TARGET.lateSec,
    measured,
    unit: 's',
    samples: lateSec.length,
    kept: measured === null ? null : measured <= TARGET.lateSec,
  };
}

function dead(letters: number, { accepted }: { accepted: number }): Objective {
  const measured = accepted === 0 ? (letters === 0 ? null : 1) : letters / accepted;
  return {
    name: 'dead_letters',
    what: 'dead letters per task',
    target: TARGET.deadLetters,
    measured,
    unit: 'ratio',
    samples: accepted,
    kept: measured === null ? null : measured <= TARGET.deadLetters,
  };
}

/** The 95th percentile. */
function percentile95(values: Float64Array): number | null {
  if (values.length === 0) return null;
  return values.toSorted()[Math.ceil(values.length * 0.95) - 1] ?? null;
}

type Tasks = {
  readonly accepted: number;
  readonly estimated: boolean;
  /** seconds between ETA and end; an open task counts when it is already late */
  readonly lateSec: Float64Array;
};

async function tasksSince(
  {
    index,
    tenant,
    now,
    rowsMax = 200_000,
  }: Pick<SloOptions, 'index' | 'tenant' | 'now' | 'rowsMax'>,
  since: number,
): Promise<Tasks> {
  const late: number[] = [];
  let accepted = 0;
  let looked = 0;
  let after: string | undefined;
  for (;;) {
    const page = { limit: SLICE, ...(after === undefined ? {} : { after }) };
    const rows = index.list<TaskRow>(TASKS_INDEX, tenant, page);
    for (const { value } of rows) {
      const { view } = value;
      if (Date.parse(view.accepted_at) < since) continue;
      accepted++;
      const lateness = latenessOf(view, now);
      if (lateness !== undefined) late.push(lateness);
    }
    looked += rows.length;
    after = rows.at(-1)?.key ?? after;
    if (rows.length < SLICE) {
      return { accepted, estimated: false, lateSec: Float64Array.from(late) };
    }
    if (looked >= rowsMax) {
      const all = Math.round(accepted / shareBefore(after!));
      return { accepted: all, estimated: true, lateSec: Float64Array.from(late) };
    }
    await new Promise((resolve) => setImmediate(resolve));
  }
}

/** Share of all ids up to this one: ids begin with 32 bits of a digest. */
const shareBefore = (id: string): number => (Number.parseInt(id.slice(0, 8), 16) + 1) / 2 ** 32;

/** undefined: the task is running and not late. */
function latenessOf(
  { accepted_at, finished_at, eta_sec }: TaskView,
  now: number,
): number | undefined {
  const end = finished_at === undefined ? now : Date.parse(finished_at);
  const lateSec = (end - Date.parse(accepted_at)) / 1_000 - eta_sec;
  return finished_at === undefined && lateSec <= 0 ? undefined : lateSec;
}

/** Dead letters of this tenant's tasks, including those redriven or dropped since. */
async function lettersSince(options: SloOptions, since: number): Promise<number> {
  let count = 0;
  for (const domain of await options.deadLetters.domains())
    if (domain !== RUNTIME_DOMAIN) count += await lettersOf(options, domain, since);
  return count;
}

async function lettersOf(
  { deadLetters, tenant }: SloOptions,
  domain: string,
  since: number,
): Promise<number> {
  let count = 0;
  const isCounted = ({ to, at }: { to: string; at: number }): boolean =>
    at >= since && to.startsWith(`${tenant}/`);
  for (let from = 1; ; ) {
    const page = { domain, from, limit: LETTERS_PAGE, includeResolved: true };
    const letters = await deadLetters.list(page);
    count += letters.filter(isCounted).length;
    if (letters.length < LETTERS_PAGE) return count;
    from = letters.at(-1)!.position + 1;
  }
}
