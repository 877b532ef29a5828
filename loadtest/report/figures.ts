/** The figures of a step, as the table, the page and the comparison show them. */
import type { LoadReport, Objective, Outcome, Step, Window } from '../report.ts';
import { Latencies } from './latencies.ts';

/** The name under which the workloads are added up. */
export const ALL = 'all';

/** ms; undefined: no request succeeded */
export type Percentiles = {
  readonly p50: number | undefined;
  readonly p90: number | undefined;
  readonly p99: number | undefined;
  readonly p999: number | undefined;
  readonly max: number | undefined;
};

export const PERCENTILES = { p50: 0.5, p90: 0.9, p99: 0.99, p999: 0.999, max: 1 } as const;
export type Percentile = keyof typeof PERCENTILES;
/** As they are written in tables. */
export const PERCENTILE_NAMES: Readonly<Record<Percentile, string>> = {
  p50: 'p50',
  p90: 'p90',
  p99: 'p99',
  p999: 'p99.9',
  max: 'max',
};

export type Figures = {
  /** the workload, or `all` */
  readonly workload: string;
  readonly duePerSecond: number;
  readonly donePerSecond: number;
  readonly scheduled: number;
  readonly succeeded: number;
  readonly failed: number;
  readonly unfinished: number;
  /** failed and unfinished as a share of those that were due, 0 to 1 */
  readonly errorShare: number;
  readonly errors: Readonly<Record<string, number>>;
  /** from the time at which a request was due */
  readonly latency: Percentiles;
  /** from the time at which it was sent */
  readonly service: Percentiles;
};

/** All workloads together first, then each of them, if there is more than one. */
export function figuresOf(step: Step): readonly Figures[] {
  const each = Object.entries(step.workloads).toSorted(([a], [b]) => (a < b ? -1 : 1));
  const all = figures(ALL, Object.values(step.workloads), step.seconds);
  if (each.length === 1) return [{ ...all, workload: each[0]![0] }];
  return [all, ...each.map(([name, outcome]) => figures(name, [outcome], step.seconds))];
}

export function figures(workload: string, outcomes: readonly Outcome[], seconds: number): Figures {
  const sum = (of: (outcome: Outcome) => number) =>
    outcomes.reduce((total, outcome) => total + of(outcome), 0);
  const scheduled = sum((outcome) => outcome.scheduled);
  const succeeded = sum((outcome) => outcome.succeeded);
  const failed = sum((outcome) => outcome.failed);
  const unfinished = sum((outcome) => outcome.unfinished);
  return {
    workload,
    duePerSecond: scheduled / seconds,
    donePerSecond: succeeded / seconds,
    scheduled,
    succeeded,
    failed,
    unfinished,
    errorShare: scheduled === 0 ? 0 : (failed + unfinished) / scheduled,
    errors: errorsOf(outcomes),
    latency: percentilesOf(sumOf(outcomes, 'latency')),
    service: percentilesOf(sumOf(outcomes, 'service')),
  };
}

/** The distribution of several outcomes together. */
export const sumOf = (outcomes: readonly Outcome[], kind: 'latency' | 'service'): Latencies =>
  outcomes.length === 0
    ? Latencies.none
    : Latencies.sum(outcomes.map((outcome) => Latencies.decode(outcome[kind])));

const percentilesOf = (latencies: Latencies): Percentiles => ({
  p50: latencies.at(PERCENTILES.p50),
  p90: latencies.at(PERCENTILES.p90),
  p99: latencies.at(PERCENTILES.p99),
  p999: latencies.at(PERCENTILES.p999),
  max: latencies.at(PERCENTILES.max),
});

/** By code, the most frequent first. */
function errorsOf(outcomes: readonly Outcome[]): Record<string, number> {
  const counts = new Map<string, number>();
  for (const { errors } of outcomes)
    for (const [code, count] of Object.entries(errors))
      counts.set(code, (counts.get(code) ?? 0) + count);
  return Object.fromEntries([...counts].toSorted(([, a], [, b]) => b - a));
}

/** The outcomes of one workload, or of all, in a window or a step. */
export function outcomesOf(
  { workloads }: Pick<Step | Window, 'workloads'>,
  workload: string | undefined,
): readonly Outcome[] {
  if (workload === undefined) return Object.values(workloads);
  const outcome = Object.hasOwn(workloads, workload) ? workloads[workload] : undefined;
  return outcome ? [outcome] : [];
}

/** The figure that an objective limits: ms, or a share. undefined: there is nothing to measure. */
export function measuredFor(step: Step, { figure, workload }: Objective): number | undefined {
  const outcomes = outcomesOf(step, workload);
  if (outcomes.length === 0) return undefined;
  const { scheduled, errorShare, latency } = figures(workload ?? ALL, outcomes, step.seconds);
  if (figure !== 'errors') return latency[figure];
  return scheduled === 0 ? undefined : errorShare;
}

/** `p99 <= 500 ms of chat`, `errors <= 1 %`. */
export const objectiveText = ({ figure, atMost, workload }: Objective): string =>
  `${figure === 'errors' ? figure : PERCENTILE_NAMES[figure]} <= ${measuredText(figure, atMost)}${workload === undefined ? '' : ` of ${workload}`}`;

export const measuredText = (figure: Objective['figure'], value: number): string =>
  figure === 'errors' ? percentText(value) : `${numberText(value)} ms`;

/** Three significant digits, without an exponent: `0.213`, `4.5`, `1250`. */
export function numberText(value: number): string {
  if (value === 0) return '0';
  return Math.abs(value) >= 100 ? value.toFixed(0) : String(Number(value.toPrecision(3)));
}

/** Of a share: `1.5 %`. */
export const percentText = (share: number): string => `${numberText(share * 100)} %`;

/** All names of workloads in the order in which figures show them. */
export const workloadsOf = ({ steps }: LoadReport): readonly string[] =>
  [...new Set(steps.flatMap(({ workloads }) => Object.keys(workloads)))].toSorted((a, b) =>
    a < b ? -1 : 1,
  );
