/**
 * `troupe bench check`: exit code 1 when a report misses an objective, or is slower than before.
 */
import { parseObjective } from '../../loadtest/objective.ts';
import { checkAgainst, checkObjectives } from '../../loadtest/report/check.ts';
import { workloadsOf } from '../../loadtest/report/figures.ts';
import type { LoadReport, Objective } from '../../loadtest/report.ts';
import { plainText } from '../../protocols/plain-text.ts';
import { TroupeError } from '../../protocols/errors.ts';
import { exitCodes } from '../exit.ts';
import { printJson } from '../output.ts';
import { refuseOtherPlan } from './compare.ts';
import { reportIn } from './report.ts';

export type CheckOptions = {
  readonly json?: boolean;
  readonly slo?: string;
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
  const objectives = objectivesIn(slo, report) ?? report.plan.objectives;
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

/** As `troupe bench --slo` reads them. @throws TroupeError INVALID_ARGUMENT */
function objectivesIn(text: string | undefined, report: LoadReport): Objective[] | undefined {
  return text?.split(',').map((part) => {
    const objective = parseObjective(part.replace(/<?=/, '<=').replace('@', ' of '));
    const known = workloadsOf(report);
    if (objective.workload === undefined || known.includes(objective.workload)) return objective;
    throw new TroupeError(
      'INVALID_ARGUMENT',
      `--slo: the report has no workload ${objective.workload}; it has ${known.join(', ')}`,
    );
  });
}
