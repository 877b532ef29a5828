/** `troupe bench compare`: two reports of the same plan, with confidence intervals. */
import { writeFileSync } from 'node:fs';
import { styleText } from 'node:util';
import {
  type ComparedPercentile,
  compareReports,
  type Comparison,
  errorCells,
} from '../../loadtest/report/compare.ts';
import { comparisonPage } from '../../loadtest/report/compare-html.ts';
import { numberText, PERCENTILE_NAMES } from '../../loadtest/report/figures.ts';
import { INTERVAL_NOTE } from '../../loadtest/report/words.ts';
import type { LoadReport } from '../../loadtest/report.ts';
import { table } from '../../operations/text.ts';
import { TroupeError } from '../../protocols/errors.ts';
import { plainText } from '../../protocols/plain-text.ts';
import { exitCodes } from '../exit.ts';
import { printJson } from '../output.ts';
import { reportIn } from './report.ts';

export type CompareOptions = {
  readonly json?: boolean;
  readonly html?: string;
  readonly anyway?: boolean;
};

/**
 * Exit code 0 whatever the difference is: `check` judges.
 * @throws TroupeError NOT_FOUND without a file, INVALID_ARGUMENT when it is no report, CONFLICT
 * when the plans differ
 */
export function compare(beforeFile: string, afterFile: string, options: CompareOptions): number {
  const { json, html, anyway = false } = options;
  const before = reportIn(beforeFile);
  const after = reportIn(afterFile);
  const comparison = refuseOtherPlan(before, after, anyway);
  if (html !== undefined) writeFileSync(html, comparisonPage(before, after, comparison));
  if (json) printJson(comparison);
  else {
    process.stdout.write(comparisonText(comparison));
    if (html !== undefined) process.stdout.write(`\nThe page: ${html}\n`);
  }
  return exitCodes.ok;
}

/** @throws TroupeError CONFLICT when the plans differ, without `anyway` */
export function refuseOtherPlan(
  before: LoadReport,
  after: LoadReport,
  anyway: boolean,
): Comparison {
  const comparison = compareReports(before, after);
  const { planDiffers, alsoDiffers } = comparison;
  if (planDiffers.length === 0 || anyway) return comparison;
  const also = alsoDiffers.length === 0 ? '' : `. Also different: ${alsoDiffers.join('; ')}`;
  throw new TroupeError(
    'CONFLICT',
    `the tests have different plans (before | after): ${planDiffers.join('; ')}${also}. Compare tests with the same plan, or use --anyway`,
  );
}

const ms = (value: number | undefined): string => (value === undefined ? '-' : numberText(value));

function comparisonText(comparison: Comparison): string {
  const { planDiffers, alsoDiffers, percentiles, errors, sustainedPerSecond } = comparison;
  const rows = percentiles.map((row) => [
    numberText(row.ratePerSecond),
    row.workload,
    PERCENTILE_NAMES[row.figure],
    ms(row.before),
    ms(row.after),
    ...ratioCells(row),
    row.verdict,
  ]);
  const errorRows = errorCells(errors);
  const { before, after } = sustainedPerSecond;
  const parts = [
    differenceLines('The plans differ, so the figures do not mean the same', planDiffers),
    differenceLines('Other differences (before | after)', alsoDiffers),
    colored(table(['rate/s', 'workload', '', 'before', 'after', 'ratio', '95 %', ''], rows)),
    `Latency in ms, from the time at which a request was due. ${INTERVAL_NOTE}\n`,
    errorRows.length === 0
      ? ''
      : table(['rate/s', 'workload', 'errors before', 'errors after', ''], errorRows),
    before === undefined && after === undefined
      ? ''
      : `Sustained requests per second: ${ms(before)} before, ${ms(after)} after.\n`,
  ];
  return parts.filter((part) => part !== '').join('\n');
}

function ratioCells({ ratio, notCompared }: ComparedPercentile): [string, string] {
  if (!ratio) return ['-', notCompared ?? ''];
  return [numberText(ratio.value), `${numberText(ratio.low)} to ${numberText(ratio.high)}`];
}

const differenceLines = (title: string, lines: readonly string[]): string =>
  lines.length === 0 ? '' : `${title}:\n${lines.map((line) => `  ${plainText(line)}\n`).join('')}`;

/** Only at a terminal. */
const colored = (text: string): string =>
  text
    .replaceAll(/slower$/gm, (word) => styleText('red', word, { stream: process.stdout }))
    .replaceAll(/faster$/gm, (word) => styleText('green', word, { stream: process.stdout }));
