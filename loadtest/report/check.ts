/** Whether a report meets its objectives, and whether it is slower than an earlier one. For CI. */
import type { LoadReport, Objective, Step } from '../report.ts';
import { compareReports, type ComparedErrors, type ComparedPercentile } from './compare.ts';
import {
  measuredFor,
  measuredText,
  numberText,
  objectiveText,
  percentText,
  PERCENTILE_NAMES,
} from './figures.ts';

export type CheckResult = {
  readonly passed: boolean;
  /** one line */
  readonly text: string;
};

/** Fewer additional errors than this share are no failure against a baseline. */
const ERRORS_TOLERANCE = 0.001;

/** One result for each objective and step. @param upTo only steps up to this rate */
export function checkObjectives(
  report: LoadReport,
  objectives: readonly Objective[],
  upTo = Number.POSITIVE_INFINITY,
): readonly CheckResult[] {
  const { steps } = report;
  const highest = Math.max(...steps.map(({ ratePerSecond }) => ratePerSecond));
  const reached = Number.isFinite(upTo)
    ? [
        {
          passed: highest >= upTo,
          text: `${rateText(upTo)}: the highest rate of the test is ${rateText(highest)}`,
        },
      ]
    : [];
  const results = steps
    .filter(({ ratePerSecond }) => ratePerSecond <= upTo)
    .flatMap((step) => objectives.map((objective) => checkOne(step, objective)));
  return [...reached, ...results];
}

function checkOne(step: Step, objective: Objective): CheckResult {
  const measured = measuredFor(step, objective);
  const what = `${rateText(step.ratePerSecond)}: ${objectiveText(objective)}`;
  if (measured === undefined) return { passed: false, text: `${what}, but no request succeeded` };
  return {
    passed: measured <= objective.atMost,
    text: `${what}, measured ${measuredText(objective.figure, measured)}`,
  };
}

const rateText = (rate: number): string => `${numberText(rate)}/s`;

/**
 * One result for each percentile. A percentile fails when the whole interval of its ratio is above
 * the tolerance, so that noise does not fail a build.
 * @param tolerance a share: 0.1 is 10 % @param upTo only steps up to this rate
 */
export function checkAgainst(
  baseline: LoadReport,
  report: LoadReport,
  tolerance: number,
  upTo = Number.POSITIVE_INFINITY,
): readonly CheckResult[] {
  const { percentiles, errors, sustainedPerSecond } = compareReports(baseline, report);
  const { before, after = 0 } = sustainedPerSecond;
  const counts = ({ ratePerSecond }: { ratePerSecond: number }) => ratePerSecond <= upTo;
  const sustained =
    before === undefined
      ? []
      : [
          {
            passed: after >= before * (1 - tolerance),
            text: `sustained rate ${rateText(before)} before, ${rateText(after)} now`,
          },
        ];
  return [
    ...percentiles.filter(counts).map((row) => checkRatio(row, tolerance)),
    ...errors.filter(counts).map(checkErrors),
    ...sustained,
  ];
}

function checkRatio(row: ComparedPercentile, tolerance: number): CheckResult {
  const what = `${rateText(row.ratePerSecond)} ${row.workload}, ${PERCENTILE_NAMES[row.figure]}`;
  if (!row.ratio) return { passed: true, text: `${what}: not compared, too few requests` };
  const { value, low, high } = row.ratio;
  return {
    passed: low <= 1 + tolerance,
    text: `${what}: ${numberText(value)} times the baseline (${numberText(low)} to ${numberText(high)}), at most ${numberText(1 + tolerance)}`,
  };
}

function checkErrors({ ratePerSecond, workload, ...row }: ComparedErrors): CheckResult {
  const { before, after, difference } = row;
  return {
    passed: !difference || difference.low <= ERRORS_TOLERANCE,
    text: `${rateText(ratePerSecond)} ${workload}, errors: ${percentText(before)} before, ${percentText(after)} now`,
  };
}
