/**
 * `troupe bench check`: exit code 1 when a report misses an objective, or is slower than before.
 */
import { objectivesOf } from '../../loadtest/arguments.ts';
import { checkAgainst, checkObjectives } from '../../loadtest/report/check.ts';
import { workloadsOf } from '../../loadtest/report/figures.ts';
import { plainText } from '../../protocols/plain-text.ts';
import { TroupeError } from '../../protocols/errors.ts';
import { exitCodes } from '../exit.ts';
import { printJson } from '../output.ts';
import { refuseOtherPlan } from './compare.ts';
import { reportIn } from './report.ts';

export type CheckOptions = {
  readonly json?: boolean;
  readonly slo?: readonly string[];
  readonly upTo?: number;
  readonly against?: string;
  /** share; default 0.1 */
  readonly tolerance?: number;
  readonly anyway?: boolean;
};

const TOLERANCE = 0.1;

/**
 * @throws TroupeError NOT_FOUND without a file; INVALID_ARGUMENT when a file is no report, the
 * plans differ, or there is nothing to check; CONFLICT when the baseline has another plan
 */
export function check(file: string, options: CheckOptions): number {
  const { slo, upTo, against, tolerance = TOLERANCE, anyway = false, json = false } = options;
  const report = reportIn(file);
  const objectives =
    slo?.flatMap((text) => objectivesOf(text, workloadsOf(report))) ?? report.plan.objectives;
  if (objectives.length === 0 && against === undefined)
    throw new TroupeError(
      'INVALID_ARGUMENT',
      `${file} has no objectives: name some with --slo, or a baseline with --against`,
    );
  const results = [...checkObjectives(report, objectives, upTo)];
  if (against !== undefined) {
    const baseline = reportIn(against);
    refuseOtherPlan(baseline, report, anyway);
    results.push(...checkAgainst(baseline, report, tolerance, upTo));
  }
  const passed = results.every((result) => result.passed);
  if (json) printJson({ passed, results });
  else
    for (const result of results)
      process.stdout.write(`${result.passed ? 'ok    ' : 'MISSED'}  ${plainText(result.text)}\n`);
  return passed ? exitCodes.ok : exitCodes.failure;
}
