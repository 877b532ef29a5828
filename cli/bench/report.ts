/** `troupe bench report`: the report of a load test as a table, as JSON or as a page. */
import { readFileSync, writeFileSync } from 'node:fs';
import { TroupeError } from '../../protocols/errors.ts';
import { figuresOf } from '../../loadtest/report/figures.ts';
import { reportPage } from '../../loadtest/report/html.ts';
import { readReport } from '../../loadtest/report/read.ts';
import type { LoadReport } from '../../loadtest/report.ts';
import { exitCodes } from '../exit.ts';
import { printJson } from '../output.ts';
import { reportText } from './report-text.ts';

export type ReportOptions = { readonly json?: boolean; readonly html?: string };

/** @throws TroupeError NOT_FOUND without the file, INVALID_ARGUMENT when it is no report */
export function report(file: string, { json, html }: ReportOptions): number {
  const read = reportIn(file);
  if (html !== undefined) writeFileSync(html, reportPage(read));
  if (json) printJson(asJson(read));
  else {
    process.stdout.write(reportText(read, process.stdout));
    if (html !== undefined) process.stdout.write(`\nThe page: ${html}\n`);
  }
  return exitCodes.ok;
}

/** @throws TroupeError NOT_FOUND without the file, INVALID_ARGUMENT when it is no report */
export function reportIn(file: string): LoadReport {
  let text: string;
  try {
    text = readFileSync(file, 'utf8');
  } catch (cause) {
    if ((cause as NodeJS.ErrnoException).code !== 'ENOENT') throw cause;
    throw new TroupeError('NOT_FOUND', `there is no file ${file}`, { cause });
  }
  return readReport(text, file);
}

/** The figures instead of histograms and windows. */
function asJson({ steps, ...head }: LoadReport): object {
  return {
    ...head,
    steps: steps.map((step) => ({
      ratePerSecond: step.ratePerSecond,
      seconds: step.seconds,
      workloads: figuresOf(step),
      missed: step.missed,
      limit: step.limit,
    })),
  };
}
