/** Compares two reports of the same plan: ratios of percentiles with confidence intervals. */
import type { LoadReport, Step } from '../report.ts';
import {
  type Interval,
  intervalsOf,
  momentsAbove,
  WINDOWS_MIN,
  type WindowSample,
} from './bootstrap.ts';
import {
  ALL,
  figures,
  numberText,
  outcomesOf,
  PERCENTILES,
  type Percentile,
  percentText,
  sumOf,
} from './figures.ts';

type Verdict = 'slower' | 'faster' | 'no difference shown';

type NotCompared = 'test too short' | 'too few requests' | 'too few slow moments';

export type ComparedPercentile = {
  readonly ratePerSecond: number;
  readonly workload: string;
  readonly figure: Exclude<Percentile, 'max'>;
  /** ms; undefined: no request succeeded */
  readonly before: number | undefined;
  readonly after: number | undefined;
  /** after / before, and its 95 % interval */
  readonly ratio: (Interval & { readonly value: number }) | undefined;
  /** why there is no ratio */
  readonly notCompared?: NotCompared;
  readonly verdict: Verdict;
};

export type ComparedErrors = {
  readonly ratePerSecond: number;
  readonly workload: string;
  /** shares, 0 to 1 */
  readonly before: number;
  readonly after: number;
  /** after - before, 95 %; undefined: there are too few windows */
  readonly difference: Interval | undefined;
  readonly verdict: 'more' | 'fewer' | 'no difference shown';
};

export type Comparison = {
  /** differences between the plans: the figures do not mean the same */
  readonly planDiffers: readonly string[];
  /** other differences, which may explain those of the figures */
  readonly alsoDiffers: readonly string[];
  readonly percentiles: readonly ComparedPercentile[];
  readonly errors: readonly ComparedErrors[];
  readonly sustainedPerSecond: {
    readonly before: number | undefined;
    readonly after: number | undefined;
  };
};

/** Without `max`: one request decides it, so no interval holds for it. */
const FIGURES = ['p50', 'p90', 'p99', 'p999'] as const;
/** Fewer requests above a percentile say nothing reliable about it. */
export const ABOVE_MIN = 10;
/**
 * Requests above a percentile in fewer separate moments than this say nothing about the next test.
 */
export const MOMENTS_MIN = 4;

/** Steps are paired by their rate; where no rate is in both, by their order. */
export function compareReports(before: LoadReport, after: LoadReport): Comparison {
  const pairs = pairsOf(before, after).flatMap(([first, second]) =>
    comparedWorkloads(first, second).map((workload) => compareOne(first, second, workload)),
  );
  return {
    planDiffers: planDifferences(before, after),
    alsoDiffers: otherDifferences(before, after),
    percentiles: pairs.flatMap(({ percentiles }) => percentiles),
    errors: pairs.map(({ errors }) => errors),
    sustainedPerSecond: {
      before: before.sustainedPerSecond,
      after: after.sustainedPerSecond,
    },
  };
}

function pairsOf(before: LoadReport, after: LoadReport): readonly [Step, Step][] {
  const byRate = before.steps.flatMap((step): [Step, Step][] => {
    const other = after.steps.find(({ ratePerSecond }) => ratePerSecond === step.ratePerSecond);
    return other ? [[step, other]] : [];
  });
  if (byRate.length > 0) return byRate;
  const count = Math.min(before.steps.length, after.steps.length);
  return Array.from({ length: count }, (_, n) => [before.steps[n]!, after.steps[n]!]);
}

/** `undefined` is all workloads together. */
function comparedWorkloads(first: Step, second: Step): readonly (string | undefined)[] {
  const common = Object.keys(first.workloads)
    .filter((name) => Object.hasOwn(second.workloads, name))
    .toSorted((a, b) => (a < b ? -1 : 1));
  return common.length === 1 ? common : [undefined, ...common];
}

function reasonOf(hasWindows: boolean, hasEnough: boolean): NotCompared {
  if (!hasWindows) return 'test too short';
  return hasEnough ? 'too few slow moments' : 'too few requests';
}

function compareOne(before: Step, after: Step, workload: string | undefined) {
  const [first, second] = [before, after].map((step) =>
    figures(workload ?? ALL, outcomesOf(step, workload), step.seconds),
  ) as [ReturnType<typeof figures>, ReturnType<typeof figures>];
  const samples = [before, after].map((step) => samplesOf(step, workload)) as [
    WindowSample[],
    WindowSample[],
  ];
  const intervals = samples.every((windows) => windows.length >= WINDOWS_MIN)
    ? intervalsOf(
        ...samples,
        FIGURES.map((figure) => PERCENTILES[figure]),
      )
    : undefined;
  const haveLatencies = samples.every((windows) =>
    windows.some(({ latencies }) => latencies.total > 0),
  );
  const head = { ratePerSecond: before.ratePerSecond, workload: workload ?? ALL };
  const fewest = Math.min(first.succeeded, second.succeeded);
  const percentiles = FIGURES.map((figure, n): ComparedPercentile => {
    const [a, b] = [first.latency[figure], second.latency[figure]];
    const share = PERCENTILES[figure];
    const hasEnough = haveLatencies && fewest * (1 - share) >= ABOVE_MIN;
    const moments = Math.min(...samples.map((windows) => momentsAbove(windows, share)));
    const interval = hasEnough && moments >= MOMENTS_MIN ? intervals?.ratios[n] : undefined;
    const ratio = interval && a && b ? { value: b / a, ...interval } : undefined;
    const notCompared = ratio ? {} : { notCompared: reasonOf(intervals !== undefined, hasEnough) };
    const verdict = verdictOf(ratio);
    return { ...head, figure, before: a, after: b, ratio, ...notCompared, verdict };
  });
  const difference = intervals?.errors;
  const errors: ComparedErrors = {
    ...head,
    before: first.errorShare,
    after: second.errorShare,
    difference,
    verdict: errorVerdictOf(difference),
  };
  return { percentiles, errors };
}

function verdictOf(ratio: Interval | undefined): Verdict {
  if (ratio && ratio.low > 1) return 'slower';
  return ratio && ratio.high < 1 ? 'faster' : 'no difference shown';
}

function errorVerdictOf(difference: Interval | undefined): ComparedErrors['verdict'] {
  if (difference && difference.low > 0) return 'more';
  return difference && difference.high < 0 ? 'fewer' : 'no difference shown';
}

/**
 * Cells of a table of errors: rate, workload, both shares, verdict. Rows without errors are left
 * out.
 */
export const errorCells = (errors: readonly ComparedErrors[]): readonly (readonly string[])[] =>
  errors
    .filter(({ before, after }) => before + after > 0)
    .map(({ ratePerSecond, workload, before, after, verdict }) => [
      numberText(ratePerSecond),
      workload,
      percentText(before),
      percentText(after),
      verdict,
    ]);

function samplesOf(step: Step, workload: string | undefined): WindowSample[] {
  return step.windows.map((window) => {
    const outcomes = outcomesOf(window, workload);
    const sum = (of: (outcome: (typeof outcomes)[number]) => number) =>
      outcomes.reduce((total, outcome) => total + of(outcome), 0);
    return {
      latencies: sumOf(outcomes, 'latency'),
      scheduled: sum(({ scheduled }) => scheduled),
      failed: sum(({ failed, unfinished }) => failed + unfinished),
    };
  });
}

/** Differences that make the figures incomparable. */
function planDifferences(before: LoadReport, after: LoadReport): readonly string[] {
  const facts = (report: LoadReport): Record<string, string> => ({
    mix: Object.entries(report.plan.mix)
      .toSorted(([a], [b]) => (a < b ? -1 : 1))
      .map(([name, share]) => `${name} ${percentText(share)}`)
      .join(', '),
    arrival: report.plan.arrival,
    model: report.plan.model ?? 'none',
  });
  const rates = ratesDiffer(before, after) ? [`rates: ${ratesOf(before)} | ${ratesOf(after)}`] : [];
  return [...differences(facts(before), facts(after)), ...rates];
}

const ratesOf = ({ steps }: LoadReport): string =>
  `${steps.map(({ ratePerSecond }) => numberText(ratePerSecond)).join(', ')}/s`;

/**
 * A ramp ends where the target is too slow, and then tries lower rates. So only the rates up to the
 * end of the shorter rise must be equal.
 */
function ratesDiffer(before: LoadReport, after: LoadReport): boolean {
  const [first, second] = [riseOf(before), riseOf(after)];
  return first.slice(0, second.length).some((rate, n) => rate !== second[n]);
}

function riseOf({ steps }: LoadReport): readonly number[] {
  const rates = steps.map(({ ratePerSecond }) => ratePerSecond);
  const end = rates.findIndex((rate, n) => n > 0 && rate <= rates[n - 1]!);
  return end === -1 ? rates : rates.slice(0, end);
}

function otherDifferences(before: LoadReport, after: LoadReport): readonly string[] {
  const facts = ({ target, machine, plan, steps }: LoadReport): Record<string, string> => ({
    'version of troupe': target.version,
    'kind of target': target.kind,
    processor: machine.cpu,
    cores: String(machine.cores),
    memory: `${numberText(machine.memoryBytes / 2 ** 30)} GiB`,
    'operating system': machine.os,
    Node: machine.node,
    'target on the same machine': machine.shared ? 'yes' : 'no',
    'seconds of a step': [...new Set(steps.map(({ seconds }) => numberText(seconds)))].join(', '),
    'warm-up': `${numberText(plan.warmupSeconds)} s`,
    steps: String(steps.length),
  });
  return differences(facts(before), facts(after));
}

const differences = (
  before: Record<string, string>,
  after: Record<string, string>,
): readonly string[] =>
  Object.keys(before)
    .filter((name) => before[name] !== after[name])
    .map((name) => `${name}: ${before[name]} | ${after[name]}`);
