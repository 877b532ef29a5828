/**
 * SLOs: what is promised of the whole, measured (EN17): acceptance within 1 s and the end of the
 * work within its ETA and 60 s, each for 95 of 100, and at most 1 dead letter in 1,000 tasks.
 *
 * Boundary: reads committed rows and what this process counted; wakes nobody. Rows are read in
 * slices between which the event loop goes on. They lie in the order of their ids, which are
 * digests: so when there are too many to look at all, the first ones are a fair sample.
 */
import { type TaskRow, TASKS_INDEX, type TaskView } from '../../protocols/task.ts';
import type { DeadLetters, Index } from '../system.ts';
import type { Metrics } from './metrics.ts';

export type Objective = {
  readonly name: 'ack_p95' | 'done_p95' | 'dead_letters';
  /** in words */
  readonly what: string;
  /** at most */
  readonly target: number;
  /** null: nothing to measure yet */
  readonly measured: number | null;
  readonly unit: 'ms' | 's' | 'ratio';
  /** of how many */
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
  /** no objective is broken */
  readonly kept: boolean;
};

export type SloOptions = {
  readonly index: Index;
  readonly deadLetters: Pick<DeadLetters, 'domains' | 'list'>;
  readonly metrics: Pick<Metrics, 'ack'>;
  readonly tenant: string;
  /** 1 to 24: tasks are remembered for 28 hours after their end */
  readonly hours: number;
  /** epoch milliseconds */
  readonly now: number;
  /** rows that are looked at; default 200,000 */
  readonly rowsMax?: number;
};

export const SLO_HOURS_MAX = 24;
/** Milliseconds, seconds beyond the ETA, letters per task. */
const TARGET = { ackMs: 1_000, lateSec: 60, deadLetters: 0.001 } as const;
const SLICE = 500;
const LETTERS_PAGE = 1_000;
/** Of the runtime's own letters, which are of no task. */
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

function ackObjective(metrics: Pick<Metrics, 'ack'>): Objective {
  const ack = metrics.ack();
  const since = ack ? `, since ${new Date(ack.since).toISOString()}` : '';
  return {
    name: 'ack_p95',
    what: `acceptance of 95 in 100 envelopes, at this gateway${since}`,
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
    what: 'end of 95 in 100 tasks after their ETA; below 0 is before it',
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
    what: 'dead letters for each task',
    target: TARGET.deadLetters,
    measured,
    unit: 'ratio',
    samples: accepted,
    kept: measured === null ? null : measured <= TARGET.deadLetters,
  };
}

/** Smallest value that 95 of 100 do not exceed. */
function percentile95(values: Float64Array): number | null {
  if (values.length === 0) return null;
  return values.toSorted()[Math.ceil(values.length * 0.95) - 1] ?? null;
}

type Tasks = {
  readonly accepted: number;
  readonly estimated: boolean;
  /** seconds between ETA and end; of an open task when it is late already */
  readonly lateSec: Float64Array;
};

async function tasksSince(
  { index, tenant, now, rowsMax = 200_000 }: SloOptions,
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

/** Share of all ids that are not above this one: they begin with 32 bits of a digest. */
const shareBefore = (id: string): number => (Number.parseInt(id.slice(0, 8), 16) + 1) / 2 ** 32;

/** undefined: it runs, and its time is not up. */
function latenessOf(
  { accepted_at, finished_at, eta_sec }: TaskView,
  now: number,
): number | undefined {
  const end = finished_at === undefined ? now : Date.parse(finished_at);
  const lateSec = (end - Date.parse(accepted_at)) / 1_000 - eta_sec;
  return finished_at === undefined && lateSec <= 0 ? undefined : lateSec;
}

/** Of this tenant's tasks, those that somebody has dealt with since included. */
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
    const page = { domain, from, limit: LETTERS_PAGE, dealtWith: true };
    const letters = await deadLetters.list(page);
    count += letters.filter(isCounted).length;
    if (letters.length < LETTERS_PAGE) return count;
    from = letters.at(-1)!.position + 1;
  }
}
