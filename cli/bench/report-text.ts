/** The report of a load test as text for a terminal. */
import { styleText } from 'node:util';
import { table } from '../../operations/text.ts';
import { plainText } from '../../protocols/plain-text.ts';
import {
  type Figures,
  figuresOf,
  measuredText,
  numberText,
  objectiveText,
  percentText,
} from '../../loadtest/report/figures.ts';
import { LATENCY_NOTE, planText, sustainedText, targetText } from '../../loadtest/report/words.ts';
import type { LoadReport, Step } from '../../loadtest/report.ts';

export type Terminal = { readonly isTTY?: boolean; readonly columns?: number };

type Column = {
  readonly title: string;
  /** columns with the highest number are left out first where the terminal is narrow */
  readonly rank: number;
  readonly cell: (figures: Figures, step: Step) => string;
};

const ms = (value: number | undefined): string => (value === undefined ? '-' : numberText(value));

const columns: readonly Column[] = [
  { title: 'rate/s', rank: 0, cell: (_, step) => numberText(step.ratePerSecond) },
  { title: 'workload', rank: 0, cell: ({ workload }) => workload },
  { title: 'due/s', rank: 2, cell: (figures) => numberText(figures.duePerSecond) },
  { title: 'done/s', rank: 1, cell: (figures) => numberText(figures.donePerSecond) },
  { title: 'p50', rank: 0, cell: ({ latency }) => ms(latency.p50) },
  { title: 'p90', rank: 3, cell: ({ latency }) => ms(latency.p90) },
  { title: 'p99', rank: 0, cell: ({ latency }) => ms(latency.p99) },
  { title: 'p99.9', rank: 3, cell: ({ latency }) => ms(latency.p999) },
  { title: 'max', rank: 2, cell: ({ latency }) => ms(latency.max) },
  { title: 'service p50', rank: 4, cell: ({ service }) => ms(service.p50) },
  { title: 'service p99', rank: 4, cell: ({ service }) => ms(service.p99) },
  { title: 'service max', rank: 5, cell: ({ service }) => ms(service.max) },
  { title: 'errors', rank: 1, cell: ({ errorShare }) => percentText(errorShare) },
  { title: 'objectives', rank: 1, cell: (figures, step) => objectivesOf(figures, step) },
];
const SPACE = 2;

/** Ends with a line break. @param terminal stdout: how wide it is; colours follow stdout */
export function reportText(report: LoadReport, terminal: Terminal = {}): string {
  const { steps } = report;
  const rows = steps.flatMap((step) => figuresOf(step).map((figures) => ({ figures, step })));
  const hasObjectives = report.plan.objectives.length > 0;
  const { shown, hidden } = fitting(
    columns.filter(({ title }) => title !== 'objectives' || hasObjectives),
    rows,
    // a terminal without a known width says 0
    terminal.columns || Number.POSITIVE_INFINITY,
  );
  const cells = rows.map(({ figures, step }) => shown.map(({ cell }) => cell(figures, step)));
  const parts = [
    `${bold(targetText(report))}\n${plainText(planText(report))}\n${report.interrupted ? 'The test was interrupted: its last step is shorter than planned.\n' : ''}`,
    table(
      shown.map(({ title }) => title),
      cells,
    ),
    `Times in ms. ${LATENCY_NOTE}\n${hiddenText(hidden)}`,
    section('Errors', steps.flatMap(errorLines)),
    section('Missed objectives', steps.flatMap(missedLines)),
    section('What limited it', steps.map(limitLine)),
    `${bold(sustainedText(report))}\n`,
  ];
  return parts.filter((part) => part !== '').join('\n');
}

/** The columns that fit, by rank. */
function fitting(
  all: readonly Column[],
  rows: readonly { readonly figures: Figures; readonly step: Step }[],
  width: number,
): { readonly shown: readonly Column[]; readonly hidden: readonly string[] } {
  const widths = new Map(
    all.map((column) => [
      column,
      Math.max(
        column.title.length,
        ...rows.map(({ figures, step }) => plainText(column.cell(figures, step)).length),
      ),
    ]),
  );
  let shown = all;
  const needed = () => shown.reduce((sum, column) => sum + widths.get(column)! + SPACE, -SPACE);
  for (let rank = 5; rank > 0 && needed() > width; rank--)
    shown = shown.filter((column) => column.rank < rank);
  const hidden = all.filter((column) => !shown.includes(column)).map(({ title }) => title);
  return { shown, hidden };
}

const hiddenText = (hidden: readonly string[]): string =>
  hidden.length === 0 ? '' : `Not shown, because the terminal is narrow: ${hidden.join(', ')}.\n`;

/** Of the row's workload; the row of all workloads has those without a workload. */
function objectivesOf({ workload }: Figures, { missed, workloads }: Step): string {
  const isOnly = Object.keys(workloads).length === 1;
  const own = missed.filter(
    ({ objective }) => isOnly || (objective.workload ?? 'all') === workload,
  );
  return own.length === 0
    ? ''
    : `missed: ${own.map(({ objective }) => objective.figure).join(' ')}`;
}

const rateOf = ({ ratePerSecond }: Step): string => `${numberText(ratePerSecond)}/s`;

function errorLines(step: Step): readonly string[] {
  const [first, ...rest] = figuresOf(step);
  return (rest.length === 0 ? [first!] : rest).flatMap(({ workload, errors, unfinished }) => {
    const parts = Object.entries(errors).map(([code, count]) => `${code} ${count}`);
    if (unfinished > 0) parts.push(`not ended in time ${unfinished}`);
    return parts.length === 0 ? [] : [`${rateOf(step)} ${workload}: ${parts.join(', ')}`];
  });
}

const missedLines = (step: Step): readonly string[] =>
  step.missed.map(
    ({ objective, measured }) =>
      `${rateOf(step)}: ${objectiveText(objective)}, measured ${measuredText(objective.figure, measured)}`,
  );

const limitLine = (step: Step): string =>
  `${rateOf(step)}: ${step.limit.what}. ${step.limit.because}`;

const section = (title: string, lines: readonly string[]): string =>
  lines.length === 0
    ? ''
    : `${bold(title)}\n${lines.map((line) => `  ${plainText(line)}\n`).join('')}`;

const bold = (text: string): string =>
  styleText('bold', plainText(text), { stream: process.stdout });
