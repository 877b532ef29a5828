/** Whether a report meets its objectives, and whether it is slower than an earlier one. For CI. */
import type { LoadReport, Objective, Step } from '../report.ts';
import { WINDOWS_MIN } from './bootstrap.ts';
import {
  ABOVE_MIN,
  compareReports,
  type ComparedErrors,
  type ComparedPercentile,
  MOMENTS_MIN,
} from './compare.ts';
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

/**
 * One result for each objective and step, after those about the test itself: it must have reached
 * the rate, and an interrupted step is not judged as a whole one.
 * @param upTo only steps up to this rate
 */
export function checkObjectives(
  report: LoadReport,
  objectives: readonly Objective[],
  upTo = Number.POSITIVE_INFINITY,
): readonly CheckResult[] {
  const steps = report.steps.filter(({ ratePerSecond }) => ratePerSecond <= upTo);
  const isLastJudged = report.steps.at(-1) === steps.at(-1);
  return [
    ...(Number.isFinite(upTo) ? [checkReached(report.steps, upTo)] : []),
    ...(report.interrupted && isLastJudged
      ? [{ passed: false, text: 'the test was interrupted: its last step is shorter than planned' }]
      : []),
    ...steps.flatMap((step) => objectives.map((objective) => checkOne(step, objective))),
  ];
}

function checkReached(steps: readonly Step[], upTo: number): CheckResult {
  const rates = steps.map(({ ratePerSecond }) => ratePerSecond);
  const [lowest, highest] = [Math.min(...rates), Math.max(...rates)];
  if (lowest > upTo)
    return {
      passed: false,
      text: `${rateText(upTo)}: nothing to judge, the lowest rate of the test is ${rateText(lowest)}`,
    };
  return {
    passed: highest >= upTo,
    text: `${rateText(upTo)}: the highest rate of the test is ${rateText(highest)}`,
  };
}

function checkOne(step: Step, objective: Objective): CheckResult {
  const measured = measuredFor(step, objective);
  const what = `${rateText(step.ratePerSecond)}: ${objectiveText(objective)}`;
  if (measured === undefined)
    return {
      passed: false,
      text: `${what}, but ${objective.figure === 'errors' ? 'no request was due' : 'no request succeeded'}`,
    };
  return {
    passed: measured <= objective.atMost,
    text: `${what}, measured ${measuredText(objective.figure, measured)}`,
  };
}

const rateText = (rate: number): string => `${numberText(rate)}/s`;

/**
 * One result for each percentile. A percentile fails when the whole interval of its ratio is above
 * the tolerance, so that noise does not fail a build. Tests that are too short to compare anything
 * fail, so that a check cannot pass without a comparison.
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
  const judged = percentiles.filter(counts);
  const tooShort = judged.every(({ ratio }) => ratio === undefined)
    ? [{ passed: false, text: TOO_SHORT }]
    : [];
  return [
    ...tooShort,
    ...judged.map((row) => checkRatio(row, tolerance)),
    ...errors.filter(counts).map(checkErrors),
    ...sustained,
  ];
}

const TOO_SHORT = `no percentile could be compared: a step of both tests needs at least ${WINDOWS_MIN} windows of a second, and ${ABOVE_MIN} requests above a percentile in ${MOMENTS_MIN} separate moments`;

function checkRatio(row: ComparedPercentile, tolerance: number): CheckResult {
  const what = `${rateText(row.ratePerSecond)} ${row.workload}, ${PERCENTILE_NAMES[row.figure]}`;
  if (!row.ratio) return { passed: true, text: `${what}: not compared, ${row.notCompared}` };
  const { value, low, high } = row.ratio;
  return {
    passed: low <= 1 + tolerance,
    text: `${what}: ${numberText(value)} times the baseline (${numberText(low)} to ${numberText(high)}), at most ${numberText(1 + tolerance)}`,
  };
}

function checkErrors({ ratePerSecond, workload, ...row }: ComparedErrors): CheckResult {
  const { before, after, difference } = row;
  const rise = difference?.low ?? after - before;
  return {
    passed: rise <= ERRORS_TOLERANCE,
    text: `${rateText(ratePerSecond)} ${workload}, errors: ${percentText(before)} before, ${percentText(after)} now`,
  };
}
